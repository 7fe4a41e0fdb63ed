// SPDX-License-Identifier: Apache-2.0
// A network as a graph: hosts, switches and the links between them.

#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/packet.h"
#include "core/units.h"

namespace heddle {

// One direction of a link.
struct Channel {
  BitRate rate;
  Duration delay;  // Propagation plus the latency of the switch it leads to.

  friend auto operator<=>(const Channel&, const Channel&) = default;
};

// Vertices are numbered hosts first: host h is vertex h, switch s is vertex hosts + s.
struct Graph {
  struct SwitchVertex {
    std::string name;
    int tier;  // 0: leaves, which have hosts; growing towards the core.
  };
  struct Link {
    uint32_t a;
    uint32_t b;
    Channel a_to_b;
    Channel b_to_a;
    std::string name;
    bool up = true;
  };

  size_t hosts = 0;
  std::vector<SwitchVertex> switches;
  std::vector<Link> links;  // The ports of a vertex are numbered in the order of its links.

  size_t vertices() const { return hosts + switches.size(); }
  bool IsHost(uint32_t vertex) const { return vertex < hosts; }
  std::string NameOf(uint32_t vertex) const {
    return IsHost(vertex) ? "host" + std::to_string(vertex) : switches[vertex - hosts].name;
  }

  // A link that is the same both ways, named after its ends, as in host3-leaf0 or leaf0-spine1#2.
  void Connect(uint32_t a, uint32_t b, Channel channel, const std::string& number = "") {
    links.push_back({a, b, channel, channel, NameOf(a) + "-" + NameOf(b) + number, true});
  }
};

// The graph with a list of neighbours for each vertex, by port.
class Adjacency {
 public:
  struct Port {
    uint32_t peer;
    uint32_t link;
    Channel out;  // From this vertex to its peer.
    bool up;
  };

  explicit Adjacency(const Graph& graph) : ports_(graph.vertices()) {
    for (uint32_t l = 0; l < graph.links.size(); ++l) {
      const Graph::Link& link = graph.links[l];
      ports_[link.a].push_back({link.b, l, link.a_to_b, link.up});
      ports_[link.b].push_back({link.a, l, link.b_to_a, link.up});
    }
  }

  const std::vector<Port>& Of(uint32_t vertex) const { return ports_[vertex]; }

 private:
  std::vector<std::vector<Port>> ports_;
};

}  // namespace heddle
