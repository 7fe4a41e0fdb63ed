// SPDX-License-Identifier: Apache-2.0
// Flows recover from packets that are lost or overtaken. The tests check times to the picosecond
// where there are worked numbers.

#include <gtest/gtest.h>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::loss_test {

// 4 links of 10 Gbps and 1 us, and switches 0, 1 and 2.
FlowRecord Transfer(int64_t size, std::vector<Rule> rules, std::string transport = "{kind: tcp}") {
  Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
           .transport = std::move(transport),
           .switch_policy = Scripted(std::move(rules))});
  lab.AddFlow(0, 1, size);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return lab.Record(0);
}

// --- Tail loss and timeouts ---

TEST(TimeoutTest, RepairsALostTailAfterTheMinimumTimeout) {
  const FlowRecord flow = Transfer(14'600, {DropAt(0, Data(0, 9)).Times(1)});
  EXPECT_EQ(FctRx(flow), 10'031'955'200_ps);
  EXPECT_EQ(flow.sender.timeouts, 1);
  EXPECT_EQ(flow.sender.retransmissions, 1);
  EXPECT_EQ(flow.sender.retransmissions_loss, 1);
  EXPECT_EQ(flow.sender.fast_retransmits, 0);
}

TEST(TimeoutTest, DoublesWithEachLossOfTheSameSegment) {
  std::vector<Time> sent;
  const auto note = [&](const SwitchView&, const Packet& p) { sent.push_back(p.sent); };
  const FlowRecord flow =
      Transfer(14'600, {DropAt(0, Data(0, 9)).Times(3), WatchAt(0, Data(0, 9), note).Skip(1)});
  EXPECT_EQ(sent, (std::vector<Time>{{10'023'033'600}, {30'023'033'600}, {70'023'033'600}}));
  EXPECT_EQ(FctRx(flow), 70'031'955'200_ps);
  EXPECT_EQ(flow.sender.timeouts, 3);
  EXPECT_EQ(flow.sender.retransmissions_loss, 3);
}

// RFC 5681, equation (4): half of the flight of ten, held when the same segment times out again.
// The timeouts are at 3 and 9 ms, and the next would be at 21 ms.
TEST(TimeoutTest, SetsTheThresholdOnceForASegment) {
  Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
           .transport = "{kind: tcp, iw: 10, min_rto: 1ms, rto_init: 3ms}",
           .switch_policy = Scripted({DropAt(0, AllData(0)).Times(12)})});
  lab.AddFlow(0, 1, 146'000);
  std::vector<double> segments;
  lab.SampleEvery(1_ms, [&](Time now) {
    if (now != Time{} + 5_ms && now != Time{} + 12_ms) return;
    segments.push_back(lab.Sender(0)->Remember(now).ssthresh / 1'460);
  });
  lab.Run(Time{} + 13_ms);
  EXPECT_EQ(segments, (std::vector<double>{5, 5}));
}

TEST(TimeoutTest, BacksOffNoFurtherThanItsMaximum) {
  std::vector<Time> sent;
  const auto note = [&](const SwitchView&, const Packet& p) { sent.push_back(p.sent); };
  Transfer(1, {DropAt(0, Data(0, 0)).Times(5), WatchAt(0, Data(0, 0), note)},
           "{kind: tcp, min_rto: 10ms, max_rto: 30ms}");
  EXPECT_EQ(sent, (std::vector<Time>{Time{} + 0_ms, Time{} + 10_ms, Time{} + 30_ms, Time{} + 60_ms,
                                     Time{} + 90_ms, Time{} + 120_ms}));
}

TEST(TimeoutTest, StartsFromRtoInitBeforeTheFirstSample) {
  const FlowRecord flow =
      Transfer(1, {DropAt(0, Data(0, 0)).Times(1)}, "{kind: tcp, min_rto: 1ms, rto_init: 3ms}");
  EXPECT_GT(FctRx(flow), 3_ms);
  EXPECT_LT(FctRx(flow), 3'010_us);
}

TEST(TimeoutTest, OfTheHandshakeDoubles) {
  std::vector<Time> sent;
  const auto note = [&](const SwitchView&, const Packet& p) { sent.push_back(p.sent); };
  const Match syn = Anything(PacketKind::kSyn);
  const FlowRecord flow = Transfer(1'460, {DropAt(0, syn).Times(2), WatchAt(0, syn, note)},
                                   "{kind: tcp, setup: handshake}");
  EXPECT_EQ(sent, (std::vector<Time>{Time{} + 0_ms, Time{} + 10_ms, Time{} + 30_ms}));
  EXPECT_EQ(flow.sender.timeouts, 0);
  EXPECT_EQ(FctRx(flow), 30_ms + 8'921'600_ps + 2 * 4 * (1_us + 67'200_ps));
}

TEST(TimeoutTest, ResendsAWholeLostWindow) {
  for (const char* transport : {"{kind: tcp}", "{kind: tcp, recovery: newreno}"}) {
    SCOPED_TRACE(transport);
    const FlowRecord flow = Transfer(14'600, {DropAt(0, AllData(0)).Times(10)}, transport);
    EXPECT_EQ(flow.sender.timeouts, 1);
    EXPECT_EQ(flow.sender.retransmissions, 10);
    EXPECT_EQ(flow.sender.retransmissions_loss, 10);
    EXPECT_EQ(flow.receiver.duplicates, 0);
  }
}

// --- Fast retransmit ---

TEST(FastRetransmitTest, RepairsALostFirstPacketWithoutATimeout) {
  const FlowRecord flow = Transfer(14'600, {DropAt(0, Data(0, 0)).Times(1)});
  EXPECT_EQ(FctRx(flow), 25'803'200_ps);
  EXPECT_EQ(flow.sender.timeouts, 0);
  EXPECT_EQ(flow.sender.fast_retransmits, 1);
  EXPECT_EQ(flow.sender.fast_retransmits_reorder, 0);
  EXPECT_EQ(flow.sender.retransmissions_loss, 1);
  EXPECT_EQ(flow.sender.retransmissions_spurious, 0);
}

TEST(FastRetransmitTest, ResendsWithSackJustWhatWasLost) {
  for (const size_t losses : {1, 2, 5, 9}) {
    SCOPED_TRACE(losses);
    std::vector<Rule> rules;
    for (uint32_t i = 0; i < losses; ++i) rules.push_back(DropAt(1, Data(0, 30 + 3 * i)).Times(1));
    const FlowRecord flow = Transfer(146'000, rules, "{kind: tcp, iw: 64}");
    EXPECT_EQ(flow.sender.retransmissions, static_cast<int64_t>(losses));
    EXPECT_EQ(flow.sender.retransmissions_loss, static_cast<int64_t>(losses));
    EXPECT_EQ(flow.sender.retransmissions_spurious, 0);
    EXPECT_EQ(flow.sender.fast_retransmits_reorder, 0);
    EXPECT_EQ(flow.sender.timeouts, 0);
    EXPECT_EQ(flow.receiver.duplicates, 0);
  }
}

TEST(FastRetransmitTest, RepairsWithNewRenoOneLossPerRoundTrip) {
  const std::vector<Rule> rules = {DropAt(1, Data(0, 30)).Times(1), DropAt(1, Data(0, 33)).Times(1),
                                   DropAt(1, Data(0, 36)).Times(1)};
  const FlowRecord flow = Transfer(146'000, rules, "{kind: tcp, iw: 64, recovery: newreno}");
  EXPECT_EQ(flow.sender.retransmissions, 3);
  EXPECT_EQ(flow.sender.retransmissions_loss, 3);
  EXPECT_EQ(flow.sender.fast_retransmits, 1);
  EXPECT_EQ(flow.sender.timeouts, 0);
}

// RFC 6582 section 4, the impatient variant: only the first partial ACK restarts the retransmission
// timer. Each of ten losses takes a round trip of a little more than 200 us, so the timer of 1 ms
// ends in the middle of them, counted from the first partial ACK, at which the second of them is
// sent again.
TEST(FastRetransmitTest, RestartsTheTimerWithNewRenoOnTheFirstPartialAckOnly) {
  std::vector<Rule> rules;
  for (uint32_t i = 0; i < 10; ++i) rules.push_back(DropAt(1, Data(0, 30 + 3 * i)).Times(1));
  std::vector<uint32_t> seqs;
  std::vector<Time> sent;
  rules.push_back(WatchAt(0, AllData(0), [&](const SwitchView&, const Packet& p) {
    if (!p.Has(Packet::kRetransmission)) return;
    seqs.push_back(p.seq);
    sent.push_back(p.sent);
  }));
  Lab lab({.graph = Line(4, {10_Gbps, 25_us}),
           .transport = "{kind: tcp, iw: 64, recovery: newreno, min_rto: 1ms}",
           .switch_policy = Scripted(rules)});
  lab.AddFlow(0, 1, 64 * 1'460);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  EXPECT_EQ(lab.Record(0).sender.timeouts, 1);
  ASSERT_GE(seqs.size(), 7u);
  EXPECT_EQ((std::vector<uint32_t>(seqs.begin(), seqs.begin() + 7)),
            (std::vector<uint32_t>{30, 33, 36, 39, 42, 45, 45}));
  EXPECT_EQ(sent[6] - sent[1], 1_ms);
}

// A NIC faster than the second link, so that the whole window of 40 segments is in the network.
Graph SlowSecondLink() { return Line({{100_Gbps, 5_us}, {10_Gbps, 5_us}}); }

TEST(FastRetransmitTest, HalvesTheWindow) {
  Lab lab({.graph = SlowSecondLink(),
           .transport = "{kind: tcp, iw: 40, max_cwnd: 40}",
           .switch_policy = Scripted({DropAt(0, Data(0, 20)).Times(1)})});
  lab.AddFlow(0, 1, 2'000'000);
  double least = 1e9;
  lab.SampleEvery(5_us, [&](Time) {
    if (const TcpSender* sender = lab.Sender(0)) least = std::min(least, sender->cwnd());
  });
  lab.Run();
  EXPECT_EQ(least, 20 * 1460);
}

TEST(FastRetransmitTest, LeavesASecondLossOfTheSameSegmentToTheTimeout) {
  const FlowRecord flow = Transfer(146'000, {DropAt(0, Data(0, 5)).Times(2)});
  EXPECT_EQ(flow.sender.fast_retransmits, 1);
  EXPECT_EQ(flow.sender.timeouts, 1);
  EXPECT_GE(FctRx(flow), 10_ms);
}

// --- Limited transmit (RFC 3042) ---

// The first of four packets is lost: two duplicate ACKs must bring out more for a third to come.
TEST(LimitedTransmitTest, KeepsASmallWindowFromWaitingForTheTimeout) {
  const std::vector<Rule> loss = {DropAt(0, Data(0, 0)).Times(1)};
  for (const char* recovery : {"sack", "newreno"}) {
    SCOPED_TRACE(recovery);
    const std::string kind = std::string("{kind: tcp, iw: 3, recovery: ") + recovery;
    const FlowRecord with = Transfer(14'600, loss, kind + "}");
    EXPECT_EQ(with.sender.timeouts, 0);
    EXPECT_EQ(with.sender.fast_retransmits, 1);
  }
  const FlowRecord without =
      Transfer(14'600, loss, "{kind: tcp, iw: 3, recovery: newreno, limited_transmit: false}");
  EXPECT_EQ(without.sender.timeouts, 1);
  EXPECT_EQ(without.sender.fast_retransmits, 0);
}

TEST(LimitedTransmitTest, SendsAtMostTwoSegmentsBeyondTheWindow) {
  uint32_t highest = 0;
  const auto note = [&](const SwitchView&, const Packet& p) {
    if (p.hops == 0) highest = std::max(highest, p.seq);
  };
  Lab lab(
      {.graph = Line(4, {10_Gbps, 1_us}),
       .transport = "{kind: tcp, iw: 8, recovery: newreno, dupthresh: inf}",
       .switch_policy = Scripted({DropAt(0, Data(0, 0)).Times(1), WatchAt(0, AllData(0), note)})});
  lab.AddFlow(0, 1, 146'000);
  lab.Run(Time{} + 5_ms);  // Before the timeout.
  EXPECT_EQ(highest, 9u);
}

// --- Reordering ---

// The worked case, its window in the network rather than in the host.
FlowRecord Overtaken(int64_t m, const std::string& recovery) {
  Lab lab({.graph = SlowSecondLink(),
           .transport = "{kind: tcp, iw: 40, max_cwnd: 40, recovery: " + recovery + "}",
           .switch_policy = Scripted({LetPassAt(0, Data(0, 20), m).Times(1)})});
  lab.AddFlow(0, 1, 2'000'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return lab.Record(0);
}

constexpr Duration kPacketTime = 1'230'400_ps;  // 1538 bytes at 10 Gbps.

TEST(ReorderingThresholdTest, IsNotReachedByTwoOvertakers) {
  for (const char* recovery : {"sack", "newreno"}) {
    const Duration fct = FctRx(Overtaken(0, recovery));
    for (int64_t m = 0; m <= 2; ++m) {
      SCOPED_TRACE(testing::Message() << recovery << ", overtaken by " << m);
      const FlowRecord flow = Overtaken(m, recovery);
      EXPECT_EQ(FctRx(flow), fct);
      EXPECT_EQ(flow.sender.fast_retransmits, 0);
      EXPECT_EQ(flow.sender.retransmissions, 0);
      EXPECT_EQ(flow.receiver.duplicates, 0);
      EXPECT_EQ(flow.receiver.reordered_net, m > 0 ? 1 : 0);
      EXPECT_EQ(flow.receiver.max_degree, m);
      EXPECT_EQ(flow.receiver.max_extent, m);
    }
  }
}

TEST(ReorderingThresholdTest, CostsSackOneSpuriousRetransmissionAndOnePacketTime) {
  const Duration fct = FctRx(Overtaken(0, "sack"));
  for (const int64_t m : {3, 5, 20}) {
    SCOPED_TRACE(m);
    const FlowRecord flow = Overtaken(m, "sack");
    EXPECT_EQ(FctRx(flow), fct + kPacketTime);
    EXPECT_EQ(flow.sender.fast_retransmits, 1);
    EXPECT_EQ(flow.sender.fast_retransmits_reorder, 1);
    EXPECT_EQ(flow.sender.retransmissions, 1);
    EXPECT_EQ(flow.sender.retransmissions_spurious, 1);
    EXPECT_EQ(flow.sender.retransmissions_loss, 0);
    EXPECT_EQ(flow.sender.timeouts, 0);
    EXPECT_EQ(flow.receiver.duplicates, 1);
    EXPECT_EQ(flow.receiver.reordered_net, 1);
    EXPECT_EQ(flow.receiver.max_degree, m);
  }
}

// NewReno takes every ACK of what was merely late for a partial one.
TEST(ReorderingThresholdTest, CostsNewRenoTheRestOfTheWindow) {
  const Duration fct = FctRx(Overtaken(0, "newreno"));
  for (const int64_t m : {3, 5}) {
    SCOPED_TRACE(m);
    const FlowRecord flow = Overtaken(m, "newreno");
    EXPECT_EQ(FctRx(flow), fct + (40 - m) * kPacketTime);
    EXPECT_EQ(flow.sender.fast_retransmits, 1);
    EXPECT_EQ(flow.sender.retransmissions, 40 - m);
    EXPECT_EQ(flow.sender.retransmissions_spurious, 40 - m);
    EXPECT_EQ(flow.sender.timeouts, 0);
    EXPECT_EQ(flow.receiver.duplicates, 40 - m);
  }
}

// Among thirty flows on one NIC a retransmission waits for its turn, and the ACK of the original
// comes first: then there is nothing to send again.
TEST(ReorderingThresholdTest, CostsNoRetransmissionThatHasBecomeNeedless) {
  Lab lab({.graph = Star(3, {10_Gbps, 100_us}),
           .transport = "{kind: tcp, iw: 40, max_cwnd: 40}",
           .switch_policy = Scripted({LetPassAt(0, Data(0, 20), 3).Times(1)})});
  lab.AddFlow(0, 1, 146'000);
  for (int i = 0; i < 30; ++i) lab.AddFlow(0, 2, 300'000);
  lab.Run();
  const FlowRecord& flow = lab.Record(0);
  EXPECT_EQ(flow.sender.fast_retransmits, 1);
  EXPECT_EQ(flow.sender.fast_retransmits_reorder, 1);
  EXPECT_EQ(flow.sender.retransmissions, 0);
}

TEST(ReorderingThresholdTest, CanBeSwitchedOff) {
  const auto spray = [](const std::string& dupthresh) {
    Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 4, hosts_per_leaf: 2, fabric_link: "
                                    "{delay: 1us}, asymmetry: [{spines: [0], delay: 20us}]}"),
             .transport = "{kind: tcp, dupthresh: " + dupthresh + "}",
             .balancer = "{kind: rps}"});
    lab.AddFlow(0, 2, 1'000'000);
    lab.Run();
    EXPECT_TRUE(lab.finished());
    return lab.Record(0);
  };
  const FlowRecord three = spray("3");
  EXPECT_GT(three.sender.retransmissions_spurious, 0);
  EXPECT_EQ(three.sender.retransmissions_loss, 0);
  EXPECT_EQ(three.sender.fast_retransmits_reorder, three.sender.fast_retransmits);
  const FlowRecord never = spray("inf");
  EXPECT_GT(never.receiver.reordered_net, 0);
  EXPECT_EQ(never.sender.retransmissions, 0);
  EXPECT_EQ(never.sender.timeouts, 0);
}

// --- Judging retransmissions ---

TEST(RetransmissionTest, IsSpuriousWhenOnlyTheAckWasLost) {
  const FlowRecord flow = Transfer(1'460, {DropAt(0, AllAcks(0)).Times(2)});
  EXPECT_EQ(flow.sender.retransmissions, 2);
  EXPECT_EQ(flow.sender.retransmissions_spurious, 2);
  EXPECT_EQ(flow.sender.timeouts, 2);
  EXPECT_EQ(flow.receiver.duplicates, 2);
}

TEST(RetransmissionTest, IsJudgedByTheLatestCopy) {
  // The first copy is lost; the second arrives, but so late that the timeout fires again.
  const FlowRecord flow = Transfer(
      1'460, {DropAt(0, Data(0, 0)).Times(1), HoldAt(0, Data(0, 0), 25_ms).Skip(1).Times(1)});
  EXPECT_EQ(flow.sender.retransmissions, 2);
  EXPECT_EQ(flow.sender.retransmissions_loss, 1);
  EXPECT_EQ(flow.sender.retransmissions_spurious, 1);
}

TEST(RetransmissionTest, IsNeverSpuriousWithoutReorderingOrLostAcks) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
             .transport = "{kind: tcp, min_rto: 1ms}",
             .switch_policy = Scripted({DropAt(1, WithProbability(0.02, seed, AllData(0)))})});
    lab.AddFlow(0, 1, 1'000'000);
    lab.Run();
    ASSERT_TRUE(lab.finished());
    const FlowRecord& flow = lab.Record(0);
    EXPECT_EQ(flow.sender.retransmissions_loss, lab.Drops(DropReason::kPolicy));
    EXPECT_EQ(flow.sender.retransmissions_spurious, 0);
    EXPECT_EQ(flow.receiver.duplicates, 0);
  }
}

}  // namespace heddle::loss_test
