// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle {
namespace {

constexpr int kPackets = 40'000;

// Packets of one flow by port.
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

}  // namespace
}  // namespace heddle
