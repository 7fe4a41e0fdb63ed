// SPDX-License-Identifier: Apache-2.0
// The beginning and the end of flows: the second flow in a slot is like the first, timers of a
// flow that has ended do nothing, and the memory is that of the flows alive.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/ring.h"
#include "core/subflow_id.h"
#include "fabric/application.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "transport/judge.h"
#include "transport/tcp/mptcp.h"

namespace heddle::flow_end_test {

const std::vector<std::string> kTransports = {
    "{kind: tcp, min_rto: 500us}",
    "{kind: tcp, min_rto: 500us, delack_count: 3, ecn: rfc3168}",
    "{kind: tcp, min_rto: 500us, recovery: newreno}",
    "{kind: tcp, min_rto: 500us, setup: handshake, timestamps: true}",
    "{kind: tcp, min_rto: 500us, loss: rack, tlp: true, prr: true, undo: dsack, rescue: true, "
    "reordering_adapt: true}",
    "{kind: dctcp, min_rto: 500us, delack_count: 2}",
    "{kind: tcp, min_rto: 500us, cc: cubic, prr: true}",
    "{kind: tcp, min_rto: 500us, resequencing: {kind: timeout, timeout: 50us}}",
    "{kind: tcp, min_rto: 500us, resequencing: {kind: juggler, ofo_timeout: 50us, inseq_timeout: "
    "2us}}",
    "{kind: tcp, min_rto: 500us, resequencing: presto_gro}",
    "{kind: mptcp, min_rto: 500us, subflows: 3}",
    "{kind: mptcp, min_rto: 500us, subflows: 2, delack_count: 2, cc: olia}",
    "{kind: mptcp, min_rto: 500us, rto_init: 200ms, subflows: 2, rwnd: 12}",
    "{kind: mptcp, min_rto: 500us, subflows: 3, scheduler: round_robin, setup: join}",
    "{kind: mptcp, min_rto: 500us, subflows: 2, scheduler: redundant, delack_count: 2}",
    "{kind: mptcp, min_rto: 500us, subflows: 2, loss: rack, scheduler: min_rtt}",
    "{kind: mmptcp, min_rto: 500us, switch_bytes: 40KB, subflows: 2}",
    "{kind: mmptcp, min_rto: 500us, switch_bytes: 40KB, subflows: 2, setup: join}",
    "{kind: rocev2, rto: 500us, ack_interval: 3, nack: timer}",
    "{kind: rocev2, rto: 500us, cc: {kind: dcqcn, rp: nic, cnp_mode: ack_flag}}",
    "{kind: rocev2, recovery: irn, cc: {kind: dcqcn, cnp_trailing: true}}",
    "{kind: rocev2, recovery: irn, cc: swift, nack_threshold: 2}",
    "{kind: rocev2, recovery: sr, rto: 500us, cc: hpcc, ack_interval: 3}",
    "{kind: rocev2, recovery: ddp, cc: timely, ack_interval: 4, ddp_loss: threshold}",
    "{kind: mprdma, message: 30KB}",
    "{kind: mprdma, beyond: nack}",
    "{kind: uet}",
    "{kind: uet, cc: smartt, loss: timeout, ack_bytes: 20KB}",
    "{kind: uet, receiver: rccc}",
    "{kind: uet, preset: ndp, rto: 500us}"};

// A rule for packets of one connection only.
Match Of(FlowId flow, Match match) {
  return [=](const Packet& p) { return ConnectionOf(p.flow) == flow && match(p); };
}
Match Is(PacketKind kind, uint32_t subflow, uint32_t seq) {
  return [=](const Packet& p) {
    return p.kind == kind && SubflowOf(p.flow) == subflow && p.seq == seq;
  };
}

std::vector<Rule> Losses(FlowId flow) {
  return {DropAt(0, Of(flow, Is(PacketKind::kData, 0, 5))).Times(1),
          DropAt(0, Of(flow, Is(PacketKind::kData, 0, 9))).Times(2),
          DropAt(0, Of(flow, Is(PacketKind::kAck, 0, 20))).Times(1),
          HoldAt(0, Of(flow, Is(PacketKind::kData, 0, 30)), 20_us).Times(1),
          MarkAt(0, Of(flow, Is(PacketKind::kData, 0, 40))),
          DropAt(0, Of(flow, Is(PacketKind::kData, 1, 3))).Times(1),
          HoldAt(0, Of(flow, Is(PacketKind::kData, 1, 8)), 30_us).Times(1)};
}

// Flow 1 goes from host 0 to host 1, and the first subflows of it have losses. Flow 0, before it,
// goes the same way, so that flow 1 uses its slots and memory again; or between two other hosts,
// whose packets meet those of flow 1 nowhere. Flow 1 must not notice, whatever became of flow 0.
TEST(SlotTest, AFlowInAUsedSlotIsLikeOneInANewSlot) {
  constexpr uint64_t kSameLosses = 4;  // As flow 1 has.
  for (const std::string& transport : kTransports) {
    const auto second = [&](HostId from, uint64_t seed) {
      const bool is_mptcp = transport.find("mptcp") != std::string::npos;
      const auto data = Anything(PacketKind::kData);
      const auto acks = Anything(PacketKind::kAck);
      std::vector<Rule> rules = Losses(1);
      if (seed == kSameLosses) std::ranges::copy(Losses(0), std::back_inserter(rules));
      if (is_mptcp) rules.push_back(HoldAt(0, AllData(SubflowId(1, 1)), 70_us));
      if (seed > 0 && seed != kSameLosses) {
        rules.insert(rules.end(), {DropAt(0, Of(0, WithProbability(0.04, seed, data))),
                                   DropAt(0, Of(0, WithProbability(0.04, seed + 9, acks))),
                                   MarkAt(0, Of(0, WithProbability(0.04, seed + 18, data))),
                                   HoldAt(0, Of(0, WithProbability(0.05, seed + 27, data)), 9_us)});
        if (is_mptcp) rules.push_back(HoldAt(0, AllData(SubflowId(0, 1)), 90_us));
      }
      Lab lab({.graph = Star(4, {10_Gbps, 1_us}),
               .transport = transport,
               .switch_policy = Scripted(std::move(rules))});
      lab.AddFlow(from, from + 1, 301 * 1'300);
      lab.AddFlow(0, 1, 205 * 1'310, Time{} + 60_ms);
      lab.Run(Time{} + 1_s);
      EXPECT_TRUE(lab.finished());
      EXPECT_LT(lab.Record(0).sender.done, Time{} + 59_ms);
      return Describe(lab.Record(1));
    };
    const std::string in_new = second(2, 0);
    for (uint64_t seed = 0; seed < 5; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", transport, seed));
      EXPECT_EQ(second(0, seed), in_new);
    }
  }
}

// A copy of a packet comes when its flow has long been forgotten: it is counted, and not answered.
TEST(LateDataTest, IsCountedAndNotAnswered) {
  for (const char* transport : {"{kind: tcp, min_rto: 200us}", "{kind: mptcp, min_rto: 200us}"}) {
    SCOPED_TRACE(transport);
    int64_t answers = 0;
    Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
             .transport = transport,
             .switch_policy =
                 Scripted({HoldAt(0, Data(0, 0), 5_ms).Times(1),
                           WatchAt(2, AllAcks(0), [&](const SwitchView& view, const Packet&) {
                             answers += view.now() > Time{} + 4_ms ? 1 : 0;
                           })})});
    lab.AddFlow(0, 1, 1'000);
    lab.AddFlow(0, 1, 1'000, Time{} + 9_ms);
    lab.Run();
    EXPECT_LT(lab.Record(0).sender.done, Time{} + 1_ms);
    EXPECT_EQ(lab.LatePackets(1), 1);
    EXPECT_EQ(answers, 0);
  }
}

// 60 flows, one after the other, need no more memory than two.
TEST(SlotTest, MemoryIsThatOfTheMostFlowsAlive) {
  for (const char* transport :
       {"{kind: tcp}", "{kind: mptcp, subflows: 2}", "{kind: tcp, resequencing: timeout}"}) {
    const auto memory = [&](int flows) {
      Lab lab({.graph = Line(4, {10_Gbps, 1_us}), .transport = transport});
      for (int i = 0; i < flows; ++i) lab.AddFlow(0, 1, 30'000, Time{} + 1_ms * i);
      lab.Run();
      EXPECT_EQ(lab.network().host(0).transport().most_flows(), 1u);
      return std::pair(lab.network().host(0).transport().memory_bytes(),
                       lab.network().host(1).transport().memory_bytes());
    };
    EXPECT_EQ(memory(60), memory(2)) << transport;
  }
}

// The receiver keeps what lies beyond a hole, not all of the connection.
TEST(SlotTest, MemoryOfAReceiverIsThatOfWhatLiesBeyondAHole) {
  const auto memory = [](int64_t segments) {
    Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
             .transport = "{kind: mptcp, subflows: 2, max_cwnd: 20}",
             .switch_policy = Scripted({HoldAt(1, AllData(SubflowId(0, 1)), 10_us)})});
    lab.AddFlow(0, 1, segments * 1'440);
    lab.Run();
    return lab.network().host(1).transport().memory_bytes();
  };
  EXPECT_EQ(memory(6'000), memory(1'000));
}

// --- What the application hears ---

struct Heard {
  std::vector<Time> received;
  std::vector<Time> handed;
  std::vector<Time> acked;
  std::vector<Time> closed;
};

class Listening final : public Application {
 public:
  Listening(Heard& heard, const Host& host) : heard_(heard), host_(host) {}
  void OnReceived(FlowId) override { heard_.received.push_back(host_.now()); }
  void OnHanded(FlowId) override { heard_.handed.push_back(host_.now()); }
  void OnAcked(FlowId) override { heard_.acked.push_back(host_.now()); }
  void OnClosed(FlowId) override { heard_.closed.push_back(host_.now()); }
  void OnTimer(uint64_t) override {}
  void OnNews(const News&) override {}
  std::optional<FlowSpec> Expect(FlowId) override { return std::nullopt; }

 private:
  Heard& heard_;
  const Host& host_;
};

// The message of flow 0 is received, handed to the NIC, acknowledged and closed once, whatever gets
// lost. It is handed when the first copy of its last byte leaves.
TEST(ApplicationTest, HearsOfEachStepOfAMessageOnce) {
  for (const std::string& transport : kTransports) {
    const int64_t mss = TransportFrom(transport).settings->sizes().mss;
    for (uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", transport, seed));
      std::optional<Time> last;
      const auto note_last = [&](const SwitchView&, const Packet& p) {
        const bool is_shorter = p.data.payload == 777;
        if (is_shorter && (!last || p.sent < *last)) last = p.sent;
      };
      const auto data = Anything(PacketKind::kData);
      Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
               .transport = transport,
               .switch_policy =
                   Scripted({WatchAt(0, data, note_last),
                             DropAt(0, WithProbability(seed == 0 ? 0.0 : 0.05, seed, data))})});
      Heard at_sender;
      Heard at_receiver;
      Host& sender = lab.network().host(0);
      Host& receiver = lab.network().host(1);
      sender.SetApplication(std::make_unique<Listening>(at_sender, sender), 1);
      receiver.SetApplication(std::make_unique<Listening>(at_receiver, receiver), 1);
      lab.AddFlow(0, 1, 99 * mss + 777);
      lab.Run(Time{} + 1_s);
      ASSERT_TRUE(lab.finished());
      const FlowRecord& record = lab.Record(0);
      ASSERT_TRUE(last);
      EXPECT_EQ(at_sender.handed, std::vector{*last});
      EXPECT_EQ(at_sender.acked, std::vector{record.sender.done});
      EXPECT_EQ(at_receiver.received, std::vector{record.receiver.done});
      EXPECT_EQ(at_receiver.closed.size(), 1u);
      EXPECT_GT(at_receiver.closed[0], record.receiver.done);
      EXPECT_TRUE(at_sender.received.empty() && at_sender.closed.empty());
      EXPECT_TRUE(at_receiver.handed.empty() && at_receiver.acked.empty());
      EXPECT_GE(record.sender.done, record.receiver.done);
      // In order, nothing comes after the last ACK if nothing is sent twice.
      if (seed == 0 && record.sender.packets_sent == 100) {
        EXPECT_EQ(lab.LatePackets(0) + lab.LatePackets(1), 0);
      }
    }
  }
}

// The receiver of a message learns when it started from the letter that ends it.
TEST(FlowEndTest, TheReceiverLearnsTheStartAtTheEnd) {
  for (const std::string transport : {"tcp", "mptcp", "mmptcp", "rocev2", "mprdma", "uet"}) {
    Lab lab({.graph = Line(4, {10_Gbps, 1_us}), .transport = transport});
    Transport& receiver = lab.network().host(1).transport();
    receiver.ExpectFlow({.id = 7, .src = 0, .dst = 1, .size = 1'000, .start = {}});
    receiver.OnFlowEnded({7, Time{} + 3_us, Time{} + 9_us, {.done = Time{} + 8_us, .packets = 5}});
    std::vector<FlowRecord> records;
    receiver.CollectUnfinishedReceivers(records);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].spec.start, Time{} + 3_us) << transport;
    EXPECT_EQ(records[0].sender.done, Time{} + 8_us) << transport;
    EXPECT_EQ(records[0].sender.packets, 5) << transport;
  }
}

// --- Proportional rate reduction ---

// RFC 6937: the window is ssthresh when a recovery ends. From then on it grows as usual.
TEST(PrrEndTest, TheWindowGrowsAgainAfterTheRecovery) {
  Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
           .transport = "{kind: tcp, iw: 40, prr: true}",
           .switch_policy = Scripted({DropAt(0, Data(0, 60)).Times(1)})});
  lab.AddFlow(0, 1, 600 * 1'460);
  double before = 0;
  int samples = 0;
  lab.SampleEvery(1_us, [&](Time now) {
    const TcpSender* sender = lab.Sender(0);
    if (sender == nullptr || sender->done() || now < Time{} + 150_us) return;
    const CongestionWindow& window = sender->window();
    if (window.in_recovery || window.cwnd < window.ssthresh || window.ssthresh > 1e9) {
      EXPECT_EQ(before, 0);
      return;
    }
    EXPECT_GE(window.cwnd, before);
    before = window.cwnd;
    ++samples;
  });
  lab.Run();
  EXPECT_EQ(lab.Record(0).sender.fast_retransmits, 1);
  EXPECT_GT(samples, 100);
}

