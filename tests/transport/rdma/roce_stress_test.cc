// SPDX-License-Identifier: Apache-2.0
// RoCEv2 under any settings, in networks that lose, delay, reorder and mark: every flow ends with
// all its bytes, the counts agree, and the number of threads shows in nothing.

#include <gtest/gtest.h>

#include "tests/support/experiment_kit.h"
#include "tests/support/stress.h"
#include "tests/support/thread_counts.h"

namespace heddle::roce_stress_test {

std::string RandomTransport(Rng& rng) {
  std::string yaml = "{kind: rocev2";
  yaml +=
      OneOf(rng, {", framing: rocev2", ", framing: ns3_rdma", ", framing: ip1500", ", mtu: 4096"});
  yaml += OneOf(
      rng, {", recovery: gbn", ", recovery: gbn, nack: timer, nack_interval: 3us",
            ", recovery: irn", ", recovery: irn, bdp: 20KB", ", recovery: irn, nack_threshold: 3"});
  yaml += OneOf(rng, {"", ", ack_interval: 4", ", ack_interval: 64"});
  yaml += OneOf(rng, {"", ", window: bdp", ", window: bdp_var", ", window: bdp, bdp_scope: max"});
  yaml += OneOf(rng, {"", ", retime_on_rate_change: true"});
  yaml += OneOf(rng, {"", ", turns: from_start", ", line_rate: 5Gbps", ", gap_unit: 1ns"});
  yaml += OneOf(
      rng, {", cc: none", ", cc: {kind: none, rate: 3Gbps}", ", cc: dcqcn",
            ", cc: {kind: dcqcn, rp: nic, min_rate: 1Gbps}",
            ", cc: {kind: dcqcn, cnp_mode: ack_flag, rp: nic, cnp_on_ooo: true, min_rate: 1Gbps}",
            ", cc: {kind: dcqcn, cnp_trailing: true, cnp_interval: 5us}",
            ", cc: {kind: timely, min_rate: 1Gbps}", ", cc: {kind: swift, min_cwnd: 0.1}",
            ", cc: {kind: hpcc, min_rate: 1Gbps}",
            ", control_priority: 3, cc: {kind: hpcc, max_stage: 0, rtt_scope: pair}"});
  return yaml + ", rto: 200us}";
}

TEST(RoceStressTest, EndsEveryFlowWithItsCountsInAgreement) {
  Stress(200, RandomTransport, Anything(PacketKind::kData));
}

class RoceDeterminismTest : public testing::TestWithParam<const char*> {};

TEST_P(RoceDeterminismTest, HoldsForAnyNumberOfThreads) {
  for (const char* lb : {"ecmp", "rps"}) {
    const Experiment experiment = ExperimentFrom(
        "seed: 3\n"
        "topology: {kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 4, host_link: {rate: "
        "25Gbps, delay: 200ns}, fabric_link: {rate: 25Gbps, delay: 1us}, asymmetry: [{spines: [0], "
        "delay: 3us}], port: {buffer: 60KB, ecn_above: 20KB}}\n"
        "transport: " +
        std::string(GetParam()) + "\nlb: " + lb +
        "\nworkload: [{kind: poisson, sizes: small, load: 0.4, flows: 300}, {kind: incast, fan_in: "
        "8, bytes_each: 40KB, queries: 3, period: 200us}]\n"
        "measure: {unfinished: inf}\n");
    const FinishedRun alone = RunExperiment(experiment, 1);
    EXPECT_GT(alone.result.packets.dropped_total(), 0);
    EXPECT_GT(alone.result.packets.marked, 0);
    const CsvTable flows(alone.files.flows);
    int64_t nacks = 0;
    for (size_t row = 0; row < flows.rows.size(); ++row) {
      nacks += flows.Integer(row, "nack");
      EXPECT_EQ(flows.Integer(row, "retx"),
                flows.Integer(row, "retx_loss") + flows.Integer(row, "retx_spurious"));
    }
    EXPECT_GT(nacks, 0);
    for (const int threads : ThreadCounts({1, 2, 3})) {
      EXPECT_EQ(RunExperiment(experiment, threads).files, alone.files) << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RoceDeterminismTest,
    testing::Values(
        "{kind: rocev2, rto: 500us}",
        "{kind: rocev2, framing: ns3_rdma, recovery: irn, cc: {kind: dcqcn, rp: nic, "
        "cnp_on_ooo: true}}",
        "{kind: rocev2, window: bdp_var, nack: timer, rto: 500us, cc: {kind: dcqcn, rp: "
        "nic, cnp_mode: ack_flag}}",
        "{kind: rocev2, recovery: irn, cc: {kind: timely, min_rate: 1Gbps}}",
        "{kind: rocev2, recovery: irn, cc: swift}", "{kind: rocev2, recovery: irn, cc: hpcc}",
        "{kind: rocev2, rto: 500us, ack_interval: 4, control_priority: 3, cc: {kind: hpcc, "
        "rtt_scope: pair}}"));

}  // namespace heddle::roce_stress_test
