// SPDX-License-Identifier: Apache-2.0

#include "topo/next_hops.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace heddle {

NextHops::NextHops(const Routing& routing)
    : routing_(routing), classes_(routing), labels_(routing.leaves()) {}

NextHops::Label NextHops::Intern(std::vector<std::vector<uint64_t>> parts) {
  std::ranges::sort(parts);
  return interned_.try_emplace(std::move(parts), static_cast<Label>(interned_.size()))
      .first->second;
}

const NextHops::Labels& NextHops::LabelsTowards(size_t leaf) {
  Labels& labels = labels_[leaf];
  if (!labels.known.empty()) return labels;
  const size_t n = routing_.switches();
  labels = {std::vector<Label>(n), std::vector<Label>(n), std::vector<bool>(n, false)};
  LabelFeeds(leaf, labels);
  for (SwitchId s = 0; s < n; ++s) LabelAhead(s, leaf, labels);
  return labels;
}

// Labels each switch by the traffic that reaches it on the way to the leaf, and by the rates of the
// links that carry it. Switches further from the leaf come first, because they feed the others.
// Each switch with hosts gets a label of its own, since its hosts add traffic.
void NextHops::LabelFeeds(size_t leaf, Labels& labels) {
  const HostId host = routing_.first_hosts()[leaf];
  std::vector<SwitchId> order(routing_.switches());
  std::iota(order.begin(), order.end(), SwitchId{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](SwitchId s) { return routing_.DistanceTo(s, leaf); });
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

std::vector<uint64_t> NextHops::HopOf(const Adjacency::Port& link, size_t leaf, Labels& labels) {
  const SwitchId next = routing_.SwitchAt(link.peer);
  return {static_cast<uint64_t>(link.out.rate.bps), labels.above[next],
          LabelAhead(next, leaf, labels)};
}

NextHops::Label NextHops::LabelAhead(SwitchId s, size_t leaf, Labels& labels) {
  if (labels.known[s]) return labels.ahead[s];
  const HostId host = routing_.first_hosts()[leaf];
  std::vector<std::vector<uint64_t>> hops;
  if (!routing_.IsAttached(s, host)) {
    for (const PortIndex port : routing_.TableOf(s).Towards(host)) {
      hops.push_back(HopOf(routing_.PortsOf(s)[port], leaf, labels));
    }
  }
  labels.known[s] = true;
  return labels.ahead[s] = Intern(std::move(hops));
}

std::vector<NextHop> NextHops::NextHopsOf(SwitchId s, size_t leaf) {
  const HostId host = routing_.first_hosts()[leaf];
  if (routing_.IsAttached(s, host)) return {};
  LabelsTowards(leaf);
  std::vector<NextHop> next_hops;
  std::vector<std::vector<uint64_t>> kinds;
  for (const PortIndex port : routing_.TableOf(s).Towards(host)) {
    const Adjacency::Port& link = routing_.PortsOf(s)[port];
    const PathClasses::Class rest = classes_.Between(routing_.SwitchAt(link.peer), leaf);
    std::vector<uint64_t> kind = HopOf(link, leaf, labels_[leaf]);
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
  for (size_t leaf = 0; leaf < routing_.leaves(); ++leaf) {
    std::vector<NextHop> next_hops = NextHopsOf(s, leaf);
    const auto [set, is_new] = known.try_emplace(next_hops, static_cast<uint16_t>(known.size()));
    if (is_new) table.sets.push_back(std::move(next_hops));
    table.set_of_leaf.push_back(set->second);
  }
  return table;
}

}  // namespace heddle
