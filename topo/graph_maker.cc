// SPDX-License-Identifier: Apache-2.0

#include "topo/graph_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>

#include "topo/topology.h"

namespace heddle {
namespace {

constexpr uint32_t kNoWay = std::numeric_limits<uint32_t>::max();

}  // namespace

void GraphMaker::AddSwitch(std::string name, std::optional<int> tier) {
  graph_.switches.push_back({std::move(name), 0});
  tiers_.push_back(tier);
}

GraphMaker::Mistake GraphMaker::AddLink(VertexId a, VertexId b, Channel channel) {
  if (a == b) return fmt::format("links {} to itself", graph_.NameOf(a));
  if (graph_.IsHost(a) && graph_.IsHost(b)) {
    return fmt::format("links {} to {}; a host must be linked to a switch", graph_.NameOf(a),
                       graph_.NameOf(b));
  }
  for (const VertexId end : {a, b}) {
    if (!graph_.IsHost(end)) continue;
    std::optional<Channel>& first = link_of_host_[graph_.HostAt(end)];
    if (first && *first != channel) {
      return fmt::format(
          "has another rate or delay than the first link of {}; all links of a host must have the "
          "same",
          graph_.NameOf(end));
    }
    first = channel;
  }
  graph_.Connect(a, b, channel);
  return std::nullopt;
}

GraphMaker::Mistake GraphMaker::Finish() {
  const auto lonely = std::find(link_of_host_.begin(), link_of_host_.end(), std::nullopt);
  if (lonely != link_of_host_.end()) {
    const auto others = std::count(lonely + 1, link_of_host_.end(), std::nullopt);
    return fmt::format("host{} has no link{}", lonely - link_of_host_.begin(),
                       others > 0 ? fmt::format(", nor have {} more", others) : "");
  }
  const std::vector<uint32_t> distances = DistancesFromHosts();
  const Adjacency adjacency(graph_);
  for (size_t s = 0; s < graph_.switches.size(); ++s) {
    Graph::SwitchVertex& vertex = graph_.switches[s];
    if (distances[s] == kNoWay) return fmt::format("{} has no path to any host", vertex.name);
    if (adjacency.Of(graph_.VertexOfSwitch(s)).size() > kMaxPorts) {
      return fmt::format("{} has more than {} links", vertex.name, kMaxPorts);
    }
    vertex.tier = tiers_[s].value_or(static_cast<int>(distances[s]));
  }
  return NameLinks();
}

// Searches breadth first, from all switches with hosts at once.
std::vector<uint32_t> GraphMaker::DistancesFromHosts() const {
  const Adjacency adjacency(graph_);
  std::vector<uint32_t> distances(graph_.switches.size(), kNoWay);
  std::queue<VertexId> frontier;
  const auto reach = [&](VertexId vertex, uint32_t distance) {
    if (graph_.IsHost(vertex) || distances[graph_.SwitchAt(vertex)] != kNoWay) return;
    distances[graph_.SwitchAt(vertex)] = distance;
    frontier.push(vertex);
  };
  for (size_t h = 0; h < graph_.hosts; ++h) {
    for (const Adjacency::Port& port : adjacency.Of(graph_.VertexOfHost(h))) reach(port.peer, 0);
  }
  for (; !frontier.empty(); frontier.pop()) {
    const VertexId from = frontier.front();
    for (const Adjacency::Port& port : adjacency.Of(from)) {
      reach(port.peer, distances[graph_.SwitchAt(from)] + 1);
    }
  }
  return distances;
}

// Parallel links have one name, that of the first, and numbers.
GraphMaker::Mistake GraphMaker::NameLinks() {
  std::map<std::pair<VertexId, VertexId>, std::vector<Graph::Link*>> bundles;
  for (Graph::Link& link : graph_.links) bundles[std::minmax(link.a, link.b)].push_back(&link);
  std::set<std::string> names;
  for (const auto& [ends, links] : bundles) {
    const std::string name = links.front()->name;
    if (!names.insert(name).second) {
      return fmt::format("has two links that would both be called {}; call the switches otherwise",
                         name);
    }
    for (size_t i = 0; i < links.size() && links.size() > 1; ++i) {
      links[i]->name = fmt::format("{}#{}", name, i);
    }
  }
  return std::nullopt;
}

}  // namespace heddle
