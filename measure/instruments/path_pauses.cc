// SPDX-License-Identifier: Apache-2.0

#include "measure/instruments/path_pauses.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace heddle {

PathPauses::PathPauses(const Network& network)
    : through_(network.egresses().size()), spans_(network.egresses().size()) {
  const std::vector<HostId>& hosts = network.routing().first_hosts();
  for (const HostId src : hosts) {
    for (const HostId dst : hosts) {
      if (src != dst) FindPaths(network, network.routing().LeafOf(src), dst);
    }
  }
  for (uint32_t path = 0; path < ports_.size(); ++path) {
    for (const uint32_t egress : ports_[path]) through_[egress].push_back(path);
  }
}

void PathPauses::FindPaths(const Network& network, SwitchId src, HostId dst) {
  const Routing& routing = network.routing();
  const size_t before = paths_.size();
  std::vector<uint32_t> ports;
  const auto walk = [&](auto&& self, SwitchId at, uint32_t id) -> void {
    if (routing.IsAttached(at, dst)) {
      paths_.push_back({src, at, id, paths_of_pair_.size()});
      ports_.push_back(ports);
      return;
    }
    for (const PortIndex port : routing.TableOf(at).Towards(dst)) {
      const VertexId vertex = network.graph().VertexOfSwitch(at);
      ports.push_back(static_cast<uint32_t>(network.EgressOf(vertex, port)));
      self(self, routing.SwitchAt(routing.PortsOf(at)[port].peer), id + routing.PathPart(at, port));
      ports.pop_back();
    }
  };
  walk(walk, src, 0);
  paths_of_pair_.push_back(static_cast<int64_t>(paths_.size() - before));
  all_paused_.emplace_back();
}

void PathPauses::Add(size_t egress, Time from, Time to) {
  if (from >= to) return;
  if (spans_[egress].empty()) touched_.push_back(egress);
  spans_[egress].push_back({from, to});
}

int64_t PathPauses::CloseBin() {
  const std::vector<uint32_t> touched = TouchedPaths();
  const auto same_pair = [&](uint32_t a, uint32_t b) { return paths_[a].pair == paths_[b].pair; };
  for (auto first = touched.begin(); first != touched.end();) {
    const auto end = std::find_if_not(first, touched.end(),
                                      [&](uint32_t path) { return same_pair(*first, path); });
    ClosePair({first, end});
    first = end;
  }
  for (const size_t egress : touched_) spans_[egress].clear();
  touched_.clear();
  return static_cast<int64_t>(touched.size());
}

std::vector<uint32_t> PathPauses::TouchedPaths() const {
  std::vector<uint32_t> paths;
  for (const size_t egress : touched_) {
    paths.insert(paths.end(), through_[egress].begin(), through_[egress].end());
  }
  std::ranges::sort(paths);
  const auto repeated = std::ranges::unique(paths);
  paths.erase(repeated.begin(), repeated.end());
  return paths;
}

// `touched` holds the paths of one pair that were paused.
void PathPauses::ClosePair(std::span<const uint32_t> touched) {
  Spans all;
  for (const uint32_t path : touched) {
    const Spans pauses = PausesOf(path);
    paths_[path].paused += Length(pauses);
    all = path == touched.front() ? pauses : Intersection(all, pauses);
  }
  const size_t pair = paths_[touched.front()].pair;
  if (static_cast<int64_t>(touched.size()) == paths_of_pair_[pair]) {
    all_paused_[pair] += Length(all);
  }
}

PathPauses::Spans PathPauses::PausesOf(uint32_t path) const {
  Spans spans;
  for (const uint32_t egress : ports_[path]) {
    spans.insert(spans.end(), spans_[egress].begin(), spans_[egress].end());
  }
  return Union(std::move(spans));
}

PathPauses::Spans PathPauses::Union(Spans spans) {
  std::ranges::sort(spans, {}, &Span::from);
  Spans merged;
  for (const Span& span : spans) {
    if (merged.empty() || merged.back().to < span.from) {
      merged.push_back(span);
    } else {
      merged.back().to = std::max(merged.back().to, span.to);
    }
  }
  return merged;
}

PathPauses::Spans PathPauses::Intersection(const Spans& a, const Spans& b) {
  Spans common;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Span both{std::max(a[i].from, b[j].from), std::min(a[i].to, b[j].to)};
    if (both.from < both.to) common.push_back(both);
    ++(a[i].to < b[j].to ? i : j);
  }
  return common;
}

Duration PathPauses::Length(const Spans& spans) {
  Duration length{0};
  for (const Span& span : spans) length += span.to - span.from;
  return length;
}

}  // namespace heddle
