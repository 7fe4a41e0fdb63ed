// SPDX-License-Identifier: Apache-2.0
// Tests the path delays that leaves learn, and how AG and AAC use them.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "lb/parts/leaf_delays.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::measured_leaf_test {

// --- The table ---

TEST(LeafDelaysTest, TellOfEachPathInTurnOnceForWhatHasCome) {
  LeafDelays delays(2, 4, /*queueing=*/false, 1_ms);
  EXPECT_EQ(delays.Depart(1, Time{}).path, 0xffff);
  for (const uint16_t path : std::vector<uint16_t>{3, 1})
    delays.Arrive({.sent_ns = 1'000}, 1, path, Time{} + 17_us);
  const LeafDelayHeader first = delays.Depart(1, Time{} + 20_us);
  EXPECT_EQ(first.path, 1);
  EXPECT_EQ(first.delay_16ns, 1'000);
  EXPECT_EQ(first.sent_ns, 20'000u);
  EXPECT_EQ(delays.Depart(1, Time{} + 20_us).path, 3);
  EXPECT_EQ(delays.Depart(1, Time{} + 20_us).path, 0xffff);
  EXPECT_EQ(delays.Depart(0, Time{} + 20_us).path, 0xffff);
}

TEST(LeafDelaysTest, QueueingIsWhatIsAboveTheLeast) {
  LeafDelays delays(2, 2, /*queueing=*/true, 1_ms);
  delays.Arrive({.sent_ns = 1'000}, 1, 0, Time{} + 16_us);
  EXPECT_EQ(delays.Depart(1, Time{}).delay_16ns, 0);
  delays.Arrive({.sent_ns = 1'000}, 1, 0, Time{} + 48_us);
  EXPECT_EQ(delays.Depart(1, Time{}).delay_16ns, 2'000);
  delays.ForgetLeast();  // The path has become longer.
  delays.Arrive({.sent_ns = 1'000}, 1, 0, Time{} + 48_us);
  EXPECT_EQ(delays.Depart(1, Time{}).delay_16ns, 0);
}

// Packets of hosts that are on no leaf have no stamp.
TEST(LeafDelaysTest, PacketsWithoutAStampTellNothing) {
  LeafDelays delays(2, 2, /*queueing=*/false, 1_ms);
  delays.Arrive({.sent_ns = 1, .path = 0, .delay_16ns = 2'000}, 1, 0xffff, Time{} + 1_us);
  delays.Arrive(LeafDelayHeader{}, 1, 1, Time{} + 2_us);
  delays.Arrive({.sent_ns = 0, .path = 0, .delay_16ns = 0}, 1, 1, Time{} + 2_us);
  EXPECT_EQ(delays.Of(1, 0, Time{} + 3_us), 32_us);
  EXPECT_EQ(delays.Depart(1, Time{} + 3_us).path, 0xffff);
}

// The other clock is 100 us ahead, or behind.
TEST(LeafDelaysTest, QueueingDoesNotDependOnClocks) {
  for (const uint32_t sent_ns : {300'000u, 100'000u}) {
    LeafDelays delays(2, 2, /*queueing=*/true, 1_ms);
    delays.Arrive({.sent_ns = sent_ns}, 1, 0, Time{} + 210_us);
    delays.Arrive({.sent_ns = sent_ns}, 1, 0, Time{} + 242_us);
    EXPECT_EQ(delays.Depart(1, Time{} + 250_us).delay_16ns, 2'000) << sent_ns;
  }
}

TEST(LeafDelaysTest, StampsWrapAndOldNewsCountAsNothing) {
  LeafDelays delays(2, 2, /*queueing=*/false, 1_ms);
  const Time late = Time{} + 4'294'967'290_ns;  // 6 ns before 2^32.
  const LeafDelayHeader stamp = delays.Depart(1, late);
  delays.Arrive(stamp, 1, 0, late + 32_us);
  const LeafDelayHeader news = delays.Depart(1, late + 32_us);
  EXPECT_EQ(news.delay_16ns, 2'000);
  LeafDelays other(2, 2, false, 1_ms);
  other.Arrive(news, 0, 0xffff, late);
  EXPECT_EQ(other.Of(0, 0, late + 1_ms), 32_us);
  EXPECT_EQ(other.Of(0, 0, late + 1_ms + 1_ps), 0_us);
}

// --- A leaf ---

// Leaf 1 reports this delay for one of this leaf's paths.
void Hear(LbSwitch& leaf, Time at, uint16_t path, Duration delay) {
  Packet packet = LbPacket(9);
  packet.src = 1;
  packet.dst = 0;
  packet.SetScheme(LeafDelayHeader{
      .sent_ns = 1, .path = path, .delay_16ns = static_cast<uint16_t>(delay.ps / 16'000)});
  leaf.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
    policy.OnPacket(view, packet, 0, view.CandidatesTo(0));
  });
}

// A dropped packet has left its stamp behind; the next packet has a path of its own.
TEST(MeasuredLeafTest, APinnedDatagramKeepsItsPathAndIsStamped) {
  LbSwitch leaf("ag");
  Packet pinned = LbPacket(8);
  pinned.kind = PacketKind::kDatagram;
  pinned.path = 3;
  leaf.At(Time{} + 5_us, [&](SwitchView& view, SwitchPolicy& policy) {
    for (PortIndex port = 3; port == 3;) {  // Another than its own.
      port = policy.OnPacket(view, LbPacket(7), 4, view.CandidatesTo(1)).port;
    }
    policy.OnEnqueue(view, pinned, 3);
  });
  EXPECT_EQ(pinned.path, 3);
  EXPECT_EQ(pinned.Scheme<LeafDelayHeader>().sent_ns, 5'000u);
}

// Counts the changes of port among packets of one flow, 1 us apart.
int Changes(LbSwitch& leaf, Time from, int packets) {
  int changes = 0;
  PortIndex before = leaf.PortFor(LbPacket(7), from);
  for (int i = 1; i < packets; ++i) {
    const PortIndex port = leaf.PortFor(LbPacket(7), from + 1_us * i);
    changes += port != before ? 1 : 0;
    before = port;
  }
  return changes;
}

TEST(AgTest, OnAnIdleFabricPacketsAreSprayed) {
  LbSwitch leaf("ag");
  EXPECT_NEAR(Changes(leaf, Time{}, 4'000), 3'000, 100);  // All but a quarter.
}

// 120 us at 10 Gbps are 102 packets of 1460 bytes, and one. A slower link elsewhere makes no
// difference.
TEST(AgTest, GranularityIsWhatAFastPathSendsInTheDifference) {
  const LbSwitch::Shape slow{.uplinks = {10_Gbps, 10_Gbps, 1_Gbps, 10_Gbps},
                             .fabric = {.fabric_rate = 100_Mbps}};
  LbSwitch leaf("{kind: ag, most: 1000, stale: 1s}", slow);
  Hear(leaf, Time{} + 1_us, 2, 120_us);
  Changes(leaf, Time{} + 2_us, 103 * 40);
  EXPECT_EQ(leaf.Count("cells"), 40);
  LbSwitch clamped("{kind: ag, stale: 1s}", slow);
  Hear(clamped, Time{} + 1_us, 2, 120_us);
  Changes(clamped, Time{} + 2_us, 45 * 40);
  EXPECT_EQ(clamped.Count("cells"), 40);
}

TEST(AgTest, AFlowLeavesAPathThatIsGone) {
  LbSwitch leaf("{kind: ag, stale: 1s}");
  Hear(leaf, Time{} + 1_us, 2, 1_ms);
  const PortIndex port = leaf.PortFor(LbPacket(7), Time{} + 2_us);
  std::vector<PortIndex> live;
  for (PortIndex p = 0; p < 4; ++p) {
    if (p != port) live.push_back(p);
  }
  const PortIndex other = leaf.PortFor(LbPacket(7), Time{} + 3_us, live);
  EXPECT_NE(other, port);
  EXPECT_EQ(leaf.PortFor(LbPacket(7), Time{} + 4_us), other);
}

TEST(AgTest, MayTakeThePathOfTheLeastDelay) {
  LbSwitch leaf("{kind: ag, pick: least_delay, stale: 1s}");
  for (const uint16_t path : std::vector<uint16_t>{0, 1, 3}) Hear(leaf, Time{} + 1_us, path, 10_us);
  for (FlowId flow = 0; flow < 50; ++flow) {
    Packet packet = LbPacket(flow);
    packet.flow = flow;
    EXPECT_EQ(leaf.PortFor(packet, Time{} + 2_us), 2);
  }
}

std::vector<int64_t> Spread(LbSwitch& leaf, Time from, int packets) {
  std::vector<int64_t> counts(4);
  for (int i = 0; i < packets; ++i) ++counts[leaf.PortFor(LbPacket(7), from + 100_ns * i)];
  return counts;
}

TEST(AacTest, OnAnIdleFabricItIsRandomSpraying) {
  LbSwitch leaf("aac");
  EXPECT_LT(ChiSquare(Spread(leaf, Time{}, 8'000), {1, 1, 1, 1}), kChiSquare99[3]);
  EXPECT_EQ(leaf.Count("trials"), 0);
}

// 800 us have 25 periods of 32 us.
TEST(AacTest, APathThatIsWorseGetsTheProbesOnly) {
  LbSwitch leaf("{kind: aac, stale: 1s}");
  Hear(leaf, Time{} + 1_us, 2, 200_us);
  const std::vector<int64_t> counts = Spread(leaf, Time{} + 2_us, 8'000);
  EXPECT_EQ(counts[2], leaf.Count("trials"));
  EXPECT_NEAR(static_cast<double>(counts[2]), 25, 1);
  EXPECT_LT(ChiSquare({counts[0], counts[1], counts[3]}, {1, 1, 1}), kChiSquare99[2]);
}

// A measurement is stale after 1 ms by default; a trial of this path comes back with no news.
TEST(AacTest, APathStaysUnusedUntilATrialTellsOfAnotherDelay) {
  LbSwitch leaf("aac");
  Hear(leaf, Time{} + 1_us, 2, 200_us);
  Spread(leaf, Time{} + 2_us, 100);
  const int64_t trials = leaf.Count("trials");
  const int64_t over_it = Spread(leaf, Time{} + 5_ms, 1'000)[2];
  EXPECT_EQ(over_it, leaf.Count("trials") - trials);
  Hear(leaf, Time{} + 6_ms, 2, 0_us);
  EXPECT_GT(Spread(leaf, Time{} + 7_ms, 1'000)[2], 200);
}

// Three packets of 1500 bytes take 3.6 us at 10 Gbps.
TEST(AacTest, TheSpreadIsThatOfTheLeafsFastestUplink) {
  LbSwitch leaf(
      "{kind: aac, hysteresis: 0, stale: 1s}",
      {.uplinks = {10_Gbps, 10_Gbps, 1_Gbps, 10_Gbps}, .fabric = {.fabric_rate = 100_Mbps}});
  Hear(leaf, Time{} + 1_us, 1, 3'584_ns);
  Hear(leaf, Time{} + 1_us, 2, 3'616_ns);
  const std::vector<int64_t> counts = Spread(leaf, Time{} + 2_us, 300);
  EXPECT_GT(counts[1], 50);
  EXPECT_EQ(counts[2], leaf.Count("trials"));
}

TEST(AacTest, PathsComeAndGoWithHysteresis) {
  LbSwitch leaf("{kind: aac, spread: 10us, refresh: 1us, stale: 1s}");
  const auto uses_2 = [&](Time at) {
    const int64_t probes = leaf.Count("trials");
    const int64_t count = Spread(leaf, at, 200)[2];
    return count > leaf.Count("trials") - probes;
  };
  Hear(leaf, Time{} + 1_us, 2, 10'800_ns);
  EXPECT_TRUE(uses_2(Time{} + 10_us));
  Hear(leaf, Time{} + 100_us, 2, 11'200_ns);
  EXPECT_FALSE(uses_2(Time{} + 110_us));
  Hear(leaf, Time{} + 200_us, 2, 9'200_ns);
  EXPECT_FALSE(uses_2(Time{} + 210_us));
  Hear(leaf, Time{} + 300_us, 2, 8'800_ns);
  EXPECT_TRUE(uses_2(Time{} + 310_us));
}

TEST(AacTest, APathThatIsGoneLeavesAtOnce) {
  LbSwitch leaf("aac");
  leaf.PortFor(LbPacket(7), Time{});
  const std::vector<PortIndex> live = {0, 3};
  std::set<PortIndex> used;
  for (int i = 0; i < 100; ++i) used.insert(leaf.PortFor(LbPacket(7), Time{} + 1_ns, live));
  EXPECT_EQ(used, (std::set<PortIndex>{0, 3}));
}

// --- In a network: a spine whose links to leaf 1 are slow builds a queue there ---

int64_t Reordered(const std::string& lb) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 4, fabric_link: {rate: "
      "10Gbps, delay: 1us}, asymmetry: [{links: [leaf1-spine3], rate: 2Gbps}]}\nlb: " +
      lb + "\nworkload: [{kind: poisson, sizes: websearch, load: 0.2, flows: 100}]\n"));
  const CsvTable flows(run.files.flows);
  int64_t packets = 0;
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    packets += flows.Integer(row, "reordered_net");
  }
  return packets;
}

TEST(MeasuredLeafTest, ClocksThatDisagreeChangeNothing) {
  const auto flows = [](const std::string& lb) {
    return RunExperiment(ExperimentFrom("topology: {kind: leaf_spine, leaves: 2, spines: 4, "
                                        "hosts_per_leaf: 4}\nworkload: [{kind: poisson, sizes: "
                                        "small, load: 0.4, flows: 200}]\nlb: " +
                                        lb + "\n"))
        .files.flows;
  };
  for (const std::string lb : {"kind: ag", "kind: aac", "kind: tdlb", "kind: tdlb, probe: hula",
                               "kind: flb, compare: queueing"}) {
    EXPECT_TRUE(flows("{" + lb + ", clock_spread: 1ms}") == flows("{" + lb + "}")) << lb;
  }
  // FLB compares measured delays with the delay that it assumes for unknown paths.
  EXPECT_FALSE(flows("{kind: flb, clock_spread: 1ms}") == flows("flb"));
}

TEST(MeasuredLeafTest, UnequalPathsReorderLessThanUnderSpraying) {
  const int64_t rps = Reordered("rps");
  EXPECT_LT(Reordered("ag"), rps);
  EXPECT_LT(Reordered("aac"), rps);
}

}  // namespace heddle::measured_leaf_test
