// SPDX-License-Identifier: Apache-2.0
// Tests the corners of TCP: the exact packets, and the exact statistics.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::tcp_test {

struct Seen {
  Time at;
  Packet packet;
};

// One flow over 4 links of 10 Gbps and 1 us, with every packet of it noted at switch 0.
class OneFlow {
 public:
  OneFlow(int64_t size, std::string transport, std::vector<Rule> rules = {}) {
    const auto note = [this](const SwitchView& view, const Packet& p) {
      (p.kind == PacketKind::kData ? data : acks).push_back({view.now(), p});
    };
    rules.insert(rules.begin(), {WatchAt(0, AllData(0), note), WatchAt(0, AllAcks(0), note)});
    lab_ = std::make_unique<Lab>(Lab::Plan{.graph = Line(4, {10_Gbps, 1_us}),
                                           .transport = std::move(transport),
                                           .switch_policy = Scripted(std::move(rules))});
    lab_->AddFlow(0, 1, size);
    lab_->Run();
    EXPECT_TRUE(lab_->finished());
  }

  const FlowRecord& record() const { return lab_->Record(0); }
  Lab& lab() { return *lab_; }

  std::vector<Seen> data;
  std::vector<Seen> acks;

 private:
  std::unique_ptr<Lab> lab_;
};

// --- Sizes ---

