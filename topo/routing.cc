// SPDX-License-Identifier: Apache-2.0

#include "topo/routing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>

#include "core/check.h"
#include "topo/path_classes.h"

namespace heddle {
namespace {

constexpr uint32_t kUnreachable = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kTooManyPathIds = 1 << 20;  // From here on, it does not matter how many.

}  // namespace

Routing::Routing(const Graph& graph) : graph_(graph), adjacency_(graph) {
  FindLeaves();
  distances_.assign(graph.switches.size(), std::vector<uint32_t>(with_hosts_.size()));
  for (size_t l = 0; l < with_hosts_.size(); ++l) {
    const std::vector<uint32_t> distances = DistancesTo(with_hosts_[l]);
    for (size_t s = 0; s < distances.size(); ++s) distances_[s][l] = distances[s];
  }
  for (SwitchId s = 0; s < graph.switches.size(); ++s) {
    const size_t tier = static_cast<size_t>(graph.switches[s].tier);
    if (tier >= radix_of_tier_.size()) radix_of_tier_.resize(tier + 1, 1);
    uplinks_.push_back(FindUplinks(s));
    const uint32_t uplinks = static_cast<uint32_t>(uplinks_.back().size());
    radix_of_tier_[tier] = std::max(radix_of_tier_[tier], uplinks);
  }
  for (SwitchId s = 0; s < graph.switches.size(); ++s) tables_.push_back(MakeTable(s));
}

// The numbers do not depend on which links are up.
void Routing::FindLeaves() {
  number_.assign(graph_.switches.size(), kUnreachable);
  std::map<Numbers, uint16_t> known;
  std::vector<bool> is_whole;  // By leaf: all links of its first host are up.
  for (uint32_t h = 0; h < graph_.hosts; ++h) {
    const HostId host = static_cast<HostId>(h);
    for (const Adjacency::Port& port : adjacency_.Of(h)) {
      uint32_t& number = number_[SwitchAt(port.peer)];
      if (number != kUnreachable) continue;
      number = static_cast<uint32_t>(with_hosts_.size());
      with_hosts_.push_back(SwitchAt(port.peer));
    }
    const Numbers all = NumbersOf(host, /*up=*/false);
    const Numbers up = NumbersOf(host, /*up=*/true);
    const auto [leaf, is_new] = known.emplace(all, static_cast<uint16_t>(known.size()));
    leaf_index_of_host_.push_back(leaf->second);
    if (is_new) leaves_.push_back(all);
    if (is_new) first_hosts_.push_back(host);
    if (is_new) is_whole.push_back(up == all);
    if (!is_whole[leaf->second] && up == all) first_hosts_[leaf->second] = host;
    is_whole[leaf->second] = is_whole[leaf->second] || up == all;
    if (!up.empty() && up != all) partly_up_.emplace(host, up);
    const auto first = std::ranges::find(adjacency_.Of(h), true, &Adjacency::Port::up);
    const bool any = first != adjacency_.Of(h).end();
    leaf_of_host_.push_back(SwitchAt(any ? first->peer : adjacency_.Of(h).front().peer));
  }
}

Routing::Numbers Routing::NumbersOf(HostId h, bool up) const {
  Numbers numbers;
  for (const Adjacency::Port& port : adjacency_.Of(h)) {
    if (port.up || !up) numbers.push_back(number_[SwitchAt(port.peer)]);
  }
  std::ranges::sort(numbers);
  const auto same = std::ranges::unique(numbers);
  numbers.erase(same.begin(), same.end());
  return numbers;
}

const Routing::Numbers& Routing::ReachedBy(HostId h) const {
  const auto part = partly_up_.find(h);
  return part == partly_up_.end() ? leaves_[leaf_index_of_host_[h]] : part->second;
}

uint32_t Routing::DistanceTo(SwitchId s, const Numbers& leaf) const {
  uint32_t least = kUnreachable;
  for (const uint32_t number : leaf) least = std::min(least, distances_[s][number]);
  return least;
}

// Links between the switches where they begin.
uint32_t Routing::DistanceBetween(HostId src, HostId dst) const {
  const PortIndex port = FirstHops(src, dst).front();
  return DistanceTo(SwitchAt(adjacency_.Of(src)[port].peer), ReachedBy(dst));
}

std::vector<SwitchId> Routing::SwitchesOf(size_t leaf) const {
  std::vector<SwitchId> switches;
  for (const uint32_t number : leaves_[leaf]) switches.push_back(with_hosts_[number]);
  return switches;
}

bool Routing::IsAttached(SwitchId s, HostId h) const { return DistanceTo(s, ReachedBy(h)) == 0; }

Host::FirstHops Routing::FirstHopsOf(HostId src) const {
  Host::FirstHops hops;
  for (const Numbers& leaf : leaves_) hops.sets.push_back(FirstHops(src, leaf));
  hops.set_of_host = leaf_index_of_host_;
  for (const auto& [dst, part] : partly_up_) {
    hops.set_of_host[dst] = static_cast<uint16_t>(hops.sets.size());
    hops.sets.push_back(FirstHops(src, part));
  }
  return hops;
}

std::vector<PortIndex> Routing::FirstHops(HostId src, const Numbers& dst) const {
  const std::vector<Adjacency::Port>& links = adjacency_.Of(src);
  const bool any_up = std::ranges::any_of(links, &Adjacency::Port::up);
  std::vector<PortIndex> nearest;
  uint32_t least = kUnreachable;
  for (size_t i = 0; i < links.size(); ++i) {
    if (any_up && !links[i].up) continue;
    const uint32_t distance = DistanceTo(SwitchAt(links[i].peer), dst);
    if (distance < least) nearest.clear();
    least = std::min(least, distance);
    if (distance == least) nearest.push_back(static_cast<PortIndex>(i));
  }
  return nearest;
}

// Breadth first over switches.
std::vector<uint32_t> Routing::DistancesTo(SwitchId leaf) const {
  std::vector<uint32_t> distances(graph_.switches.size(), kUnreachable);
  std::queue<SwitchId> frontier;
  distances[leaf] = 0;
  frontier.push(leaf);
  while (!frontier.empty()) {
    const SwitchId from = frontier.front();
    frontier.pop();
    for (const Adjacency::Port& port : PortsOf(from)) {
      if (!port.up || graph_.IsHost(port.peer)) continue;
      if (distances[SwitchAt(port.peer)] != kUnreachable) continue;
      distances[SwitchAt(port.peer)] = distances[from] + 1;
      frontier.push(SwitchAt(port.peer));
    }
  }
  return distances;
}

std::vector<PortIndex> Routing::FindUplinks(SwitchId s) const {
  std::vector<PortIndex> uplinks;
  const std::vector<Adjacency::Port>& ports = PortsOf(s);
  for (size_t p = 0; p < ports.size(); ++p) {
    const bool up = !graph_.IsHost(ports[p].peer) &&
                    graph_.switches[SwitchAt(ports[p].peer)].tier > graph_.switches[s].tier;
    if (up) uplinks.push_back(static_cast<PortIndex>(p));
  }
  return uplinks;
}

uint32_t Routing::PathDivisor(int tier) const {
  uint64_t divisor = 1;
  for (int below = 0; below < tier; ++below) {
    divisor = std::min(divisor * radix_of_tier_[static_cast<size_t>(below)], kTooManyPathIds);
  }
  return static_cast<uint32_t>(divisor);
}

uint32_t Routing::PathPart(SwitchId s, PortIndex port) const {
  const std::vector<PortIndex>& uplinks = tables_[s].uplinks;
  const auto uplink = std::ranges::lower_bound(uplinks, port);
  if (uplink == uplinks.end() || *uplink != port) return 0;
  return static_cast<uint32_t>(uplink - uplinks.begin()) * tables_[s].path_divisor;
}

// By number. Port by port, because that reads the distances in the order in which they lie.
std::vector<std::vector<PortIndex>> Routing::PortsTowardsLeaves(SwitchId s) const {
  std::vector<std::vector<PortIndex>> towards(with_hosts_.size());
  const std::vector<Adjacency::Port>& ports = PortsOf(s);
  for (size_t p = 0; p < ports.size(); ++p) {
    if (!ports[p].up || graph_.IsHost(ports[p].peer)) continue;
    const std::vector<uint32_t>& there = distances_[SwitchAt(ports[p].peer)];
    for (size_t l = 0; l < towards.size(); ++l) {
      if (there[l] < distances_[s][l]) towards[l].push_back(static_cast<PortIndex>(p));
    }
  }
  return towards;
}

// Towards those of its switches that are nearest; `towards` each alone.
std::vector<PortIndex> Routing::PortsTowards(
    SwitchId s, const Numbers& leaf, const std::vector<std::vector<PortIndex>>& towards) const {
  const uint32_t distance = DistanceTo(s, leaf);
  std::vector<PortIndex> ports;
  for (const uint32_t number : leaf) {
    if (distances_[s][number] != distance) continue;
    ports.insert(ports.end(), towards[number].begin(), towards[number].end());
  }
  std::ranges::sort(ports);
  const auto same = std::ranges::unique(ports);
  ports.erase(same.begin(), same.end());
  return ports;
}

std::vector<PortIndex> Routing::PortsToHost(SwitchId leaf, uint32_t host) const {
  const std::vector<Adjacency::Port>& links = PortsOf(leaf);
  std::vector<PortIndex> ports;
  for (size_t p = 0; p < links.size(); ++p) {
    if (links[p].peer == host && links[p].up) ports.push_back(static_cast<PortIndex>(p));
  }
  return ports;
}

RoutingTable Routing::MakeTable(SwitchId s) const {
  RoutingTable table;
  table.uplinks = uplinks_[s];
  table.path_divisor = PathDivisor(graph_.switches[s].tier);
  std::map<std::vector<PortIndex>, uint16_t> known;
  const auto set_of = [&](const std::vector<PortIndex>& ports) {
    const auto [set, is_new] = known.emplace(ports, static_cast<uint16_t>(known.size()));
    if (is_new) {
      table.sets.push_back(
          {static_cast<uint32_t>(table.ports.size()), static_cast<uint32_t>(ports.size())});
      table.ports.insert(table.ports.end(), ports.begin(), ports.end());
    }
    return set->second;
  };
  // Hosts of one leaf are reached alike from everywhere but there, unless some links are down.
  const std::vector<std::vector<PortIndex>> towards = PortsTowardsLeaves(s);
  std::vector<uint16_t> set_of_leaf(leaves_.size());
  for (size_t l = 0; l < leaves_.size(); ++l) {
    if (DistanceTo(s, l) != 0) set_of_leaf[l] = set_of(PortsTowards(s, leaves_[l], towards));
  }
  for (uint32_t h = 0; h < graph_.hosts; ++h) {
    const HostId host = static_cast<HostId>(h);
    if (IsAttached(s, host)) {
      table.set_of_host.push_back(set_of(PortsToHost(s, h)));
    } else if (const auto part = partly_up_.find(host); part != partly_up_.end()) {
      table.set_of_host.push_back(set_of(PortsTowards(s, part->second, towards)));
    } else {
      table.set_of_host.push_back(set_of_leaf[LeafIndexOf(host)]);
    }
  }
  return table;
}

std::vector<std::vector<Channel>> Routing::PathsBetween(HostId src, HostId dst) const {
  std::vector<std::vector<Channel>> paths;
  std::vector<Channel> path;
  auto walk = [&](auto&& self, const Adjacency::Port& link) -> void {
    path.push_back(link.out);
    if (link.peer == dst) {
      paths.push_back(path);
    } else {
      const SwitchId s = SwitchAt(link.peer);
      for (const PortIndex port : tables_[s].Towards(dst)) self(self, PortsOf(s)[port]);
    }
    path.pop_back();
  };
  for (const PortIndex port : FirstHops(src, dst)) walk(walk, adjacency_.Of(src)[port]);
  return paths;
}

std::unique_ptr<PathTable> Routing::MakePathTable() const {
  std::vector<uint16_t> leaf_of_host;
  for (uint32_t h = 0; h < graph_.hosts; ++h) {
    leaf_of_host.push_back(LeafIndexOf(static_cast<HostId>(h)));
  }
  auto table = std::make_unique<PathTable>(leaf_of_host, leaves_.size());
  PathClasses classes(*this);
  for (size_t dst = 0; dst < leaves_.size(); ++dst) {
    for (size_t src = 0; src < leaves_.size(); ++src) {
      const SwitchId from = LeafOf(first_hosts_[src]);
      if (IsAttached(from, first_hosts_[dst])) continue;
      table->Set(src, dst, classes.ChoicesOf(classes.Between(from, dst)));
    }
  }
  return table;
}

std::vector<std::string> Routing::Unreachable() const {
  std::vector<std::string> pairs;
  for (const HostId dst : first_hosts_) {
    for (const HostId src : first_hosts_) {
      if (DistanceBetween(src, dst) != kUnreachable) continue;
      pairs.push_back(graph_.switches[LeafOf(src)].name + " cannot reach " +
                      graph_.switches[LeafOf(dst)].name);
    }
  }
  return pairs;
}

uint32_t Routing::MostSwitches() const {
  uint32_t most = 0;
  for (const HostId src : first_hosts_) {
    for (const HostId dst : first_hosts_) {
      const uint32_t distance = DistanceBetween(src, dst);
      if (distance != kUnreachable) most = std::max(most, distance + 1);
    }
  }
  return most;
}

double Routing::MeanLinks() const {
  double sum = 0;
  for (const HostId src : first_hosts_) {
    for (const HostId dst : first_hosts_) sum += DistanceBetween(src, dst);
  }
  const size_t pairs = leaves_.size() * (leaves_.size() - 1);
  return 2 + (pairs == 0 ? 0 : sum / static_cast<double>(pairs));
}

}  // namespace heddle
