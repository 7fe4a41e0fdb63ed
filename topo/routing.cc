// SPDX-License-Identifier: Apache-2.0

#include "topo/routing.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "core/check.h"
#include "topo/path_classes.h"

namespace heddle {
namespace {

constexpr uint32_t kUnreachable = std::numeric_limits<uint32_t>::max();
constexpr uint16_t kFar = std::numeric_limits<uint16_t>::max();  // No path.
constexpr size_t kMostGroups = 1 << 16;        // HostGroup numbers them in 16 bits.
constexpr uint64_t kTooManyPathIds = 1 << 20;  // Products of uplinks are cut to this.

// The words that hold one bit for each of `things`.
constexpr size_t WordsFor(size_t things) { return (things + 63) / 64; }

bool Has(std::span<const uint64_t> bits, size_t i) { return (bits[i / 64] >> i % 64 & 1) != 0; }

// Sets bit i of `changes` where bit i of `bits` differs from bit i - 1, or from 0 for the first.
void AddChanges(std::span<const uint64_t> bits, std::span<uint64_t> changes) {
  uint64_t carry = 0;
  for (size_t w = 0; w < bits.size(); ++w) {
    changes[w] |= bits[w] ^ (bits[w] << 1 | carry);
    carry = bits[w] >> 63;
  }
}

}  // namespace

// Numbers the sets of ports that a routing table has.
class Routing::SetsOfPorts {
 public:
  explicit SetsOfPorts(RoutingTable& table) : table_(table) {}

  uint16_t next() const { return static_cast<uint16_t>(table_.sets.size()); }

  // Adds a set of its own.
  uint16_t Add(const std::vector<PortIndex>& ports) {
    const uint16_t added = next();
    table_.sets.push_back(
        {static_cast<uint32_t>(table_.ports.size()), static_cast<uint32_t>(ports.size())});
    table_.ports.insert(table_.ports.end(), ports.begin(), ports.end());
    return added;
  }

  // Returns the set that all groups behind these ports share.
  uint16_t Share(const std::vector<PortIndex>& ports) {
    const auto found = shared_.find(ports);
    return found != shared_.end() ? found->second : shared_[ports] = Add(ports);
  }

