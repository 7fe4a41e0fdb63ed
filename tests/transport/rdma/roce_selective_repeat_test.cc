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

// A packet is to be sent again because a switch has trimmed it. The ACK of another copy comes
// first.
TEST(SelectiveRepeatTest, ForgetsATrimmedPacketThatHasArrived) {
  SelectiveRepeat repair;
  repair.Reset();
  repair.OnTrimmed(5, 0);
  EXPECT_TRUE(repair.HasLost(0));
  repair.AdvanceTo(6);
  EXPECT_FALSE(repair.HasLost(6));
  repair.OnTrimmed(8, 6);
  EXPECT_TRUE(repair.OnArrived(8));
  EXPECT_FALSE(repair.HasLost(6));
}

}  // namespace heddle::roce_selective_repeat_test
