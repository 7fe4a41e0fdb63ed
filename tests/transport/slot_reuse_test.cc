// SPDX-License-Identifier: Apache-2.0
// A flow that takes the slot of an earlier one begins with nothing of it; and RACK at its
// boundaries.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "transport/tcp/rack.h"

namespace heddle::slot_reuse_test {

const std::vector<std::string> kTransports = {"{kind: tcp}",
                                              "{kind: dctcp, recovery: newreno}",
                                              "{kind: tcp, loss: rack, tlp: true}",
                                              "{kind: rocev2, cc: none, rto: 1ms}",
                                              "{kind: rocev2, cc: none, recovery: irn}",
                                              "{kind: rocev2, cc: none, recovery: sr, rto: 1ms}"};

// Packet 5 of the first flow is dropped, and that of the second is overtaken: the drop of the first
// does not justify a retransmission of the second.
TEST(SlotReuseTest, DropsOfTheFlowBeforeDoNotCount) {
  for (const std::string& transport : kTransports) {
    SCOPED_TRACE(transport);
    Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
             .transport = transport,
             .switch_policy = Scripted(
                 {DropAt(0, Data(0, 5)).Times(1), HoldAt(2, Data(1, 5), 40_us).Times(1)})});
    lab.AddFlow(0, 1, 60'000);
    lab.AddFlow(0, 1, 60'000, Time{} + 50_ms);
    lab.Run();
    EXPECT_EQ(lab.Record(0).sender.retransmissions_loss, 1);
    EXPECT_EQ(lab.Record(1).sender.retransmissions_loss, 0);
    EXPECT_GE(lab.Record(1).sender.retransmissions_spurious, 1);
    EXPECT_EQ(lab.Record(0).sender.timeouts + lab.Record(1).sender.timeouts, 0);
  }
}

// A flow, which loses packets itself, does the same whatever became of an earlier one in its slot,
// and however long the earlier flow was.
TEST(SlotReuseTest, TheSecondFlowKnowsNothingOfTheFirst) {
  std::vector<std::string> transports = kTransports;
  transports.insert(
      transports.end(),
      {"{kind: rocev2, cc: none, recovery: ddp}", "{kind: rocev2, cc: swift, rto: 1ms}",
       "{kind: rocev2, cc: {kind: timely, segment: 5KB}, rto: 1ms}", "{kind: tcp, variant: htsim}",
       "{kind: dctcp, variant: htsim}", "{kind: mprdma}", "{kind: mprdma, message: 20KB}",
       "{kind: uet}", "{kind: uet, cc: none, receiver: rccc}", "{kind: uet, preset: ndp}"});
  for (const std::string& transport : transports) {
    SCOPED_TRACE(transport);
    const auto second = [&](int64_t size, std::vector<Rule> rules) {
      for (const uint32_t lost : {5u, 24u}) rules.push_back(DropAt(0, Data(1, lost)).Times(1));
      Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
               .transport = transport,
               .switch_policy = Scripted(std::move(rules))});
      lab.AddFlow(0, 1, size);
      lab.AddFlow(0, 1, 123'456, Time{} + 800_ms);
      lab.Run();
      EXPECT_TRUE(lab.finished());
      return Describe(lab.Record(1));
    };
    const std::string plain = second(90'000, {});
    EXPECT_EQ(second(1, {}), plain);
    EXPECT_EQ(second(900'000, {}), plain);
    for (const uint32_t lost : {0u, 7u, 9u}) {
      EXPECT_EQ(second(90'000, {DropAt(0, Data(0, lost)).Times(1)}), plain) << lost;
      EXPECT_EQ(second(90'000, {DropAt(0, Data(0, lost)).Times(2)}), plain) << lost;
      EXPECT_EQ(second(90'000, {HoldAt(0, Data(0, lost), 50_us).Times(1)}), plain) << lost;
    }
  }
}

// --- RACK ---

// RFC 8985 section 6.2 step 2: of segments sent at the same instant, the higher one was sent later.
TEST(RackOrderTest, OfOneInstantTheHigherSegmentWasSentLater) {
  Scoreboard board;
  Rack rack;
  board.Reset();
  board.SetObserver(&rack);
  for (uint32_t n = 0; n < 4; ++n) board.Append(Time{} + 1_us, n);
  board.Sack(2, 3, Time{} + 101_us);
  rack.EndAck();
  EXPECT_EQ(rack.Detect(board, Time{} + 101_us, 0_us), kNever);
  EXPECT_TRUE(board.At(0).lost);
  EXPECT_TRUE(board.At(1).lost);
  EXPECT_FALSE(board.At(3).lost);
  // A lower one that arrives later does not become the latest.
  board.Sack(1, 2, Time{} + 120_us);
  rack.EndAck();
  EXPECT_EQ(rack.Detect(board, Time{} + 120_us, 0_us), kNever);
  EXPECT_FALSE(board.At(3).lost);
}

// Without reordering, the third SACKed segment shows a loss at once (RFC 8985 section 6.2 step 4);
// two do not, and wait a quarter of a round trip.
TEST(RackOrderTest, ThreeSackedSegmentsShowALossAtOnce) {
  std::vector<Time> retransmitted;
  std::vector<Time> arrived;
  const auto note = [&](const SwitchView& view, const Packet& p) {
    if (p.seq == 20 && p.Has(Packet::kRetransmission)) retransmitted.push_back(p.sent);
    if (p.seq > 20 && arrived.size() < 4) arrived.push_back(view.now());
  };
  Lab lab(
      {.graph = Line(4, {10_Gbps, 10_us}),
       .transport = "{kind: tcp, iw: 60, loss: rack}",
       .switch_policy = Scripted({DropAt(0, Data(0, 20)).Times(1), WatchAt(0, AllData(0), note)})});
  lab.AddFlow(0, 1, 100 * 1'460);
  lab.Run();
  ASSERT_EQ(retransmitted.size(), 1u);
  ASSERT_EQ(arrived.size(), 4u);
  // The third of the packets behind the hole needs 3 links of 11.2304 us more, and its ACK 4 links
  // of 10 us and 67.2 ns. The retransmission waits for at most one packet of the NIC.
  const Time third = arrived[2] + 3 * (10_us + 1'230'400_ps) + 4 * (10_us + 67'200_ps);
  EXPECT_GE(retransmitted[0], third);
  EXPECT_LT(retransmitted[0], third + 1'230'400_ps);
}

}  // namespace heddle::slot_reuse_test