// --- Memory of halves of MPTCP ---

struct SubflowPlace {
  TcpSender tcp;
  Ring<uint32_t> bound;
  uint32_t first;
  Ring<uint32_t> reinjected;
  uint32_t next;
  Time penalised;
};

// Each subflow has two rings of numbers beside its TCP. One that waits for an ACK of ten segments
// has room for 16 of them.
TEST(MptcpMemoryTest, OfASenderIsThatOfItsSubflows) {
  EXPECT_EQ(MptcpSender().memory_bytes(), 0u);
  EXPECT_EQ(MptcpReceiver().memory_bytes(), 0u);
  Lab lab({.graph = Line(4, {10_Gbps, 1_us}), .transport = "{kind: mptcp, subflows: 4}"});
  lab.AddFlow(0, 1, 40 * 1'440);
  size_t checks = 0;
  lab.SampleEvery(1_us, [&](Time now) {
    const auto& transport = dynamic_cast<const Mptcp&>(lab.network().host(0).transport());
    const MptcpSender* sender = transport.FindSender(0);
    if (sender == nullptr || now < Time{} + 1_us) return;
    size_t bytes = 4 * sizeof(void*);  // The windows that are coupled.
    for (uint32_t i = 0; i < 4; ++i) {
      const size_t segments = now < Time{} + 10_us ? 4 : 16;
      // The board has as many places as the ring of numbers.
      const size_t board = sender->subflow(i).memory_bytes() / sizeof(Scoreboard::Segment);
      EXPECT_LE(board, segments);
      bytes += sizeof(SubflowPlace) + sender->subflow(i).memory_bytes() + board * sizeof(uint32_t);
    }
    EXPECT_EQ(sender->memory_bytes(), bytes);
    ++checks;
  });
  lab.Run();
  EXPECT_GT(checks, 10u);
}

// --- Timers ---

// The only segment is lost. Its timeout of 10 ms begins when it is sent, not with the SYN before it
// (RFC 6298 section 5.1).
TEST(HandshakeTimerTest, EndsWithTheHandshake) {
  std::vector<Time> sent;
  Lab lab({.graph = Line(4, {10_Gbps, 100_us}),
           .transport = "{kind: tcp, setup: handshake}",
           .switch_policy = Scripted(
               {WatchAt(0, AllData(0),
                        [&](const SwitchView&, const Packet& p) { sent.push_back(p.sent); }),
                DropAt(0, Data(0, 0)).Times(1)})});
  lab.AddFlow(0, 1, 1'000);
  lab.Run();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_GT(sent[0], Time{} + 800_us);
  EXPECT_EQ(sent[1] - sent[0], 10_ms);
}

// The probe of a tail waits for its turn among other flows when the ACK of all comes. Nothing is
// sent then.
TEST(ProbeTest, IsNotSentOnceAllIsAcknowledged) {
  int probes = 0;
  int no_probes = 0;
  for (int late = 0; late < 30; ++late) {
    std::vector<Time> sent;
    Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
             .transport = "{kind: tcp, loss: rack, tlp: true, iw: 40}",
             .switch_policy = Scripted(
                 {WatchAt(0, AllData(0),
                          [&](const SwitchView&, const Packet& p) { sent.push_back(p.sent); }),
                  HoldAt(0, Ack(0, 2), 10_us + 2_us * late)})});
    lab.AddFlow(0, 1, 2 * 1'460);
    for (int i = 0; i < 9; ++i) lab.AddFlow(0, 1, 100 * 1'460);
    lab.Run();
    ++(lab.Record(0).sender.retransmissions > 0 ? probes : no_probes);
    EXPECT_LE(sent.back(), lab.Record(0).sender.done);
    EXPECT_EQ(lab.Record(0).sender.packets_sent, static_cast<int64_t>(sent.size()));
  }
  EXPECT_GT(probes, 0);
  EXPECT_GT(no_probes, 0);
}

// --- What flows leave behind ---

// Flow 0 loses a segment, so it ends in congestion avoidance. Flow 1 starts `gap` after it. Calls
// check(window of flow 0 when it was last seen, sender of flow 1) 1 us after the start of flow 1.
template <class Check>
void FollowOnPersistent(Duration gap, const Check& check) {
  Lab lab({.graph = Line(4, {10_Gbps, 10_us}),
           .transport = "{kind: tcp, setup: persistent}",
           .switch_policy = Scripted({DropAt(0, Data(0, 60)).Times(1)})});
  lab.AddFlow(0, 1, 300 * 1'460);
  lab.AddFlow(0, 1, 300 * 1'460, Time{} + gap);
  CongestionWindow last;
  bool looked = false;
  lab.SampleEvery(1_us, [&](Time now) {
    if (const TcpSender* first = lab.Sender(0)) last = first->window();
    if (now != Time{} + gap + 1_us) return;
    looked = true;
    check(last, *lab.Sender(1));
  });
  lab.Run();
  EXPECT_TRUE(looked);
  EXPECT_LT(last.ssthresh, 100 * 1'460);
  EXPECT_EQ(lab.Record(0).sender.fast_retransmits, 1);
}

// setup: persistent takes over the window, ssthresh included: flow 1 begins in congestion
// avoidance, too.
TEST(PersistentTest, KeepsTheThresholdToo) {
  FollowOnPersistent(3_ms, [](const CongestionWindow& last, const TcpSender& second) {
    EXPECT_DOUBLE_EQ(second.cwnd(), last.cwnd);
    EXPECT_DOUBLE_EQ(second.window().ssthresh, last.ssthresh);
  });
}

// After an idle time of more than an RTO the window starts afresh, but ssthresh stays (RFC 5681,
// section 4.1).
TEST(PersistentTest, KeepsTheThresholdThroughAnIdleTime) {
  FollowOnPersistent(100_ms, [](const CongestionWindow& last, const TcpSender& second) {
    EXPECT_DOUBLE_EQ(second.cwnd(), 10 * 1'460);
    EXPECT_DOUBLE_EQ(second.window().ssthresh, last.ssthresh);
  });
}

// A retransmission is judged before the end of its flow when 64 cases wait, or twice as many as
// could not be decided the last time.
TEST(JudgeTest, IsWorthAskingWhenManyCasesWait) {
  class NoLog final : public FlowLog {
   public:
    void SenderDone(const FlowSpec&, Time) override {}
    void Add(const FlowRecord&) override {}
    void FastRetransmit(Time, bool) override {}
    ReorderingStats& Reordering(uint16_t) override { return reordering; }
    ReorderingStats reordering;
  } log;
  SenderRecord record;
  RetransmissionJudge judge;
  for (const bool again : {false, true}) {
    if (again) judge.Reset();
    const auto note = [&](int cases) {
      for (int i = 0; i < cases; ++i) judge.OnRetransmission(0, Time{10});
    };
    note(63);
    EXPECT_FALSE(judge.HasMany());
    note(1);
    EXPECT_TRUE(judge.HasMany());
    judge.Settle(Time{10}, record, log);  // None is decided.
    EXPECT_FALSE(judge.HasMany());
    note(63);
    EXPECT_FALSE(judge.HasMany());
    note(1);
    EXPECT_TRUE(judge.HasMany());
    judge.Settle(kNever, record, log);  // All are.
    note(63);
    EXPECT_FALSE(judge.HasMany());
    note(1);
    EXPECT_TRUE(judge.HasMany());
  }
  EXPECT_EQ(record.retransmissions_spurious, 2 * 128);
}

}  // namespace heddle::flow_end_test