 private:
  RoutingTable& table_;
  std::map<std::vector<PortIndex>, uint16_t> shared_;
};

Routing::Routing(const Graph& graph) : graph_(graph), adjacency_(graph) {
  FindLeaves();
  FindGroups();
  FindSwitchLinks();
  const std::vector<std::vector<Bits>> behind = FindDistances();
  for (SwitchId s = 0; s < graph.switches.size(); ++s) {
    const size_t tier = static_cast<size_t>(graph.switches[s].tier);
    if (tier >= radix_of_tier_.size()) radix_of_tier_.resize(tier + 1, 1);
    uplinks_.push_back(FindUplinks(s));
    const uint32_t uplinks = static_cast<uint32_t>(uplinks_.back().size());
    radix_of_tier_[tier] = std::max(radix_of_tier_[tier], uplinks);
  }
  for (SwitchId s = 0; s < graph.switches.size(); ++s) {
    tables_.push_back(MakeTable(s, behind[s]));
  }
}

// The numbers of leaves do not depend on which links are up.
void Routing::FindLeaves() {
  has_hosts_.assign(graph_.switches.size(), false);
  std::map<std::vector<SwitchId>, uint16_t> known;
  std::vector<bool> is_whole;  // By leaf: all links of its first host are up.
  for (uint32_t h = 0; h < graph_.hosts; ++h) {
    const HostId host = static_cast<HostId>(h);
    const std::vector<SwitchId> all = SwitchesAt(host, /*up=*/false);
    const std::vector<SwitchId> up = SwitchesAt(host, /*up=*/true);
    for (const SwitchId s : all) has_hosts_[s] = true;
    const auto [leaf, is_new] = known.emplace(all, static_cast<uint16_t>(known.size()));
    leaf_index_of_host_.push_back(leaf->second);
    if (is_new) attached_to_.push_back(all);
    if (is_new) first_hosts_.push_back(host);
    if (is_new) is_whole.push_back(up == all);
    if (!is_whole[leaf->second] && up == all) first_hosts_[leaf->second] = host;
    is_whole[leaf->second] = is_whole[leaf->second] || up == all;
    if (!up.empty() && up != all) partly_up_.push_back(host);
    const auto first = std::ranges::find(NicsOf(host), true, &Adjacency::Port::up);
    const bool any = first != NicsOf(host).end();
    leaf_of_host_.push_back(SwitchAt(any ? first->peer : NicsOf(host).front().peer));
  }
}

void Routing::FindGroups() {
  HEDDLE_CHECK(leaves() + partly_up_.size() <= kMostGroups, "{} leaves and {} hosts apart",
               leaves(), partly_up_.size());
  std::vector<HostGroup> groups(graph_.hosts);
  for (const HostId host : partly_up_) {
    groups[host] = {static_cast<uint16_t>(attached_to_.size()), 0};
    attached_to_.push_back(SwitchesAt(host, /*up=*/true));
  }
  members_.resize(leaves());
  for (uint32_t h = 0; h < graph_.hosts; ++h) {
    const HostId host = static_cast<HostId>(h);
    if (std::ranges::binary_search(partly_up_, host)) continue;
    std::vector<HostId>& members = members_[LeafIndexOf(host)];
    groups[h] = {LeafIndexOf(host), static_cast<uint16_t>(members.size())};
    members.push_back(host);
  }
  groups_ = std::make_shared<const HostGroups>(std::move(groups));
}

std::vector<SwitchId> Routing::SwitchesAt(HostId h, bool up) const {
  std::vector<SwitchId> switches;
  for (const Adjacency::Port& port : NicsOf(h)) {
    if (port.up || !up) switches.push_back(SwitchAt(port.peer));
  }
  std::ranges::sort(switches);
  const auto same = std::ranges::unique(switches);
  switches.erase(same.begin(), same.end());
  return switches;
}

uint32_t Routing::DistanceTo(SwitchId s, size_t group) const {
  const uint16_t distance = distances_[s][group];
  return distance == kFar ? kUnreachable : distance;
}

bool Routing::IsAttached(SwitchId s, HostId h) const { return DistanceTo(s, GroupOf(h)) == 0; }

// Visits the links that host `src` may use: those that are up, or all if none is.
template <class Visit>
void Routing::ForEachFirstLink(HostId src, const Visit& visit) const {
  const std::vector<Adjacency::Port>& links = NicsOf(src);
  const bool any_up = std::ranges::any_of(links, &Adjacency::Port::up);
  for (size_t i = 0; i < links.size(); ++i) {
    if (links[i].up || !any_up) visit(static_cast<PortIndex>(i), SwitchAt(links[i].peer));
  }
}

// Finds the number of links between the first and the last switch of the shortest paths from host
// `src` to each group.
std::vector<uint32_t> Routing::DistancesFrom(HostId src) const {
  std::vector<uint32_t> least(attached_to_.size(), kUnreachable);
  ForEachFirstLink(src, [&](PortIndex, SwitchId first) {
    for (size_t g = 0; g < least.size(); ++g) least[g] = std::min(least[g], DistanceTo(first, g));
  });
  return least;
}

std::vector<PortIndex> Routing::FirstHopsTo(HostId src, size_t group) const {
  std::vector<PortIndex> nearest;
  uint32_t least = kUnreachable;
  ForEachFirstLink(src, [&](PortIndex link, SwitchId first) {
    const uint32_t distance = DistanceTo(first, group);
    if (distance < least) nearest.clear();
    least = std::min(least, distance);
    if (distance == least) nearest.push_back(link);
  });
  return nearest;
}

Host::FirstHops Routing::FirstHopsOf(HostId src) const {
  Host::FirstHops hops;
  for (size_t g = 0; g < attached_to_.size(); ++g) hops.sets.push_back(FirstHopsTo(src, g));
  for (const HostGroup& at : groups_->of_host) hops.set_of_host.push_back(at.group);
  return hops;
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

// Searches breadth first over switches, from all groups at once. Each group has one bit in the
// words of every switch, so that a link passes on 64 searches in one step. Returns, by switch and
// by its links, the groups to which the link begins a shortest path.
std::vector<std::vector<Routing::Bits>> Routing::FindDistances() {
  const size_t words = WordsFor(attached_to_.size());
  distances_.assign(switch_links_.size(), std::vector<uint16_t>(attached_to_.size(), kFar));
  std::vector<Bits> reached(switch_links_.size(), Bits(words, 0));  // Searches that have come here.
  std::vector<std::vector<Bits>> behind;
  for (const std::vector<SwitchLink>& links : switch_links_) {
    behind.emplace_back(links.size(), Bits(words, 0));
  }
  for (size_t group = 0; group < attached_to_.size(); ++group) {
    for (const SwitchId s : attached_to_[group]) {
      reached[s][group / 64] |= uint64_t{1} << group % 64;
      distances_[s][group] = 0;
    }
  }
  std::vector<Bits> frontier = reached;  // Searches that came in the last step.
  bool found = true;
  for (uint16_t distance = 1; found; ++distance) {
    found = false;
    std::vector<Bits> next(switch_links_.size(), Bits(words, 0));
    for (SwitchId s = 0; s < switch_links_.size(); ++s) {
      const std::vector<SwitchLink>& links = switch_links_[s];
      for (size_t i = 0; i < links.size(); ++i) {
        const Bits& there = frontier[links[i].peer];
        for (size_t w = 0; w < words; ++w) {
          const uint64_t come = there[w] & ~reached[s][w];  // Searches that come over this link.
          next[s][w] |= come;
          behind[s][i][w] |= come;
        }
      }
      for (size_t w = 0; w < words; ++w) {
        reached[s][w] |= next[s][w];
        found = found || next[s][w] != 0;
        for (uint64_t bits = next[s][w]; bits != 0; bits &= bits - 1) {
          distances_[s][w * 64 + static_cast<size_t>(std::countr_zero(bits))] = distance;
        }
      }
    }
    frontier = std::move(next);
  }
  return behind;
}

std::vector<PortIndex> Routing::FindUplinks(SwitchId s) const {
  std::vector<PortIndex> uplinks;
  const std::vector<Adjacency::Port>& ports = PortsOf(s);
  for (size_t p = 0; p < ports.size(); ++p) {
    const bool up = graph_.TierOf(ports[p].peer) > graph_.switches[s].tier;
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

std::vector<PortIndex> Routing::PortsToHost(SwitchId leaf, HostId host) const {
  const std::vector<Adjacency::Port>& links = PortsOf(leaf);
  std::vector<PortIndex> ports;
  const VertexId peer = graph_.VertexOfHost(host);
  for (size_t p = 0; p < links.size(); ++p) {
    if (links[p].peer == peer && links[p].up) ports.push_back(static_cast<PortIndex>(p));
  }
  return ports;
}

// `behind` is what FindDistances() returned for the links of `s`.
RoutingTable Routing::MakeTable(SwitchId s, const std::vector<Bits>& behind) const {
  RoutingTable table;
  table.uplinks = uplinks_[s];
  table.path_divisor = PathDivisor(graph_.switches[s].tier);
  table.SetGroups(groups_);
  SetsOfPorts sets(table);
  const std::vector<SwitchLink>& links = switch_links_[s];
  // Groups that do not lie behind the same links as the group before.
  Bits starts(WordsFor(attached_to_.size()), 0);
  for (const Bits& groups : behind) AddChanges(groups, starts);
  // Empty for the first group, and behind a group that is attached to `s`.
  std::optional<RoutingTable::GroupSets> last;
  for (size_t g = 0; g < attached_to_.size(); ++g) {
    if (DistanceTo(s, g) == 0) {
      table.sets_of_group.push_back(SetsOfAttached(s, g, sets));
      last.reset();
      continue;
    }
    if (!last || Has(starts, g)) {
      std::vector<PortIndex> ports;
      for (size_t i = 0; i < links.size(); ++i) {
        if (Has(behind[i], g)) ports.push_back(links[i].port);
      }
      last = {sets.Share(ports), 0};
    }
    table.sets_of_group.push_back(*last);
  }
  table.FindBelow();
  return table;
}

// Returns the sets of a group that is attached to switch `s`.
RoutingTable::GroupSets Routing::SetsOfAttached(SwitchId s, size_t group, SetsOfPorts& sets) const {
  if (group >= leaves()) return {sets.Share(PortsToHost(s, FirstOf(group))), 0};
  const uint16_t first = sets.next();
  for (const HostId host : members_[group]) sets.Add(PortsToHost(s, host));
  return {first, 1};
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
  auto table = std::make_unique<PathTable>(leaf_of_host, leaves());
  PathClasses classes(*this);
  for (size_t dst = 0; dst < leaves(); ++dst) {
    for (size_t src = 0; src < leaves(); ++src) {
      const SwitchId from = LeafOf(first_hosts_[src]);
      if (IsAttached(from, first_hosts_[dst])) continue;
      table->Set(src, dst, classes.ChoicesOf(classes.Between(from, dst)));
    }
  }
  return table;
}

// Visits all pairs of leaves, by index, with the distance from the first to the second; also each
// leaf with itself.
template <class Visit>
void Routing::ForEachPair(const Visit& visit) const {
  for (size_t src = 0; src < leaves(); ++src) {
    const std::vector<uint32_t> distances = DistancesFrom(first_hosts_[src]);
    for (size_t dst = 0; dst < leaves(); ++dst) {
      visit(src, dst, distances[GroupOf(first_hosts_[dst])]);
    }
  }
}

std::vector<std::string> Routing::Unreachable() const {
  std::vector<std::pair<size_t, size_t>> found;  // Destination and source.
  ForEachPair([&](size_t src, size_t dst, uint32_t distance) {
    if (distance == kUnreachable) found.emplace_back(dst, src);
  });
  std::ranges::sort(found);
  const auto name = [&](size_t leaf) { return graph_.switches[LeafOf(first_hosts_[leaf])].name; };
  std::vector<std::string> pairs;
  for (const auto& [dst, src] : found) pairs.push_back(name(src) + " cannot reach " + name(dst));
  return pairs;
}

uint32_t Routing::MostSwitches() const {
  uint32_t most = 0;
  ForEachPair([&](size_t, size_t, uint32_t distance) {
    if (distance != kUnreachable) most = std::max(most, distance + 1);
  });
  return most;
}

double Routing::MeanLinks() const {
  double sum = 0;
  ForEachPair([&](size_t, size_t, uint32_t distance) { sum += distance; });
  const size_t pairs = leaves() * (leaves() - 1);
  return 2 + (pairs == 0 ? 0 : sum / static_cast<double>(pairs));
}

}  // namespace heddle
