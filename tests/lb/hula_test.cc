// SPDX-License-Identifier: Apache-2.0
// Tests HULA's probes: what they report, to whom, and which ports flowlets take.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"

namespace heddle::hula_test {

// lb/hula.cc writes this header.
struct Probe {
  uint16_t leaf;
  uint8_t utilisation;
};

const std::string kHula = "{kind: hula, probe_every: 100us, gap: 50us}";

// A probe of leaf 1 that arrives over an uplink.
void Hear(LbSwitch& leaf, Time at, PortIndex port, uint8_t utilisation) {
  Packet packet;
  packet.kind = PacketKind::kControl;
  packet.bytes = 64;
  packet.src = packet.dst = 1;
  packet.SetScheme(Probe{1, utilisation});
  leaf.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
    const Decision decision = policy.OnPacket(view, packet, port, view.CandidatesTo(1));
    EXPECT_EQ(decision.kind, Decision::Kind::kConsume);
  });
}

PortIndex NewFlow(LbSwitch& leaf, Time at) {
  static uint32_t tuple = 100;
  return leaf.PortFor(LbPacket(++tuple), at);
}

TEST(HulaTest, NewFlowletsTakeTheLeastUtilisedPath) {
  LbSwitch leaf(kHula);
  Hear(leaf, Time{} + 1_us, 0, 200);
  EXPECT_EQ(NewFlow(leaf, Time{} + 2_us), 0);
  Hear(leaf, Time{} + 3_us, 2, 90);
  Hear(leaf, Time{} + 4_us, 1, 91);
  Hear(leaf, Time{} + 5_us, 3, 90);  // No better.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(NewFlow(leaf, Time{} + 6_us), 2);
}

TEST(HulaTest, AFlowletStaysUntilItsGap) {
  LbSwitch leaf(kHula);
  Hear(leaf, Time{} + 1_us, 0, 200);
  EXPECT_EQ(leaf.PortFor(LbPacket(7), Time{} + 2_us), 0);
  Hear(leaf, Time{} + 3_us, 1, 10);
  EXPECT_EQ(leaf.PortFor(LbPacket(7), Time{} + 52_us), 0);  // Exactly the gap.
  EXPECT_EQ(leaf.PortFor(LbPacket(7), Time{} + 102_us + 1_ps), 1);
  EXPECT_EQ(leaf.Count("reroutes"), 1);
}

// Without it a best path that gets worse would be believed for ever.
TEST(HulaTest, TheBestPathMayGetWorse) {
  LbSwitch leaf(kHula);
  Hear(leaf, Time{} + 1_us, 0, 10);
  Hear(leaf, Time{} + 2_us, 1, 50);
  EXPECT_EQ(NewFlow(leaf, Time{} + 3_us), 0);
  Hear(leaf, Time{} + 101_us, 0, 200);
  EXPECT_EQ(NewFlow(leaf, Time{} + 102_us), 0);  // Nothing better has been heard of since.
  Hear(leaf, Time{} + 103_us, 1, 50);
  EXPECT_EQ(NewFlow(leaf, Time{} + 104_us), 1);
}

TEST(HulaTest, AfterSilenceAnyProbeIsBelieved) {
  LbSwitch leaf(kHula);
  Hear(leaf, Time{} + 1_us, 0, 10);
  Hear(leaf, Time{} + 301_us, 1, 200);  // Exactly fail_after.
  EXPECT_EQ(NewFlow(leaf, Time{} + 301_us), 0);
  Hear(leaf, Time{} + 302_us, 1, 200);
  EXPECT_EQ(NewFlow(leaf, Time{} + 302_us), 1);
}

// The utilisation of the link in the direction of data, which leaves by the port that the probe
// came in by.
TEST(HulaTest, TheUtilisationOfThePortItselfCounts) {
  LbSwitch leaf(kHula);
  const Packet packet = LbPacket(7);
  for (Time at; at < Time{} + 1_ms; at += 244_ns) {  // 1524 bytes at half of 100 Gbps.
    leaf.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      Packet copy = packet;
      policy.OnTransmit(view, copy, 0);
    });
  }
  Hear(leaf, Time{} + 1_ms, 0, 0);  // Is 127 or so now.
  Hear(leaf, Time{} + 1_ms, 1, 131);
  EXPECT_EQ(NewFlow(leaf, Time{} + 1_ms), 0);
  Hear(leaf, Time{} + 1_ms, 2, 123);
  EXPECT_EQ(NewFlow(leaf, Time{} + 1_ms), 2);
}

TEST(HulaTest, APortThatIsNoNextHopIsNotTaken) {
  LbSwitch leaf(kHula);
  Hear(leaf, Time{} + 1_us, 2, 10);
  const std::vector<PortIndex> live = {0, 1, 3};
  for (uint32_t tuple = 0; tuple < 20; ++tuple) {
    EXPECT_NE(leaf.PortFor(LbPacket(tuple), Time{} + 2_us, live), 2);
  }
}

// --- In a network ---

