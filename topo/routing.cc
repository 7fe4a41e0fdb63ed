// SPDX-License-Identifier: Apache-2.0

#include "topo/routing.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <utility>

#include "core/check.h"
#include "topo/path_classes.h"

namespace heddle {
namespace {

constexpr uint32_t kUnreachable = std::numeric_limits<uint32_t>::max();
constexpr uint16_t kFar = std::numeric_limits<uint16_t>::max();  // No path.
constexpr size_t kMostGroups = 1 << 16;        // HostGroup numbers them in 16 bits.
constexpr uint64_t kTooManyPathIds = 1 << 20;  // Products of uplinks are cut to this.

}  // namespace

Routing::Routing(const Graph& graph) : graph_(graph), adjacency_(graph) {
  FindLeaves();
  FindGroups();
  FindSwitchLinks();
  FindDistances();
  for (SwitchId s = 0; s < graph.switches.size(); ++s) {
    const size_t tier = static_cast<size_t>(graph.switches[s].tier);
    if (tier >= radix_of_tier_.size()) radix_of_tier_.resize(tier + 1, 1);
    uplinks_.push_back(FindUplinks(s));
    const uint32_t uplinks = static_cast<uint32_t>(uplinks_.back().size());
    radix_of_tier_[tier] = std::max(radix_of_tier_[tier], uplinks);
  }
  for (SwitchId s = 0; s < graph.switches.size(); ++s) tables_.push_back(MakeTable(s));
}

// The numbers of leaves and switches do not depend on which links are up.
void Routing::FindLeaves() {
  number_.assign(graph_.switches.size(), kUnreachable);
  std::map<Numbers, uint16_t> known;
  std::vector<bool> is_whole;  // By leaf: all links of its first host are up.
  for (uint32_t h = 0; h < graph_.hosts; ++h) {
    const HostId host = static_cast<HostId>(h);
    for (const Adjacency::Port& port : NicsOf(host)) {
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
    const auto first = std::ranges::find(NicsOf(host), true, &Adjacency::Port::up);
    const bool any = first != NicsOf(host).end();
    leaf_of_host_.push_back(SwitchAt(any ? first->peer : NicsOf(host).front().peer));
  }
}

void Routing::FindGroups() {
  HEDDLE_CHECK(leaves_.size() + partly_up_.size() <= kMostGroups, "{} leaves and {} hosts apart",
               leaves_.size(), partly_up_.size());
  std::vector<HostGroup> groups;
  members_.resize(leaves_.size());
  size_t next = leaves_.size();
  for (uint32_t h = 0; h < graph_.hosts; ++h) {
    const HostId host = static_cast<HostId>(h);
    if (partly_up_.contains(host)) {
      groups.push_back({static_cast<uint16_t>(next++), 0});
      continue;
    }
    std::vector<HostId>& members = members_[LeafIndexOf(host)];
    groups.push_back({LeafIndexOf(host), static_cast<uint16_t>(members.size())});
    members.push_back(host);
  }
  groups_ = std::make_shared<const std::vector<HostGroup>>(std::move(groups));
}

Routing::Numbers Routing::NumbersOf(HostId h, bool up) const {
  Numbers numbers;
  for (const Adjacency::Port& port : NicsOf(h)) {
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
  uint16_t least = kFar;
  for (const uint32_t number : leaf) least = std::min(least, distances_[s][number]);
  return least == kFar ? kUnreachable : least;
}

// Returns the number of links between the first and the last switch of a shortest path.
uint32_t Routing::DistanceBetween(HostId src, HostId dst) const {
  const PortIndex port = FirstHops(src, dst).front();
  return DistanceTo(SwitchAt(NicsOf(src)[port].peer), ReachedBy(dst));
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
  const std::vector<Adjacency::Port>& links = NicsOf(src);
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

void Routing::FindSwitchLinks() {
  switch_links_.resize(graph_.switches.size());
  for (SwitchId s = 0; s < switch_links_.size(); ++s) {
    const std::vector<Adjacency::Port>& ports = PortsOf(s);
    for (size_t p = 0; p < ports.size(); ++p) {
      if (!ports[p].up || graph_.IsHost(ports[p].peer)) continue;
      switch_links_[s].push_back({SwitchAt(ports[p].peer), static_cast<PortIndex>(p)});
    }
  }
}

// Searches breadth first over switches, from all switches with hosts at once. Each of these has one
// bit in the words of every switch, so that a link passes on 64 searches in one step.
void Routing::FindDistances() {
  using Bits = std::vector<uint64_t>;
  const size_t words = (with_hosts_.size() + 63) / 64;
  distances_.assign(switch_links_.size(), std::vector<uint16_t>(with_hosts_.size(), kFar));
  std::vector<Bits> reached(switch_links_.size(), Bits(words, 0));  // Searches that came so far.
  for (size_t number = 0; number < with_hosts_.size(); ++number) {
    reached[with_hosts_[number]][number / 64] |= uint64_t{1} << number % 64;
    distances_[with_hosts_[number]][number] = 0;
  }
  std::vector<Bits> frontier = reached;  // Searches that reached it in the last step.
  bool found = true;
  for (uint16_t distance = 1; found; ++distance) {
    found = false;
    std::vector<Bits> next(switch_links_.size(), Bits(words, 0));
    for (SwitchId s = 0; s < switch_links_.size(); ++s) {
      for (const SwitchLink& link : switch_links_[s]) {
        for (size_t w = 0; w < words; ++w) next[s][w] |= frontier[link.peer][w];
      }
      for (size_t w = 0; w < words; ++w) {
        next[s][w] &= ~reached[s][w];
        reached[s][w] |= next[s][w];
        found = found || next[s][w] != 0;
        for (uint64_t bits = next[s][w]; bits != 0; bits &= bits - 1) {
          distances_[s][w * 64 + static_cast<size_t>(std::countr_zero(bits))] = distance;
        }
      }
    }
    frontier = std::move(next);
  }
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

// Finds the ports that begin a shortest path to the nearest switches of `leaf`, ascending.
void Routing::FindPortsTowards(SwitchId s, const Numbers& leaf,
                               std::vector<PortIndex>& ports) const {
  uint16_t least = kFar;
  for (const uint32_t number : leaf) least = std::min(least, distances_[s][number]);
  ports.clear();
  for (const SwitchLink& link : switch_links_[s]) {
    const std::vector<uint16_t>& there = distances_[link.peer];
    const auto is_nearer = [&](uint32_t number) { return there[number] < least; };
    if (std::ranges::any_of(leaf, is_nearer)) ports.push_back(link.port);
  }
}

std::vector<PortIndex> Routing::PortsToHost(SwitchId leaf, HostId host) const {
  const std::vector<Adjacency::Port>& links = PortsOf(leaf);
  std::vector<PortIndex> ports;
  const VertexId peer = graph_.VertexOfHost(host);
  for (size_t p = 0; p < links.size(); ++p) {
    if (links[p].peer == peer && links[p].up) ports.push_back(static_cast<PortIndex>(p));
  }
  return ports;
}

RoutingTable Routing::MakeTable(SwitchId s) const {
  RoutingTable table;
  table.uplinks = uplinks_[s];
  table.path_divisor = PathDivisor(graph_.switches[s].tier);
  table.groups = groups_;
  table.sets_of_group.resize(leaves_.size() + partly_up_.size());
  const auto add = [&](const std::vector<PortIndex>& ports) {
    table.sets.push_back(
        {static_cast<uint32_t>(table.ports.size()), static_cast<uint32_t>(ports.size())});
    table.ports.insert(table.ports.end(), ports.begin(), ports.end());
    return static_cast<uint16_t>(table.sets.size() - 1);
  };
  std::map<std::vector<PortIndex>, uint16_t> known;
  const auto shared = [&](const std::vector<PortIndex>& ports) -> RoutingTable::GroupSets {
    const auto found = known.find(ports);
    return {found != known.end() ? found->second : known[ports] = add(ports), 0};
  };
  std::vector<PortIndex> ports;
  for (size_t l = 0; l < leaves_.size(); ++l) {
    if (DistanceTo(s, l) != 0) {
      FindPortsTowards(s, leaves_[l], ports);
      table.sets_of_group[l] = shared(ports);
      continue;
    }
    table.sets_of_group[l] = {static_cast<uint16_t>(table.sets.size()), 1};
    for (const HostId host : members_[l]) add(PortsToHost(s, host));
  }
  for (const auto& [host, part] : partly_up_) {
    FindPortsTowards(s, part, ports);
    table.sets_of_group[(*groups_)[host].group] =
        shared(IsAttached(s, host) ? PortsToHost(s, host) : ports);
  }
  return table;
}

std::vector<std::vector<Channel>> Routing::PathsBetween(HostId src, HostId dst) const {
  std::vector<std::vector<Channel>> paths;
  std::vector<Channel> path;
  auto walk = [&](auto&& self, const Adjacency::Port& link) -> void {
    path.push_back(link.out);
    if (link.peer == graph_.VertexOfHost(dst)) {
      paths.push_back(path);
    } else {
      const SwitchId s = SwitchAt(link.peer);
      for (const PortIndex port : tables_[s].Towards(dst)) self(self, PortsOf(s)[port]);
    }
    path.pop_back();
  };
  for (const PortIndex port : FirstHops(src, dst)) walk(walk, NicsOf(src)[port]);
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
