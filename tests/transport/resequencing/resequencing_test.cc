// SPDX-License-Identifier: Apache-2.0
// Tests transports behind a resequencer: reordering that they do not see, losses that they see
// later, and events at the arrival of a packet.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/stress.h"

namespace heddle::transport_resequencing_test {

using testing::ElementsAre;

// --- RoCE over 4 links of 100 Gbps and 1 us, 2000 packets of 1048 bytes ---

constexpr Duration kPacketTime = 83'840_ps;
constexpr Duration kBase = 171'931'520_ps;

// The last link leaves room between packets, so that one which is late delays no other.
Graph RoomBetweenPackets() {
  Graph graph = Line(4, {100_Gbps, 1_us});
  graph.links.back().a_to_b = {200_Gbps, 1_us + kPacketTime / 2};
  return graph;
}
constexpr SwitchId kLast = 2;

std::string Roce(const std::string& more) {
  return "{kind: rocev2, framing: ns3_rdma, cc: none, " + more + "}";
}

struct Transferred {
  FlowRecord flow;
  ResequencingStats stats;
};

Transferred Transfer(std::vector<Rule> rules, const std::string& transport,
                     const Graph& graph = RoomBetweenPackets(), int64_t size = 2'000'000) {
  Lab lab({.graph = graph, .transport = transport, .switch_policy = Scripted(std::move(rules))});
  lab.AddFlow(0, 1, size);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return {lab.Record(0),
          lab.network().host(1).transport().Resequencing(lab.end()).value_or(ResequencingStats())};
}

// Without resequencing, 101 and 120 packets are sent again, which takes 8.468 and 10.061 us more.
TEST(ResequencedGoBackNTest, DoesNotSeeAnOvertaking) {
  for (const int64_t by : {1, 20}) {
    for (const char* resequencing : {"timeout", "juggler"}) {
      const Transferred t = Transfer({LetPassAt(kLast, Data(0, 500), by).Times(1)},
                                     Roce(std::string("resequencing: ") + resequencing));
      EXPECT_EQ(FctRx(t.flow), kBase);
      EXPECT_EQ(t.flow.sender.retransmissions, 0);
      EXPECT_EQ(t.flow.sender.nacks, 0);
      EXPECT_EQ(t.flow.receiver.discarded, 0);
      EXPECT_EQ(t.flow.receiver.reordered_net, 1);  // Counted at the NIC,
      EXPECT_EQ(t.flow.receiver.reordered_seq, 0);  // and as handed up.
      EXPECT_EQ(t.stats.packets, 2'000);
      EXPECT_EQ(t.stats.held, by);
      EXPECT_EQ(t.stats.flow_max_packets, by);
      EXPECT_EQ(t.stats.max_bytes, by * 1'048);
      EXPECT_EQ(t.stats.timeouts, 0);
      EXPECT_EQ(t.stats.late, 0);
    }
  }
}

// Without resequencing, the FCT is 1.54 times as long, and 2.03 with NACKs that repeat.
TEST(ResequencedGoBackNTest, IsUsableUnderRandomOvertakings) {
  for (const char* more : {"", ", nack: timer", ", recovery: irn, bdp: 104KB"}) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const Transferred t =
          Transfer({LetPassAt(kLast, WithProbability(0.01, seed, AllData(0)), 1)},
                   Roce(std::string("resequencing: {kind: timeout, timeout: 10us}") + more));
      EXPECT_LE(FctRx(t.flow), kBase + kPacketTime);
      EXPECT_EQ(t.flow.sender.retransmissions, 0);
      EXPECT_GT(t.flow.receiver.reordered_net, 5);
    }
  }
}

// A loss shows when the packet behind it has waited for the timeout. Without, the NACK comes 99.65
// packet times after that packet has left, so packets 500 to 600 are sent again; with 100.5 packet
// times more, 500 to 701. Of these go-back-N throws away 501 to 601, which were held in vain.
// Packets 602 to 701 come before 500 comes again and wait until 601 does: 602 for the 99 packets
// that follow it and the 102 that are sent again.
TEST(ResequencedGoBackNTest, RepairsALossLaterByTheTimeout) {
  const auto lost = [](const std::string& resequencing) {
    return Transfer({DropAt(0, Data(0, 500)).Times(1)}, Roce("resequencing: " + resequencing),
                    Line(4, {100_Gbps, 1_us}));
  };
  const Transferred off = lost("off");
  EXPECT_EQ(FctRx(off.flow), kBase + 101 * kPacketTime);
  const Duration timeout = 100 * kPacketTime + kPacketTime / 2;
  const Transferred held = lost("{kind: timeout, timeout: " + std::to_string(timeout.ps) + "ps}");
  EXPECT_EQ(held.flow.sender.retransmissions, 202);
  EXPECT_EQ(held.flow.sender.retransmissions_loss, 1);
  EXPECT_EQ(held.flow.sender.nacks, 1);
  EXPECT_EQ(held.flow.receiver.discarded, 101);
  EXPECT_EQ(FctRx(held.flow), kBase + 202 * kPacketTime);
  EXPECT_EQ(held.stats.timeouts, 1);
  EXPECT_EQ(held.stats.held, 201);
  EXPECT_EQ(held.stats.hold_ps.max(), (201 * kPacketTime).ps);
}

// IRN keeps what is handed up beyond the hole, and sends one packet again. Without a timeout the
// NACK finds the NIC busy for 0.35 packet times; with one it finds the window used up, and is
// answered at once.
TEST(ResequencedIrnTest, RepairsALossLaterByTheTimeout) {
  const auto fct = [](const std::string& resequencing) {
    const Transferred t =
        Transfer({DropAt(0, Data(0, 500)).Times(1)},
                 Roce("recovery: irn, bdp: 104KB, resequencing: " + resequencing));
    EXPECT_EQ(t.flow.sender.retransmissions, 1);
    return FctRx(t.flow);
  };
  EXPECT_NEAR(Microseconds(fct("off") - kBase), 8.103, 0.001);
  EXPECT_EQ(fct("{kind: timeout, timeout: 20us}") - fct("off"), 20_us - 29'440_ps);
}

// Flows whose tail is lost have nothing to hold.
TEST(ResequencedGoBackNTest, LeavesALostTailToTheSender) {
  const auto fct = [](const std::string& resequencing) {
    return FctRx(Transfer({DropAt(0, Data(0, 1'999)).Times(1)},
                          Roce("rto: 1ms, resequencing: " + resequencing))
                     .flow);
  };
  EXPECT_EQ(fct("timeout"), fct("off"));
}

// The timeout is longer than the sender's patience: its copies fill the hole, and what is held goes
// up behind them.
TEST(ResequencedGoBackNTest, IsFilledByASenderThatTimesOutFirst) {
  const Transferred t = Transfer({DropAt(0, Data(0, 8)).Times(1)},
                                 Roce("rto: 50us, resequencing: {kind: timeout, timeout: 1ms}"),
                                 RoomBetweenPackets(), 10'000);
  EXPECT_EQ(t.flow.sender.timeouts, 1);
  EXPECT_EQ(t.flow.sender.retransmissions, 2);
  EXPECT_EQ(t.flow.receiver.duplicates, 1);
  EXPECT_EQ(t.flow.receiver.discarded, 0);
  EXPECT_EQ(t.stats.timeouts, 0);
  EXPECT_EQ(t.stats.late, 1);
  EXPECT_LT(FctRx(t.flow), 70_us);
}

std::vector<Time> CnpsSent(const std::string& more) {
  std::vector<Time> times;
  const auto note = [&](const SwitchView& at, const Packet&) { times.push_back(at.now()); };
  Transfer({MarkAt(1, Data(0, 502)).Times(1), LetPassAt(kLast, Data(0, 500), 20).Times(1),
            WatchAt(0, Anything(PacketKind::kCnp), note)},
           "{kind: rocev2, framing: ns3_rdma, " + more + "}");
  return times;
}

// The NIC answers a mark when the packet arrives, though it is held. A packet that is out of order
// only on arrival is none to the transport.
TEST(ResequencedCnpTest, IsSentOnArrival) {
  const std::string held = ", resequencing: timeout";
  for (const char* cc : {"cc: {kind: dcqcn, rp: nic}", "cc: {kind: dcqcn, rp: paper}"}) {
    EXPECT_EQ(CnpsSent(cc).size(), 1u);
    EXPECT_EQ(CnpsSent(cc + held), CnpsSent(cc));
  }
  const std::string ooo = "cc: {kind: dcqcn, rp: paper, cnp_on_ooo: true, cnp_interval: 1us}";
  EXPECT_GT(CnpsSent(ooo).size(), 1u);
  EXPECT_EQ(CnpsSent(ooo + held).size(), 1u);
}

// --- TCP ---

// Specification T4: the window of 40 segments is in the network, half of it in a queue.
FlowRecord Overtaken(int64_t m, const std::string& more) {
  return Transfer({LetPassAt(0, Data(0, 20), m).Times(1)},
                  "{kind: tcp, iw: 40, max_cwnd: 40, " + more + "}",
                  Line({{100_Gbps, 5_us}, {10_Gbps, 5_us}}))
      .flow;
}

TEST(ResequencedTcpTest, DoesNotSeeOvertakings) {
  for (const char* recovery : {"recovery: sack", "recovery: newreno"}) {
    const Duration fct = FctRx(Overtaken(0, recovery));
    for (const int64_t m : {3, 5, 20}) {
      EXPECT_GT(Overtaken(m, recovery).sender.retransmissions_spurious, 0);
      const FlowRecord flow = Overtaken(m, std::string(recovery) + ", resequencing: timeout");
      EXPECT_EQ(FctRx(flow), fct);
      EXPECT_EQ(flow.sender.retransmissions, 0);
      EXPECT_EQ(flow.sender.fast_retransmits, 0);
      EXPECT_EQ(flow.receiver.reordered_net, 1);
      EXPECT_EQ(flow.receiver.max_out_of_order_bytes, 0);
    }
  }
}

// Specification T3: 25.8032 us without.
TEST(ResequencedTcpTest, FindsALossLaterByTheTimeout) {
  const auto first_lost = [](const std::string& resequencing) {
    return Transfer({DropAt(0, Data(0, 0)).Times(1)},
                    "{kind: tcp, resequencing: " + resequencing + "}", Line(4, {10_Gbps, 1_us}),
                    14'600)
        .flow;
  };
  EXPECT_EQ(FctRx(first_lost("off")), 25'803'200_ps);
  const FlowRecord flow = first_lost("{kind: timeout, timeout: 100us}");
  EXPECT_EQ(flow.sender.fast_retransmits, 1);
  EXPECT_EQ(flow.sender.timeouts, 0);
  // The third duplicate ACK leaves with the timeout, rather than two packet times after the first.
  EXPECT_EQ(FctRx(flow), 25'803'200_ps + 100_us - 2 * 1'230'400_ps + 2 * 67'200_ps);
}

// Segment 0 waits in order for more, and segment 2 behind a hole, for longer. Nothing else arrives:
// each goes up, and is acknowledged, when its own time is over.
TEST(ResequencedTcpTest, HandsUpWhatWaitsBehindTheFirstThatGoesUp) {
  std::map<uint32_t, Time> arrived;
  std::vector<Time> answered;
  Transfer({WatchAt(2, AllData(0),
                    [&](const SwitchView& at, const Packet& p) {
                      arrived.try_emplace(p.seq, at.now());
                    }),
            WatchAt(2, AllAcks(0),
                    [&](const SwitchView& at, const Packet&) { answered.push_back(at.now()); }),
            DropAt(0, Data(0, 1)).Times(1)},
           "{kind: tcp, resequencing: {kind: juggler, inseq_timeout: 30us, ofo_timeout: 100us}}",
           Line(4, {10_Gbps, 1_us}), 3 * 1'460);
  // To the host and back: two links of 1 us, a packet of 1538 bytes and an ACK of 84.
  const Duration way = 2_us + 1'230'400_ps + 67'200_ps;
  ASSERT_GE(answered.size(), 2u);
  EXPECT_EQ(answered[0], arrived[0] + way + 30_us);
  EXPECT_EQ(answered[1], arrived[2] + way + 100_us);
}

struct Seen {
  std::vector<uint32_t> acks;
  std::vector<bool> echoes;
  std::vector<Duration> ages;  // Since the segment that an ACK answers was sent.
};

// Segment 3 is late by 20 us; 3 and 5 are marked.
Seen AcksOfALateSegment(const std::string& transport) {
  Seen seen;
  const auto note = [&](const SwitchView& at, const Packet& p) {
    seen.acks.push_back(p.seq);
    seen.echoes.push_back(p.Has(Packet::kEce));
    seen.ages.push_back(at.now() - p.sent);
  };
  Transfer({MarkAt(1, Data(0, 3)), MarkAt(1, Data(0, 5)), HoldAt(0, Data(0, 3), 20_us),
            WatchAt(2, AllAcks(0), note)},
           transport, Line(4, {10_Gbps, 1_us}), 7 * 1'460);
  return seen;
}

TEST(ResequencedDctcpTest, EchoesMarksInTheOrderHandedUp) {
  const Seen each = AcksOfALateSegment("{kind: dctcp, resequencing: timeout}");
  EXPECT_THAT(each.acks, ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(each.echoes, ElementsAre(false, false, false, true, false, true, false));
  const Seen delayed = AcksOfALateSegment("{kind: dctcp, delack_count: 4, resequencing: timeout}");
  EXPECT_THAT(delayed.acks, ElementsAre(3, 4, 5, 6, 7));
  EXPECT_THAT(delayed.echoes, ElementsAre(false, true, false, true, false));
}

// A round trip that a segment spent waiting for another is one that its sender has waited.
TEST(ResequencedDctcpTest, MeasuresRoundTripsWithTheWait) {
  const Seen seen = AcksOfALateSegment("{kind: dctcp, resequencing: timeout}");
  EXPECT_LT(seen.ages[2], 11_us);
  EXPECT_GT(seen.ages[4], 20_us);
  EXPECT_LT(AcksOfALateSegment("{kind: dctcp}").ages[4], 11_us);
}

// --- Anything ---

std::string RandomTransport(Rng& rng) {
  std::string yaml =
      OneOf(rng, {"{kind: dctcp, min_rto: 200us", "{kind: dctcp, delack_count: 3, min_rto: 200us",
                  "{kind: tcp, recovery: newreno, setup: handshake, min_rto: 200us",
                  "{kind: tcp, setup: persistent, timestamps: true, min_rto: 200us",
                  "{kind: rocev2, recovery: gbn, rto: 200us, ack_interval: 4",
                  "{kind: rocev2, recovery: gbn, nack: timer, rto: 200us, cc: {kind: dcqcn, "
                  "cnp_mode: ack_flag, rp: nic, cnp_on_ooo: true, min_rate: 1Gbps}",
                  "{kind: rocev2, recovery: irn, nack_threshold: 3"});
  yaml +=
      OneOf(rng, {", resequencing: {kind: timeout, timeout: 20us", ", resequencing: {kind: timeout",
                  ", resequencing: {kind: timeout, timeout: never",
                  ", resequencing: {kind: juggler, ofo_timeout: 30us",
                  ", resequencing: {kind: juggler, inseq_timeout: 7us, flows: 2",
                  ", resequencing: {kind: juggler, inseq_timeout: 52us, flows: 1",
                  ", resequencing: {kind: presto_gro"});
  yaml += OneOf(rng, {"", ", flow_packets: 3", ", flow_packets: 40", ", host_bytes: 9KB"});
  return yaml + "}}";
}

TEST(ResequencingStressTest, EndsEveryFlowWithItsCountsInAgreement) {
  Stress(150, RandomTransport, [](const Packet& packet) {
    return packet.kind == PacketKind::kData && packet.Has(Packet::kEct);
  });
}

}  // namespace heddle::transport_resequencing_test
