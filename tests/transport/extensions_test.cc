// SPDX-License-Identifier: Apache-2.0
// The options that make TCP more patient with reordering or quicker to repair (RFC 8985, 6937,
// 3708; RFC 6675's rescue), each beside the same flow without it.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "transport/tcp/prr.h"
#include "transport/tcp/rack.h"
#include "transport/tcp/tcp_sender.h"

namespace heddle::extensions_test {

// 4 links of 10 Gbps and 10 us: an idle round trip takes 85 us, some 70 segments.
FlowRecord Transfer(int64_t segments, std::vector<Rule> rules, const std::string& options) {
  Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
           .transport = "{kind: tcp, iw: 40" + options + "}",
           .switch_policy = Scripted(std::move(rules))});
  lab.AddFlow(0, 1, segments * 1'460);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return lab.Record(0);
}

// --- RACK, by hand ---

TEST(RackTest, FindsLostWhatIsOverdueOnceALaterSegmentHasArrived) {
  Scoreboard board;
  Rack rack;
  board.Reset();
  board.SetObserver(&rack);
  for (uint32_t n = 0; n < 6; ++n) board.Append(Time{} + n * 1_us, n);
  board.Acknowledge(1, Time{} + 100_us);  // Segment 0: a round trip of 100 us.
  rack.EndAck();
  EXPECT_EQ(rack.Detect(board, Time{} + 100_us, 25_us), kNever);
  board.Sack(3, 4, Time{} + 103_us);
  rack.EndAck();
  // Segments 1 and 2, sent at 1 and 2 us, were sent before 3, whose round trip took 100 us.
  EXPECT_EQ(rack.Detect(board, Time{} + 103_us, 25_us), Time{} + 126_us);
  EXPECT_FALSE(board.HasLost());
  EXPECT_EQ(rack.Detect(board, Time{} + 126_us, 25_us), Time{} + 127_us);
  EXPECT_TRUE(board.HasLost());
  EXPECT_EQ(board.NextLost(), 1u);
  EXPECT_FALSE(board.At(2).lost);
  // Sent again, and lost again: 4 was sent later than the second copy of 1... at 200 us.
  board.Resend(1, Time{} + 130_us, 6);
  board.Resend(4, Time{} + 200_us, 7);
  EXPECT_FALSE(board.HasLost());
  board.Sack(4, 5, Time{} + 300_us);
  rack.EndAck();
  EXPECT_EQ(rack.Detect(board, Time{} + 300_us, 0_us), kNever);
  EXPECT_TRUE(board.At(1).lost && !board.At(1).sent_again);
  EXPECT_TRUE(board.At(2).lost);
  EXPECT_TRUE(board.At(5).lost);
}

TEST(RackTest, LearnsHowFarPacketsOvertakeAndHowLongToWait) {
  Scoreboard board;
  Rack rack;
  board.Reset();
  board.SetObserver(&rack);
  for (uint32_t n = 0; n < 20; ++n) board.Append(Time{} + n * 1_us, n);
  EXPECT_EQ(rack.Patience(false, false, 80_us), 0_us);  // Nothing measured.
  board.Sack(9, 12, Time{} + 51_us);  // A late report of three, out of order in one ACK:
  board.Sack(4, 6, Time{} + 51_us);   // that alone is no overtaking.
  rack.EndAck();
  EXPECT_EQ(rack.extent(), 0u);
  EXPECT_EQ(rack.Patience(false, true, 80_us), 0_us);
  EXPECT_EQ(rack.Patience(false, false, 80_us), 10_us);  // A quarter of the least, 40 us.
  board.Sack(7, 8, Time{} + 60_us);
  rack.EndAck();
  EXPECT_EQ(rack.extent(), 4u);  // 8, 9, 10 and 11 lie beyond 7.
  EXPECT_EQ(rack.Patience(true, true, 80_us), 10_us);
  rack.OnDsack(0, 20);
  rack.OnDsack(0, 20);  // Within the same round trip.
  EXPECT_EQ(rack.Patience(true, true, 80_us), 20_us);
  rack.OnDsack(20, 30);
  EXPECT_EQ(rack.Patience(true, true, 80_us), 30_us);
  EXPECT_EQ(rack.Patience(true, true, 25_us), 25_us);
  for (int i = 0; i < 15; ++i) rack.OnRecoveryEnd();
  EXPECT_EQ(rack.Patience(true, true, 80_us), 30_us);
  rack.OnRecoveryEnd();
  EXPECT_EQ(rack.Patience(true, true, 80_us), 10_us);
}

