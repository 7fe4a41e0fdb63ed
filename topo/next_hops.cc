// SPDX-License-Identifier: Apache-2.0

#include "topo/next_hops.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace heddle {

NextHops::NextHops(const Routing& routing)
    : routing_(routing), classes_(routing), labels_(routing.groups()) {}

NextHops::Label NextHops::Intern(std::vector<std::vector<uint64_t>> parts) {
  std::ranges::sort(parts);
  return interned_.try_emplace(std::move(parts), static_cast<Label>(interned_.size()))
      .first->second;
}

const NextHops::Labels& NextHops::LabelsTowards(size_t group) {
  Labels& labels = labels_[group];
  if (!labels.known.empty()) return labels;
  const size_t n = routing_.switches();
  labels = {std::vector<Label>(n), std::vector<Label>(n), std::vector<bool>(n, false)};
  LabelFeeds(group, labels);
  for (SwitchId s = 0; s < n; ++s) LabelAhead(s, group, labels);
  return labels;
}

// Labels each switch by the traffic that reaches it on the way to the group, and by the rates of
// the links that carry it. Switches further from it come first, because they feed the others. Each
// switch with hosts gets a label of its own, since its hosts add traffic.
void NextHops::LabelFeeds(size_t group, Labels& labels) {
  const HostId host = routing_.FirstOf(group);
  std::vector<SwitchId> order(routing_.switches());
  std::iota(order.begin(), order.end(), SwitchId{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](SwitchId s) { return routing_.DistanceTo(s, group); });
  std::vector<std::vector<std::vector<uint64_t>>> feeds(order.size());
  for (const SwitchId s : order) {
    if (routing_.HasHosts(s)) feeds[s].push_back({s});
    labels.above[s] = Intern(std::move(feeds[s]));
    if (routing_.IsAttached(s, host)) continue;
    for (const PortIndex port : routing_.TableOf(s).Towards(host)) {
      const Adjacency::Port& link = routing_.PortsOf(s)[port];
      feeds[routing_.SwitchAt(link.peer)].push_back(
          {labels.above[s], static_cast<uint64_t>(link.out.rate.bps)});
    }
  }
}

std::vector<uint64_t> NextHops::HopOf(const Adjacency::Port& link, size_t group, Labels& labels) {
  const SwitchId next = routing_.SwitchAt(link.peer);
  return {static_cast<uint64_t>(link.out.rate.bps), labels.above[next],
          LabelAhead(next, group, labels)};
}

NextHops::Label NextHops::LabelAhead(SwitchId s, size_t group, Labels& labels) {
  if (labels.known[s]) return labels.ahead[s];
  const HostId host = routing_.FirstOf(group);
  std::vector<std::vector<uint64_t>> hops;
  if (!routing_.IsAttached(s, host)) {
    for (const PortIndex port : routing_.TableOf(s).Towards(host)) {
      hops.push_back(HopOf(routing_.PortsOf(s)[port], group, labels));
    }
  }
  labels.known[s] = true;
  return labels.ahead[s] = Intern(std::move(hops));
}

std::vector<NextHop> NextHops::NextHopsOf(SwitchId s, size_t group) {
  const HostId host = routing_.FirstOf(group);
  if (routing_.IsAttached(s, host)) return {};
  LabelsTowards(group);
  std::vector<NextHop> next_hops;
  std::vector<std::vector<uint64_t>> kinds;
  for (const PortIndex port : routing_.TableOf(s).Towards(host)) {
    const Adjacency::Port& link = routing_.PortsOf(s)[port];
    const PathClasses::Class rest = classes_.Between(routing_.SwitchAt(link.peer), group);
    std::vector<uint64_t> kind = HopOf(link, group, labels_[group]);
    const auto known = std::ranges::find(kinds, kind);
    next_hops.push_back(
        {classes_.CapacityVia(link.out, rest), static_cast<uint16_t>(known - kinds.begin())});
    if (known == kinds.end()) kinds.push_back(std::move(kind));
  }
  return next_hops;
}

NextHopTable NextHops::TableOf(SwitchId s) {
  NextHopTable table;
  std::map<std::vector<NextHop>, uint16_t> known;
  for (size_t group = 0; group < routing_.groups(); ++group) {
    std::vector<NextHop> next_hops = NextHopsOf(s, group);
    const auto [set, is_new] = known.try_emplace(next_hops, static_cast<uint16_t>(known.size()));
    if (is_new) table.sets.push_back(std::move(next_hops));
    if (group < routing_.leaves()) {
      table.set_of_leaf.push_back(set->second);
    } else {
      table.set_of_host.emplace_back(routing_.FirstOf(group), set->second);
    }
  }
  return table;
}

}  // namespace heddle
