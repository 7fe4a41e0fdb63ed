// SPDX-License-Identifier: Apache-2.0
// These tests ask a network about its ports, its traffic, and how long an answer takes at most.

#include "network/network.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/lab.h"

namespace heddle::network_test {

// Ports are numbered in the order of links at either end, and listed by node, then port.
TEST(NetworkTest, ListsEveryDirectionOfEveryLinkByNodeAndPort) {
  for (const char* topology :
       {"{kind: leaf_spine, leaves: 2, spines: 3, hosts_per_leaf: 2, links_per_pair: 2, "
        "asymmetry: [{links: [leaf0-spine1], direction: up, rate: 10Gbps}]}",
        "{kind: planes, planes: 2, leaves: 2, spines: 1, hosts_per_leaf: 1}"}) {
    Lab lab({.graph = GraphFrom(topology)});
    Network& network = lab.network();
    const Graph& graph = network.graph();
    size_t index = 0;
    for (uint32_t v = 0; v < graph.vertices(); ++v) {
      PortIndex port = 0;
      for (const Graph::Link& link : graph.links) {
        if (link.a != VertexId(v) && link.b != VertexId(v)) continue;
        ASSERT_LT(index, network.egresses().size());
        const Network::Egress& egress = network.egresses()[index];
        const bool there = link.a == VertexId(v);
        EXPECT_EQ(egress.vertex, VertexId(v));
        EXPECT_EQ(egress.port, port);
        EXPECT_EQ(egress.peer, there ? link.b : link.a);
        EXPECT_EQ(egress.rate, (there ? link.a_to_b : link.b_to_a).rate);
        EXPECT_EQ(egress.fifo->rate(), egress.rate);
        EXPECT_EQ(network.EgressOf(VertexId(v), port), index);
        EXPECT_EQ(network.PausesOf(egress, Time{} + 1_us).paused, 0_ps);
        ++port;
        ++index;
      }
    }
    EXPECT_EQ(network.egresses().size(), index);
  }
}

// Hosts name a path and switches follow it; each hop adds its term, at ports of every kind.
TEST(NetworkTest, PacketsTellThePathThatTheyHaveTaken) {
  using Ports = NetworkPlan::Ports;
  for (const Ports ports : {Ports::kCheapest, Ports::kQueued, Ports::kEager}) {
    for (uint16_t path = 0; path < 4; ++path) {
      std::set<uint16_t> taken;
      struct Fixed final : HostPolicy {
        Fixed(uint16_t its, std::set<uint16_t>* seen) : path(its), taken(seen) {}
        void OnSend(HostView&, HostFlow&, Packet& packet) override { packet.path = path; }
        void OnData(HostView&, const Packet& data) override { taken->insert(data.taken); }
        size_t StateBytes() const override { return 0; }
        uint16_t path;
        std::set<uint16_t>* taken;
      };
      Lab::Plan plan = FollowingPath(GraphFrom("{kind: fat_tree, k: 4}"), path);
      plan.host_policy = [&](HostId) { return std::make_unique<Fixed>(path, &taken); };
      plan.ports = ports;
      Lab lab(std::move(plan));
      lab.AddFlow(0, 15, 30'000);
      lab.Run();
      EXPECT_EQ(taken, std::set<uint16_t>{path});
    }
  }
}

// 1518 bytes and 20 on the wire at 10 Gbps, and 1 us: 2230.4 ns a link.
TEST(WorstRoundTripTest, IsThatOfTheLongestWayOverTheSlowestLink) {
  const PacketSizes sizes = TransportFrom("tcp").settings->sizes();
  const auto worst = [&](const Graph& graph) {
    return WorstRoundTrip(graph, Routing(graph), sizes);
  };
  const Channel link{10_Gbps, 1_us};
  constexpr Duration kEach = 2'230'400_ps;
  EXPECT_EQ(worst(Star(3, link)), 4 * kEach);  // A link up and one down, and back.
  Graph chain = Line(6, link);
  for (Graph::SwitchVertex& s : chain.switches) s.tier = 0;
  EXPECT_EQ(worst(chain), 12 * kEach);  // Five switches in a row.
  EXPECT_EQ(worst(GraphFrom("{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2, "
                            "host_link: {rate: 10Gbps, delay: 1us}}")),
            8 * kEach);
  EXPECT_EQ(worst(GraphFrom("{kind: fat_tree, k: 4, edge_link: {rate: 10Gbps, delay: 1us}}")),
            12 * kEach);
  for (const bool there : {true, false}) {
    Graph graph = Line(2, link);
    Channel& slow = there ? graph.links[1].a_to_b : graph.links[1].b_to_a;
    slow = {5_Gbps, 1_us};
    EXPECT_EQ(worst(graph), 4 * (1_us + 2 * 1'230'400_ps));
    slow = {10_Gbps, 4_us};
    EXPECT_EQ(worst(graph), 4 * (4_us + 1'230'400_ps));
  }
}

TEST(TrafficTest, IsOfTheClassesAndSizesOfTransportAndBackground) {
  const Chosen<TransportModel> transport = TransportFrom("{kind: dctcp, priority: 3}");
  const TransportModel& model = *transport.settings;
  const Traffic alone = TrafficOf(model, {}, 7_us, 100_Gbps);
  const TransportModel::Classes classes = model.classes();
  EXPECT_EQ(classes.data, 3);
  EXPECT_EQ(alone.classes, 1u << 3 | 1u << classes.control);
  EXPECT_EQ(alone.data, 3);
  EXPECT_EQ(alone.control, classes.control);
  EXPECT_EQ(alone.sizes.packet, model.sizes().DataPacket(model.sizes().mss));
  EXPECT_EQ(alone.sizes.overhead, 20);
  EXPECT_EQ(alone.base_rtt, 7_us);
  EXPECT_FALSE(alone.marking.is_red || alone.telemetry || alone.can_trim);
  EXPECT_TRUE(alone.marks_at_last_hop);
  UdpSource small = Datagrams(0, 0, 1, 1_Gbps);
  small.priority = 5;
  small.packet = 100_B;
  UdpSource large = small;
  large.priority = 6;
  large.packet = 9'000_B;
  const Traffic both = TrafficOf(model, std::vector{large, small}, 7_us, 100_Gbps);
  EXPECT_EQ(both.classes, alone.classes | 1u << 5 | 1u << 6);
  EXPECT_EQ(both.sizes.packet, 9'000);
  EXPECT_EQ(TrafficOf(model, std::vector{small}, 7_us, 100_Gbps).sizes.packet, alone.sizes.packet);
}

TEST(PacketCountsTest, AddUp) {
  PacketCounts counts;
  EXPECT_EQ(counts.sent(), 0);
  EXPECT_EQ(counts.dropped_total(), 0);
  counts.data_sent = 100;
  counts.control_sent = 20;
  counts.datagrams_sent = 3;
  EXPECT_EQ(counts.sent(), 123);
  int64_t sum = 0;
  for (size_t reason = 0; reason < kDropReasons; ++reason) {
    counts.dropped[reason] = int64_t{1} << reason;
    sum += counts.dropped[reason];
  }
  EXPECT_EQ(counts.dropped_total(), sum);
}

}  // namespace heddle::network_test
