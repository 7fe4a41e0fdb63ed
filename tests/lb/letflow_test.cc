// SPDX-License-Identifier: Apache-2.0
// LetFlow turns on one comparison: most of these tests stand on either side of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::letflow_test {

// The ports of a flow that sends a packet each `interval`.
std::vector<PortIndex> PortsOver(Duration interval, int packets, const std::string& settings) {
  LbSwitch leaf(settings);
  std::vector<PortIndex> ports;
  for (int i = 0; i < packets; ++i)
    ports.push_back(leaf.PortFor(LbPacket(7), Time{} + interval * i));
  return ports;
}

size_t Distinct(const std::vector<PortIndex>& ports) {
  return std::set<PortIndex>(ports.begin(), ports.end()).size();
}

TEST(LetFlowTest, KeepsItsPortThroughSilencesOfExactlyTheGap) {
  EXPECT_EQ(Distinct(PortsOver(500_us, 1'000, "letflow")), 1u);
  EXPECT_EQ(Distinct(PortsOver(50_us, 1'000, "{kind: letflow, gap: 50us}")), 1u);
}

TEST(LetFlowTest, ReachesEveryPortBeyondTheGap) {
  EXPECT_EQ(Distinct(PortsOver(500_us + 1_ps, 1'000, "letflow")), 4u);
}

TEST(LetFlowTest, AFlowletDrawsThePortItHadAsOftenAsAnyOther) {
  constexpr int kFlowlets = 8'000;
  const std::vector<PortIndex> ports = PortsOver(501_us, kFlowlets, "letflow");
  int repeats = 0;
  std::vector<int64_t> counts(4);
  for (size_t i = 1; i < ports.size(); ++i) repeats += ports[i] == ports[i - 1] ? 1 : 0;
  for (const PortIndex port : ports) ++counts[port];
  EXPECT_NEAR(repeats, kFlowlets / 4, ThreeSigma(kFlowlets, 0.25));
  EXPECT_LT(ChiSquare(counts, {1, 1, 1, 1}), kChiSquare99[3]);
}

TEST(LetFlowTest, AStreamAtFullRateNeverMoves) {
  LbSwitch leaf("{kind: letflow, gap: 100us}");
  for (int i = 0; i < 20'000; ++i) leaf.PortFor(LbPacket(7), Time{} + 123_ns * i);
  EXPECT_EQ(leaf.Count("flowlets"), 1);
}

TEST(LetFlowTest, EveryPacketProlongsTheFlowletTheFirstToo) {
  LbSwitch leaf("{kind: letflow, gap: 100us}");
  leaf.PortFor(LbPacket(7), Time{} + 1_s);
  leaf.PortFor(LbPacket(7), Time{} + 1_s + 100_us);
  leaf.PortFor(LbPacket(7), Time{} + 1_s + 200_us);
  EXPECT_EQ(leaf.Count("flowlets"), 1);
  leaf.PortFor(LbPacket(7), Time{} + 1_s + 300_us + 1_ps);
  EXPECT_EQ(leaf.Count("flowlets"), 2);
}

TEST(LetFlowTest, FlowsOfOneSlotNeverSplitAndKeepEachOtherAlive) {
  LbSwitch leaf("{kind: letflow, gap: 100us, slots: 1}");
  const PortIndex port = leaf.PortFor(LbPacket(7), Time{});
  for (int i = 1; i < 1'000; ++i) {
    // Each flow alone has a gap of 160 us.
    ASSERT_EQ(leaf.PortFor(LbPacket(i % 2 == 0 ? 7 : 8), Time{} + 80_us * i), port);
  }
  for (int i = 0; i < 100; ++i) {
    const Time at = Time{} + 1_s + 1_ms * i;
    ASSERT_EQ(leaf.PortFor(LbPacket(7), at), leaf.PortFor(LbPacket(8), at));
  }
}

TEST(LetFlowTest, FlowsOfDifferentSlotsAreIndependent) {
  LbSwitch leaf("{kind: letflow, gap: 100us, slots: 64}");
  std::vector<int64_t> counts(4);
  for (uint32_t flow = 0; flow < 64; ++flow) ++counts[leaf.PortFor(LbPacket(flow))];
  EXPECT_EQ(leaf.Count("flowlets"), 64);
  EXPECT_EQ(Used(counts), 4);
  leaf.PortFor(LbPacket(64));  // Shares the slot of flow 0.
  EXPECT_EQ(leaf.Count("flowlets"), 64);
}

TEST(LetFlowTest, DrawsAgainAtOnceWhenItsPortIsNoCandidate) {
  LbSwitch leaf("letflow");
  const PortIndex port = leaf.PortFor(LbPacket(7), Time{});
  std::vector<PortIndex> live(leaf.uplinks().begin(), leaf.uplinks().end());
  std::erase(live, port);
  const PortIndex refuge = leaf.PortFor(LbPacket(7), Time{1}, live);
  EXPECT_TRUE(std::ranges::binary_search(live, refuge));
  // It stays there, also when its old port is back.
  for (int i = 2; i < 50; ++i) EXPECT_EQ(leaf.PortFor(LbPacket(7), Time{i}), refuge);
}

TEST(LetFlowTest, AFailureMovesOnlyFlowsOfTheFailedPort) {
  LbSwitch leaf("letflow");
  std::vector<PortIndex> before;
  for (uint32_t flow = 0; flow < 500; ++flow) before.push_back(leaf.PortFor(LbPacket(flow)));
  for (uint32_t flow = 0; flow < 500; ++flow) {
    const std::vector<PortIndex> live{0, 1, 3};
    const PortIndex after = leaf.PortFor(LbPacket(flow), Time{1}, live);
    if (before[flow] != 2) {
      ASSERT_EQ(after, before[flow]);
    }
  }
}

// --- The age bit ---

constexpr const char* kAgeBit = "{kind: letflow, gap: 100us, detector: age_bit}";

// Returns true if a flowlet gap from `from` to `to` ends a flowlet.
bool EndsFlowlet(Time from, Time to) {
  LbSwitch leaf(kAgeBit);
  leaf.PortFor(LbPacket(7), from);
  leaf.PortFor(LbPacket(7), to);
  return leaf.Count("flowlets") == 2;
}

TEST(LetFlowAgeBitTest, ASilenceOfTheGapNeverEndsAFlowletAndOneOfTwoAlwaysDoes) {
  for (int64_t phase = 0; phase < 200; phase += 7) {
    const Time from = Time{} + 1_us * phase;
    EXPECT_FALSE(EndsFlowlet(from, from + 100_us)) << phase;
    EXPECT_TRUE(EndsFlowlet(from, from + 200_us)) << phase;
  }
}

TEST(LetFlowAgeBitTest, InBetweenThePhaseOfTheSweepDecides) {
  // Sweeps at 100 us and 200 us: the first marks the entry, the second ends it.
  EXPECT_TRUE(EndsFlowlet(Time{} + 99_us, Time{} + 200_us));
  EXPECT_FALSE(EndsFlowlet(Time{} + 99_us, Time{} + 200_us - 1_ps));
  EXPECT_FALSE(EndsFlowlet(Time{} + 100_us, Time{} + 300_us - 1_ps));
}

TEST(LetFlowAgeBitTest, IsWhatSweepsOfTheTableWouldDo) {
  LbSwitch leaf(kAgeBit);
  Rng rng = Rng::Stream(1, "silences", 0);
  bool valid = false;
  bool aged = false;
  int64_t flowlets = 0;
  Time next_sweep = Time{} + 100_us;
  Time now;
  for (int i = 0; i < 5'000; ++i) {
    now += Duration{1'000'000} * rng.Below(250);
    for (; next_sweep <= now; next_sweep += 100_us) {
      if (aged) valid = false;
      aged = true;
    }
    flowlets += valid ? 0 : 1;
    valid = true;
    aged = false;
    leaf.PortFor(LbPacket(7), now);
    ASSERT_EQ(leaf.Count("flowlets"), flowlets) << now.ps;
  }
}

// --- In a network ---

// Returns the share of eight long flows' bytes over the spine whose link to the other leaf has a
// fifth of the other spine's rate: it has a sixth of the capacity.
double ShareOfSlowSpine(const std::string& gap) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 8, host_link: {rate: "
      "10Gbps, delay: 1us}, fabric_link: {rate: 40Gbps, delay: 1us}, asymmetry: [{links: "
      "[leaf1-spine1], rate: 8Gbps}]}\ntransport: {kind: dctcp}\n"
      "workload: [{kind: permutation, size: 20MB, cross_rack: true}]\nlb: {kind: letflow, gap: " +
      gap + "}\n"));
  return ShareOfUplink(run, "leaf0", "spine1");
}

// Slow paths stretch flowlet gaps, so flowlets end there more often than elsewhere.
TEST(LetFlowTest, LongFlowsLeaveAPathThatIsSlowFurtherOn) {
  EXPECT_GT(ShareOfSlowSpine("1s"), 0.3);  // Nothing ever moves.
  EXPECT_LT(ShareOfSlowSpine("50us"), 0.25);
}

}  // namespace heddle::letflow_test
