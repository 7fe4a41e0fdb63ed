// SPDX-License-Identifier: Apache-2.0
// FLB where a leaf has one uplink: nothing can be isolated there.

#include <gtest/gtest.h>

#include <vector>

#include "lb/flb/header.h"
#include "lb/flb/isolation.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_control.h"

namespace heddle::lone_uplink_test {

// A flow that congests a queue is known, but has no uplink of its own.
TEST(FlbLoneUplinkTest, AFlowOnTheOnlyUplinkIsKnownAndNotIsolated) {
  FlbIsolation isolation(8, 1, 1, 1);
  Rng rng = Rng::Stream(1, "test", 0);
  EXPECT_TRUE(isolation.is_idle());
  isolation.Add(5, 0, 2, 0, std::vector<uint16_t>{0}, Time{} + 1_us, rng);
  EXPECT_FALSE(isolation.is_idle());
  EXPECT_EQ(isolation.size(), 1u);
  EXPECT_EQ(isolation.isolated_uplinks(), 0u);
  EXPECT_FALSE(isolation.IsClosed(0, 0));
  EXPECT_EQ(isolation.Find(5, Time{} + 1_us)->path, 0);
  isolation.Remove(5);
  EXPECT_TRUE(isolation.is_idle());
}

// The leaf takes a notice without noting the flow, and sends as before.
TEST(FlbLoneUplinkTest, ANoticeIsTakenAndChangesNothing) {
  LbSwitch leaf("flb", {.uplinks = {100_Gbps}, .fabric = {.leaf_uplinks = 1}});
  Packet packet = LbPacket(1);
  packet.flow = 1;
  EXPECT_EQ(leaf.PortFor(packet, Time{} + 1_us), 0);
  leaf.At(Time{} + 2_us, [&](SwitchView& view, SwitchPolicy& policy) {
    const PortIndex down = 1;
    const Packet notice = ControlPacket(FlbControl{FlbControl::kCongested, 0, 9, 9}, 1);
    EXPECT_EQ(policy.OnPacket(view, notice, 0, {1, 1, {&down, 1}}).kind, Decision::Kind::kConsume);
  });
  EXPECT_EQ(leaf.Count("cnms_taken"), 1);
  EXPECT_EQ(leaf.Count("isolated_flows"), 0);
  EXPECT_EQ(leaf.Count("isolated_ports"), 0);
  EXPECT_EQ(leaf.PortFor(packet, Time{} + 3_us), 0);
}

}  // namespace heddle::lone_uplink_test
