// SPDX-License-Identifier: Apache-2.0
// RoCE's selective repeat as commodity NICs do it: one NACK for the packet expected, one repair.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "transport/rdma/selective_repeat.h"

namespace heddle::roce_selective_repeat_test {

// 100 packets over three links; the host sends one every 89.76 ns.
FlowRecord Transfer(std::vector<Rule> rules) {
  Lab lab({.graph = Line(3, {100_Gbps, 1_us}),
           .transport = "{kind: rocev2, cc: none, recovery: sr, rto: 100us}",
           .switch_policy = Scripted(std::move(rules))});
  lab.AddFlow(0, 1, 102'400);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return lab.Record(0);
}

TEST(RoceSelectiveRepeatTest, ALossIsRepairedByOnePacket) {
  const FlowRecord record = Transfer({DropAt(0, Data(0, 40)).Times(1)});
  EXPECT_EQ(record.sender.nacks, 1);
  EXPECT_EQ(record.sender.retransmissions, 1);
  EXPECT_EQ(record.sender.retransmissions_spurious, 0);
  EXPECT_EQ(record.sender.timeouts, 0);
  EXPECT_EQ(record.receiver.duplicates, 0);
  EXPECT_EQ(record.receiver.discarded, 0);
}

// The second hole is asked for when the first one has been filled and another packet comes.
TEST(RoceSelectiveRepeatTest, HolesAreRepairedOneAfterTheOther) {
  const FlowRecord record =
      Transfer({DropAt(0, Data(0, 10)).Times(1), DropAt(0, Data(0, 12)).Times(1)});
  EXPECT_EQ(record.sender.nacks, 2);
  EXPECT_EQ(record.sender.retransmissions, 2);
  EXPECT_EQ(record.sender.timeouts, 0);
}

TEST(RoceSelectiveRepeatTest, AnOvertakenPacketIsSentAgainInVain) {
  for (const int64_t overtakers : {1, 20}) {
    const FlowRecord record = Transfer({LetPassAt(0, Data(0, 40), overtakers).Times(1)});
    EXPECT_EQ(record.sender.nacks, 1);
    EXPECT_EQ(record.sender.retransmissions, 1);
    EXPECT_EQ(record.sender.retransmissions_spurious, 1);
    EXPECT_EQ(record.receiver.duplicates, 1);
  }
}

// Nothing comes after the last packet, so that only the timeout tells of its loss.
TEST(RoceSelectiveRepeatTest, ALostTailCostsATimeout) {
  const FlowRecord record = Transfer({DropAt(0, Data(0, 99)).Times(1)});
  EXPECT_EQ(record.sender.nacks, 0);
  EXPECT_EQ(record.sender.timeouts, 1);
  EXPECT_EQ(record.sender.retransmissions, 1);
}

// A repair that is lost too costs a timeout; the sender then goes back, and the ACK of the repair
// tells it how much has arrived.
TEST(RoceSelectiveRepeatTest, ALostRepairCostsATimeout) {
  const FlowRecord record = Transfer({DropAt(0, Data(0, 40)).Times(2)});
  EXPECT_EQ(record.sender.nacks, 1);
  EXPECT_EQ(record.sender.timeouts, 1);
  EXPECT_GE(record.sender.retransmissions, 2);
}

// A switch trims packets at a link of 40 Gbps behind one of 100. Nothing is lost or overtaken, so
// every packet is repaired when its header arrives, and no other NACK asks for anything more.
TEST(TrimmedPacketsTest, AreSentAgainOnce) {
  for (const std::string recovery : {"irn", "sr", "ddp", "ddp, ddp_loss: threshold"}) {
    SCOPED_TRACE(recovery);
    Lab lab({.graph = Line({{100_Gbps, 1_us}, {40_Gbps, 1_us}, {40_Gbps, 1_us}}),
             .transport =
                 "{kind: rocev2, cc: none, window: bdp, bdp: 60000B, recovery: " + recovery + "}",
             .port = "{buffer: 20KB, trim: {when: port}}"});
    lab.AddFlow(0, 1, 1'000'000);
    lab.Run();
    ASSERT_TRUE(lab.finished());
    const FlowRecord& record = lab.Record(0);
    EXPECT_GT(record.receiver.trimmed, 20);
    EXPECT_EQ(record.sender.retransmissions, record.receiver.trimmed);
    EXPECT_EQ(record.sender.retransmissions_spurious, 0);
    EXPECT_EQ(record.sender.fast_retransmits, 0);
    EXPECT_EQ(record.sender.timeouts, 0);
    EXPECT_EQ(record.receiver.duplicates, 0);
  }
}

// Recoveries leave out what was sent again alone; a timeout does not.
TEST(SelectiveRepeatTest, RepairsATrimmedPacketOnce) {
  SelectiveRepeat repair;
  repair.Reset();
  repair.SendAlone(2, 0);
  EXPECT_EQ(repair.TakeLost(0), 2u);
  for (const uint32_t packet : {0u, 1u, 3u, 5u}) repair.OnArrived(packet);
  repair.AdvanceTo(2);
  EXPECT_EQ(repair.FirstHole(2), 4u);
  repair.BeginRecovery(2, 6);
  EXPECT_EQ(repair.TakeLost(2), 4u);
  EXPECT_FALSE(repair.HasLost(2));
  repair.OnArrived(4);
  EXPECT_EQ(repair.FirstHole(2), std::nullopt);
  repair.OnTimeout(2, 6);
  EXPECT_EQ(repair.TakeLost(2), 2u);
  EXPECT_FALSE(repair.HasLost(2));
}

// A packet is to be sent again because a switch has trimmed it. The ACK of another copy comes
// first.
TEST(SelectiveRepeatTest, ForgetsATrimmedPacketThatHasArrived) {
  SelectiveRepeat repair;
  repair.Reset();
  repair.SendAlone(5, 0);
  EXPECT_TRUE(repair.HasLost(0));
  repair.AdvanceTo(6);
  EXPECT_FALSE(repair.HasLost(6));
  repair.SendAlone(8, 6);
  EXPECT_TRUE(repair.OnArrived(8));
  EXPECT_FALSE(repair.HasLost(6));
}

}  // namespace heddle::roce_selective_repeat_test
