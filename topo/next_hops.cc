// SPDX-License-Identifier: Apache-2.0

#include "topo/next_hops.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <utility>

namespace heddle {

NextHops::NextHops(const Routing& routing)
    : routing_(routing), classes_(routing), labels_(routing.groups()), feeds_(routing.switches()) {}

// Intern() returns the label of these parts in any order; it sorts them.
NextHops::Label NextHops::Intern(Parts& parts) {
  std::ranges::sort(parts);
  return interned_.try_emplace(parts, static_cast<Label>(interned_.size())).first->second;
}

const NextHops::Labels& NextHops::LabelsTowards(size_t group) {
  Labels& labels = labels_[group];
  if (!labels.ahead.empty()) return labels;
  const HostId host = routing_.FirstOf(group);
  std::vector<SwitchId> order(routing_.switches());
  labels = {std::vector<Label>(order.size()), std::vector<Label>(order.size())};
  std::iota(order.begin(), order.end(), SwitchId{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](SwitchId s) { return routing_.DistanceTo(s, group); });
  LabelFeeds(group, order, labels);
  Parts hops;
  for (const SwitchId s : order | std::views::reverse) {  // A switch comes after its next hops.
    hops.clear();
    if (!routing_.IsAttached(s, host)) {
      for (const PortIndex port : routing_.TableOf(s).Towards(host)) {
        hops.push_back(HopOf(routing_.PortsOf(s)[port], labels));
      }
    }
    labels.ahead[s] = Intern(hops);
  }
  return labels;
}

// Labels each switch by the traffic that reaches it on the way to the group, and by the rates of
// the links that carry it. Switches further from it come first, because they feed the others. Each
// switch with hosts gets a label of its own, since its hosts add traffic.
void NextHops::LabelFeeds(size_t group, const std::vector<SwitchId>& furthest_first,
                          Labels& labels) {
  const HostId host = routing_.FirstOf(group);
  for (Parts& feeds : feeds_) feeds.clear();
  for (const SwitchId s : furthest_first) {
    if (routing_.HasHosts(s)) feeds_[s].push_back({1, s, 0});
    labels.above[s] = Intern(feeds_[s]);
    if (routing_.IsAttached(s, host)) continue;
    for (const PortIndex port : routing_.TableOf(s).Towards(host)) {
      const Adjacency::Port& link = routing_.PortsOf(s)[port];
      feeds_[routing_.SwitchAt(link.peer)].push_back(
          {0, labels.above[s], static_cast<uint64_t>(link.out.rate.bps)});
    }
  }
}

NextHops::Part NextHops::HopOf(const Adjacency::Port& link, const Labels& labels) const {
  const SwitchId next = routing_.SwitchAt(link.peer);
  return {static_cast<uint64_t>(link.out.rate.bps), labels.above[next], labels.ahead[next]};
}

std::vector<NextHop> NextHops::NextHopsOf(SwitchId s, size_t group) {
  const HostId host = routing_.FirstOf(group);
  if (routing_.IsAttached(s, host)) return {};
  const Labels& labels = LabelsTowards(group);
  std::vector<NextHop> next_hops;
  Parts kinds;
  for (const PortIndex port : routing_.TableOf(s).Towards(host)) {
    const Adjacency::Port& link = routing_.PortsOf(s)[port];
    const PathClasses::Class rest = classes_.Between(routing_.SwitchAt(link.peer), group);
    const Part kind = HopOf(link, labels);
    const auto known = std::ranges::find(kinds, kind);
    next_hops.push_back(
        {classes_.CapacityVia(link.out, rest), static_cast<uint16_t>(known - kinds.begin())});
    if (known == kinds.end()) kinds.push_back(kind);
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
