// SPDX-License-Identifier: Apache-2.0
// RoCEv2 under any settings, in networks that lose, delay, reorder and mark: every flow ends with
// all its bytes, the counts agree, and the number of threads shows in nothing.

#include <gtest/gtest.h>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle {
namespace {

template <size_t n>
std::string OneOf(Rng& rng, const char* const (&words)[n]) {
  return words[rng.Below(n)];
}

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
  yaml += OneOf(
      rng, {", cc: none", ", cc: {kind: none, rate: 3Gbps}", ", cc: dcqcn",
            ", cc: {kind: dcqcn, rp: nic, min_rate: 1Gbps}",
            ", cc: {kind: dcqcn, cnp_mode: ack_flag, rp: nic, cnp_on_ooo: true, min_rate: 1Gbps}",
            ", cc: {kind: dcqcn, cnp_trailing: true, cnp_interval: 5us}",
            ", cc: {kind: timely, min_rate: 1Gbps}", ", cc: {kind: swift, min_cwnd: 0.1}"});
  return yaml + ", rto: 200us}";
}

std::vector<Rule> RandomTrouble(Rng& rng, uint64_t seed) {
  const double p = 0.03 * rng.Uniform();
  const Match any = [](const Packet&) { return true; };
  const Match data = Anything(PacketKind::kData);
  return {DropAt(0, WithProbability(p, seed, any)),
          HoldAt(1, WithProbability(2 * p, seed + 1, any), Duration{rng.Below(100'000'000)}),
          HoldAt(1, WithProbability(2 * p, seed + 2, any), Duration{rng.Below(5'000'000)}),
          MarkAt(0, WithProbability(5 * p, seed + 3, data))};
}

TEST(RoceStressTest, EndsEveryFlowWithItsCountsInAgreement) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng = Rng::Stream(seed, "stress", 0);
    const std::string transport = RandomTransport(rng);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << transport);
    Lab lab({.graph = Dumbbell(2, {10_Gbps, 1_us}, {4_Gbps, 3_us}),
             .transport = transport,
             .port = OneOf(rng, {"{buffer: 30pkts, ecn_above: 10pkts}", "{buffer: 100KB}"}),
             .switch_policy = Scripted(RandomTrouble(rng, 10 * seed)),
             .threads = 1 + static_cast<int>(rng.Below(2))});
    Time start;
    for (int i = 0; i < 12; ++i) {
      const HostId src = static_cast<HostId>(rng.Below(4));
      const HostId dst = static_cast<HostId>((src + 1 + rng.Below(3)) % 4);
      start += Duration{rng.Below(60'000'000)};
      lab.AddFlow(src, dst, 1 + rng.Below(rng.Below(3) == 0 ? 400'000 : 8'000), start);
    }
    lab.Run(Time{} + 60_s);
    ASSERT_TRUE(lab.finished());
    for (const FlowRecord& flow : lab.records()) {
      const SenderRecord& s = flow.sender;
      const ReceiverRecord& r = flow.receiver;
      EXPECT_EQ(s.packets_sent, s.packets + s.retransmissions);
      EXPECT_EQ(s.retransmissions, s.retransmissions_spurious + s.retransmissions_loss);
      EXPECT_LE(s.fast_retransmits_reorder, s.fast_retransmits);
      EXPECT_LE(r.packets, s.packets_sent);
      EXPECT_EQ(r.packets, s.packets + r.duplicates + r.discarded);
      EXPECT_LE(r.done, s.done);
      EXPECT_LE(r.ce_marked, r.packets);
    }
  }
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
    for (const int threads : {1, 2, 3}) {
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
        "{kind: rocev2, recovery: irn, cc: swift}"));

}  // namespace
}  // namespace heddle
