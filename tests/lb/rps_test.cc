// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::rps_test {

constexpr int kPackets = 40'000;

// Counts the packets of one flow by port.
std::vector<int64_t> Spray(LbSwitch& leaf, PacketKind kind = PacketKind::kData) {
  std::vector<int64_t> counts(leaf.uplinks().size());
  Packet packet = LbPacket(5);
  packet.kind = kind;
  for (int i = 0; i < kPackets; ++i) ++counts[leaf.PortFor(packet)];
  return counts;
}

std::vector<PortIndex> Trace(const LbSwitch::Shape& shape, const std::string& settings) {
  LbSwitch leaf(settings, shape);
  std::vector<PortIndex> ports;
  for (int i = 0; i < 1'000; ++i) ports.push_back(leaf.PortFor(LbPacket(5)));
  return ports;
}

TEST(RpsTest, SpreadsASingleFlowEvenlyDataAndAcksAlike) {
  LbSwitch leaf("rps");
  for (const PacketKind kind : {PacketKind::kData, PacketKind::kAck}) {
    for (const int64_t count : Spray(leaf, kind)) {
      EXPECT_NEAR(static_cast<double>(count), kPackets / 4.0, ThreeSigma(kPackets, 0.25));
    }
  }
}

TEST(RpsTest, DrawsEachPacketIndependently) {
  const std::vector<PortIndex> ports = Trace({}, "rps");
  std::vector<int64_t> pairs(16);
  for (size_t i = 0; i + 1 < ports.size(); i += 2) ++pairs[ports[i] * 4u + ports[i + 1]];
  EXPECT_LT(ChiSquare(pairs, std::vector<double>(16, 1)), 30.58);  // 99% of 15 degrees.
}

TEST(RpsTest, TheSameSeedAndSwitchGiveTheSameTrace) {
  for (const char* settings : {"rps", "{kind: rps, weights: rate}"}) {
    EXPECT_EQ(Trace({.id = 3, .seed = 9}, settings), Trace({.id = 3, .seed = 9}, settings));
    EXPECT_NE(Trace({.id = 3, .seed = 9}, settings), Trace({.id = 4, .seed = 9}, settings));
    EXPECT_NE(Trace({.id = 3, .seed = 9}, settings), Trace({.id = 3, .seed = 8}, settings));
  }
}

TEST(RpsTest, WithoutWeightsASlowPortGetsAnEqualShare) {
  LbSwitch leaf("rps", {.uplinks = {100_Gbps, 100_Gbps, 100_Gbps, 50_Gbps}});
  EXPECT_LT(ChiSquare(Spray(leaf), {1, 1, 1, 1}), kChiSquare99[3]);
}

TEST(RpsTest, WeightedByRateASlowPortGetsItsPart) {
  LbSwitch leaf("{kind: rps, weights: rate}", {.uplinks = {100_Gbps, 50_Gbps, 100_Gbps, 25_Gbps}});
  EXPECT_LT(ChiSquare(Spray(leaf), {4, 2, 4, 1}), kChiSquare99[3]);
}

TEST(RpsTest, WeightedByCapacityWhatIsBehindAPortCounts) {
  LbSwitch leaf("{kind: rps, weights: capacity}",
                {.next_hops = {{{5, 0}, {10, 0}, {10, 0}, {10, 0}}}});
  EXPECT_LT(ChiSquare(Spray(leaf), {1, 2, 2, 2}), kChiSquare99[3]);
}

TEST(RpsTest, WeightsCountOnlyLivePorts) {
  LbSwitch leaf("{kind: rps, weights: rate}", {.uplinks = {100_Gbps, 50_Gbps, 100_Gbps, 25_Gbps}});
  std::vector<int64_t> counts(2);
  const std::vector<PortIndex> live{1, 3};
  for (int i = 0; i < kPackets; ++i) ++counts[leaf.PortFor(LbPacket(5), Time{}, live) / 2u];
  EXPECT_LT(ChiSquare(counts, {2, 1}), kChiSquare99[1]);
}

TEST(RpsTest, WeightsOfManyFastPortsDoNotOverflow) {
  LbSwitch leaf("{kind: rps, weights: rate}",
                {.uplinks = std::vector<BitRate>(1'000, BitRate{10'000'000'000'000})});
  std::vector<int64_t> halves(2);
  for (int i = 0; i < 2'000; ++i) ++halves[leaf.PortFor(LbPacket(5)) / 500u];
  EXPECT_LT(ChiSquare(halves, {1, 1}), kChiSquare99[1]);
}

// --- In a network: one of four paths of 10 Gbps has half of that, for one flow ---

struct Sprayed {
  double gbps;
  int64_t spurious;
};
Sprayed OverASlowPath(const std::string& dupthresh) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 1, host_link: {rate: "
      "40Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}, asymmetry: [{spines: [3], "
      "rate: 5Gbps}]}\nlb: rps\ntransport: {kind: dctcp, dupthresh: " +
      dupthresh +
      "}\nworkload: [{kind: incast, fan_in: 1, bytes_each: 50MB, queries: 1, period: 1ms}]\n"));
  const CsvTable flows(run.files.flows);
  return {50e6 * 8 / flows.Real(0, "fct_rx_ns"), flows.Integer(0, "retx_spurious")};
}

// Each path gets a quarter, so the slow one sets the pace: 20 Gbps instead of 35.
TEST(RpsTest, ASlowPathSetsThePaceOfAFlow) {
  EXPECT_NEAR(OverASlowPath("1000").gbps, 20, 1.5);  // Headers take 5%.
}

TEST(RpsTest, ReorderingIsTakenForLossUnlessTheSenderIsPatient) {
  EXPECT_GT(OverASlowPath("3").spurious, 100);
  EXPECT_EQ(OverASlowPath("1000").spurious, 0);
}

// --- Selective RED ---

// All ports have queues of 150 KB. As averages take time, many packets ask.
class SelectiveRedTest : public testing::Test {
 protected:
  SelectiveRedTest() {
    leaf_.At(Time{}, [&](SwitchView& view, SwitchPolicy&) {
      for (const PortIndex port : leaf_.uplinks()) {
        for (int i = 0; i < 100; ++i) view.SendControl(LbPacket(1), port);
      }
    });
  }
  int Dropped(int packets, const std::vector<PortIndex>& live,
              PacketKind kind = PacketKind::kData) {
    int dropped = 0;
    Packet packet = LbPacket(5);
    packet.kind = kind;
    for (int i = 0; i < packets; ++i) {
      const Decision decision = leaf_.Decide(packet, Time{}, live);
      dropped += decision.kind == Decision::Kind::kDiscard ? 1 : 0;
    }
    return dropped;
  }

  const std::vector<PortIndex> all_ = {0, 1, 2, 3};
  const std::vector<PortIndex> fewer_ = {0, 1, 3};
  LbSwitch leaf_{"{kind: rps, selective_red: true, red_from: 140KB, red_to: 160KB, red_drop: 0.2}"};
};

TEST_F(SelectiveRedTest, DropsOnlyDataOfFlowsThatHaveLostPaths) {
  EXPECT_EQ(Dropped(40'000, all_), 0);
  const double expected = 0.2 * (152'400 - 140'000) / 20'000;  // 24 bytes a packet on the wire.
  EXPECT_NEAR(Dropped(10'000, fewer_), 10'000 * expected, ThreeSigma(10'000, expected));
  EXPECT_EQ(Dropped(10'000, fewer_, PacketKind::kAck), 0);
  EXPECT_EQ(Dropped(10'000, all_), 0);  // They are back.
}

TEST_F(SelectiveRedTest, CountsWhatWasLostBeforeTheFirstPacket) {
  EXPECT_GT(Dropped(40'000, fewer_), 1'000);
}

TEST_F(SelectiveRedTest, ShortAveragesDropNothing) {
  EXPECT_EQ(Dropped(100, fewer_), 0);  // The first that is heard of them.
}

TEST_F(SelectiveRedTest, TellsTheSwitchesBehind) {
  for (const auto& [live, marked] : {std::pair(all_, false), std::pair(fewer_, true)}) {
    Packet packet = LbPacket(5);
    leaf_.Decide(LbPacket(5), Time{}, all_);
    const Decision decision = leaf_.Decide(packet, Time{}, live);
    leaf_.At(Time{}, [&](SwitchView& view, SwitchPolicy& policy) {
      policy.OnEnqueue(view, packet, decision.port);
    });
    EXPECT_EQ(packet.Scheme<bool>(), marked);
  }
}

TEST(RpsTest, SelectiveRedIsRefusedIfItHasNoRange) {
  const std::string errors = ErrorsOf(
      "topology: {kind: fat_tree, k: 4}\nlb: {kind: rps, red_from: 90KB}\n"
      "workload: [{kind: permutation, size: 10KB}]\n");
  EXPECT_EQ(errors,
            "test.yaml:2:27: lb.red_from: not less than red_to; with 30KB and 90KB dropping begins "
            "gently\n1 error\n");
}

}  // namespace heddle::rps_test
