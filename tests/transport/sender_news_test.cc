// SPDX-License-Identifier: Apache-2.0
// Compares what senders tell the load balancer at their host with sums over the packets that it
// sees itself, and the times at which timers fire with the round-trip times that they follow from.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::sender_news_test {

// All that a policy at the sending host hears, in the order of time.
struct Heard {
  struct Sent {
    Time at;
    uint32_t segment;
    bool again;
    int64_t bytes_sent_before;
    int64_t payload;
  };
  struct Acked {
    Time at;
    AckNews news;
    Duration srtt;
  };
  std::vector<Sent> sent;
  std::vector<Acked> acked;
  int starts = 0;
  int ends = 0;
  int timeouts = 0;
  int duplicate_acks = 0;
};

class Listening final : public HostPolicy {
 public:
  explicit Listening(Heard& heard) : heard_(heard) {}
  void OnFlowStart(HostView&, HostFlow& flow) override {
    ++heard_.starts;
    EXPECT_EQ(flow.bytes_sent, 0);
    EXPECT_EQ(flow.srtt, 0_ps);
  }
  void OnFlowEnd(HostView&, HostFlow&) override { ++heard_.ends; }
  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    heard_.sent.push_back({view.now(), packet.seq, packet.Has(Packet::kRetransmission),
                           flow.bytes_sent, packet.data.payload});
  }
  void OnAck(HostView& view, HostFlow& flow, const Packet&, const AckNews& news) override {
    heard_.acked.push_back({view.now(), news, flow.srtt});
  }
  void OnLoss(HostView&, HostFlow&, LossSign sign) override {
    ++(sign == LossSign::kTimeout ? heard_.timeouts : heard_.duplicate_acks);
  }
  size_t StateBytes() const override { return 0; }

 private:
  Heard& heard_;
};

struct Transfer {
  Heard heard;
  FlowRecord record;

  Transfer(int64_t size, const std::string& transport, std::vector<Rule> rules = {}) {
    Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
             .transport = transport,
             .switch_policy = Scripted(std::move(rules)),
             .host_policy = [this](HostId host) -> HostPolicyPtr {
               if (host == 1) return nullptr;
               return std::make_unique<Listening>(heard);
             }});
    lab.AddFlow(0, 1, size);
    lab.Run();
    EXPECT_TRUE(lab.finished());
    record = lab.Record(0);
  }
};

const std::vector<std::string> kTransports = {"{kind: tcp}",
                                              "{kind: tcp, timestamps: true, delack_count: 2}",
                                              "{kind: dctcp, recovery: newreno}",
                                              "{kind: tcp, loss: rack, tlp: true}",
                                              "{kind: rocev2, cc: none, rto: 1ms}",
                                              "{kind: rocev2, cc: none, recovery: irn}"};

std::vector<Rule> SomeTrouble(uint64_t seed) {
  return {DropAt(1, WithProbability(0.01, seed, AllData(0))),
          DropAt(0, WithProbability(0.01, seed + 1, AllAcks(0))),
          HoldAt(2, WithProbability(0.02, seed + 2, AllData(0)), 20_us)};
}

TEST(SenderNewsTest, TellOfEveryByteSentAndAcknowledged) {
  constexpr int64_t kSize = 1'234'567;
  for (const std::string& transport : kTransports) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(testing::Message() << transport << ", seed " << seed);
      const Transfer transfer(kSize, transport, SomeTrouble(seed));
      const Heard& heard = transfer.heard;
      const SenderRecord& sender = transfer.record.sender;
      EXPECT_EQ(heard.starts, 1);
      EXPECT_EQ(heard.ends, 1);
      EXPECT_EQ(heard.timeouts, sender.timeouts);
      EXPECT_EQ(heard.duplicate_acks, sender.fast_retransmits);
      EXPECT_EQ(static_cast<int64_t>(heard.sent.size()), sender.packets_sent);
      int64_t sent = 0;
      int64_t again = 0;
      int64_t first_copies = 0;
      uint32_t next = 0;
      for (const Heard::Sent& s : heard.sent) {
        ASSERT_EQ(s.bytes_sent_before, sent);
        sent += s.payload;
        // Below the highest segment sent so far it is a retransmission.
        ASSERT_EQ(s.again, s.segment < next);
        next = std::max(next, s.segment + 1);
        again += s.again ? 1 : 0;
        first_copies += s.again ? 0 : s.payload;
      }
      EXPECT_EQ(again, sender.retransmissions);
      EXPECT_EQ(again, sender.retransmissions_loss + sender.retransmissions_spurious);
      EXPECT_EQ(first_copies, kSize);
      int64_t acked = 0;
      for (const Heard::Acked& a : heard.acked) acked += a.news.newly_acked;
      EXPECT_EQ(acked, kSize);
    }
  }
}