// Each of 4 leaves sends a probe up each of 3 links, and each of 3 spines passes it down to the 3
// others: in all 4 x 3 + 3 x 4 x 3 a period, so that a link down carries one for each other leaf.
TEST(HulaTest, ALinkCarriesOneProbeOfEachLeafAPeriod) {
  const FinishedRun run = RunExperiment(
      ExperimentFrom("topology: {kind: leaf_spine, leaves: 4, spines: 3, hosts_per_leaf: 2}\n"
                     "lb: {kind: hula, probe_every: 100us}\n"
                     "workload: [{kind: permutation, size: 2MB, cross_rack: true}]\n"));
  const double periods = Seconds(run.result.end - Time{}) / 100e-6;
  EXPECT_NEAR(static_cast<double>(Counted(run, "probes")), 48 * periods, 48);
}

// All switches of a fat-tree with k = 4 see a probe, and the probe ends.
TEST(HulaTest, ProbesReachAllOfAFatTreeAndEnd) {
  const FinishedRun run = RunExperiment(
      ExperimentFrom("topology: {kind: fat_tree, k: 4}\nlb: {kind: hula, probe_every: 100us}\n"
                     "workload: [{kind: permutation, size: 1MB}]\n"));
  EXPECT_EQ(run.result.unfinished, 0);
  const double periods = Seconds(run.result.end - Time{}) / 100e-6;
  // A leaf sends 2 probes up. Each aggregation sends its copy to 1 neighbour and 2 cores, each core
  // to 3 other pods, and these to 2 leaves, at most from both cores of an aggregation.
  const double most = 8 * (2 + 2 * 3 + 4 * 3 + 12 * 2);
  EXPECT_LE(static_cast<double>(Counted(run, "probes")), most * (periods + 1));
  EXPECT_GE(static_cast<double>(Counted(run, "probes")), 8 * (2 + 2 * 3 + 4 * 3) * (periods - 1));
}

int64_t Sum(const std::string& csv, const std::string& column) {
  const CsvTable table(csv);
  int64_t sum = 0;
  for (size_t row = 0; row < table.rows.size(); ++row) sum += table.Integer(row, column);
  return sum;
}

// Datagrams from leaf 2 fill 80% of the link down from one of two spines. Within a period and the
// estimator's memory leaf 0 knows that; a flowlet each 50 us shows it. That much is 1.6% of 15 ms.
TEST(HulaTest, KnowsTheBottleneckAfterAPeriod) {
  for (const std::string busy : {"spine0", "spine1"}) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 3, spines: 2, hosts_per_leaf: 2, host_link: {rate: "
        "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}\n"
        "lb: {kind: hula, probe_every: 200us, tau: 50us, gap: 20us}\n"
        "workload: [{kind: poisson, sizes: small, load: 0.001, duration: 20ms}]\n"
        "background:\n"
        "  - {from: [4], to: [2], rate: 8Gbps, via: " +
        busy +
        "}\n"
        "  - {from: [0], to: [3], rate: 1Gbps, pattern: onoff, mean_on: 20us, mean_off: 30us, "
        "on_dist: constant, off_dist: constant}\n"));
    const CsvTable udp(run.files.udp);
    const CsvTable links(run.files.links);
    const std::string idle = busy == "spine0" ? "spine1" : "spine0";
    int64_t avoided = 0;
    for (size_t row = 0; row < links.rows.size(); ++row) {
      if (links.At(row, "node") != "leaf0" || links.At(row, "peer") != idle) continue;
      avoided = links.Integer(row, "wire_bytes");
    }
    const int64_t sent = udp.Integer(udp.Find("src", "0"), "bytes_sent");
    EXPECT_GT(static_cast<double>(avoided), 0.98 * static_cast<double>(sent)) << busy;
  }
}

// A spine loses leaf 1, and routing does not notice. The datagrams of four sources are lost until
// missing probes count as a failure and the next probe has come: 800 us at 1 Gbps each, or 66
// datagrams.
TEST(HulaTest, LeavesAPathThatFailsOutOfSightAfterItsProbesAreMissed) {
  int64_t lost = 0;
  for (const std::string link : {"leaf1-spine0", "leaf1-spine1"}) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, host_link: {rate: "
        "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}\n"
        "lb: {kind: hula, probe_every: 200us, gap: 20us}\n"
        "workload: [{kind: poisson, sizes: small, load: 0.001, duration: 20ms}]\n"
        "background: [{from: [0, 1, 2, 3], to: [4, 5, 6, 7], rate: 1Gbps, pattern: onoff, mean_on: "
        "20us, mean_off: 30us, on_dist: constant, off_dist: constant}]\n"
        "routing: {convergence: 500ms}\n"
        "schedule: [{at: 5ms, links: [" +
        link + "], state: down}]\n"));
    EXPECT_LE(Sum(run.files.udp, "pkts_lost"), 4 * 66) << link;
    EXPECT_GT(Sum(run.files.udp, "pkts_sent"), 4 * 1'200);
    lost += Sum(run.files.udp, "pkts_lost");
  }
  EXPECT_GT(lost, 0);  // One of them was the best.
}

// A quarter of the capacity of one of two spines: long flows leave it.
TEST(HulaTest, FlowsLeaveAPathThatIsSlowFurtherOn) {
  const auto end = [](const std::string& lb) {
    return RunExperiment(
               ExperimentFrom(
                   "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 8, "
                   "asymmetry: [{links: [leaf1-spine1], rate: 10Gbps}]}\nlb: " +
                   lb + "\nworkload: [{kind: poisson, sizes: websearch, load: 0.3, flows: 200}]\n"))
        .result.end;
  };
  EXPECT_LT(end("{kind: hula, gap: 50us}"), end("ecmp"));
}

}  // namespace heddle::hula_test
