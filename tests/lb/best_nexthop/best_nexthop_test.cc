// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lb/best_nexthop/int_fields.h"
#include "lb/parts/dre.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"
#include "tests/support/watched_policy.h"

namespace heddle::best_nexthop_test {

// --- What packets collect ---

TEST(IntFieldsTest, HoldWhatAPortHas) {
  const IntFields fields(37'500_us, 25, 33.3);
  EXPECT_TRUE(fields.is_set());
  EXPECT_DOUBLE_EQ(fields.latency(), 0.0375);
  EXPECT_EQ(fields.queue(), 25);
  EXPECT_NEAR(fields.utilisation(), 33.3, 33.3 / 128);
  EXPECT_EQ(IntFields(10_s, 100'000, 1e6).queue(), 65'535);
  EXPECT_FALSE(IntFields().is_set());
  EXPECT_TRUE(IntFields(0_s, 0, 0).is_set());
}

// Three hops of utilisation 1, 10 and 4: the second is the bottleneck.
TEST(IntFieldsTest, TheGreatestOfEachRemains) {
  IntFields fields;
  fields = IntFields::Merge(fields, IntFields(3_us, 1, 1));
  fields = IntFields::Merge(fields, IntFields(1_us, 2, 10));
  fields = IntFields::Merge(fields, IntFields(2_us, 9, 4));
  EXPECT_EQ(fields.utilisation(), 10);
  EXPECT_EQ(fields.queue(), 9);
  EXPECT_DOUBLE_EQ(fields.latency(), 3e-6);
}

// A port of 8 Mbps with 250 packets: 375 ms, 250 packets, 66.7.
TEST(IntFieldsTest, CongestionIsTheSumOfShares) {
  const IntRange range{0.375, 250, 200.0 / 3};
  EXPECT_NEAR(CongestionOf(IntFields(37'500_us, 25, 33.25), range), 0.70, 2e-3);
  EXPECT_NEAR(CongestionOf(IntFields(150_ms, 100, 10), range), 0.95, 1e-6);
  EXPECT_EQ(CongestionOf(IntFields(), range), 0);
  EXPECT_DOUBLE_EQ(CongestionOf(IntFields(10_s, 60'000, 1e6), range), 3);
  EXPECT_DOUBLE_EQ(CongestionOf(IntFields(150_ms, 100, 10), {0, 200, 0}), 0.5);
}

// A link saturated at 8 Mbps sends 33.3 packets in 50 ms.
TEST(IntFieldsTest, TheEstimatorOfASaturatedPortTendsToItsRange) {
  Dre dre({.period = 50_ms, .alpha = 0.5});
  const double expected[] = {16.67, 25, 29.17, 31.25};
  for (int period = 0; period < 20; ++period) {
    const Time start = Time{} + 50_ms * period;
    dre.Add(100.0 / 3, start + 49_ms);
    if (period == 19) {
      EXPECT_NEAR(dre.Read(start + 49_ms), 66.7, 0.05);
    }
    const double after = dre.Read(start + 50_ms);
    if (period < 4) {
      EXPECT_NEAR(after, expected[period], 0.05);
    }
    if (period == 19) {
      EXPECT_NEAR(after, 33.3, 0.05);
    }
  }
}

// --- One leaf ---

class BestNexthopLeafTest : public testing::Test {
 protected:
  explicit BestNexthopLeafTest(const std::string& settings =
                                   "{kind: best_nexthop, scale: testbed, probes: false, "
                                   "latency_range: 375ms, queue_range: 250, utilisation_range: "
                                   "66.7, stale: 10s}")
      : leaf_(settings) {}

  // Delivers a packet from host 1 that reports the path to it through `port`.
  void Learn(PortIndex port, const IntFields& fields, Time at) {
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      Packet packet = LbPacket(7);
      packet.src = 1;
      packet.dst = 0;
      packet.SetScheme(fields);
      const PortIndex down = 4;
      EXPECT_EQ(policy.OnPacket(view, packet, port, {1, 1, {&down, 1}}).port, down);
    });
  }
  // Utilisation only.
  void LearnAll(const std::vector<double>& utilisation, Time at) {
    for (size_t p = 0; p < utilisation.size(); ++p) {
      Learn(static_cast<PortIndex>(p), IntFields(0_s, 0, utilisation[p]), at);
    }
  }
  PortIndex Send(FlowId flow, Time at) { return Send(flow, at, leaf_.uplinks()); }
  PortIndex Send(FlowId flow, Time at, std::span<const PortIndex> live) {
    Packet packet = LbPacket(flow);
    packet.flow = flow;
    return leaf_.PortFor(packet, at, live);
  }

  LbSwitch leaf_;
};

TEST_F(BestNexthopLeafTest, TakesThePortOfTheSmallestSum) {
  Learn(0, IntFields(300_ms, 250, 60), {});
  Learn(1, IntFields(37'500_us, 25, 33.25), {});
  Learn(2, IntFields(150_ms, 100, 10), {});
  Learn(3, IntFields(300_ms, 250, 60), {});
  for (FlowId flow = 1; flow < 30; ++flow) EXPECT_EQ(Send(flow, {}), 1);
}

TEST_F(BestNexthopLeafTest, OnlyAPauseLongerThanTheGapAdoptsABetterPort) {
  LearnAll({5, 10, 20, 30}, {});
  ASSERT_EQ(Send(1, {}), 0);
  LearnAll({50, 10, 20, 30}, Time{} + 1_ms);
  Time at;
  for (int i = 0; i < 50; ++i) ASSERT_EQ(Send(1, at += 49_ms), 0);
  EXPECT_EQ(Send(1, at += 50_ms), 0);
  EXPECT_EQ(Send(1, at += 51_ms), 1);
  EXPECT_EQ(leaf_.Count("flowlets"), 2);
}

TEST_F(BestNexthopLeafTest, AmongEqualPortsItKeepsTheBestSoFar) {
  LearnAll({5, 5, 5, 5}, {});
  const PortIndex port = Send(1, {});
  for (FlowId flow = 2; flow < 50; ++flow) EXPECT_EQ(Send(flow, {}), port);
}

TEST_F(BestNexthopLeafTest, WithoutInformationItHashes) {
  std::set<PortIndex> used;
  for (const uint32_t tuple : RandomTuples(1, 100)) {
    Packet packet = LbPacket(tuple);
    packet.flow = tuple;
    used.insert(leaf_.PortFor(packet));
  }
  EXPECT_EQ(used.size(), 4u);
  EXPECT_EQ(leaf_.Count("stale"), 100);
}

TEST_F(BestNexthopLeafTest, APortThatNothingIsKnownOfIsIdle) {
  Learn(0, IntFields(1_ms, 1, 5), {});
  Learn(1, IntFields(1_ms, 1, 5), {});
  Learn(3, IntFields(1_ms, 1, 5), {});
  EXPECT_EQ(Send(1, {}), 2);
}

TEST_F(BestNexthopLeafTest, LeavesAFailedPortAtOnce) {
  LearnAll({5, 10, 20, 30}, {});
  ASSERT_EQ(Send(1, {}), 0);
  const std::vector<PortIndex> live = {1, 2, 3};
  EXPECT_EQ(Send(1, Time{} + 1_us, live), 1);
  EXPECT_EQ(Send(1, Time{} + 2_us), 1);
}

TEST_F(BestNexthopLeafTest, APortThatComesBackIsUnknown) {
  LearnAll({50, 10, 20, 30}, {});
  const std::vector<PortIndex> live = {1, 2, 3};
  ASSERT_EQ(Send(1, Time{} + 1_us, live), 1);
  EXPECT_EQ(Send(2, Time{} + 2_us), 0);
}

// Returns the port of a flow to host 1 that begins at a leaf after `wait`. The leaf first sends
// these numbers of packets over its ports, all at once, and then hears from host 1 over each port,
// so only the leaf's own queues differ.
PortIndex ChosenAfter(const std::string& ranges, const std::vector<int>& packets, Duration wait) {
  LbSwitch leaf("{kind: best_nexthop, probes: false, " + ranges + "}");
  leaf.At({}, [&](SwitchView& view, SwitchPolicy&) {
    for (size_t port = 0; port < packets.size(); ++port) {
      for (int i = 0; i < packets[port]; ++i) {
        view.SendControl(LbPacket(1), static_cast<PortIndex>(port));
      }
    }
  });
  leaf.At(Time{} + wait, [](SwitchView& view, SwitchPolicy& policy) {
    Packet from = LbPacket(7);
    from.src = 1;
    from.dst = 0;
    const PortIndex down = 4;
    for (PortIndex port = 0; port < 4; ++port)
      policy.OnPacket(view, from, port, {1, 1, {&down, 1}});
  });
  return leaf.PortFor(LbPacket(8), Time{} + wait);
}

TEST(BestNexthopTest, CountsThePacketsThatWaitAtItsPorts) {
  const std::string queue = "queue_range: 10, latency_range: 1000s, utilisation_range: 1e12";
  EXPECT_EQ(ChosenAfter(queue, {4, 2, 3, 5}, 1_ps), 1);
  EXPECT_EQ(ChosenAfter(queue, {4, 5, 3, 2}, 1_ps), 3);
}

TEST(BestNexthopTest, CountsHowLongTheLastPacketWaited) {
  const std::string latency = "queue_range: 1000000, latency_range: 1us, utilisation_range: 1e12";
  EXPECT_EQ(ChosenAfter(latency, {4, 3, 2, 5}, 100_us), 2);
  EXPECT_EQ(ChosenAfter(latency, {2, 3, 4, 5}, 100_us), 0);
}

TEST(BestNexthopTest, CountsThePacketsThatHaveLeft) {
  const std::string utilisation =
      "queue_range: 1000000, latency_range: 1000s, utilisation_range: 10";
  EXPECT_EQ(ChosenAfter(utilisation, {2, 4, 3, 5}, 100_us), 0);
  EXPECT_EQ(ChosenAfter(utilisation, {4, 2, 3, 5}, 100_us), 1);
  EXPECT_EQ(ChosenAfter(utilisation, {5, 4, 2, 3}, 100_us), 2);
}

class BestNexthopStaleTest : public BestNexthopLeafTest {
 protected:
  BestNexthopStaleTest()
      : BestNexthopLeafTest(
            "{kind: best_nexthop, scale: testbed, probes: false, "
            "utilisation_range: 66.7}") {}
};

TEST_F(BestNexthopStaleTest, OldValuesCountAsNothing) {
  LearnAll({40, 10, 20, 30}, {});
  ASSERT_EQ(Send(1, {}), 1);
  for (int i = 1; i < 4; ++i) {
    Learn(static_cast<PortIndex>(i), IntFields(0_s, 0, 10.0 * i), Time{} + 90_ms);
  }
  EXPECT_EQ(Send(2, Time{} + 100_ms), 1);
  EXPECT_EQ(Send(3, Time{} + 100_ms + 1_ps), 0);  // After two gaps.
}

class BestNexthopRangesTest : public BestNexthopLeafTest {
 protected:
  BestNexthopRangesTest() : BestNexthopLeafTest("{kind: best_nexthop, probes: false}") {}
};

// The ranges at 100 Gbps and 375 KB: 30 us, 250 packets, and twice the packets that leave in 500
// us, which is 8333. Port 0 has half of the first range.
TEST_F(BestNexthopRangesTest, AreThoseOfThePort) {
  const std::vector<std::pair<IntFields, PortIndex>> cases = {
      {IntFields(0_s, 124, 0), 1},   {IntFields(0_s, 126, 0), 0}, {IntFields(0_s, 0, 4'000), 1},
      {IntFields(0_s, 0, 4'400), 0}, {IntFields(14_us, 0, 0), 1}, {IntFields(16_us, 0, 0), 0}};
  FlowId flow = 0;
  for (const auto& [fields, better] : cases) {
    const Time at = Time{} + 1_us * ++flow;
    for (PortIndex port = 2; port < 4; ++port) Learn(port, IntFields(1_s, 60'000, 1e6), at);
    Learn(0, IntFields(15_us, 0, 0), at);
    Learn(1, fields, at);
    EXPECT_EQ(Send(flow, at), better) << flow;
  }
}

// 100 packets wait for 12 us in front of the flow's own packet.
TEST(BestNexthopTest, AGapCountsFromWhenThePacketBeforeLeaves) {
  LbSwitch leaf("{kind: best_nexthop, probes: false, gap: 10us}");
  const PortIndex port = leaf.PortFor(LbPacket(7));
  leaf.At(Time{} + 1_us, [&](SwitchView& view, SwitchPolicy&) {
    for (int i = 0; i < 100; ++i) view.SendControl(LbPacket(1, 1'436), port);
  });
  leaf.PortFor(LbPacket(7), Time{} + 2_us);
  leaf.PortFor(LbPacket(7), Time{} + 22_us);
  EXPECT_EQ(leaf.Count("flowlets"), 1);
  leaf.PortFor(LbPacket(7), Time{} + 33_us);
  EXPECT_EQ(leaf.Count("flowlets"), 2);
}

TEST(BestNexthopTest, ForgetsNoFlowWithinItsGap) {
  LbSwitch leaf("{kind: best_nexthop, scale: testbed, probes: false, table_age: 1ms}");
  Packet packet = LbPacket(7);
  packet.flow = 7;
  for (int i = 0; i < 20; ++i) leaf.PortFor(packet, Time{} + 40_ms * i);
  EXPECT_EQ(leaf.Count("flowlets"), 1);
}

// 8 Gbps over one path.
UdpSource DatagramsOver(uint16_t path, uint32_t id, HostId src, HostId dst) {
  UdpSource source = Datagrams(id, src, dst, 8_Gbps);
  source.path = path;
  return source;
}

// --- In a chain of five switches, with a host each ---

// Each of the links between the first four switches carries these numbers of packets in a
// millisecond, in the direction whose queues packets report. Returns the utilisations that a packet
// from one end to the other has when it reaches the second, third, fourth and fifth switch.
std::vector<double> BroughtBy(const std::string& direction, const std::vector<int64_t>& packets) {
  constexpr uint32_t kSwitches = 5;
  Graph chain{.hosts = kSwitches, .switches = {}, .links = {}};
  const Channel channel{10_Gbps, 1_us};
  for (uint32_t s = 0; s < kSwitches; ++s) {
    chain.switches.push_back({"s" + std::to_string(s), static_cast<int>(s)});
    chain.Connect(chain.VertexOfHost(s), chain.VertexOfSwitch(s), channel);
    if (s > 0) chain.Connect(chain.VertexOfSwitch(s - 1), chain.VertexOfSwitch(s), channel);
  }
  std::vector<UdpSource> load;
  for (HostId link_from = 0; link_from < packets.size(); ++link_from) {
    const HostId next = static_cast<HostId>(link_from + 1);
    const BitRate rate{packets[link_from] * 1'538 * 8 * 1'000};
    const bool forward = direction == "forward";
    load.push_back(forward ? Datagrams(link_from, link_from, next, rate)
                           : Datagrams(link_from, next, link_from, rate));
  }
  std::vector<double> brought;
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex) {
    if (packet.kind != PacketKind::kData || view.IsAttached(packet.src)) return;
    brought.push_back(packet.Scheme<IntFields>().utilisation());
  };
  Lab lab({.graph = chain,
           .switch_policy = Watched("{kind: best_nexthop, probes: false, dre_period: 1ms, "
                                    "direction: " +
                                        direction + "}",
                                    look),
           .background = load});
  lab.AddFlow(0, kSwitches - 1, 1'000, Time{} + 19'800_us);
  lab.Run(Time{} + 25_ms);
  EXPECT_TRUE(lab.finished());
  return brought;
}

// An estimator that decays by half each millisecond has nearly twice a millisecond's packets just
// before the next. The three links have 1, 10 and 4: the value of the second link remains.
TEST(BestNexthopChainTest, APacketBringsTheGreatestOfTheSwitchesThatItHasPassed) {
  const auto is = [](double packets) {
    return testing::AllOf(testing::Ge(1.5 * packets), testing::Le(2.1 * packets));
  };
  EXPECT_THAT(BroughtBy("forward", {20, 200, 80}),
              testing::ElementsAre(is(20), is(200), is(200), is(200)));
  // Here a switch tells of the port that a packet has come in through, so one later.
  EXPECT_THAT(BroughtBy("toward_source", {20, 200, 80}),
              testing::ElementsAre(0, is(20), is(200), is(200)));
}

// --- In a network: 8 of 10 Gbps of datagrams between leaves 0 and 1 over spine 1 ---

class BestNexthopNetworkTest : public testing::Test {
 protected:
  enum Load { kOneWay, kBothWays };

  // Returns the payload of flows from leaf 0, which is loaded, or from leaf 1: the part that went
  // to spine 1, and all of it.
  static std::pair<int64_t, int64_t> OverSpine1(const std::string& balancer, bool from_loaded,
                                                Load load = kOneWay) {
    std::vector<UdpSource> background = {DatagramsOver(1, 0, 3, 7)};
    if (load == kBothWays) background.push_back(DatagramsOver(1, 1, 7, 3));
    Lab lab(
        {.graph = LeafSpineFrom("{leaves: 2, spines: 4, hosts_per_leaf: 4, host_link: {rate: "
                                "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}"),
         .transport = "{kind: dctcp}",
         .balancer = balancer,
         .port = "{buffer: 375KB, ecn_above: 100KB}",
         .background = background});
    for (int i = 0; i < 120; ++i) {
      const HostId a = static_cast<HostId>(i % 3);
      const HostId b = static_cast<HostId>(4 + (i + 1) % 3);
      lab.AddFlow(from_loaded ? a : b, from_loaded ? b : a, 20'000, Time{} + 2_ms + 40_us * i);
    }
    lab.Run(Time{} + 1_s);
    EXPECT_TRUE(lab.finished());
    const VertexId leaf = lab.SwitchVertex(from_loaded ? 0 : 1);
    int64_t all = 0;
    for (SwitchId spine = 2; spine < 6; ++spine) {
      all += lab.PortTo(leaf, lab.SwitchVertex(spine)).Committed().payload_bytes;
    }
    return {lab.PortTo(leaf, lab.SwitchVertex(3)).Committed().payload_bytes, all};
  }
};

TEST_F(BestNexthopNetworkTest, NoFlowletIsPlacedOnALoadedPath) {
  for (const char* balancer : {"best_nexthop", "{kind: best_nexthop, key: leaf}"}) {
    const auto [loaded, all] = OverSpine1(balancer, true);
    EXPECT_GE(all, 120 * 20'000);
    EXPECT_EQ(loaded, 0) << balancer;
  }
  const auto [loaded, all] = OverSpine1("ecmp", true);
  EXPECT_GT(loaded, all / 10);
}

// The published scheme reports the opposite direction to a leaf. Here that one carries no load.
TEST_F(BestNexthopNetworkTest, PublishedItAvoidsWhatIsLoadedTheOtherWay) {
  const std::string forward = "{kind: best_nexthop, direction: forward}";
  const auto [there, all_there] = OverSpine1(forward, true);
  const auto [back, all_back] = OverSpine1(forward, false);
  EXPECT_GT(there, all_there / 10);
  EXPECT_EQ(back, 0);
  const auto [ours, all_ours] = OverSpine1("best_nexthop", false);
  EXPECT_GT(ours, all_ours / 10);
}

TEST_F(BestNexthopNetworkTest, WhereTrafficIsSymmetricBothDirectionsTellTheSame) {
  for (const std::string direction : {"forward", "toward_source"}) {
    for (const bool from_first : {true, false}) {
      const auto [loaded, all] =
          OverSpine1("{kind: best_nexthop, direction: " + direction + "}", from_first, kBothWays);
      EXPECT_GE(all, 120 * 20'000);
      EXPECT_EQ(loaded, 0) << direction << from_first;
    }
  }
}

TEST(BestNexthopFatTreeTest, ProbesReachEveryOtherEdgeOverEveryPath) {
  Lab lab({.graph = GraphFrom("{kind: fat_tree, k: 4}"),
           .transport = "{kind: dctcp}",
           .balancer = "{kind: best_nexthop, apply_at: all, probe_every: 50us, key: leaf}"});
  lab.AddFlow(0, 15, 1'000'000);
  lab.Run();
  int64_t probes = 0;
  for (const auto& node : lab.network().switches()) {
    for (const auto& [name, value] : node->policy().Counters()) {
      if (name == "probes") probes += value;
    }
  }
  // Each edge sends 2 probes a round to its pod's upper switches. Each of these sends 1 to the
  // other edge and 2 to cores, each core sends 3 to other pods, and each upper switch there sends 2
  // to edges.
  const double each = 2 + 2 * (1 + 2 + 2 * (3 + 3 * 2));
  const double rounds = Seconds(lab.end() - Time{}) / 50e-6;
  EXPECT_NEAR(static_cast<double>(probes), 8 * each * rounds, 8 * each * 1.5);
}

// Edge 0 has lost its link to the second of two upper switches, so all of its flows come to the
// first. Edge 1 loads one of the first switch's two uplinks. Returns the bytes over that uplink,
// and over both.
std::pair<int64_t, int64_t> OverLoadedCore(const std::string& apply_at) {
  const Graph graph = GraphFrom(
      "{kind: fat_tree, k: 4, host_link: {rate: 10Gbps, delay: 1us}, edge_link: {rate: 10Gbps, "
      "delay: 1us}, core_link: {rate: 10Gbps, delay: 1us}}");
  const auto vertex = [&](const std::string& name) {
    const auto found = std::ranges::find(graph.switches, name, &Graph::SwitchVertex::name);
    return graph.VertexOfSwitch(static_cast<size_t>(found - graph.switches.begin()));
  };
  std::vector<LinkEvent> events;
  for (uint32_t l = 0; l < graph.links.size(); ++l) {
    if (graph.links[l].name != "edge0-agg1") continue;
    events.push_back({.at = Time{} + 1_ns, .link = l, .up = false, .rate = {}, .delay = {}});
  }
  EXPECT_EQ(events.size(), 1u);
  Lab lab({.graph = graph,
           .transport = "{kind: dctcp}",
           .balancer = "{kind: best_nexthop, apply_at: " + apply_at + "}",
           .port = "{buffer: 375KB, ecn_above: 100KB}",
           .background = {DatagramsOver(0, 0, 2, 8)},
           .events = events});
  for (int i = 0; i < 60; ++i) {
    lab.AddFlow(static_cast<HostId>(i % 2), static_cast<HostId>(4 + i % 4), 20'000,
                Time{} + 2_ms + 40_us * i);
  }
  lab.Run(Time{} + 1_s);
  EXPECT_TRUE(lab.finished());
  const auto sent = [&](const std::string& core) {
    return lab.PortTo(vertex("agg0"), vertex(core)).Committed().payload_bytes;
  };
  return {sent("core0"), sent("core0") + sent("core1")};
}

TEST(BestNexthopFatTreeTest, UpperSwitchesChooseByTelemetryOnlyWhereAllDo) {
  const auto [hashed, all_hashed] = OverLoadedCore("edge");
  EXPECT_GE(all_hashed, 60 * 20'000);
  EXPECT_GT(hashed, all_hashed / 5);
  const auto [chosen, all_chosen] = OverLoadedCore("all");
  EXPECT_GE(all_chosen, 60 * 20'000);
  EXPECT_EQ(chosen, 0);
}

}  // namespace heddle::best_nexthop_test