TEST(SegmentationTest, CutsAFlowIntoSegmentsAndPadsTheShortestFrames) {
  const std::map<int64_t, std::vector<int>> sizes = {{1, {64}},
                                                     {6, {64}},
                                                     {7, {65}},
                                                     {1'460, {1'518}},
                                                     {1'461, {1'518, 64}},
                                                     {2'920, {1'518, 1'518}},
                                                     {3'000, {1'518, 1'518, 138}}};
  for (const auto& [size, frames] : sizes) {
    OneFlow flow(size, "{kind: tcp}");
    std::vector<int> seen;
    int64_t payload = 0;
    for (const Seen& s : flow.data) {
      seen.push_back(s.packet.bytes);
      payload += s.packet.data.payload;
    }
    EXPECT_EQ(seen, frames) << size;
    EXPECT_EQ(payload, size);
    EXPECT_EQ(flow.record().sender.packets, static_cast<int64_t>(frames.size()));
    EXPECT_EQ(flow.acks.size(), frames.size());
    for (const Seen& s : flow.acks) EXPECT_EQ(s.packet.bytes, 64);
  }
}

TEST(SegmentationTest, FollowsFramingMtuAndTimestamps) {
  const std::map<std::string, std::tuple<int, int, int>> frames = {
      {"{kind: tcp}", {1'460, 1'518, 64}},
      {"{kind: tcp, framing: ip1500}", {1'460, 1'500, 40}},
      {"{kind: tcp, timestamps: true}", {1'448, 1'518, 70}},
      {"{kind: tcp, mtu: 9000}", {8'960, 9'018, 64}}};
  for (const auto& [transport, expected] : frames) {
    OneFlow flow(20'000, transport);
    const auto& [payload, data, ack] = expected;
    EXPECT_EQ(flow.data[0].packet.data.payload, static_cast<uint32_t>(payload)) << transport;
    EXPECT_EQ(flow.data[0].packet.bytes, data) << transport;
    EXPECT_EQ(flow.acks[0].packet.bytes, ack) << transport;
  }
}

// --- Acknowledgements ---

TEST(AckTest, ReportsTheLatestBlocksFirst) {
  // 1, 3 and 5 come last, so blocks form one by one: [2,3), [4,5), [6,...).
  OneFlow flow(14'600, "{kind: tcp, dupthresh: inf}",
               {HoldAt(0, Data(0, 1), 100_us), HoldAt(0, Data(0, 3), 110_us),
                HoldAt(0, Data(0, 5), 120_us)});
  const auto blocks = [&](size_t ack) {
    std::vector<std::pair<uint32_t, uint32_t>> all;
    const Packet& p = flow.acks[ack].packet;
    for (const SackBlock& b : p.ack.sack) {
      if (b.length > 0) all.emplace_back(p.seq + b.start, p.seq + b.start + b.length);
    }
    return all;
  };
  using Blocks = std::vector<std::pair<uint32_t, uint32_t>>;
  ASSERT_EQ(flow.acks.size(), 10u);
  EXPECT_EQ(flow.acks[0].packet.seq, 1u);
  EXPECT_EQ(blocks(0), Blocks{});
  EXPECT_EQ(blocks(1), (Blocks{{2, 3}}));
  EXPECT_EQ(blocks(2), (Blocks{{4, 5}, {2, 3}}));
  EXPECT_EQ(blocks(3), (Blocks{{6, 7}, {4, 5}, {2, 3}}));
  EXPECT_EQ(blocks(6), (Blocks{{6, 10}, {4, 5}, {2, 3}}));
  EXPECT_EQ(flow.acks[7].packet.seq, 3u);  // 1 has come.
  EXPECT_EQ(blocks(7), (Blocks{{6, 10}, {4, 5}}));
  EXPECT_EQ(flow.acks[8].packet.seq, 5u);
  EXPECT_EQ(blocks(8), (Blocks{{6, 10}}));
  EXPECT_EQ(flow.acks[9].packet.seq, 10u);
  EXPECT_EQ(flow.record().receiver.max_out_of_order_bytes, 6 * 1'460);
}

TEST(AckTest, SaysThatASegmentHadComeBefore) {
  OneFlow flow(1'460, "{kind: tcp}", {DropAt(0, AllAcks(0)).Times(1)});
  ASSERT_EQ(flow.acks.size(), 2u);
  EXPECT_FALSE(flow.acks[0].packet.Has(Packet::kDsack));
  EXPECT_TRUE(flow.acks[1].packet.Has(Packet::kDsack));
  EXPECT_EQ(flow.record().receiver.duplicates, 1);
  EXPECT_EQ(flow.record().sender.retransmissions_spurious, 1);
}

TEST(AckTest, ThatIsLateOrOldIsNoDuplicate) {
  // Every other ACK is held back, so that ACKs arrive in the wrong order all the time.
  int64_t n = 0;
  const Match every_other = [&n](const Packet& p) {
    return p.kind == PacketKind::kAck && n++ % 2 == 0;
  };
  for (const char* recovery : {"sack", "newreno"}) {
    n = 0;
    OneFlow flow(146'000, std::string("{kind: tcp, recovery: ") + recovery + "}",
                 {HoldAt(0, every_other, 5_us)});
    EXPECT_EQ(flow.record().sender.retransmissions, 0);
    EXPECT_EQ(flow.record().sender.fast_retransmits, 0);
  }
}

// It comes 4 us after the end, when the sender still waits for news of drops, or long after it.
TEST(AckTest, OfAFinishedFlowIsCountedAsLate) {
  for (const Duration hold : {10_us, 20_us}) {
    OneFlow flow(14'600, "{kind: tcp}", {HoldAt(0, Ack(0, 5), hold)});
    EXPECT_EQ(flow.lab().LatePackets(0), 1);
  }
}

TEST(AckTest, AnswersDuplicatesAfterTheEnd) {
  // The last ACK is lost twice: both times the finished receiver answers again.
  OneFlow flow(2'920, "{kind: tcp}", {DropAt(0, Ack(0, 2)).Times(2)});
  EXPECT_EQ(flow.record().sender.timeouts, 2);
  EXPECT_EQ(flow.record().receiver.duplicates, 2);
  EXPECT_LT(FctRx(flow.record()), 12_us);
  EXPECT_GT(FctTx(flow.record()), 30_ms);
}

TEST(DelayedAckTest, AnswersEverySecondSegmentOrAfterTheTimeout) {
  OneFlow flow(5 * 1'460, "{kind: tcp, delack_count: 2}");
  ASSERT_EQ(flow.acks.size(), 3u);
  EXPECT_EQ(flow.acks[0].packet.seq, 2u);
  EXPECT_EQ(flow.acks[1].packet.seq, 4u);
  EXPECT_EQ(flow.acks[2].packet.seq, 5u);
  // It leaves 500 us after the last segment came, and takes three hops to switch 0.
  EXPECT_EQ(flow.acks[2].at, flow.record().receiver.done + 500_us + 3 * (1_us + 67'200_ps));
}

TEST(DelayedAckTest, IsNotDelayedForAHole) {
  OneFlow flow(10 * 1'460, "{kind: tcp, delack_count: 4}", {HoldAt(0, Data(0, 1), 50_us)});
  std::vector<uint32_t> seqs;
  for (const Seen& s : flow.acks) seqs.push_back(s.packet.seq);
  // 0 waits; 2 to 9 are out of order; the first repair of 1, sent again or late, fills the hole.
  ASSERT_GE(seqs.size(), 9u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(seqs[i], 1u) << i;
  EXPECT_EQ(seqs[8], 10u);
}

// --- ECN ---

std::vector<Rule> Mark(std::vector<uint32_t> segments) {
  std::vector<Rule> rules;
  for (const uint32_t s : segments) rules.push_back(MarkAt(1, Data(0, s)));
  return rules;
}

TEST(DctcpEchoTest, IsExactWithAnAckPerPacket) {
  OneFlow flow(14'600, "{kind: dctcp}", Mark({2, 3, 7}));
  ASSERT_EQ(flow.acks.size(), 10u);
  for (const Seen& s : flow.acks) {
    const uint32_t segment = s.packet.seq - 1;
    EXPECT_EQ(s.packet.Has(Packet::kEce), segment == 2 || segment == 3 || segment == 7) << segment;
  }
  EXPECT_EQ(flow.record().receiver.ce_marked, 3);
}

// A change of marks is answered at once, for what had come before it (RFC 8257 figure 1).
TEST(DctcpEchoTest, NeverMixesMarkedAndUnmarkedInOneAck) {
  OneFlow flow(12 * 1'460, "{kind: dctcp, iw: 20, delack_count: 4}", Mark({2, 3, 4, 9}));
  std::vector<std::pair<uint32_t, bool>> seen;
  for (const Seen& s : flow.acks) seen.emplace_back(s.packet.seq, s.packet.Has(Packet::kEce));
  EXPECT_EQ(seen, (std::vector<std::pair<uint32_t, bool>>{
                      {2, false}, {5, true}, {9, false}, {10, true}, {12, false}}));
}

TEST(EcnTest, MakesDataCapableAndAcksNot) {
  for (const auto& [transport, ect] :
       {std::pair("{kind: dctcp}", true), std::pair("{kind: tcp}", false),
        std::pair("{kind: tcp, ecn: rfc3168}", true)}) {
    OneFlow flow(14'600, transport, {DropAt(0, Data(0, 4)).Times(1)});
    for (const Seen& s : flow.data) {
      const bool again = s.packet.Has(Packet::kRetransmission);
      const bool resent_too = std::string(transport) == "{kind: dctcp}";
      EXPECT_EQ(s.packet.Has(Packet::kEct), ect && (!again || resent_too)) << transport;
    }
    for (const Seen& s : flow.acks) EXPECT_FALSE(s.packet.Has(Packet::kEct));
  }
}

TEST(Rfc3168Test, EchoesUntilTheWindowIsReducedAndSaysSo) {
  OneFlow flow(146'000, "{kind: tcp, ecn: rfc3168}", Mark({4}));
  uint32_t cwr = 0;
  for (const Seen& s : flow.data) {
    if (!s.packet.Has(Packet::kCwr)) continue;
    EXPECT_EQ(cwr, 0u) << "one mark, one reduction";
    cwr = s.packet.seq;
  }
  ASSERT_GT(cwr, 4u);
  for (const Seen& s : flow.acks) {
    const uint32_t segment = s.packet.seq - 1;
    EXPECT_EQ(s.packet.Has(Packet::kEce), segment >= 4 && segment < cwr) << segment;
  }
  EXPECT_EQ(flow.record().sender.retransmissions, 0);
}

// --- Marks that a load balancer hides ---

struct Echoes {
  std::optional<bool> hide;  // Nothing: has no say.
  int asked = 0;
  int cwr = 0;
  Duration fct{};
};

// One mark in a window that grows: seen, it halves the window, and the flow takes longer.
void RunMarked(Echoes& echoes, const std::vector<uint32_t>& marked) {
  struct Policy final : HostPolicy {
    explicit Policy(Echoes& e) : echoes(e) {}
    bool HidesEcho(HostView&, HostFlow&) override {
      ++echoes.asked;
      return *echoes.hide;
    }
    size_t StateBytes() const override { return 0; }
    Echoes& echoes;
  };
  std::vector<Rule> rules;
  for (const uint32_t segment : marked) rules.push_back(MarkAt(0, Data(0, segment)));
  rules.push_back(WatchAt(0, AllData(0), [&](const SwitchView&, const Packet& packet) {
    echoes.cwr += packet.Has(Packet::kCwr) ? 1 : 0;
  }));
  Lab::Plan plan{.graph = Line({{10_Gbps, 1_us}, {10_Gbps, 100_us}, {10_Gbps, 1_us}}),
                 .transport = "{kind: tcp, ecn: rfc3168, iw: 10}",
                 .switch_policy = Scripted(rules)};
  if (echoes.hide) plan.host_policy = [&](HostId) { return std::make_unique<Policy>(echoes); };
  Lab lab(std::move(plan));
  lab.AddFlow(0, 1, 730'000);
  lab.Run();
  echoes.fct = FctRx(lab.Record(0));
}

TEST(HiddenEchoTest, IsAsIfThereWereNoMark) {
  Echoes unmarked, seen, shown{.hide = false}, hidden{.hide = true};
  RunMarked(unmarked, {});
  RunMarked(seen, {4});
  RunMarked(shown, {4});
  RunMarked(hidden, {4});
  EXPECT_EQ(unmarked.cwr, 0);
  EXPECT_EQ(seen.cwr, 1);
  EXPECT_GT(seen.fct, unmarked.fct);
  EXPECT_EQ(shown.cwr, 1);
  EXPECT_EQ(shown.fct, seen.fct);
  EXPECT_EQ(hidden.cwr, 0);
  EXPECT_EQ(hidden.fct, unmarked.fct);
  EXPECT_GT(hidden.asked, shown.asked);  // The receiver repeats its echo until it is answered.
}

// --- Round-trip times (Karn) ---

// The smoothed round-trip time after the first ACK of new data.
Duration FirstRtt(Bytes size, int window, const std::string& timestamps, std::vector<Rule> rules) {
  struct Policy final : HostPolicy {
    explicit Policy(Duration& first) : rtt(first) {}
    void OnAck(HostView&, HostFlow& flow, const Packet&, const AckNews& news) override {
      if (!seen && news.newly_acked > 0) rtt = flow.srtt;
      seen = seen || news.newly_acked > 0;
    }
    size_t StateBytes() const override { return 0; }
    bool seen = false;
    Duration& rtt;
  };
  Duration rtt{-1};
  Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
           .transport = fmt::format("{{kind: tcp, iw: {}, timestamps: {}}}", window, timestamps),
           .switch_policy = Scripted(std::move(rules)),
           .host_policy = [&](HostId) { return std::make_unique<Policy>(rtt); }});
  lab.AddFlow(0, 1, size.count);
  lab.Run();
  return rtt;
}

// The first copy comes 15 ms late. Its ACK would make a sample of 15 ms, or of 5 if it were taken
// for that of the copy sent at 10 ms; a timestamp tells the first from the second.
Duration RttAfterALateFirstCopy(const std::string& timestamps) {
  return FirstRtt(1_KB, 1, timestamps, {HoldAt(0, Data(0, 0), 15_ms)});
}

TEST(RoundTripTest, TakesNoSampleFromWhatWasSentAgain) {
  EXPECT_EQ(RttAfterALateFirstCopy("false"), 0_ps);
}

// Segments 1 to 9 arrive at once, but their ACK waits for the second copy of segment 0.
TEST(RoundTripTest, TakesNoSampleFromWhatWaitedForACopy) {
  EXPECT_EQ(FirstRtt(14'600_B, 10, "false", {DropAt(0, Data(0, 0)).Times(1)}), 0_ps);
  EXPECT_GT(FirstRtt(14'600_B, 10, "false", {}), 0_ps);
}

TEST(RoundTripTest, TakesOneFromEveryAckWithTimestamps) {
  EXPECT_GT(RttAfterALateFirstCopy("true"), 15_ms);
  EXPECT_LT(RttAfterALateFirstCopy("true"), 15'020_us);
}

// --- Connection set-up ---

TEST(HandshakeTest, SendsASynOfMinimumSizeThatIsNotEcnCapable) {
  std::vector<Packet> seen;
  const auto note = [&](const SwitchView&, const Packet& p) { seen.push_back(p); };
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .transport = "{kind: dctcp, setup: handshake}",
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kSyn), note),
                                      WatchAt(0, Anything(PacketKind::kSynAck), note)})});
  lab.AddFlow(0, 1, 1'460);
  lab.Run();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].kind, PacketKind::kSyn);
  EXPECT_EQ(seen[1].kind, PacketKind::kSynAck);
  for (const Packet& p : seen) {
    EXPECT_EQ(p.bytes, 64);
    EXPECT_FALSE(p.Has(Packet::kEct));
  }
}

TEST(HandshakeTest, SurvivesALostOrRepeatedSynAck) {
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .transport = "{kind: tcp, setup: handshake}",
           .switch_policy = Scripted({DropAt(0, Anything(PacketKind::kSynAck)).Times(1),
                                      HoldAt(0, Anything(PacketKind::kSyn), 25_ms).Skip(1)})});
  lab.AddFlow(0, 1, 14'600);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
  EXPECT_EQ(lab.Record(0).receiver.packets, 10);
}

// The first SYN is lost. No round trip has been measured, so the next one follows after rto_init.
TEST(HandshakeTest, RepeatsTheSynAfterTheInitialTimeout) {
  std::vector<Time> seen;
  const auto note = [&](const SwitchView& view, const Packet&) { seen.push_back(view.now()); };
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .transport = "{kind: tcp, setup: handshake, min_rto: 1ms, rto_init: 20ms}",
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kSyn), note),
                                      DropAt(0, Anything(PacketKind::kSyn)).Times(1)})});
  lab.AddFlow(0, 1, 1'460);
  lab.Run();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1] - seen[0], 20_ms);
}

// Window of the second of two flows between the same hosts, `gap` after the start of the first.
double SecondWindow(const std::string& setup, Duration gap) {
  Lab lab({.graph = Line(4, {10_Gbps, 10_us}), .transport = "{kind: tcp, setup: " + setup + "}"});
  lab.AddFlow(0, 1, 1'000'000);
  lab.AddFlow(0, 1, 1'000'000, Time{} + gap);
  double cwnd = 0;
  lab.SampleEvery(1_us, [&](Time now) {
    if (now == Time{} + gap + 1_us) cwnd = lab.Sender(1)->cwnd() / 1'460;
  });
  lab.Run();
  return cwnd;
}

TEST(PersistentSetupTest, KeepsTheWindowForAsLongAsATimeout) {
  EXPECT_EQ(SecondWindow("none", 2_ms), 10);
  EXPECT_GT(SecondWindow("persistent", 2_ms), 60);
  EXPECT_EQ(SecondWindow("persistent", 20_ms), 10);
}

// --- Many flows on one host ---

TEST(NicTest, SharesItsLinkPacketByPacket) {
  std::vector<FlowId> order;
  const auto note = [&](const SwitchView&, const Packet& p) { order.push_back(p.flow); };
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .switch_policy = Scripted({WatchAt(0, Anything(PacketKind::kData), note)})});
  for (int i = 0; i < 3; ++i) lab.AddFlow(0, 1, 4 * 1'460);
  lab.Run();
  EXPECT_EQ(order, (std::vector<FlowId>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(NicTest, SendsAcksBeforeData) {
  // Both hosts send: the ACKs of one flow overtake the data of the other that waits in the NIC.
  Lab lab({.graph = Line(2, {10_Gbps, 1_us})});
  lab.AddFlow(0, 1, 100 * 1'460);
  lab.AddFlow(1, 0, 100 * 1'460);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  const Duration alone = FctHopByHop({{10_Gbps, 1_us}, {10_Gbps, 1_us}}, 146'000,
                                     TransportFrom("{kind: tcp}").settings->sizes());
  for (const FlowRecord& flow : lab.records()) {
    EXPECT_LE(FctRx(flow), alone + 100 * 67'200_ps + 10_us);
  }
}

TEST(FlowLifeTest, UsesSlotsAgainWithoutMixingFlows) {
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .switch_policy =
               Scripted({DropAt(0, WithProbability(0.02, 1, Anything(PacketKind::kData)))})});
  for (int i = 0; i < 200; ++i) lab.AddFlow(0, 1, 1 + 997 * i % 30'000, Time{} + 40_us * i);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  int64_t needed = 0;
  for (const FlowRecord& flow : lab.records()) {
    EXPECT_EQ(flow.sender.packets, (flow.spec.size + 1'459) / 1'460);
    EXPECT_EQ(flow.receiver.packets, flow.sender.packets + flow.receiver.duplicates);
    needed += flow.sender.retransmissions_loss;
  }
  EXPECT_EQ(needed, lab.Drops(DropReason::kPolicy));
}

TEST(FlowLifeTest, ReportsWhatIsKnownOfUnfinishedFlows) {
  Lab lab({.graph = Line(4, {10_Gbps, 1_us})});
  lab.AddFlow(0, 1, 1'000'000);
  lab.Run(Time{} + 100_us);
  EXPECT_FALSE(lab.finished());
  EXPECT_EQ(lab.Record(0).sender.done, kNever);
  EXPECT_EQ(lab.Record(0).receiver.done, kNever);
  EXPECT_GT(lab.Record(0).sender.packets_sent, 50);
  EXPECT_GT(lab.Record(0).receiver.packets, 50);
}

// The second flow is one segment, which is lost: it comes again after the timeout that the first
// flow has learnt, at least 200 us, not after the one of a new connection.
TEST(PersistentSetupTest, KeepsTheRoundTripHoweverLongItIsIdle) {
  for (const Duration gap : {1_ms, 100_ms}) {
    Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
             .transport = "{kind: tcp, setup: persistent, min_rto: 200us, rto_init: 5ms}",
             .switch_policy = Scripted({DropAt(0, Data(1, 0)).Times(1)})});
    lab.AddFlow(0, 1, 20 * 1'460);
    lab.AddFlow(0, 1, 1'460, Time{} + gap);
    lab.Run();
    EXPECT_EQ(lab.Record(1).sender.timeouts, 1);
    EXPECT_GT(FctRx(lab.Record(1)), 200_us);
    EXPECT_LT(FctRx(lab.Record(1)), 500_us);
  }
}

}  // namespace heddle::tcp_test