// The state shown of a flow: what is acknowledged, and what else has been sent once or more.
TEST(SenderNewsTest, TheStateShowsWhatIsInFlight) {
  std::vector<std::string> transports = kTransports;
  transports.insert(transports.end(), {"uet", "mprdma", "mptcp"});
  for (const std::string& transport : transports) {
    SCOPED_TRACE(transport);
    Heard heard;
    Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
             .transport = transport,
             .switch_policy = Scripted({DropAt(1, Data(0, 100)).Times(1)}),
             .host_policy = [&heard](HostId host) -> HostPolicyPtr {
               if (host == 1) return nullptr;
               return std::make_unique<Listening>(heard);
             }});
    lab.AddFlow(0, 1, 345'678);
    int samples = 0;
    lab.SampleEvery(3_us, [&](Time) {
      const std::optional<FlowState> state = lab.network().host(0).transport().StateOf(0);
      if (!state) return;
      int64_t once = 0;
      int64_t acked = 0;
      for (const Heard::Sent& s : heard.sent) once += s.again ? 0 : s.payload;
      for (const Heard::Acked& a : heard.acked) acked += a.news.newly_acked;
      ASSERT_EQ(state->acked, acked);
      ASSERT_EQ(state->in_flight, once - acked);
      ++samples;
    });
    lab.Run();
    EXPECT_GT(samples, 30);
  }
}

// RFC 6298: the first sample is the estimate; then each has a weight of an eighth.
TEST(SenderNewsTest, TheSmoothedRoundTripIsThatOfTheSamples) {
  for (const std::string& transport : kTransports) {
    SCOPED_TRACE(transport);
    const Transfer transfer(400'000, transport, {DropAt(1, Data(0, 100)).Times(1)});
    int64_t srtt = 0;
    int samples = 0;
    for (const Heard::Acked& a : transfer.heard.acked) {
      const int64_t rtt = a.news.rtt.ps;
      if (rtt > 0) {
        srtt = srtt == 0 ? rtt : (7 * srtt + rtt) / 8;
        ++samples;
      }
      ASSERT_EQ(a.srtt.ps, srtt);
    }
    EXPECT_GT(samples, 50);
  }
}

// Data hash the flow's 5-tuple, and all that answers them its reverse.
TEST(SenderNewsTest, EveryPacketHashesItsOwnTuple) {
  for (const std::string transport :
       {"{kind: tcp, setup: handshake}", "{kind: rocev2, cc: dcqcn, recovery: irn}"}) {
    SCOPED_TRACE(transport);
    const FlowSpec spec{
        .src = 0, .dst = 1, .sport = 1'234, .dport = 77, .size = 100'000, .start = {}};
    int forward = 0;
    int backward = 0;
    const auto note = [&](const SwitchView&, const Packet& p) {
      const bool goes = p.kind == PacketKind::kData || p.kind == PacketKind::kSyn;
      ASSERT_EQ(p.tuple_hash, goes ? TupleHash(0, 1, 1'234, 77) : TupleHash(1, 0, 77, 1'234));
      ASSERT_EQ(p.src, goes ? 0 : 1);
      ASSERT_EQ(p.dst, goes ? 1 : 0);
      ++(goes ? forward : backward);
    };
    Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
             .transport = transport,
             .switch_policy = Scripted({WatchAt(1, Anything(), note), MarkAt(0, Data(0, 30))})});
    lab.AddFlow(spec);
    lab.Run();
    EXPECT_GT(forward, 60);
    EXPECT_GT(backward, 10);
  }
}

