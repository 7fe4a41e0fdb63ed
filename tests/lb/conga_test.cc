// SPDX-License-Identifier: Apache-2.0
// Tests what CONGA's leaves learn from each other, and which ports flowlets take.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"
#include "tests/support/paired_seeds.h"

namespace heddle::conga_test {

// lb/conga.cc writes this header.
struct Header {
  uint8_t tag;
  uint8_t congestion;
  uint8_t feedback_tag;
  uint8_t feedback_metric;
};
constexpr uint8_t kNone = 255;

// A packet from host 1, on leaf 1, that arrives here by an uplink.
void Hear(LbSwitch& leaf, Time at, const Header& header) {
  Packet packet = LbPacket(9);
  packet.src = 1;
  packet.dst = 0;
  packet.SetScheme(header);
  leaf.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
    policy.OnPacket(view, packet, 0, view.CandidatesTo(0));
  });
}

// The header of a packet to host 1 that is sent through `port`.
Header Stamp(LbSwitch& leaf, Time at, PortIndex port) {
  Packet packet = LbPacket(7);
  leaf.At(at,
          [&](SwitchView& view, SwitchPolicy& policy) { policy.OnEnqueue(view, packet, port); });
  return packet.Scheme<Header>();
}

// Packets through `port`, at a share of its rate, until `until`.
void Transmit(LbSwitch& leaf, PortIndex port, double load, Time from, Time until) {
  Packet packet = LbPacket(7);
  const Duration interval{static_cast<int64_t>(1'524 * 8 * 10 / load)};  // At 100 Gbps.
  for (Time at = from; at < until; at += interval) {
    leaf.At(at,
            [&](SwitchView& view, SwitchPolicy& policy) { policy.OnTransmit(view, packet, port); });
  }
}

std::vector<int64_t> NewFlows(LbSwitch& leaf, Time at, int flows = 8'000) {
  std::vector<int64_t> counts(4);
  for (const uint32_t tuple : RandomTuples(5, static_cast<size_t>(flows))) {
    ++counts[leaf.PortFor(LbPacket(tuple), at)];
  }
  return counts;
}

TEST(CongaTest, AnIdleFabricIsUsedUniformly) {
  LbSwitch leaf("conga");
  EXPECT_LT(ChiSquare(NewFlows(leaf, Time{}), {1, 1, 1, 1}), kChiSquare99[3]);
}

TEST(CongaTest, WhatOtherLeavesSayCountsAgainstAnUplinkTowardsThatLeafAlone) {
  LbSwitch leaf("conga", {.remote_leaves = 2});
  for (const uint8_t tag : {uint8_t{0}, uint8_t{1}, uint8_t{3}}) {
    Hear(leaf, Time{} + 1_us, {0, 0, tag, 5});
  }
  EXPECT_EQ(NewFlows(leaf, Time{} + 2_us, 500), (std::vector<int64_t>{0, 0, 500, 0}));
  std::set<PortIndex> others;
  for (const uint32_t tuple : RandomTuples(6, 500)) {
    Packet packet = LbPacket(tuple);
    packet.dst = 2;
    others.insert(leaf.PortFor(packet, Time{} + 2_us));
  }
  EXPECT_EQ(others.size(), 4u);
}

TEST(CongaTest, TheLargerOfLocalAndRemoteCongestionCounts) {
  LbSwitch leaf("conga");
  Transmit(leaf, 0, 0.9, Time{}, Time{} + 1_ms);
  for (const uint8_t tag : {uint8_t{1}, uint8_t{2}}) Hear(leaf, Time{} + 1_ms, {0, 0, tag, 7});
  Hear(leaf, Time{} + 1_ms, {0, 0, 3, 1});
  EXPECT_EQ(NewFlows(leaf, Time{} + 1_ms, 500), (std::vector<int64_t>{0, 0, 0, 500}));
}

// A load of rho reads as floor(8 rho) with 3 bits, give or take one.
TEST(CongaTest, AReadingIsTheShareOfTheRate) {
  for (const double load : {0.15, 0.4, 0.65, 0.9, 1.0}) {
    LbSwitch leaf("conga");
    Transmit(leaf, 2, load, Time{}, Time{} + 2_ms);
    Packet packet = LbPacket(7);
    leaf.At(Time{} + 2_ms,
            [&](SwitchView& view, SwitchPolicy& policy) { policy.OnTransmit(view, packet, 2); });
    EXPECT_NEAR(packet.Scheme<Header>().congestion, std::min(7.0, std::floor(8 * load)), 1) << load;
    // A reading adds to a header only if it is larger.
    Header before{0, 7, kNone, 0};
    packet.SetScheme(before);
    leaf.At(Time{} + 2_ms,
            [&](SwitchView& view, SwitchPolicy& policy) { policy.OnTransmit(view, packet, 1); });
    EXPECT_EQ(packet.Scheme<Header>().congestion, 7);
  }
}

TEST(CongaTest, AFlowMovesOnlyToAnUplinkThatIsStrictlyBetter) {
  LbSwitch leaf("conga");
  const PortIndex first = leaf.PortFor(LbPacket(7));
  Time at;
  for (int flowlet = 0; flowlet < 50; ++flowlet) {
    at += 600_us;
    ASSERT_EQ(leaf.PortFor(LbPacket(7), at), first);
  }
  Hear(leaf, at, {0, 0, static_cast<uint8_t>(first), 2});
  at += 400_us;
  EXPECT_EQ(leaf.PortFor(LbPacket(7), at), first);  // The flowlet goes on.
  at += 501_us;
  EXPECT_NE(leaf.PortFor(LbPacket(7), at), first);
}

TEST(CongaTest, AMetricThatIsNotHeardOfDecaysInSteps) {
  // Congestion of the other three uplinks is refreshed, that of uplink 0 is not.
  const auto goes_to_0 = [](Duration silence) {
    LbSwitch leaf("conga");
    Hear(leaf, Time{}, {0, 0, 0, 7});
    for (uint8_t tag = 1; tag < 4; ++tag) Hear(leaf, Time{} + silence, {0, 0, tag, 6});
    return NewFlows(leaf, Time{} + silence, 50)[0] == 50;
  };
  EXPECT_FALSE(goes_to_0(10_ms));
  EXPECT_FALSE(goes_to_0(10_ms + 1'249_us));  // 7: the first of 8 steps is a T_age / 8 later.
  EXPECT_FALSE(goes_to_0(10_ms + 1'251_us));  // 6: as bad as the others, and drawn among them.
  EXPECT_TRUE(goes_to_0(10_ms + 2'501_us));   // 5.
}

TEST(CongaTest, FeedbackTakesTurnsAndPrefersWhatHasChanged) {
  LbSwitch leaf("conga");
  EXPECT_EQ(Stamp(leaf, Time{}, 2).feedback_tag, kNone);  // Nothing has come from there.
  EXPECT_EQ(Stamp(leaf, Time{}, 2).tag, 2);
  for (uint8_t tag = 0; tag < 3; ++tag) {
    Hear(leaf, Time{}, {tag, static_cast<uint8_t>(tag + 1), kNone, 0});
  }
  const auto next = [&] {
    const Header header = Stamp(leaf, Time{} + 1_us, 0);
    EXPECT_EQ(header.congestion, 0);
    return header.feedback_tag * 10 + header.feedback_metric;
  };
  EXPECT_EQ(next(), 1);
  EXPECT_EQ(next(), 12);
  EXPECT_EQ(next(), 23);
  EXPECT_EQ(next(), 1);  // Nothing has changed: in turn.
  Hear(leaf, Time{} + 2_us, {0, 6, kNone, 0});
  Hear(leaf, Time{} + 2_us, {1, 2, kNone, 0});  // The same as before.
  Hear(leaf, Time{} + 2_us, {2, 5, kNone, 0});
  EXPECT_EQ(next(), 25);  // After 0 in turn, and changed, unlike 1.
  EXPECT_EQ(next(), 6);
  EXPECT_EQ(next(), 12);
}

// Otherwise an unused path that was once congested would stay so for ever: see the next test.
TEST(CongaTest, AMetricThatNoPacketUpdatesIsNoLongerReturned) {
  LbSwitch leaf("conga");
  Hear(leaf, Time{}, {0, 7, kNone, 0});
  Hear(leaf, Time{}, {1, 3, kNone, 0});
  const auto next = [&](Duration at) { return Stamp(leaf, Time{} + at, 2).feedback_tag; };
  EXPECT_EQ(next(1_ms), 0);
  EXPECT_EQ(next(2_ms), 1);
  Hear(leaf, Time{} + 5_ms, {1, 3, kNone, 0});
  EXPECT_EQ(next(10_ms), 0);
  EXPECT_EQ(next(10_ms), 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next(10_ms + 1_us), 1);
  EXPECT_EQ(next(15_ms), 1);
  EXPECT_EQ(next(15_ms + 1_us), kNone);
  Hear(leaf, Time{} + 16_ms, {0, 7, kNone, 0});
  EXPECT_EQ(next(17_ms), 0);
}

// The paper and the hardware keep the last report about a port that is back.
TEST(CongaTest, AnUplinkThatIsBackHasTheMetricThatItHad) {
  const auto flows_there = [](Time at) {
    LbSwitch leaf("conga");
    Hear(leaf, Time{} + 1_us, {0, 0, 2, 7});
    const std::vector<PortIndex> without = {0, 1, 3};
    leaf.PortFor(LbPacket(7), Time{} + 2_us, without);
    return NewFlows(leaf, at, 100)[2];
  };
  EXPECT_EQ(flows_there(Time{} + 9_ms), 0);
  EXPECT_GT(flows_there(Time{} + 30_ms), 0);
}

TEST(CongaTest, OfNamedPathsItTakesTheLeastCongestedOfASampleAndItsOwn) {
  LbSwitch leaf("{kind: conga, mode: path, samples: 3}");
  const auto hear = [&](Time at, uint8_t path, uint8_t metric) {
    Hear(leaf, at, {0, 0, path, metric});
  };
  for (const uint8_t path : {uint8_t{0}, uint8_t{1}, uint8_t{3}}) hear(Time{} + 1_us, path, 5);
  // Three of four are drawn: path 2 in three of four cases.
  const std::vector<int64_t> counts = NewFlows(leaf, Time{} + 2_us, 4'000);
  EXPECT_NEAR(static_cast<double>(counts[2]), 3'000, ThreeSigma(4'000, 0.75));
  // A flow that is on path 2 is not moved to one that is no better.
  Time at = Time{} + 1_ms;
  while (leaf.PortFor(LbPacket(7), at) != 2) at += 501_us;
  for (int flowlet = 0; flowlet < 10; ++flowlet) {
    at += 501_us;
    ASSERT_EQ(leaf.PortFor(LbPacket(7), at), 2);
  }
}

// A packet says by its path which one its congestion is of.
TEST(CongaTest, WithNamedPathsFeedbackIsOfPaths) {
  LbSwitch leaf("{kind: conga, mode: path}");
  Packet packet = LbPacket(9);
  packet.src = 1;
  packet.dst = 0;
  packet.path = 3;
  packet.SetScheme(Header{0, 6, kNone, 0});
  leaf.At(Time{}, [&](SwitchView& view, SwitchPolicy& policy) {
    policy.OnPacket(view, packet, 0, view.CandidatesTo(0));
    packet.path = kNoPath;  // An ACK that was sent elsewhere names no path.
    policy.OnPacket(view, packet, 0, view.CandidatesTo(0));
  });
  for (int i = 0; i < 3; ++i) {
    const Header header = Stamp(leaf, Time{} + 1_us, 0);
    EXPECT_EQ(header.feedback_tag, 3);
    EXPECT_EQ(header.feedback_metric, 6);
  }
}

TEST(CongaTest, RefusesThreeTiersUnlessAskedForTheExtension) {
  const auto errors = [](const std::string& lb) {
    return ErrorsOf("topology: {kind: fat_tree, k: 4}\nlb: " + lb +
                    "\nworkload: [{kind: permutation, size: 10KB}]\n");
  };
  EXPECT_EQ(errors("{kind: conga, mode: pod}"), "");
  EXPECT_NE(errors("conga").find("test.yaml:2:5: lb: conga is defined for two tiers"),
            std::string::npos);
  EXPECT_EQ(errors("{kind: conga, mode: path}"), "");
  for (const std::string mode : {"pod", "path"}) {
    const FinishedRun run = RunExperiment(
        ExperimentFrom("topology: {kind: fat_tree, k: 4}\nlb: {kind: conga, mode: " + mode +
                       "}\nworkload: [{kind: permutation, size: 100KB}]\n"));
    EXPECT_EQ(run.result.unfinished, 0);
  }
}

// A link from an aggregation to a core is slow. Schemes that name paths avoid it; if the
// aggregation hashes, half of the traffic through it meets the slow link.
TEST(CongaTest, WithNamedPathsFlowsAvoidASlowLinkToACore) {
  const auto mean_fct = [](const std::string& mode, int seed) {
    return MeanFct(
        RunExperiment(
            ExperimentFrom("seed: " + std::to_string(seed) +
                           "\ntopology: {kind: fat_tree, k: 4, asymmetry: [{links: [agg0-core0], "
                           "rate: 500Mbps}]}\nlb: {kind: conga, gap: 50us, mode: " +
                           mode +
                           "}\nworkload: [{kind: poisson, sizes: websearch, load: 0.2, flows: "
                           "200}]\n"))
            .result);
  };
  for (int seed = 1; seed <= 3; ++seed) EXPECT_LT(mean_fct("path", seed), mean_fct("pod", seed));
}

// --- In a network ---

// Datagrams fill spine 0's link to leaf 1 until 2 ms. ACKs return to leaf 0 all the time.
TEST(CongaTest, APathThatWasCongestedIsTriedAgainWhileAcksReturn) {
  const std::string list = testing::TempDir() + "conga_test_flows.csv";
  std::ofstream flows(list);
  flows << "src,dst,bytes,start_ns\n";
  for (int start = 0; start < 20'000'000; start += 100'000) flows << "0,5,30000," << start << '\n';
  flows.close();
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 3, spines: 2, hosts_per_leaf: 4, host_link: {rate: "
      "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}\n"
      "lb: {kind: conga, gap: 50us, age: 1ms}\nworkload: [{kind: flows, file: " +
      list +
      "}]\nbackground: [{from: [8], to: [6], rate: 9Gbps, via: spine0, start: 0us, stop: 2ms}]\n"
      "measure: {warm_up: 6ms}\n"));
  EXPECT_GT(ShareOfUplink(run, "leaf0", "spine0"), 0.4);
}

// The paper's example (figure 2): two leaves, two spines, links of 80 Gbps but for one of 40. Leaf
// 0 asks for about 95 of the 120 that there are, in bursts, whatever is lost.
struct At95 {
  double loss;
  double slower;  // The share of what leaves the leaf that goes to the slower spine.
};
At95 OpenLoopAt95(const std::string& lb) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 40, host_link: {rate: "
      "10Gbps, delay: 1us}, fabric_link: {rate: 80Gbps, delay: 1us}, asymmetry: [{links: "
      "[leaf1-spine1], rate: 40Gbps}], port: {buffer: 400KB, ecn_above: unlimited}}\nlb: " +
      lb +
      "\nworkload: [{kind: poisson, sizes: small, load: 0.001, duration: 8ms}]\n"
      "background:\n"
      "  - {from: [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,"
      "30,31,32,33,34,35,36,37,38,39], to: [40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,"
      "58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79], rate: 2375Mbps, "
      "pattern: onoff, mean_on: 80us, mean_off: 20us}\n"
      "  - {from: [40], to: [0], rate: 1Gbps}\n"));
  const CsvTable udp(run.files.udp);
  int64_t sent = 0;
  int64_t lost = 0;
  for (size_t row = 0; row < udp.rows.size(); ++row) {
    sent += udp.Integer(row, "pkts_sent");
    lost += udp.Integer(row, "pkts_lost");
  }
  return {static_cast<double>(lost) / static_cast<double>(sent),
          ShareOfUplink(run, "leaf0", "spine1", "wire_bytes")};
}

// With this share the links of 80 and 40 Gbps have equal utilisation. Leaves know eight levels, so
// a share that loads one link by an eighth more looks as good: x / 40 - (100 - x) / 80 = 1/8 at x =
// 36.7.
constexpr double kBestShare = 1. / 3;
constexpr double kLevel = 1. / 30;

TEST(CongaTest, ReachesTheSplitThatItsPaperCallsOptimal) {
  // Halves leave the slow spine 7.5 of 47.5 short.
  EXPECT_GT(OpenLoopAt95("ecmp").loss, 0.03);
  const At95 local = OpenLoopAt95("lq");
  EXPECT_NEAR(local.slower, 0.5, 0.01);
  EXPECT_NEAR(local.loss, 7.5 / 95, 0.01);
  const At95 conga = OpenLoopAt95("{kind: conga, gap: 10us}");
  EXPECT_LT(conga.loss, 0.01);
  EXPECT_NEAR(conga.slower, kBestShare, kLevel);
}

// The example at half its size: 20 hosts of 2.5 Gbps send without a pause, over links of 40 and 20,
// in flows that begin when the one before would end if nothing were in its way.
struct Carried {
  double percent;  // The percentage of the hosts' demand that arrives.
  double slower;   // The share that comes by the slower spine.
};
Carried CarryFullDemand(const std::string& lb, int64_t segments, uint64_t seed) {
  constexpr HostId kSources = 20;
  const Duration lasts = SerializationDelay(Bytes{1'538}, 2500_Mbps) * segments;
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 2, hosts_per_leaf: 20, host_link: {rate: 2500Mbps, delay: "
               "1us}, fabric_link: {rate: 40Gbps, delay: 1us}, asymmetry: [{links: "
               "[leaf1-spine1], rate: 20Gbps}]}"),
           .transport = "{kind: dctcp, dupthresh: 1000, min_rto: 5ms}",
           .balancer = lb,
           .port = "{buffer: 400KB, ecn_above: 100KB}",
           .seed = seed});
  for (int i = 0; lasts * (i / kSources) < 4_ms; ++i) {
    const HostId src = static_cast<HostId>(i % kSources);
    lab.AddFlow(src, static_cast<HostId>(src + kSources), 1'460 * segments,
                Time{} + 8_us * src + lasts * (i / kSources));
  }
  const auto bytes_by = [&](SwitchId spine, Time at) {
    FifoPort& port = lab.PortTo(lab.SwitchVertex(spine), lab.SwitchVertex(1));
    return static_cast<double>(port.SentBy(at).wire_bytes);
  };
  constexpr Time kFrom = Time{} + 2_ms;
  std::vector<double> bytes(2);
  lab.SampleEvery(2_ms, [&](Time now) {
    if (now == kFrom) bytes = {bytes_by(2, now), bytes_by(3, now)};
  });
  lab.Run(Time{} + 4_ms);
  bytes = {bytes_by(2, lab.end()) - bytes[0], bytes_by(3, lab.end()) - bytes[1]};
  const double demand = kSources * 2.5e9 / 8 * Seconds(lab.end() - kFrom);
  return {100 * (bytes[0] + bytes[1]) / demand, bytes[1] / (bytes[0] + bytes[1])};
}

TEST(CongaTest, CarriesItsPapersExampleWhichHashingAndLocalKnowledgeDoNot) {
  const std::vector<double> conga = AtFiveSeeds([](uint64_t seed) {
    const Carried carried = CarryFullDemand("conga", 35, seed);
    EXPECT_NEAR(carried.slower, kBestShare, kLevel) << seed;
    return carried.percent;
  });
  const std::vector<double> ecmp =
      AtFiveSeeds([](uint64_t seed) { return CarryFullDemand("ecmp", 35, seed).percent; });
  const std::vector<double> local =
      AtFiveSeeds([](uint64_t seed) { return CarryFullDemand("lq", 35, seed).percent; });
  EXPECT_TRUE(IsLess(std::vector<double>(5, 95), conga));
  // 50 by the fast path, 40 by the other; five seeds know nothing better.
  const std::vector<double> ninety(5, 90);
  EXPECT_FALSE(IsLess(ecmp, ninety) || IsLess(ninety, ecmp));
  EXPECT_TRUE(IsLess(local, ecmp));
}

// Each path gets half of the packets of long flows, and the slow path lets 40 pass.
TEST(CongaTest, LongFlowsWithLocalKnowledgeAreAsSlowOnTheFastPathOfItsPapersExample) {
  EXPECT_NEAR(CarryFullDemand("lq", 100'000, 1).percent, 80, 1);
}

}  // namespace heddle::conga_test
