// SPDX-License-Identifier: Apache-2.0
// Vertices: which numbers hosts and switches have among them, and that nobody mistakes one for the
// other.

#include "topo/graph.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "core/check.h"

namespace heddle::graph_test {

// Three hosts and two switches: vertices 0 to 2, and 3 and 4.
Graph TwoSwitches() {
  Graph graph{.hosts = 3, .switches = {{"low", 0}, {"high", 1}}, .links = {}};
  const Channel channel{10_Gbps, 1_us};
  for (size_t h = 0; h < graph.hosts; ++h) {
    graph.Connect(graph.VertexOfHost(h), graph.VertexOfSwitch(0), channel);
  }
  graph.Connect(graph.VertexOfSwitch(0), graph.VertexOfSwitch(1), channel, "#7");
  return graph;
}

// Ports, links, hosts and switches have numbers too; none of them passes for a vertex.
static_assert(!std::is_convertible_v<uint32_t, VertexId>);
static_assert(!std::is_convertible_v<HostId, VertexId>);
static_assert(!std::is_convertible_v<VertexId, uint32_t>);

TEST(GraphTest, NumbersItsHostsBeforeItsSwitches) {
  const Graph graph = TwoSwitches();
  ASSERT_EQ(graph.vertices(), 5u);
  for (uint32_t v = 0; v < graph.vertices(); ++v) {
    const VertexId vertex(v);
    EXPECT_EQ(vertex.index(), v);
    ASSERT_EQ(graph.IsHost(vertex), v < 3);
    if (graph.IsHost(vertex)) {
      EXPECT_EQ(graph.HostAt(vertex), v);
      EXPECT_EQ(graph.VertexOfHost(graph.HostAt(vertex)), vertex);
    } else {
      EXPECT_EQ(graph.SwitchAt(vertex), v - 3);
      EXPECT_EQ(graph.VertexOfSwitch(graph.SwitchAt(vertex)), vertex);
    }
  }
  EXPECT_LT(graph.VertexOfHost(2), graph.VertexOfSwitch(0));
}

TEST(GraphTest, NamesVerticesAndTheLinksBetweenThem) {
  const Graph graph = TwoSwitches();
  EXPECT_EQ(graph.NameOf(VertexId(2)), "host2");
  EXPECT_EQ(graph.NameOf(VertexId(3)), "low");
  EXPECT_EQ(graph.links[1].name, "host1-low");
  EXPECT_EQ(graph.links[3].name, "low-high#7");
}

TEST(AdjacencyTest, ListsTheLinksOfAVertexFromItsSide) {
  Graph graph = TwoSwitches();
  graph.links[3].b_to_a.delay = 5_us;
  const Adjacency adjacency(graph);
  const auto& low = adjacency.Of(graph.VertexOfSwitch(0));
  ASSERT_EQ(low.size(), 4u);
  EXPECT_EQ(low[1].peer, graph.VertexOfHost(1));
  EXPECT_EQ(low[1].link, 1u);
  EXPECT_EQ(low[3].peer, graph.VertexOfSwitch(1));
  EXPECT_EQ(low[3].out.delay, 1_us);
  const auto& high = adjacency.Of(graph.VertexOfSwitch(1));
  ASSERT_EQ(high.size(), 1u);
  EXPECT_EQ(high[0].peer, graph.VertexOfSwitch(0));
  EXPECT_EQ(high[0].out.delay, 5_us);
}

TEST(GraphDeathTest, ASwitchIsNoHostNorAHostASwitch) {
  const Graph graph = TwoSwitches();
  EXPECT_EXIT(graph.HostAt(VertexId(3)), testing::ExitedWithCode(kExitBrokenInvariant),
              "vertex 3 is a switch");
  EXPECT_EXIT(graph.SwitchAt(VertexId(2)), testing::ExitedWithCode(kExitBrokenInvariant),
              "vertex 2 is a host");
}

}  // namespace heddle::graph_test