// --- RACK in a flow ---

TEST(RackFlowTest, RepairsALostRetransmissionWithoutATimeout) {
  const std::vector<Rule> rules = {DropAt(0, Data(0, 20)).Times(2)};
  EXPECT_EQ(Transfer(200, rules, "").sender.timeouts, 1);
  const FlowRecord flow = Transfer(200, rules, ", loss: rack");
  EXPECT_EQ(flow.sender.timeouts, 0);
  EXPECT_EQ(flow.sender.retransmissions, 2);
  EXPECT_EQ(flow.sender.retransmissions_loss, 2);
  EXPECT_LT(FctRx(flow), 1_ms);
}

TEST(RackFlowTest, ToleratesReorderingAfterTheFirst) {
  // Four packets are late by less than a quarter of the round trip.
  std::vector<Rule> rules;
  for (const uint32_t segment : {50u, 150u, 250u, 350u}) {
    rules.push_back(HoldAt(0, Data(0, segment), 15_us).Times(1));
  }
  EXPECT_EQ(Transfer(500, rules, "").sender.retransmissions_spurious, 4);
  const FlowRecord flow = Transfer(500, rules, ", loss: rack");
  EXPECT_EQ(flow.sender.retransmissions_spurious, 1);
  EXPECT_EQ(flow.sender.retransmissions, 1);
}

TEST(RackFlowTest, FindsALossByItsTimerWhenAcksRunOut) {
  // One reordering makes it patient; then the last but one is lost: one SACK comes, and no more.
  const std::vector<Rule> rules = {LetPassAt(0, Data(0, 50), 2).Times(1),
                                   DropAt(0, Data(0, 198)).Times(1)};
  EXPECT_EQ(Transfer(200, rules, "").sender.timeouts, 1);
  const FlowRecord flow = Transfer(200, rules, ", loss: rack");
  EXPECT_EQ(flow.sender.timeouts, 0);
  EXPECT_EQ(flow.sender.retransmissions_loss, 1);
  EXPECT_EQ(flow.sender.retransmissions, 1);
}

// --- Tail loss probes ---

TEST(TailLossProbeTest, RepairsALostTail) {
  for (const uint32_t losses : {1u, 3u}) {
    SCOPED_TRACE(losses);
    std::vector<Rule> rules;
    for (uint32_t i = 0; i < losses; ++i) rules.push_back(DropAt(0, Data(0, 99 - i)).Times(1));
    const FlowRecord plain = Transfer(100, rules, ", loss: rack");
    EXPECT_EQ(plain.sender.timeouts, 1);
    EXPECT_GT(FctRx(plain), 10_ms);
    const FlowRecord flow = Transfer(100, rules, ", loss: rack, tlp: true");
    EXPECT_EQ(flow.sender.timeouts, 0);
    EXPECT_EQ(flow.sender.retransmissions_loss, losses);
    EXPECT_EQ(flow.sender.retransmissions, losses);
    EXPECT_LT(FctRx(flow), 1_ms);
  }
}

TEST(TailLossProbeTest, SendsOneProbeAndLeavesTheRestToTheTimer) {
  // The tail and its first probe are lost.
  const FlowRecord flow =
      Transfer(100, {DropAt(0, Data(0, 99)).Times(2)}, ", loss: rack, tlp: true");
  EXPECT_EQ(flow.sender.timeouts, 1);
  EXPECT_EQ(flow.sender.retransmissions, 2);
}

TEST(TailLossProbeTest, SendsNothingIfNothingIsLate) {
  const FlowRecord flow = Transfer(500, {}, ", loss: rack, tlp: true");
  EXPECT_EQ(flow.sender.retransmissions, 0);
  EXPECT_EQ(FctRx(flow), FctRx(Transfer(500, {}, "")));
}

// --- Patience by counting ---

TEST(ReorderingAdaptTest, RaisesTheThresholdToWhatItHasSeen) {
  std::vector<Rule> rules;
  for (const uint32_t segment : {50u, 150u, 250u, 350u}) {
    rules.push_back(LetPassAt(0, Data(0, segment), 10).Times(1));
  }
  rules.push_back(LetPassAt(0, Data(0, 450), 30).Times(1));
  EXPECT_EQ(Transfer(600, rules, "").sender.retransmissions_spurious, 5);
  // The first teaches it ten, the last thirty.
  EXPECT_EQ(Transfer(600, rules, ", reordering_adapt: true").sender.retransmissions_spurious, 2);
}

