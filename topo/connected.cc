// SPDX-License-Identifier: Apache-2.0

#include "topo/connected.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace heddle {
namespace {

// The numbers of links between switches with hosts.
class Distances {
 public:
  explicit Distances(const Graph& graph)
      : graph_(graph), links_of_(graph.switches.size()), has_hosts_(graph.switches.size(), false) {
    for (size_t l = 0; l < graph.links.size(); ++l) {
      const Graph::Link& link = graph.links[l];
      for (const VertexId end : {link.a, link.b}) {
        const VertexId other = end == link.a ? link.b : link.a;
        if (graph.IsHost(end)) continue;
        const SwitchId s = graph.SwitchAt(end);
        if (graph.IsHost(other)) {
          has_hosts_[s] = true;
        } else {
          links_of_[s].push_back({l, graph.SwitchAt(other)});
        }
      }
    }
    whole_ = Find({});
  }

  bool AreKeptWithout(const std::set<size_t>& failed) const { return Find(failed) == whole_; }

 private:
  struct Hop {
    size_t link;
    SwitchId to;
  };
  static constexpr uint32_t kFar = std::numeric_limits<uint32_t>::max();

  std::vector<std::vector<uint32_t>> Find(const std::set<size_t>& failed) const {
    std::vector<bool> is_down(graph_.links.size(), false);
    for (const size_t link : failed) is_down[link] = true;
    std::vector<std::vector<uint32_t>> all;
    for (size_t s = 0; s < links_of_.size(); ++s) {
      if (has_hosts_[s]) all.push_back(From(s, is_down));
    }
    return all;
  }

  // Searches breadth first from switch `first`; returns the distances of switches with hosts.
  std::vector<uint32_t> From(size_t first, const std::vector<bool>& is_down) const {
    std::vector<uint32_t> distance(links_of_.size(), kFar);
    std::vector<size_t> queue = {first};
    distance[first] = 0;
    for (size_t i = 0; i < queue.size(); ++i) {
      for (const Hop& hop : links_of_[queue[i]]) {
        if (is_down[hop.link] || distance[hop.to] != kFar) continue;
        distance[hop.to] = distance[queue[i]] + 1;
        queue.push_back(hop.to);
      }
    }
    for (size_t s = 0; s < distance.size(); ++s) {
      if (!has_hosts_[s]) distance[s] = 0;
    }
    return distance;
  }

  const Graph& graph_;
  std::vector<std::vector<Hop>> links_of_;  // By switch.
  std::vector<bool> has_hosts_;
  std::vector<std::vector<uint32_t>> whole_;  // With all links.
};

}  // namespace

std::set<size_t> DrawShare(const Graph& graph, double share, bool keep_connected, Rng& rng) {
  std::vector<size_t> links;
  for (size_t l = 0; l < graph.links.size(); ++l) {
    if (!graph.IsHost(graph.links[l].a) && !graph.IsHost(graph.links[l].b)) links.push_back(l);
  }
  const auto count = static_cast<size_t>(std::llround(share * static_cast<double>(links.size())));
  rng.MoveToFront(links, count);
  links.resize(count);
  std::set<size_t> drawn(links.begin(), links.end());
  if (!keep_connected) return drawn;
  const Distances distances(graph);
  if (distances.AreKeptWithout(drawn)) return drawn;
  drawn.clear();
  for (const size_t link : links) {
    drawn.insert(link);
    if (!distances.AreKeptWithout(drawn)) drawn.erase(link);
  }
  return drawn;
}

}  // namespace heddle
