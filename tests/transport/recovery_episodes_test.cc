// SPDX-License-Identifier: Apache-2.0
// Recoveries and timeouts that follow each other in one flow: what one of them leaves to the next.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/subflow_id.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::recovery_episodes_test {

constexpr double kMss = 1'460;

// --- Timeouts ---

// RFC 5681 equation (4): half of the flight of 20, held when the same segment times out again. With
// NewReno the flight is that one segment then, which must not count. The timeouts are at 3 and 9
// ms.
TEST(RepeatedTimeoutTest, OfTheSameSegmentKeepsTheThreshold) {
  Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
           .transport = "{kind: tcp, iw: 20, min_rto: 1ms, rto_init: 3ms, recovery: newreno}",
           .switch_policy = Scripted({DropAt(0, AllData(0)).Times(22)})});
  lab.AddFlow(0, 1, 146'000);
  std::vector<double> segments;
  lab.SampleEvery(1_ms, [&](Time now) {
    if (now == Time{} + 5_ms || now == Time{} + 12_ms) {
      segments.push_back(lab.Sender(0)->window().ssthresh / kMss);
    }
  });
  lab.Run(Time{} + 13_ms);
  EXPECT_EQ(segments, (std::vector<double>{10, 10}));
}

// The first ten segments are late, and the timer sends some of them again. Their copies are
// answered by ACKs that say nothing new: with SACK these are no duplicate ACKs (RFC 6675 section
// 2), however many come.
TEST(RepeatedTimeoutTest, AcksOfNeedlessCopiesStartNoRecovery) {
  Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
           .transport = "{kind: tcp, min_rto: 200us}",
           .switch_policy = Scripted({HoldAt(0, AllData(0), 1'900_us).Times(10)})});
  lab.AddFlow(0, 1, 300 * 1'460);
  lab.Run();
  const FlowRecord& record = lab.Record(0);
  EXPECT_GT(record.receiver.duplicates, 3);
  EXPECT_EQ(record.sender.retransmissions, record.sender.retransmissions_spurious);
  EXPECT_EQ(record.sender.fast_retransmits, 0);
}

// --- Recoveries ---

// RFC 6582 section 4, the impatient variant, in the second recovery as in the first: the first
// partial ACK restarts the timer and no other. The first recovery has one partial ACK.
TEST(RepeatedRecoveryTest, RestartsTheTimerOnItsOwnFirstPartialAck) {
  for (const bool earlier : {false, true}) {
    SCOPED_TRACE(earlier);
    std::vector<Rule> rules;
    if (earlier) {
      rules = {DropAt(1, Data(0, 10)).Times(1), DropAt(1, Data(0, 14)).Times(1)};
    }
    for (uint32_t i = 0; i < 10; ++i) rules.push_back(DropAt(1, Data(0, 230 + 3 * i)).Times(1));
    std::vector<uint32_t> seqs;
    std::vector<Time> sent;
    rules.push_back(WatchAt(0, AllData(0), [&](const SwitchView&, const Packet& p) {
      if (!p.Has(Packet::kRetransmission) || p.seq < 200) return;
      seqs.push_back(p.seq);
      sent.push_back(p.sent);
    }));
    Lab lab({.graph = Line(4, {10_Gbps, 25_us}),
             .transport = "{kind: tcp, iw: 64, max_cwnd: 64, recovery: newreno, min_rto: 1ms}",
             .switch_policy = Scripted(std::move(rules))});
    lab.AddFlow(0, 1, 290 * 1'460);
    lab.Run();
    EXPECT_EQ(lab.Record(0).sender.fast_retransmits, earlier ? 2 : 1);
    EXPECT_EQ(lab.Record(0).sender.timeouts, 1);
    // The one that is sent again twice in a row is sent by the timer, 1 ms after the second.
    ASSERT_GE(seqs.size(), 4u);
    const auto twice = std::ranges::adjacent_find(seqs);
    ASSERT_NE(twice, seqs.end());
    EXPECT_EQ(sent[static_cast<size_t>(twice - seqs.begin()) + 1] - sent[1], 1_ms);
  }
}

// Without reordering and losses of ACKs RACK sends nothing again in vain, however many segments and
// copies of them get lost.
TEST(RepeatedRecoveryTest, SendsNothingAgainThatIsOnItsWay) {
  for (const char* options : {"loss: dupacks", "loss: rack", "loss: rack, prr: true",
                              "loss: rack, cc: dctcp", "loss: rack, undo: dsack"}) {
    for (uint64_t seed = 1; seed <= 15; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", options, seed));
      Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
               .transport = fmt::format("{{kind: tcp, iw: 60, min_rto: 5ms, {}}}", options),
               .switch_policy = Scripted({DropAt(1, WithProbability(0.08, seed, AllData(0)))})});
      lab.AddFlow(0, 1, 500 * 1'460);
      lab.Run();
      const FlowRecord& flow = lab.Record(0);
      EXPECT_EQ(flow.sender.retransmissions_loss, lab.Drops(DropReason::kPolicy));
      EXPECT_EQ(flow.sender.retransmissions_spurious, 0);
      EXPECT_EQ(flow.receiver.duplicates, 0);
    }
  }
}

// RFC 8985 section 6.2 step 4: a DSACK makes RACK wait for half of a round trip instead of a
// quarter, and this is kept for 16 recoveries. The round trip is 85 us at the least, and a packet
// is late by 30 us at the end.
TEST(RepeatedRecoveryTest, PatienceIsKeptFor16Recoveries) {
  const auto spurious = [](uint32_t losses) {
    std::vector<Rule> rules = {HoldAt(0, Data(0, 100), 60_us).Times(1)};
    for (uint32_t i = 0; i < losses; ++i)
      rules.push_back(DropAt(0, Data(0, 400 + 200 * i)).Times(1));
    const uint32_t last = 400 + 200 * losses;
    rules.push_back(HoldAt(0, Data(0, last), 30_us).Times(1));
    Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
             .transport = "{kind: tcp, iw: 40, max_cwnd: 60, loss: rack}",
             .switch_policy = Scripted(std::move(rules))});
    lab.AddFlow(0, 1, (last + 200) * 1'460);
    lab.Run();
    EXPECT_EQ(lab.Record(0).sender.timeouts, 0);
    EXPECT_EQ(lab.Record(0).sender.retransmissions_loss, losses);
    return lab.Record(0).sender.retransmissions_spurious;
  };
  // Each loss takes one recovery.
  EXPECT_EQ(spurious(3), 1);
  EXPECT_EQ(spurious(14), 1);
  EXPECT_EQ(spurious(15), 1);
  EXPECT_EQ(spurious(16), 2);
}

// --- MMPTCP ---

// switch_when_calm: the others do not open while the first subflow repairs a loss. Its first 40
// segments are lost, and two of them again, so that the window is past its threshold of two
// segments long before all are sent again.
TEST(SwitchWhenCalmTest, WaitsUntilAllIsSentAgain) {
  uint32_t highest_again = 0;
  bool is_open = false;
  Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
           .transport = "{kind: mmptcp, iw: 40, subflows: 2, min_rto: 1ms, switch_bytes: 0B, "
                        "switch_when_calm: true}",
           .switch_policy =
               Scripted({WatchAt(0, Anything(PacketKind::kData),
                                 [&](const SwitchView&, const Packet& p) {
                                   if (SubflowOf(p.flow) > 0) is_open = true;
                                   if (p.Has(Packet::kRetransmission) && p.seq > highest_again) {
                                     highest_again = p.seq;
                                     EXPECT_FALSE(is_open) << p.seq;
                                   }
                                 }),
                         DropAt(0, AllData(0)).Times(40), DropAt(0, Data(0, 1)).Skip(1).Times(1),
                         DropAt(0, Data(0, 2)).Skip(1).Times(1)})});
  lab.AddFlow(0, 1, 400 * 1'440);
  lab.Run();
  EXPECT_EQ(highest_again, 39u);
  EXPECT_TRUE(is_open);
  EXPECT_EQ(lab.Record(0).sender.timeouts, 2);
}

}  // namespace heddle::recovery_episodes_test