TEST(ReorderingAdaptTest, StillFindsLosses) {
  const FlowRecord flow =
      Transfer(600, {LetPassAt(0, Data(0, 50), 10).Times(1), DropAt(0, Data(0, 300)).Times(1)},
               ", reordering_adapt: true");
  EXPECT_EQ(flow.sender.timeouts, 0);
  EXPECT_EQ(flow.sender.retransmissions_loss, 1);
}

// --- Taking reductions back ---

TEST(UndoTest, RestoresTheWindowAfterASpuriousRetransmission) {
  const auto largest_window_later = [](const std::string& options, std::vector<Rule> rules) {
    Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
             .transport = "{kind: tcp, iw: 40, max_cwnd: 100" + options + "}",
             .switch_policy = Scripted(std::move(rules))});
    lab.AddFlow(0, 1, 400 * 1'460);
    double segments = 0;
    lab.SampleEvery(1_us, [&](Time now) {
      // After the episode, within a few round trips of it.
      const TcpSender* sender = lab.Sender(0);
      if (sender == nullptr || sender->done() || now < Time{} + 300_us) return;
      segments = std::max(segments, sender->cwnd() / 1'460);
    });
    lab.Run();
    return segments;
  };
  const std::vector<Rule> overtaken = {LetPassAt(0, Data(0, 60), 5).Times(1)};
  const double halved = largest_window_later("", overtaken);
  const double restored = largest_window_later(", undo: dsack", overtaken);
  EXPECT_LT(halved, 60);
  EXPECT_GT(restored, 80);
  // A real loss is not taken back.
  const std::vector<Rule> lost = {DropAt(0, Data(0, 60)).Times(1)};
  EXPECT_EQ(largest_window_later(", undo: dsack", lost), largest_window_later("", lost));
}

// Segment 5 arrives 100 us late, and a DSACK tells that its retransmission was needless. The window
// comes back, and stays when the recovery ends, which is when segment 39 arrives: PRR's last step
// (RFC 6937) would set it to a threshold that no longer holds.
TEST(UndoTest, LeavesNothingForTheEndOfTheRecoveryToReduce) {
  Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
           .transport = "{kind: tcp, iw: 30, dupthresh: 10, prr: true, undo: dsack}",
           .switch_policy = Scripted({HoldAt(2, Data(0, 5), 100_us).Times(1),
                                      HoldAt(2, Data(0, 39), 600_us).Times(1),
                                      HoldAt(2, Data(0, 48), 900_us).Times(1)})});
  lab.AddFlow(0, 1, 49 * 1'460);
  double restored = 0;
  double last = 0;
  lab.SampleEvery(1_us, [&](Time now) {
    const TcpSender* sender = lab.Sender(0);
    if (sender == nullptr || sender->done()) return;
    if (now == Time{} + 500_us) restored = sender->cwnd() / 1'460;
    last = sender->cwnd() / 1'460;
  });
  lab.Run();
  EXPECT_EQ(lab.Record(0).sender.fast_retransmits, 1);
  EXPECT_EQ(lab.Record(0).sender.timeouts, 0);
  EXPECT_GE(restored, 30);
  EXPECT_LE(last, restored + 49);
}

// --- Rescue ---

TEST(RescueTest, SendsTheHighestSegmentAgainWhenNothingElseIsLeft) {
  const std::vector<Rule> rules = {DropAt(0, Data(0, 30)).Times(1),
                                   DropAt(0, Data(0, 39)).Times(1)};
  EXPECT_EQ(Transfer(40, rules, "").sender.timeouts, 1);
  const FlowRecord flow = Transfer(40, rules, ", rescue: true");
  EXPECT_EQ(flow.sender.timeouts, 0);
  EXPECT_EQ(flow.sender.retransmissions, 2);
  EXPECT_EQ(flow.sender.retransmissions_loss, 2);
}

// --- Proportional rate reduction ---

