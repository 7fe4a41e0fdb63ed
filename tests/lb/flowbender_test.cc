// SPDX-License-Identifier: Apache-2.0
// Tests when a FlowBender flow changes its value, and the benefit.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "fabric/ecmp_hash.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"

namespace heddle::flowbender_test {

class Sender {
 public:
  explicit Sender(const std::string& settings)
      : table_(PathsOfWeights({1, 1})), host_(settings, table_) {
    flow_ = host_.Start(1);
  }

  // A window of 100 packets, of whose ACKs `marked` echo a mark. Returns the value afterwards.
  uint16_t Round(int marked) {
    for (int i = 0; i < 100; ++i) value_ = Send();
    for (int i = 0; i < 100; ++i) Acknowledge(++acked_, i < marked);
    return value_;
  }
  uint16_t Value() { return Send(); }
  // A window of 100 packets with a timeout in its midst; only ACKs before it echo marks.
  void RoundWithTimeout() {
    for (int i = 0; i < 100; ++i) Send();
    for (int i = 0; i < 100; ++i) {
      if (i == 50) TimeOut();
      Acknowledge(++acked_, i < 50);
    }
  }
  void TimeOut() {
    host_.At(Time{}, [&](HostView& view, HostPolicy& policy) {
      policy.OnLoss(view, flow_, LossSign::kTimeout);
    });
  }
  int64_t Moves() const { return host_.Count("reroutes"); }

 private:
  uint16_t Send() {
    Packet packet = LbPacket(1);
    packet.seq = sent_++;
    host_.At(Time{},
             [&](HostView& view, HostPolicy& policy) { policy.OnSend(view, flow_, packet); });
    return packet.entropy;
  }
  void Acknowledge(uint32_t next, bool echo) {
    Packet ack = LbPacket(1);
    ack.kind = PacketKind::kAck;
    ack.seq = next;
    host_.At(Time{}, [&](HostView& view, HostPolicy& policy) {
      policy.OnAck(view, flow_, ack, {1'460, 0, 20_us, echo});
    });
  }

  const PathTable table_;
  LbHost host_;
  HostFlow flow_;
  uint32_t sent_ = 0;
  uint32_t acked_ = 0;
  uint16_t value_ = 0;
};

TEST(FlowBenderTest, MovesIfMoreThanAShareOfTheAcksOfARoundEchoMarks) {
  Sender sender("flowbender");
  for (int round = 0; round < 10; ++round) sender.Round(4);
  EXPECT_EQ(sender.Moves(), 0);
  EXPECT_EQ(sender.Value(), 0);  // Uncongested it is ECMP.
  sender.Round(40);
  sender.Round(40);
  EXPECT_GE(sender.Moves(), 1);
  EXPECT_LE(sender.Moves(), 2);
}

TEST(FlowBenderTest, NCongestedRoundsMustBeInARow) {
  Sender sender("{kind: flowbender, rounds: 3}");
  for (int round = 0; round < 12; ++round) sender.Round(round % 4 < 2 ? 100 : 0);
  EXPECT_EQ(sender.Moves(), 0);
  for (int round = 0; round < 6; ++round) sender.Round(100);
  EXPECT_GE(sender.Moves(), 1);
  EXPECT_LE(sender.Moves(), 2);
}

TEST(FlowBenderTest, ATimeoutMovesAtOnce) {
  Sender sender("{kind: flowbender, change: next}");
  sender.TimeOut();
  EXPECT_EQ(sender.Value(), 1);
  for (int i = 0; i < 7; ++i) sender.TimeOut();
  EXPECT_EQ(sender.Value(), 0);  // It has wrapped around eight values.
}

TEST(FlowBenderTest, MarksBeforeATimeoutDoNotMoveTheFlowOnceMore) {
  Sender sender("flowbender");
  sender.RoundWithTimeout();
  for (int round = 0; round < 3; ++round) sender.Round(0);
  EXPECT_EQ(sender.Moves(), 1);
}

TEST(FlowBenderTest, ARandomValueIsAlwaysAnotherOne) {
  Sender sender("flowbender");
  std::set<uint16_t> values;
  uint16_t before = sender.Value();
  for (int i = 0; i < 200; ++i) {
    sender.TimeOut();
    const uint16_t value = sender.Value();
    ASSERT_NE(value, before);
    values.insert(before = value);
  }
  EXPECT_EQ(values.size(), 8u);
}

// --- In a network ---

// ECMP puts two elephants on the same of three paths, each of which carries one. Records the time
// of the later one, and how often both have moved.
struct Outcome {
  Duration last{};
  int64_t moves = 0;
};
Outcome Elephants(const std::string& balancer, uint64_t seed, HostId count = 2) {
  Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 3, hosts_per_leaf: 2, host_link: {rate: "
                                  "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}"),
           .transport = "{kind: dctcp}",
           .balancer = balancer,
           .port = "{buffer: 1MB, ecn_above: 97500B}",
           .seed = seed});
  for (HostId src = 0; src < count; ++src) {
    FlowSpec flow;
    flow.src = src;
    flow.dst = static_cast<HostId>(2 + src);
    flow.dport = 80;
    flow.size = 20'000'000;
    Packet packet;
    do {
      packet.tuple_hash = TupleHash(flow.src, flow.dst, ++flow.sport, flow.dport);
    } while (MapToRange(EcmpHash(packet, EcmpSalt(0, seed)), 3) != 1);
    lab.AddFlow(flow);
  }
  lab.Run();
  Outcome outcome;
  for (const FlowRecord& record : lab.records()) {
    outcome.last = std::max(outcome.last, FctRx(record));
  }
  for (HostId h = 0; h < count; ++h) {
    if (!lab.network().host(h).has_policy()) continue;
    for (const auto& counter : lab.network().host(h).policy().Counters()) {
      if (counter.name == "reroutes") outcome.moves += counter.value;
    }
  }
  return outcome;
}

// A round trip is 100 us with a queue at the threshold. Both may move at once, and meet again.
TEST(FlowBenderTest, ElephantsThatCollideSeparateInAFewRoundTrips) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Duration alone = Elephants("flowbender", seed, 1).last;
    EXPECT_GT(Elephants("ecmp", seed).last, alone * 19 / 10);
    const Outcome bent = Elephants("flowbender", seed);
    EXPECT_LT(bent.last, alone + 3_ms) << seed;  // Alone: 17 ms.
    EXPECT_GE(bent.moves, 1);
    EXPECT_LE(bent.moves, 20);  // They move in these milliseconds only.
  }
}

TEST(FlowBenderTest, AloneAFlowStays) {
  for (uint64_t seed = 1; seed <= 5; ++seed) EXPECT_EQ(Elephants("flowbender", seed, 1).moves, 0);
}

}  // namespace heddle::flowbender_test
