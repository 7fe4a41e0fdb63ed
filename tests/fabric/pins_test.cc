// SPDX-License-Identifier: Apache-2.0
// Pins of flows to paths: which packets follow them.

#include "fabric/pins.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::pins_test {

Packet PacketOf(FlowId flow, PacketKind kind) {
  Packet packet;
  packet.flow = flow;
  packet.kind = kind;
  return packet;
}

// Flow 0 goes over path 5 and its answers come over path 7. Packets of no flow have the number 0
// too.
TEST(PinsTest, DataAndItsAnswersHaveAPathEach) {
  using enum PacketKind;
  Pins pins;
  pins.Set(0, {.path = 5, .ack_path = 7});
  pins.Set(3, {.path = 6, .ack_path = 8});
  for (const FlowId flow : {FlowId{0}, FlowId{3}}) {
    const uint16_t forward = flow == 0 ? 5 : 6;
    for (const PacketKind kind : {kData, kSyn}) {
      EXPECT_EQ(pins.PathOf(PacketOf(flow, kind)), forward);
    }
    for (const PacketKind kind : {kAck, kNack, kCnp, kSynAck}) {
      EXPECT_EQ(pins.PathOf(PacketOf(flow, kind)), forward + 2);
    }
    for (const PacketKind kind : {kControl, kDatagram, kPause}) {
      EXPECT_EQ(pins.PathOf(PacketOf(flow, kind)), kNoPath);
    }
  }
}

TEST(PinsTest, OtherFlowsHaveNone) {
  Pins pins;
  EXPECT_EQ(pins.PathOf(PacketOf(0, PacketKind::kData)), kNoPath);
  pins.Set(2, {.path = 1, .ack_path = kNoPath});
  pins.Set(9, {});  // Pins nothing.
  for (const FlowId flow : std::vector<FlowId>{0, 1, 3, 8, 9, 10}) {
    EXPECT_EQ(pins.PathOf(PacketOf(flow, PacketKind::kData)), kNoPath) << flow;
  }
  EXPECT_EQ(pins.PathOf(PacketOf(2, PacketKind::kData)), 1);
  EXPECT_EQ(pins.PathOf(PacketOf(2, PacketKind::kAck)), kNoPath);
}

TEST(PinsTest, APinThatSetsOnePathLeavesTheOther) {
  EXPECT_FALSE(Pin{}.pins());
  EXPECT_TRUE((Pin{.path = 0, .ack_path = kNoPath}.pins()));
  EXPECT_TRUE((Pin{.path = kNoPath, .ack_path = 0}.pins()));
  Pins pins;
  pins.Set(1, {.path = kNoPath, .ack_path = 4});
  EXPECT_EQ(pins.PathOf(PacketOf(1, PacketKind::kData)), kNoPath);
  EXPECT_EQ(pins.PathOf(PacketOf(1, PacketKind::kAck)), 4);
}

}  // namespace heddle::pins_test
