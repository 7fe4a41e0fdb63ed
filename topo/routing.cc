// SPDX-License-Identifier: Apache-2.0

#include "topo/routing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

#include "core/check.h"

namespace heddle {
namespace {

constexpr uint32_t kUnreachable = std::numeric_limits<uint32_t>::max();

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
  for (const SwitchId leaf : leaves_) {
    distances_.push_back(DistancesTo(static_cast<uint32_t>(graph.hosts) + leaf));
  }
  for (SwitchId s = 0; s < graph.switches.size(); ++s) {
    const size_t tier = static_cast<size_t>(graph.switches[s].tier);
    if (tier >= radix_of_tier_.size()) radix_of_tier_.resize(tier + 1, 1);
    uplinks_.push_back(FindUplinks(s));
    const uint32_t uplinks = static_cast<uint32_t>(uplinks_.back().size());
    radix_of_tier_[tier] = std::max(radix_of_tier_[tier], uplinks);
  }
}

// Breadth first over switches.
std::vector<uint32_t> Routing::DistancesTo(uint32_t vertex) const {
  std::vector<uint32_t> distances(graph_.vertices(), kUnreachable);
  std::queue<uint32_t> frontier;
  distances[vertex] = 0;
  frontier.push(vertex);
  while (!frontier.empty()) {
    const uint32_t from = frontier.front();
    frontier.pop();
    for (const Adjacency::Port& port : adjacency_.Of(from)) {
      if (graph_.IsHost(port.peer) || distances[port.peer] != kUnreachable) continue;
      distances[port.peer] = distances[from] + 1;
      frontier.push(port.peer);
    }
  }
  return distances;
}

std::vector<Routing::Step> Routing::NextHops(uint32_t vertex, HostId dst) const {
  const SwitchId leaf = leaf_of_host_[dst];
  const std::vector<uint32_t>& distances = distances_[leaf_index_[leaf]];
  const bool at_leaf = vertex == graph_.hosts + leaf;
  const std::vector<Adjacency::Port>& ports = adjacency_.Of(vertex);
  std::vector<Step> steps;
  for (size_t p = 0; p < ports.size(); ++p) {
    const uint32_t peer = ports[p].peer;
    const bool closer = at_leaf
                            ? peer == dst
                            : !graph_.IsHost(peer) && distances[peer] != kUnreachable &&
                                  (graph_.IsHost(vertex) || distances[peer] < distances[vertex]);
    if (closer) steps.push_back({static_cast<PortIndex>(p), peer, ports[p].out});
  }
  return steps;
}

std::vector<PortIndex> Routing::FindUplinks(SwitchId s) const {
  std::vector<PortIndex> uplinks;
  const std::vector<Adjacency::Port>& ports =
      adjacency_.Of(static_cast<uint32_t>(graph_.hosts) + s);
  for (size_t p = 0; p < ports.size(); ++p) {
    const bool up = !graph_.IsHost(ports[p].peer) &&
                    graph_.switches[ports[p].peer - graph_.hosts].tier > graph_.switches[s].tier;
    if (up) uplinks.push_back(static_cast<PortIndex>(p));
  }
  return uplinks;
}

uint32_t Routing::PathDivisor(int tier) const {
  uint32_t divisor = 1;
  for (int below = 0; below < tier; ++below) divisor *= radix_of_tier_[static_cast<size_t>(below)];
  return divisor;
}

RoutingTable Routing::TableOf(SwitchId s) const {
  RoutingTable table;
  table.uplinks = uplinks_[s];
  table.path_divisor = PathDivisor(graph_.switches[s].tier);
  const uint32_t vertex = static_cast<uint32_t>(graph_.hosts) + s;
  std::map<std::vector<PortIndex>, uint16_t> known;
  const auto set_towards = [&](HostId host) {
    std::vector<PortIndex> ports;
    for (const Step& step : NextHops(vertex, host)) ports.push_back(step.port);
    const auto [set, is_new] = known.emplace(ports, static_cast<uint16_t>(known.size()));
    if (is_new) {
      table.sets.push_back(
          {static_cast<uint32_t>(table.ports.size()), static_cast<uint32_t>(ports.size())});
      table.ports.insert(table.ports.end(), ports.begin(), ports.end());
    }
    return set->second;
  };
  // Hosts of one leaf are reached alike from everywhere but that leaf.
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> set_of_leaf(leaves_.size(), kNone);
  for (uint32_t h = 0; h < graph_.hosts; ++h) {
    const HostId host = static_cast<HostId>(h);
    uint32_t& shared = set_of_leaf[LeafIndexOf(host)];
    if (shared == kNone || leaf_of_host_[h] == s) shared = set_towards(host);
    table.set_of_host.push_back(static_cast<uint16_t>(shared));
  }
  return table;
}

std::vector<std::vector<Channel>> Routing::PathsBetween(HostId src, HostId dst) const {
  std::vector<std::vector<Channel>> paths;
  std::vector<Channel> path;
  auto walk = [&](auto&& self, uint32_t vertex) -> void {
    if (vertex == dst) {
      paths.push_back(path);
      return;
    }
    for (const Step& step : NextHops(vertex, dst)) {
      path.push_back(step.channel);
      self(self, step.peer);
      path.pop_back();
    }
  };
  walk(walk, src);
  return paths;
}

std::unique_ptr<PathTable> Routing::MakePathTable() const {
  std::vector<uint16_t> leaf_of_host;
  for (uint32_t h = 0; h < graph_.hosts; ++h) {
    leaf_of_host.push_back(LeafIndexOf(static_cast<HostId>(h)));
  }
  auto table = std::make_unique<PathTable>(leaf_of_host, leaves_.size());
  std::vector<std::vector<Step>> next_hops(graph_.switches.size());
  for (size_t dst = 0; dst < leaves_.size(); ++dst) {
    for (size_t s = 0; s < next_hops.size(); ++s) {
      next_hops[s] = NextHops(static_cast<uint32_t>(graph_.hosts + s), first_hosts_[dst]);
    }
    for (size_t src = 0; src < leaves_.size(); ++src) {
      if (src != dst) table->Set(src, dst, ChoicesBetween(leaves_[src], leaves_[dst], next_hops));
    }
  }
  return table;
}

// `next_hops` are those of each switch towards a host of `dst_leaf`.
std::vector<PathChoice> Routing::ChoicesBetween(
    SwitchId leaf, SwitchId dst_leaf, const std::vector<std::vector<Step>>& next_hops) const {
  struct Found {
    uint32_t id;
    int64_t bps;
  };
  std::vector<Found> found;
  auto walk = [&](auto&& self, uint32_t s, uint32_t id, int64_t bps) -> void {
    if (s == dst_leaf) {
      found.push_back({id, bps});
      return;
    }
    const std::vector<PortIndex>& uplinks = uplinks_[s];
    const uint32_t divisor = PathDivisor(graph_.switches[s].tier);
    for (const Step& step : next_hops[s]) {
      const auto uplink = std::ranges::lower_bound(uplinks, step.port);
      const bool up = uplink != uplinks.end() && *uplink == step.port;
      const uint32_t digit = up ? static_cast<uint32_t>(uplink - uplinks.begin()) : 0;
      self(self, step.peer - static_cast<uint32_t>(graph_.hosts), id + digit * divisor,
           std::min(bps, step.channel.rate.bps));
    }
  };
  walk(walk, leaf, 0, std::numeric_limits<int64_t>::max());
  int64_t unit = 0;
  int64_t fastest = 0;
  for (const Found& path : found) {
    unit = std::gcd(unit, path.bps);
    fastest = std::max(fastest, path.bps);
  }
  // Rates without a large common measure are rounded, all by one factor.
  unit = std::max(unit, fastest / 0xffff + 1);
  std::vector<PathChoice> choices;
  for (const Found& path : found) {
    const int64_t weight = std::max<int64_t>((path.bps + unit / 2) / unit, 1);
    choices.push_back({static_cast<uint16_t>(path.id), static_cast<uint16_t>(weight)});
  }
  std::ranges::sort(choices, {}, &PathChoice::id);
  return choices;
}

std::vector<std::string> Routing::Unreachable() const {
  std::vector<std::string> pairs;
  for (size_t l = 0; l < leaves_.size(); ++l) {
    for (const SwitchId other : leaves_) {
      if (distances_[l][graph_.hosts + other] != kUnreachable) continue;
      pairs.push_back(graph_.switches[other].name + " cannot reach " +
                      graph_.switches[leaves_[l]].name);
    }
  }
  return pairs;
}

}  // namespace heddle