// --- Tail loss probes, RFC 8985 section 7.2 ---

// The last segment is lost: the probe leaves two smoothed round trips after the last ACK.
TEST(ProbeTimeTest, ComesTwoRoundTripsAfterTheLastAck) {
  const Transfer transfer(100 * 1'460, "{kind: tcp, iw: 40, loss: rack, tlp: true}",
                          {DropAt(0, Data(0, 99)).Times(1)});
  const Heard::Sent& probe = transfer.heard.sent.back();
  EXPECT_EQ(probe.segment, 99u);
  EXPECT_TRUE(probe.again);
  ASSERT_GE(transfer.heard.acked.size(), 2u);
  const Heard::Acked& last = transfer.heard.acked[transfer.heard.acked.size() - 2];
  EXPECT_EQ(probe.at, last.at + 2 * last.srtt);
  EXPECT_EQ(transfer.record.sender.timeouts, 0);
}

// A single segment may have to wait for the receiver's delayed ACK; two are answered at once. ACKs
// come for pairs: of 101 segments the last is alone, of 100 it is not.
TEST(ProbeTimeTest, WaitsForADelayedAckOfOneSegmentOnly) {
  for (const bool alone : {false, true}) {
    SCOPED_TRACE(alone);
    const uint32_t last = alone ? 100 : 99;
    std::vector<Rule> rules = {DropAt(0, Data(0, last)).Times(1)};
    if (!alone) rules.push_back(DropAt(0, Data(0, 98)).Times(1));
    const Transfer transfer((last + 1) * 1'460,
                            "{kind: tcp, iw: 40, loss: rack, tlp: true, delack_count: 2, "
                            "delack_timeout: 300us}",
                            rules);
    const auto probe = std::ranges::find(transfer.heard.sent, true, &Heard::Sent::again);
    ASSERT_NE(probe, transfer.heard.sent.end());
    EXPECT_EQ(probe->segment, last);
    const Heard::Acked* ack = nullptr;  // The latest before the probe.
    for (const Heard::Acked& a : transfer.heard.acked) {
      if (a.at < probe->at) ack = &a;
    }
    ASSERT_NE(ack, nullptr);
    EXPECT_EQ(probe->at, ack->at + 2 * ack->srtt + (alone ? 300_us : 0_us));
  }
}

// Segment 2 is lost, and its retransmission too, while segment 3 is known to have arrived: a probe
// is for a tail of which nothing is known, so the timeout has to repair this.
TEST(ProbeTimeTest, NeverComesWhileASegmentIsKnownToBeMissing) {
  const Transfer transfer(4 * 1'460, "{kind: tcp, iw: 10, loss: rack, tlp: true}",
                          {DropAt(0, Data(0, 2)).Times(2)});
  std::vector<uint32_t> sent;
  for (const Heard::Sent& s : transfer.heard.sent) sent.push_back(s.segment);
  EXPECT_EQ(sent, (std::vector<uint32_t>{0, 1, 2, 3, 2, 2}));
  EXPECT_EQ(transfer.record.sender.timeouts, 1);
}

// --- After a timeout ---

