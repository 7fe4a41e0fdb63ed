// SPDX-License-Identifier: Apache-2.0
// A leaf of FLB chooses no paths for packets of other leaves, remembers no flow for longer than it
// may be held, and measures no path that does not exist.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lb/flb/header.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_control.h"

namespace heddle::flb_leaf_details_test {

void Deliver(LbSwitch& leaf, const Packet& packet, Time at, const Candidates& candidates) {
  leaf.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
    policy.OnPacket(view, packet, 0, candidates);
  });
}
Packet PacketOf(FlowId flow) {
  Packet packet = LbPacket(flow);
  packet.flow = flow;
  return packet;
}

// After failures a packet may come down to a leaf that it does not go to, and leave it upwards.
TEST(FlbLeafDetailsTest, APacketOnADetourIsNoFlowOfThisLeaf) {
  for (const std::string balancer : {"flb", "tdlb"}) {
    LbSwitch leaf(balancer, {.remote_leaves = 2});
    Packet detour = PacketOf(7);
    detour.src = 2;
    Deliver(leaf, detour, Time{} + 1_us, {0, 1, leaf.uplinks()});
    EXPECT_EQ(leaf.Count("table_entries"), 0) << balancer;
    leaf.PortFor(PacketOf(7), Time{} + 2_us);
    EXPECT_EQ(leaf.Count("table_entries"), 1) << balancer;
  }
}

// A notice on a detour is for another leaf. This one forwards it.
TEST(FlbLeafDetailsTest, ANoticeOnADetourIsForwarded) {
  LbSwitch leaf("flb", {.remote_leaves = 2});
  Packet notice = ControlPacket(FlbControl{FlbControl::kCongested, 0, 9, 9}, 1);
  notice.src = 2;
  notice.dst = 1;
  leaf.At(Time{} + 1_us, [&](SwitchView& view, SwitchPolicy& policy) {
    const Decision decision = policy.OnPacket(view, notice, 0, {0, 1, leaf.uplinks()});
    EXPECT_EQ(decision.kind, Decision::Kind::kForward);
  });
  EXPECT_EQ(leaf.Count("cnms_taken"), 0);
  EXPECT_EQ(leaf.Count("isolated_flows"), 0);
}

// An isolated flow has to leave its uplink, which has failed, after it has been silent for this
// long. A flow that has been forgotten begins anew, so it does not move.
TEST(FlbLeafDetailsTest, AFlowIsHeldForItsAgeAndNoLonger) {
  const auto moves = [](Duration silence) {
    LbSwitch leaf("{kind: flb, table_age: 1ms, held_age: 5ms}");
    const PortIndex down = 4;
    const PortIndex port = leaf.PortFor(PacketOf(1), Time{} + 1_us);
    Deliver(leaf, ControlPacket(FlbControl{FlbControl::kCongested, 0, 9, 9}, 1), Time{} + 1_us,
            {1, 1, {&down, 1}});
    std::vector<PortIndex> live;
    for (const PortIndex other : leaf.uplinks()) {
      if (other != port) live.push_back(other);
    }
    leaf.PortFor(PacketOf(1), Time{} + 1_us + silence, live);
    return leaf.Count("reroutes");
  };
  EXPECT_EQ(moves(500_us), 1);
  EXPECT_EQ(moves(5_ms), 1);
  EXPECT_EQ(moves(5_ms + 1_ps), 0);
}

// Leaf 1 has four paths to this leaf, with numbers below 4. A result that waits for longer than a
// base round trip goes back in a control packet.
TEST(FlbLeafDetailsTest, OnlyPathsThatExistAreMeasured) {
  const auto results = [](uint16_t path, uint8_t hops) {
    LbSwitch leaf(
        "flb", {.remote_leaves = 2, .fabric = {.tiers = 3, .leaf_uplinks = 4, .above_uplinks = 1}});
    Packet packet = PacketOf(3);
    packet.src = 1;
    packet.dst = 0;
    packet.hops = hops;
    packet.taken = path;
    packet.SetScheme(FlbHeader{.stamp = 1, .news = 0});
    const PortIndex down = 4;
    Deliver(leaf, packet, Time{} + 10_us, {1, 1, {&down, 1}});
    leaf.At(Time{} + 100_us, [](SwitchView&, SwitchPolicy&) {});
    return leaf.Count("probes");
  };
  for (const uint16_t path : {uint16_t{0}, uint16_t{3}}) {
    EXPECT_EQ(results(path, 4), 1);
    for (const uint8_t hops : {uint8_t{2}, uint8_t{3}, uint8_t{5}, uint8_t{6}}) {
      EXPECT_EQ(results(path, hops), 0) << int{hops};  // A detour.
    }
  }
  for (const uint16_t path : {uint16_t{4}, uint16_t{5}, kNoPath}) EXPECT_EQ(results(path, 4), 0);
}

// The second result comes 5 us after the first, so it is not overdue yet when that is sent.
TEST(FlbLeafDetailsTest, EachResultIsSentWhenItIsOverdue) {
  LbSwitch leaf("flb", {.fabric = {.leaf_uplinks = 4, .base_rtt = 20_us}});
  const PortIndex down = 4;
  for (uint16_t path = 0; path < 2; ++path) {
    Packet packet = PacketOf(3);
    packet.src = 1;
    packet.dst = 0;
    packet.hops = 2;
    packet.taken = path;
    packet.SetScheme(FlbHeader{.stamp = 1, .news = 0});
    Deliver(leaf, packet, Time{} + 10_us + 5_us * path, {1, 1, {&down, 1}});
  }
  const auto sent = [&](Duration at) {
    leaf.At(Time{} + at, [](SwitchView&, SwitchPolicy&) {});
    return leaf.Count("probes");
  };
  EXPECT_EQ(sent(29_us), 0);
  EXPECT_EQ(sent(31_us), 1);
  EXPECT_EQ(sent(100_us), 2);
}

// Flows take turns with uplinks. That others use its uplink keeps no flow from being forgotten.
TEST(FlbLeafDetailsTest, AFlowThatIsSilentIsForgottenOnABusyUplink) {
  LbSwitch leaf("flb");
  const PortIndex port = leaf.PortFor(PacketOf(1), Time{} + 1_us);
  leaf.At(Time{} + 900_us,
          [&](SwitchView& view, SwitchPolicy&) { view.SendAsData(PacketOf(2), port); });
  EXPECT_NE(leaf.PortFor(PacketOf(1), Time{} + 1_us + 1_ms + 1_ps), port);
}

// Ten packets of data make the queue long; ACKs of other flows, which wait there too, do not.
TEST(FlbLeafDetailsTest, FlowsCongestAQueueByDataAlone) {
  LbSwitch leaf("{kind: flb, isolate_above: 15KB}");
  leaf.At(Time{} + 1_us, [](SwitchView& view, SwitchPolicy&) {
    for (FlowId i = 0; i < 20; ++i) {
      Packet packet = PacketOf(i % 2 == 0 ? 7 : i);
      if (i % 2 == 1) packet.kind = PacketKind::kAck;
      view.SendAsData(packet, 0);
    }
  });
  EXPECT_EQ(leaf.Count("episodes"), 1);
  EXPECT_EQ(leaf.Count("cnms_sent"), 1);
  EXPECT_EQ(leaf.Count("isolated_flows"), 1);
}

}  // namespace heddle::flb_leaf_details_test
