// SPDX-License-Identifier: Apache-2.0

#include "network/built_fabric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "tests/support/lab.h"

namespace heddle::built_fabric_test {

const PacketSizes kSizes{
    .mss = 1'460, .data_overhead = 58, .min_packet = 64, .ack = 64, .wire_overhead = 20};

// The port of switch `s` that leads to `peer`.
PortIndex PortTo(const Routing& routing, SwitchId s, VertexId peer) {
  const auto& ports = routing.PortsOf(s);
  return static_cast<PortIndex>(std::ranges::find(ports, peer, &Adjacency::Port::peer) -
                                ports.begin());
}

TEST(BuiltFabricTest, KnowsTheDelayTheRatesAndTheLastBufferOfAWay) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 3, spines: 2, hosts_per_leaf: 2, fabric_link: {rate: 40Gbps, delay: 2us}, "
      "asymmetry: [{links: [leaf0-spine1], rate: 10Gbps}, {links: [leaf2-spine1], delay: 7us, "
      "rate: 25Gbps}]}");
  const Routing routing(graph);
  const PortRule rule = PortRuleFrom("{buffer: 100pkts}");
  const BuiltFabric fabric(graph, routing, rule, kSizes);
  const VertexId spine1 = graph.VertexOfSwitch(4);
  const std::optional<Way> way = fabric.WayTo(0, PortTo(routing, 0, spine1), 2);
  ASSERT_TRUE(way);
  EXPECT_EQ(way->propagation, 2_us + 7_us);
  EXPECT_EQ(way->last_rate, 25_Gbps);
  EXPECT_EQ(way->least_rate, 10_Gbps);
  EXPECT_EQ(way->last_buffer, Bytes{100 * 1'518});
  EXPECT_EQ(way->links, 2);
  EXPECT_EQ(fabric.BufferOf(0, 0), Bytes{100 * 1'518});
  // The path from the spine is the last link alone; there is none to itself, or through a host's
  // port.
  EXPECT_EQ(fabric.WayTo(4, PortTo(routing, 4, graph.VertexOfSwitch(2)), 2)->propagation, 7_us);
  EXPECT_FALSE(fabric.WayTo(0, PortTo(routing, 0, spine1), 0));
  EXPECT_FALSE(fabric.WayTo(0, PortTo(routing, 0, graph.VertexOfHost(0)), 2));
}

TEST(BuiltFabricTest, TakesTheQuickestOfSeveralWaysBeyondAPort) {
  const Graph graph = GraphFrom(
      "{kind: fat_tree, k: 4, edge_link: {rate: 10Gbps, delay: 1us}, core_link: {rate: 10Gbps, "
      "delay: 3us}, asymmetry: [{cores: [0], delay: 9us}]}");
  const Routing routing(graph);
  const PortRule rule = PortRuleFrom("{buffer: unlimited, ecn_above: unlimited}");
  const BuiltFabric fabric(graph, routing, rule, kSizes);
  const SwitchId edge = routing.LeafOf(0);
  for (const PortIndex port : routing.TableOf(edge).uplinks) {
    const std::optional<Way> way = fabric.WayTo(edge, port, 7);
    ASSERT_TRUE(way);
    EXPECT_EQ(way->propagation, 1_us + 3_us + 3_us + 1_us);
    EXPECT_EQ(way->last_buffer, Bytes{kUnlimited});
    EXPECT_EQ(way->links, 4);
    EXPECT_EQ(fabric.WayTo(edge, port, 1)->links, 2);  // Leaf 1 is in the same pod.
  }
}

// A port may fill a shared buffer, whether its size is given or not.
TEST(BuiltFabricTest, ASharedBufferBelongsToEachPort) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: 100Gbps, delay: 1us}}");
  const Routing routing(graph);
  const auto buffer = [&](const std::string& memory) {
    const PortRule rule = PortRuleFrom("{memory: " + memory + "}");
    return BuiltFabric(graph, routing, rule, kSizes).BufferOf(0, 0);
  };
  EXPECT_EQ(buffer("{model: dt}"), 9'000'000_B);
  EXPECT_EQ(buffer("{model: dt, size: 9MB}"), 9'000'000_B);
  EXPECT_EQ(buffer("{model: hpcc_mmu}"), 32'000'000_B);  // 16 MB at 50 Gbps.
  EXPECT_LT(buffer("{}"), 9'000'000_B);
}

}  // namespace heddle::built_fabric_test
