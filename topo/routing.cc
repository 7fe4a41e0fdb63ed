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
  leaf_index_.assign(graph.switches.size(), kUnreachable);
  for (uint32_t h = 0; h < graph.hosts; ++h) {
    HEDDLE_CHECK(adjacency_.Of(h).size() == 1, "host {} has {} links", h, adjacency_.Of(h).size());
    const SwitchId leaf = static_cast<SwitchId>(adjacency_.Of(h).front().peer - graph.hosts);
    leaf_of_host_.push_back(leaf);
    if (leaf_index_[leaf] != kUnreachable) continue;
    leaf_index_[leaf] = static_cast<uint32_t>(leaves_.size());
    leaves_.push_back(leaf);
    first_hosts_.push_back(static_cast<HostId>(h));
  }
  distances_.assign(graph.switches.size(), std::vector<uint32_t>(leaves_.size()));
  for (size_t l = 0; l < leaves_.size(); ++l) {
    const std::vector<uint32_t> distances = DistancesTo(leaves_[l]);
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

// By leaf index. Port by port, because that reads the distances in the order in which they lie.
std::vector<std::vector<PortIndex>> Routing::PortsTowardsLeaves(SwitchId s) const {
  std::vector<std::vector<PortIndex>> towards(leaves_.size());
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

std::vector<PortIndex> Routing::PortsToHost(SwitchId leaf, uint32_t host) const {
  const std::vector<Adjacency::Port>& ports = PortsOf(leaf);
  const auto port = std::ranges::find(ports, host, &Adjacency::Port::peer);
  if (!port->up) return {};
  return {static_cast<PortIndex>(port - ports.begin())};
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
  // Hosts of one leaf are reached alike from everywhere but that leaf.
  const std::vector<std::vector<PortIndex>> towards = PortsTowardsLeaves(s);
  std::vector<uint16_t> set_of_leaf(leaves_.size());
  for (size_t l = 0; l < leaves_.size(); ++l) {
    if (leaves_[l] != s) set_of_leaf[l] = set_of(towards[l]);
  }
  for (uint32_t h = 0; h < graph_.hosts; ++h) {
    const HostId host = static_cast<HostId>(h);
    table.set_of_host.push_back(leaf_of_host_[h] == s ? set_of(PortsToHost(s, h))
                                                      : set_of_leaf[LeafIndexOf(host)]);
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
  walk(walk, adjacency_.Of(src).front());
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
      if (src != dst) table->Set(src, dst, classes.ChoicesOf(classes.Between(leaves_[src], dst)));
    }
  }
  return table;
}

std::vector<std::string> Routing::Unreachable() const {
  std::vector<std::string> pairs;
  for (size_t l = 0; l < leaves_.size(); ++l) {
    for (const SwitchId other : leaves_) {
      if (distances_[other][l] != kUnreachable) continue;
      pairs.push_back(graph_.switches[other].name + " cannot reach " +
                      graph_.switches[leaves_[l]].name);
    }
  }
  return pairs;
}

uint32_t Routing::MostSwitches() const {
  uint32_t most = 0;
  for (const SwitchId leaf : leaves_) {
    for (const uint32_t distance : distances_[leaf]) {
      if (distance != kUnreachable) most = std::max(most, distance + 1);
    }
  }
  return most;
}

double Routing::MeanLinks() const {
  double sum = 0;
  for (const SwitchId leaf : leaves_) {
    for (const uint32_t distance : distances_[leaf]) sum += distance;
  }
  const size_t pairs = leaves_.size() * (leaves_.size() - 1);
  return 2 + (pairs == 0 ? 0 : sum / static_cast<double>(pairs));
}

}  // namespace heddle
