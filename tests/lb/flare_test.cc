// SPDX-License-Identifier: Apache-2.0
// FLARE: how near it comes to the shares that it is given, and what it leaves in order.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"

namespace heddle::flare_test {

constexpr int kWire = 1'524;

// Flowlets of `packets` packets, each of another flow. Returns the bytes of each uplink.
std::vector<int64_t> Split(LbSwitch& leaf, int flowlets, int packets) {
  std::vector<int64_t> bytes(4);
  Time at;
  for (int flowlet = 0; flowlet < flowlets; ++flowlet) {
    for (int i = 0; i < packets; ++i) {
      at += 100_ns;
      bytes[leaf.PortFor(LbPacket(static_cast<uint32_t>(flowlet)), at)] += kWire;
    }
  }
  return bytes;
}

TEST(FlareTest, SharesAreMetToWithinAFlowlet) {
  constexpr int kPackets = 20;
  LbSwitch leaf("{kind: flare, slots: 100000, rescale_every: 1s}");
  const std::vector<int64_t> bytes = Split(leaf, 200, kPackets);
  for (const int64_t its : bytes)
    EXPECT_NEAR(static_cast<double>(its), 50.0 * kPackets * kWire, 1.0 * kPackets * kWire);
}

TEST(FlareTest, SharesFollowCapacity) {
  constexpr int kPackets = 10;
  LbSwitch leaf("{kind: flare, slots: 100000, rescale_every: 1s, shares: capacity}",
                {.next_hops = {{{10, 0}, {20, 1}, {30, 2}, {40, 3}}}});
  const std::vector<int64_t> bytes = Split(leaf, 1'000, kPackets);
  for (int port = 0; port < 4; ++port) {
    EXPECT_NEAR(static_cast<double>(bytes[static_cast<size_t>(port)]),
                (port + 1) * 100.0 * kPackets * kWire, 2.0 * kPackets * kWire);
  }
}

TEST(FlareTest, AFlowletStaysUntilItsGap) {
  LbSwitch leaf("{kind: flare, gap: 50us, slots: 1000}");
  const PortIndex first = leaf.PortFor(LbPacket(7), Time{});
  Time at;
  for (int i = 0; i < 100; ++i) {  // Its path is ever deeper in debt.
    at += 50_us;
    ASSERT_EQ(leaf.PortFor(LbPacket(7), at), first);
  }
  at += 50_us + 1_ps;
  EXPECT_NE(leaf.PortFor(LbPacket(7), at), first);
  EXPECT_EQ(leaf.Count("reroutes"), 1);
}

// One flowlet has put uplink 0 far into debt. Half of that is forgotten each period, until it is
// less than what the others are short of.
TEST(FlareTest, DebtsAreForgotten) {
  const auto goes_back_after = [](Duration silence) {
    LbSwitch leaf("{kind: flare, gap: 1us, slots: 100000, rescale_every: 1ms}",
                  {.uplinks = std::vector<BitRate>(2, 100_Gbps)});
    Time at;
    const PortIndex heavy = leaf.PortFor(LbPacket(0), at);
    for (int i = 0; i < 1'000; ++i) leaf.PortFor(LbPacket(0), at += 100_ns);
    at += silence;
    int others = 0;
    for (uint32_t flow = 1; flow < 2'000; ++flow, ++others) {
      if (leaf.PortFor(LbPacket(flow), at) == heavy) break;
    }
    return others;
  };
  EXPECT_NEAR(goes_back_after(0_us), 1'001, 2);
  EXPECT_NEAR(goes_back_after(2_ms), 250, 3);  // Two halvings, at 1 and 2 ms.
}

TEST(FlareTest, APathThatIsGoneGetsNothingAndComesBackWithoutADebt) {
  LbSwitch leaf("{kind: flare, slots: 100000}");
  const std::vector<PortIndex> live = {0, 1, 3};
  std::vector<int64_t> packets(4);
  for (uint32_t flow = 0; flow < 300; ++flow) ++packets[leaf.PortFor(LbPacket(flow), Time{}, live)];
  EXPECT_EQ(packets[2], 0);
  for (const PortIndex port : live) EXPECT_NEAR(static_cast<double>(packets[port]), 100, 1);
  for (uint32_t flow = 300; flow < 700; ++flow) ++packets[leaf.PortFor(LbPacket(flow), Time{})];
  EXPECT_NEAR(static_cast<double>(packets[2]), 100, 1);
}

// Two spines, one 30 us further: nothing overtakes anything if the gap is longer.
TEST(FlareTest, NothingIsReorderedIfTheGapExceedsTheDifferenceOfPaths) {
  const auto reordered = [](const std::string& gap) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, fabric_link: {rate: "
        "100Gbps, delay: 1us}, asymmetry: [{spines: [1], delay: 31us}], port: {buffer: unlimited, "
        "ecn_above: unlimited}}\nlb: {kind: flare, gap: " +
        gap +
        "}\nworkload: [{kind: poisson, sizes: websearch, load: 0.1, flows: 100}]\n"
        "transport: {kind: dctcp}\n"));
    const CsvTable flows(run.files.flows);
    int64_t packets = 0;
    for (size_t row = 0; row < flows.rows.size(); ++row) {
      packets += flows.Integer(row, "reordered_net");
    }
    return packets;
  };
  EXPECT_EQ(reordered("75us"), 0);
  EXPECT_GT(reordered("1us"), 0);
}

}  // namespace heddle::flare_test
