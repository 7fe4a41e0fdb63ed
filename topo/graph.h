// SPDX-License-Identifier: Apache-2.0
// Graph describes a network as hosts, switches and the links between them. A topology builds it,
// and Network and Routing read it; Adjacency lists the ports of each vertex.

#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/packet.h"
#include "core/units.h"

namespace heddle {

// One direction of a link.
struct Channel {
  BitRate rate;
  Duration delay;  // Propagation plus the latency of the switch it leads to.

  friend auto operator<=>(const Channel&, const Channel&) = default;
};

// A host or a switch as a vertex of a graph. It is no HostId and no SwitchId: only Graph, which
// knows how many hosts there are, converts between them.
class VertexId {
 public:
  constexpr VertexId() = default;
  constexpr explicit VertexId(uint32_t index) : index_(index) {}

  // The index into a table of all vertices.
  constexpr uint32_t index() const { return index_; }

  friend constexpr auto operator<=>(VertexId, VertexId) = default;

 private:
  uint32_t index_ = 0;
};

struct Graph {
  struct SwitchVertex {
    std::string name;
    int tier;  // 0: leaves, which have hosts; growing towards the core.
  };
  struct Link {
    VertexId a;
    VertexId b;
    Channel a_to_b;
    Channel b_to_a;
    std::string name;
    bool up = true;
  };

  size_t hosts = 0;
  std::vector<SwitchVertex> switches;
  std::vector<Link> links;  // The ports of a vertex are numbered in the order of its links.

  // Vertices are numbered hosts first: the switches follow the last host.
  size_t vertices() const { return hosts + switches.size(); }
  bool IsHost(VertexId vertex) const { return vertex.index() < hosts; }
  VertexId VertexOfHost(size_t host) const { return VertexId(static_cast<uint32_t>(host)); }
  VertexId VertexOfSwitch(size_t s) const { return VertexId(static_cast<uint32_t>(hosts + s)); }
  HostId HostAt(VertexId vertex) const {
    HEDDLE_CHECK(IsHost(vertex), "vertex {} is a switch", vertex.index());
    return static_cast<HostId>(vertex.index());
  }
  SwitchId SwitchAt(VertexId vertex) const {
    HEDDLE_CHECK(!IsHost(vertex), "vertex {} is a host", vertex.index());
    return static_cast<SwitchId>(vertex.index() - hosts);
  }

  // The tier of a switch; -1 for a host.
  int TierOf(VertexId vertex) const {
    return IsHost(vertex) ? -1 : switches[SwitchAt(vertex)].tier;
  }

  std::string NameOf(VertexId vertex) const {
    if (IsHost(vertex)) return "host" + std::to_string(HostAt(vertex));
    return switches[SwitchAt(vertex)].name;
  }

  // Adds a link that is the same both ways. Its name joins its ends' names, as in host3-leaf0 or
  // leaf0-spine1#2.
  void Connect(VertexId a, VertexId b, Channel channel, const std::string& number = "") {
    links.push_back({a, b, channel, channel, NameOf(a) + "-" + NameOf(b) + number, true});
  }
};

// The graph with a list of neighbours for each vertex, by port.
class Adjacency {
 public:
  struct Port {
    VertexId peer;
    uint32_t link;
    Channel out;  // The direction from this vertex to its peer.
    bool up;
  };

  explicit Adjacency(const Graph& graph) : ports_(graph.vertices()) {
    for (uint32_t l = 0; l < graph.links.size(); ++l) {
      const Graph::Link& link = graph.links[l];
      ports_[link.a.index()].push_back({link.b, l, link.a_to_b, link.up});
      ports_[link.b.index()].push_back({link.a, l, link.b_to_a, link.up});
    }
  }

  const std::vector<Port>& Of(VertexId vertex) const { return ports_[vertex.index()]; }

 private:
  std::vector<std::vector<Port>> ports_;
};

}  // namespace heddle