// NewReno: one segment is sent after the timeout, though two duplicate ACKs had come before it; the
// ACK of the segment lets it send two, and so on.
TEST(TimeoutTest, StartsWithOneSegmentWhateverDuplicateAcksHadCome) {
  std::vector<Rule> rules;
  for (const uint32_t segment : {0u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u}) {
    rules.push_back(DropAt(0, Data(0, segment)).Times(1));
  }
  const Transfer transfer(40 * 1'460, "{kind: tcp, recovery: newreno, iw: 10}", rules);
  EXPECT_EQ(transfer.record.sender.timeouts, 1);
  std::vector<Time> after;
  for (const Heard::Sent& s : transfer.heard.sent) {
    if (s.at > Time{} + 5_ms) after.push_back(s.at);
  }
  ASSERT_GE(after.size(), 3u);
  EXPECT_GT(after[1] - after[0], 80_us);  // A round trip.
  EXPECT_LT(after[2] - after[1], 2_us);
}

// All ACKs of the first flight are late, so that a timeout sends its first segment again for
// nothing. The DSACK of that copy restores the window of ten segments; otherwise half of it
// remains.
TEST(TimeoutTest, IsTakenBackIfItProvesSpurious) {
  const auto largest_window = [](const std::string& more) {
    Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
             .transport = "{kind: tcp, iw: 10, max_cwnd: 10" + more + "}",
             .switch_policy = Scripted({HoldAt(2, AllAcks(0), 11_ms).Times(10)})});
    lab.AddFlow(0, 1, 60 * 1'460);
    double segments = 0;
    lab.SampleEvery(1_us, [&](Time now) {
      const TcpSender* sender = lab.Sender(0);
      if (sender == nullptr || sender->done()) return;
      // Half a round trip after the DSACK, which comes a round trip after the timeout.
      if (now == Time{} + 10'130_us) segments = sender->cwnd() / 1'460;
    });
    lab.Run();
    EXPECT_EQ(lab.Record(0).sender.timeouts, 1);
    EXPECT_EQ(lab.Record(0).sender.retransmissions_loss, 0);
    return segments;
  };
  EXPECT_LT(largest_window(""), 8);
  EXPECT_GE(largest_window(", undo: dsack"), 10);
}

// The next flow between the same hosts keeps the window if the first has ended exactly a timeout
// before, which is 10 ms here, and not a picosecond longer.
TEST(PersistentWindowTest, IsKeptForExactlyATimeout) {
  const auto burst_after = [](Duration gap) {
    Heard heard;
    Time done;
    for (const bool second : {false, true}) {
      heard = {};
      Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
               .transport = "{kind: tcp, setup: persistent, iw: 4}",
               .host_policy = [&heard](HostId host) -> HostPolicyPtr {
                 if (host == 1) return nullptr;
                 return std::make_unique<Listening>(heard);
               }});
      lab.AddFlow(0, 1, 100 * 1'460);
      if (second) lab.AddFlow(0, 1, 100 * 1'460, done + gap);
      lab.Run();
      done = lab.Record(0).sender.done;
    }
    return std::ranges::count_if(heard.sent, [&](const Heard::Sent& s) {
      return s.at >= done + gap && s.at < done + gap + 60_us;
    });
  };
  EXPECT_GT(burst_after(10_ms), 20);
  EXPECT_EQ(burst_after(10_ms + 1_ps), 4);
}

// --- Turns at the NIC ---

// One flow has its ACKs soon, the other late. Each has a turn in each round, however often ACKs
// tell it that it may send.
TEST(NicTurnsTest, AreOneInARoundWhateverAcksCome) {
  for (const std::string& transport :
       {std::string("{kind: tcp, iw: 200}"), std::string("{kind: rocev2, cc: none}"),
        std::string("{kind: rocev2, cc: none, recovery: irn, bdp: 400KB}")}) {
    SCOPED_TRACE(transport);
    // Host 0 and host 1 at switch 0, host 2 a long link away.
    Graph graph = Star(3, {10_Gbps, 1_us});
    graph.links[2].a_to_b.delay = graph.links[2].b_to_a.delay = 100_us;
    std::vector<FlowId> order;
    const auto note = [&](const SwitchView&, const Packet& p) {
      if (p.kind == PacketKind::kData) order.push_back(p.flow);
    };
    Lab lab(
        {.graph = graph,
         .transport = transport,
         .switch_policy = Scripted({WatchAt(0, AllData(0), note), WatchAt(0, AllData(1), note)})});
    lab.AddFlow(0, 1, 150 * 1'460);
    lab.AddFlow(0, 2, 150 * 1'460);
    lab.Run();
    ASSERT_GT(order.size(), 250u);
    for (size_t i = 2; i < 240; ++i) ASSERT_NE(order[i], order[i - 1]) << i;
  }
}

}  // namespace heddle::sender_news_test
