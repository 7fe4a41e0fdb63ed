// SPDX-License-Identifier: Apache-2.0

#include "core/packet.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace heddle::packet_test {

// A slot on a wire still holds the packet that was there before.
TEST(PacketTest, AClearedPacketKnowsNothingOfTheOneBefore) {
  Packet packet;
  packet.arrival = packet.sent = Time{5};
  packet.flow = packet.tuple_hash = packet.seq = 6;
  packet.src = packet.dst = 7;
  packet.bytes = packet.path = packet.entropy = packet.taken = 8;
  packet.kind = PacketKind::kAck;
  packet.priority = packet.flags = packet.hops = 9;
  packet.data = {.tx_id = 10, .payload = 11, .waited = {12, 13, 14}};
  packet.SetScheme<uint64_t>(15);

  packet.Clear();
  EXPECT_EQ(packet.arrival, kNever);
  EXPECT_EQ(packet.sent, Time{});
  EXPECT_EQ(packet.flow, 0u);
  EXPECT_EQ(packet.tuple_hash, 0u);
  EXPECT_EQ(packet.seq, 0u);
  EXPECT_EQ(packet.src, 0);
  EXPECT_EQ(packet.dst, 0);
  EXPECT_EQ(packet.bytes, 0);
  EXPECT_EQ(packet.path, kNoPath);
  EXPECT_EQ(packet.entropy, 0);
  EXPECT_EQ(packet.taken, 0);
  EXPECT_EQ(packet.kind, PacketKind::kData);
  EXPECT_EQ(packet.priority, 0);
  EXPECT_EQ(packet.flags, 0);
  EXPECT_EQ(packet.hops, 0);
  EXPECT_EQ(packet.data.tx_id, 0u);
  EXPECT_EQ(packet.data.payload, 0);
  EXPECT_EQ(packet.Waited(), Duration{0});
  EXPECT_EQ(packet.Scheme<uint64_t>(), 0u);
}

}  // namespace heddle::packet_test