TEST(PrrTest, SendsOnePacketForEachTwoThatArrive) {
  Prr prr;
  prr.Enter(20);
  std::vector<uint32_t> counts;
  uint32_t pipe = 20;
  for (int ack = 0; ack < 10; ++ack) {
    const uint32_t more = prr.OnAck(1, --pipe, 10);
    counts.push_back(more);
    for (uint32_t i = 0; i < more; ++i) prr.OnSend();
    pipe += more;
  }
  EXPECT_EQ(counts, (std::vector<uint32_t>{1, 0, 1, 0, 1, 0, 1, 0, 1, 0}));
  // Below ssthresh, after heavy loss, it catches up by one beyond what arrives.
  prr.Enter(20);
  EXPECT_EQ(prr.OnAck(1, 4, 10), 2u);
  // RFC 6937, slow start reduction bound: MAX(prr_delivered - prr_out, DeliveredData) + 1, and no
  // more than ssthresh - pipe.
  prr.OnSend();
  prr.OnSend();
  EXPECT_EQ(prr.OnAck(1, 5, 10), 2u);  // max(2 - 2, 1) + 1
  EXPECT_EQ(prr.OnAck(3, 5, 10), 4u);  // max(5 - 2, 3) + 1
  EXPECT_EQ(prr.OnAck(1, 4, 10), 5u);  // max(6 - 2, 1) + 1
  EXPECT_EQ(prr.OnAck(1, 8, 10), 2u);  // 10 - 8
}

TEST(PrrTest, FillsThePauseAfterALoss) {
  const auto longest_pause = [](const std::string& options) {
    std::vector<Time> sent;
    const auto note = [&](const SwitchView&, const Packet& p) { sent.push_back(p.sent); };
    const FlowRecord flow =
        Transfer(400, {WatchAt(0, AllData(0), note), DropAt(0, Data(0, 120)).Times(1)}, options);
    EXPECT_EQ(flow.sender.retransmissions_loss, 1);
    EXPECT_EQ(flow.sender.retransmissions, 1);
    Duration longest{0};
    for (size_t i = 140; i + 1 < sent.size(); ++i)
      longest = std::max(longest, sent[i + 1] - sent[i]);
    return longest;
  };
  EXPECT_GT(longest_pause(""), 30_us);
  EXPECT_LT(longest_pause(", prr: true"), 10_us);
}

// --- Over random loss and reordering ---

// Every flow ends, whatever the options, and the senders tell losses from late packets.
TEST(ExtensionsTest, EveryCombinationSurvivesLossAndReordering) {
  for (const char* options :
       {", loss: rack", ", loss: rack, tlp: true", ", prr: true", ", undo: dsack", ", rescue: true",
        ", reordering_adapt: true",
        ", loss: rack, tlp: true, prr: true, undo: dsack, rescue: true, reordering_adapt: true"}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE(std::string(options) + " seed " + std::to_string(seed));
      const FlowRecord flow =
          Transfer(1'000,
                   {DropAt(1, WithProbability(0.01, seed, AllData(0))),
                    HoldAt(2, WithProbability(0.02, seed + 100, AllData(0)), 15_us),
                    DropAt(0, WithProbability(0.01, seed + 200, AllAcks(0)))},
                   options);
      EXPECT_EQ(flow.sender.retransmissions,
                flow.sender.retransmissions_loss + flow.sender.retransmissions_spurious);
      EXPECT_EQ(flow.receiver.packets - flow.receiver.duplicates, 1'000);
    }
  }
}

// One segment at a time may be in flight, and one is lost. The ACK after the probe may be of either
// copy, so it changes nothing. The next ACK, beyond the probe and without a DSACK, shows that a
// segment was lost, and the window shrinks to two segments, the least (RFC 8985 section 7.4.2).
TEST(ProbeTest, ALossThatItRepairedShrinksTheWindowAtTheNextAck) {
  Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
           .transport = "{kind: tcp, iw: 40, rwnd: 1, loss: rack, tlp: true}",
           .switch_policy = Scripted({DropAt(0, Data(0, 5)).Times(1)})});
  lab.AddFlow(0, 1, 10 * 1'460);
  std::vector<std::pair<int64_t, double>> seen;  // Acknowledged segments and the window.
  lab.SampleEvery(1_us, [&](Time) {
    if (const TcpSender* sender = lab.Sender(0); sender != nullptr && !sender->done()) {
      seen.emplace_back(sender->state().acked / 1'460, sender->cwnd() / 1'460);
    }
  });
  lab.Run();
  EXPECT_EQ(lab.Record(0).sender.timeouts, 0);
  EXPECT_EQ(lab.Record(0).sender.retransmissions, 1);
  for (const auto& [acked, window] : seen) {
    EXPECT_EQ(window >= 40, acked <= 6) << acked;
    EXPECT_EQ(window<5, acked> 6) << acked;
  }
}

}  // namespace heddle::extensions_test
