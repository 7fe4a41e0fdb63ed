// SPDX-License-Identifier: Apache-2.0
// Tests Luopan's cells, its probes, and the effect of replies.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"

namespace heddle::luopan_test {

// lb/luopan.cc writes this header.
struct Header {
  uint8_t kind;
  uint8_t round;
  uint16_t path;
  uint32_t queue;
};
constexpr uint8_t kReply = 1;

const std::string kAll = "{kind: luopan, samples: 4, probe_every: 100us}";

void Hear(LbSwitch& leaf, Time at, uint8_t round, uint16_t path, uint32_t queue) {
  Packet packet;
  packet.kind = PacketKind::kControl;
  packet.bytes = 64;
  packet.src = 1;
  packet.dst = 0;
  packet.SetScheme(Header{kReply, round, path, queue});
  leaf.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
    const Decision decision = policy.OnPacket(view, packet, 0, view.CandidatesTo(0));
    EXPECT_EQ(decision.kind, Decision::Kind::kConsume);
  });
}

PortIndex NewFlow(LbSwitch& leaf, Time at) {
  static FlowId flow = 100;
  Packet packet = LbPacket(++flow);
  packet.flow = flow;
  return leaf.PortFor(packet, at);
}

// The first round begins within 100 us; later rounds begin 100 us apart.
TEST(LuopanTest, FlowsTakeTheBestPathOfARound) {
  LbSwitch leaf(kAll);
  NewFlow(leaf, Time{});
  Hear(leaf, Time{} + 101_us, 1, 3, 9'000);
  EXPECT_EQ(NewFlow(leaf, Time{} + 101_us), 3);
  Hear(leaf, Time{} + 101_us, 1, 1, 3'000);
  Hear(leaf, Time{} + 101_us, 1, 0, 6'000);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(NewFlow(leaf, Time{} + 101_us), 1);
}

TEST(LuopanTest, RepliesOfAnOldRoundAndABestWithoutThemCountNoMore) {
  LbSwitch leaf(kAll);
  NewFlow(leaf, Time{});
  Hear(leaf, Time{} + 101_us, 1, 3, 9'000);
  NewFlow(leaf, Time{} + 102_us);
  Hear(leaf, Time{} + 201_us, 1, 1, 0);  // It is the second by now.
  EXPECT_EQ(NewFlow(leaf, Time{} + 201_us), 3);
  NewFlow(leaf, Time{} + 205_us);
  std::set<PortIndex> used;  // No reply in the second round: anything.
  for (int i = 0; i < 100; ++i) used.insert(NewFlow(leaf, Time{} + 305_us));
  EXPECT_EQ(used.size(), 4u);
}

// Luopan with all paths sampled knows what an oracle knew when the round began, and chooses the
// same.
TEST(LuopanTest, WithAllPathsSampledItIsAnOracleThatIsARoundOld) {
  LbSwitch leaf(kAll);
  Rng rng = Rng::Stream(1, "queues", 0);
  NewFlow(leaf, Time{});
  for (int round = 1; round <= 200; ++round) {
    const Time at = Time{} + 100_us * round + 1_us;
    std::vector<uint16_t> order = {0, 1, 2, 3};
    rng.MoveToFront(order, order.size());
    std::vector<uint32_t> queues;
    for (int path = 0; path < 4; ++path) queues.push_back(rng.Below(1'000'000));
    for (const uint16_t path : order) {
      Hear(leaf, at, static_cast<uint8_t>(round), path, queues[path]);
    }
    const PortIndex oracle =
        static_cast<PortIndex>(std::ranges::min_element(queues) - queues.begin());
    for (int flow = 0; flow < 5; ++flow) {
      ASSERT_EQ(NewFlow(leaf, at + 10_us * flow), oracle) << round;
    }
  }
}

TEST(LuopanTest, WhatWasBestBeforeALongSilenceCountsNoMore) {
  LbSwitch leaf(kAll);
  NewFlow(leaf, Time{});
  Hear(leaf, Time{} + 101_us, 1, 3, 0);
  std::set<PortIndex> used;
  for (int i = 0; i < 100; ++i) used.insert(NewFlow(leaf, Time{} + 10_ms));
  EXPECT_EQ(used.size(), 4u);
}

TEST(LuopanTest, ACellStaysTogether) {
  LbSwitch leaf(kAll);
  const PortIndex first = leaf.PortFor(LbPacket(7), Time{});
  const PortIndex other = first == 0 ? 1 : 0;
  Hear(leaf, Time{} + 101_us, 1, other, 0);
  for (int i = 1; i < 65'536 / 1'500; ++i) {
    ASSERT_EQ(leaf.PortFor(LbPacket(7), Time{} + 102_us), first);
  }
  EXPECT_EQ(leaf.PortFor(LbPacket(7), Time{} + 102_us), other);
}

TEST(LuopanTest, ProbesASampleAndTheBestOfLeavesThatItSendsTo) {
  LbSwitch leaf("{kind: luopan, samples: 2, probe_every: 100us}", {.remote_leaves = 3});
  leaf.At(Time{} + 500_us, [](SwitchView&, SwitchPolicy&) {});
  EXPECT_EQ(leaf.Count("probes"), 0);
  NewFlow(leaf, Time{} + 501_us);
  leaf.At(Time{} + 800_us, [](SwitchView&, SwitchPolicy&) {});
  EXPECT_EQ(leaf.Count("probes"), 2);  // One round, to one of three.
}

// A round that is shorter than a round trip hears no reply.
TEST(LuopanTest, RoundsAreLongerThanARoundTrip) {
  LbSwitch leaf("luopan", {.fabric = {.base_rtt = 400_us}});
  for (int i = 0; i < 80; ++i) NewFlow(leaf, Time{} + 100_us * i);
  leaf.At(Time{} + 8_ms, [](SwitchView&, SwitchPolicy&) {});
  EXPECT_NEAR(static_cast<double>(leaf.Count("probes")), 2.0 * 8'000 / 800, 4);
  EXPECT_THAT(ErrorsOf("topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
                       "lb: {kind: luopan, probe_every: 2us}\n"
                       "workload: [{kind: permutation, size: 1MB}]\n"),
              testing::HasSubstr("lb.probe_every: is shorter than a round trip"));
}

TEST(LuopanTest, APathThatIsGoneIsLeft) {
  LbSwitch leaf(kAll);
  const PortIndex first = leaf.PortFor(LbPacket(7), Time{});
  std::vector<PortIndex> live;
  for (PortIndex p = 0; p < 4; ++p) {
    if (p != first) live.push_back(p);
  }
  EXPECT_NE(leaf.PortFor(LbPacket(7), Time{} + 1_us, live), first);
}

// --- In a network ---

TEST(LuopanTest, CellsAvoidAPathThatIsSlowFurtherOn) {
  const auto end = [](const std::string& lb) {
    return RunExperiment(
               ExperimentFrom(
                   "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 8, "
                   "asymmetry: [{links: [leaf1-spine1], rate: 2Gbps}]}\nlb: " +
                   lb + "\nworkload: [{kind: poisson, sizes: websearch, load: 0.2, flows: 200}]\n"))
        .result.end;
  };
  EXPECT_LT(end("{kind: luopan, probe_every: 50us}"), end("ecmp"));
}

}  // namespace heddle::luopan_test
