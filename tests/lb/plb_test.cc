// SPDX-License-Identifier: Apache-2.0
// Tests when a PLB flow changes its entropy, by the constants of Linux, and the benefit.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"

namespace heddle::plb_test {

constexpr int64_t kSegment = 1'460;

class Sender {
 public:
  explicit Sender(const std::string& settings)
      : table_(PathsOfWeights({1, 1})), host_(settings, table_) {
    flow_ = host_.Start(1);
  }

  // A window of 40 packets, of whose ACKs `marked` echo a mark. The next window is sent meanwhile,
  // so the flow never has nothing in flight.
  void Round(int marked) {
    if (sent_ == 0) Window();
    Ack(++acked_, kSegment, 0, marked > 0);
    Window();
    for (int i = 1; i < 40; ++i) Ack(++acked_, kSegment, 0, i < marked);
  }
  // The same with an empty network at the end of the window.
  void IdleRound(int marked) {
    Window();
    Acknowledge(marked);
  }
  void Window() {
    for (int i = 0; i < 40; ++i) Send();
  }
  void Acknowledge(int marked) {
    for (int i = 0; i < 40; ++i) Ack(++acked_, kSegment, 0, i < marked);
  }
  uint16_t Send() {
    Packet packet = LbPacket(1);
    packet.seq = sent_++;
    host_.At(now_, [&](HostView& view, HostPolicy& policy) { policy.OnSend(view, flow_, packet); });
    return packet.entropy;
  }
  void Ack(uint32_t next, int64_t newly_acked, int64_t newly_sacked, bool echo) {
    Packet ack = LbPacket(1);
    ack.kind = PacketKind::kAck;
    ack.seq = next;
    host_.At(now_, [&](HostView& view, HostPolicy& policy) {
      policy.OnAck(view, flow_, ack, {newly_acked, newly_sacked, 20_us, echo});
    });
  }
  void TimeOut() {
    host_.At(now_, [&](HostView& view, HostPolicy& policy) {
      policy.OnLoss(view, flow_, LossSign::kTimeout);
    });
  }
  void Sleep(Duration time) { now_ = now_ + time; }
  Time now() const { return now_; }
  int64_t Moves() const { return host_.Count("reroutes"); }
  int64_t IdleMoves() const { return host_.Count("idle_reroutes"); }

 private:
  const PathTable table_;
  LbHost host_;
  HostFlow flow_;
  Time now_{};
  uint32_t sent_ = 0;
  uint32_t acked_ = 0;
};

TEST(PlbTest, TwelveCongestedRoundsInFlightMoveTheFlowOnce) {
  Sender sender("plb");
  for (int round = 0; round < 11; ++round) sender.Round(20);
  EXPECT_EQ(sender.Moves(), 0);
  EXPECT_EQ(sender.Send(), 0);  // Until it moves, the path is ECMP's.
  sender.Round(20);
  sender.Round(20);
  EXPECT_EQ(sender.Moves(), 1);
  EXPECT_EQ(sender.IdleMoves(), 0);
  EXPECT_NE(sender.Send(), 0);
}

TEST(PlbTest, TwentyOfFortyMarkedPacketsAreCongestionAndNineteenAreNot) {
  Sender congested("{kind: plb, rehash_rounds: 1}");
  congested.Round(20);
  EXPECT_EQ(congested.Moves(), 1);
  Sender calm("{kind: plb, rehash_rounds: 1}");
  for (int round = 0; round < 20; ++round) calm.Round(19);
  EXPECT_EQ(calm.Moves(), 0);
}

TEST(PlbTest, ARoundWithoutCongestionBeginsTheCountAnew) {
  Sender sender("plb");
  for (int round = 0; round < 60; ++round) sender.Round(round % 12 == 11 ? 19 : 40);
  EXPECT_EQ(sender.Moves(), 0);
}

TEST(PlbTest, ThreeCongestedRoundsMoveAFlowWithNothingInFlight) {
  Sender sender("plb");
  sender.IdleRound(40);
  sender.IdleRound(40);
  EXPECT_EQ(sender.Moves(), 0);
  sender.IdleRound(40);
  EXPECT_EQ(sender.Moves(), 1);
  EXPECT_EQ(sender.IdleMoves(), 1);
  Sender without("{kind: plb, idle_rounds: 0}");
  for (int round = 0; round < 11; ++round) without.IdleRound(40);
  EXPECT_EQ(without.Moves(), 0);
}

// Rounds of a fixed length may end before the flow is idle: it moves when it sends again.
TEST(PlbTest, AnIdleFlowMovesWhenItResumes) {
  Sender sender("{kind: plb, round: 10us}");
  sender.Window();
  for (uint32_t ack = 1; ack <= 39; ++ack) {
    sender.Ack(ack, kSegment, 0, true);
    if (ack % 10 == 0) sender.Sleep(10_us);
  }
  EXPECT_EQ(sender.Moves(), 0);
  sender.Ack(40, kSegment, 0, true);
  EXPECT_EQ(sender.Moves(), 0);  // The round has not ended yet, so no rule is applied.
  sender.Send();
  EXPECT_EQ(sender.Moves(), 1);
  EXPECT_EQ(sender.IdleMoves(), 1);
}

TEST(PlbTest, ATimeoutMovesAtOnceAndCongestionNotForSomeTimeAfterIt) {
  Sender sender("{kind: plb, rehash_rounds: 1, suspend: 10ms}");
  sender.Sleep(5_ms);
  sender.Window();
  sender.TimeOut();
  EXPECT_EQ(sender.Moves(), 1);
  while (sender.now() < Time{} + 15_ms) {
    sender.Round(40);
    EXPECT_EQ(sender.Moves(), 1);
    sender.Sleep(100_us);
  }
  while (sender.now() < Time{} + 25_ms) {
    sender.Round(40);
    sender.Sleep(100_us);
  }
  EXPECT_GE(sender.Moves(), 2);  // The suspension has ended after at most 20 ms.
}

TEST(PlbTest, RoundsCountOnDuringASuspension) {
  Sender sender("{kind: plb, suspend: 10ms}");
  sender.TimeOut();
  for (int round = 0; round < 30; ++round) sender.Round(40);
  EXPECT_EQ(sender.Moves(), 1);
  sender.Sleep(20_ms);
  sender.Round(40);
  EXPECT_EQ(sender.Moves(), 2);  // Without twelve further rounds.
}

TEST(PlbTest, SackedBytesCountOnce) {
  Sender sender("{kind: plb, rehash_rounds: 1}");
  sender.Window();
  sender.Window();
  // Packet 0 is late: 39 SACKs with a mark, then one cumulative ACK without.
  for (int i = 0; i < 39; ++i) sender.Ack(0, 0, kSegment, i < 20);
  sender.Ack(40, 40 * kSegment, 0, false);
  sender.Ack(80, 40 * kSegment, 0, false);
  // 20 of 40 marked in a round that ended with packet 79: 20 of 80.
  EXPECT_EQ(sender.Moves(), 0);
  Sender marked("{kind: plb, rehash_rounds: 1}");
  marked.Window();
  for (int i = 0; i < 39; ++i) marked.Ack(0, 0, kSegment, i < 20);
  marked.Ack(40, 40 * kSegment, 0, false);
  EXPECT_EQ(marked.Moves(), 1);  // 20 of 40; counted twice, it were 20 of 79.
}

TEST(PlbTest, MovesBecauseOfCongestionKeepTheirDistance) {
  Sender sender("{kind: plb, rehash_rounds: 1, move_every: 1ms}");
  for (int round = 0; round < 100; ++round) {
    sender.Round(40);
    sender.Sleep(100_us);
  }
  EXPECT_EQ(sender.Moves(), 10);
}

// --- In a network ---

// A spine dies without routing noticing. A flow on it moves with each timeout and is done; under
// ECMP it never ends.
TEST(PlbTest, FlowsLeaveADeadPathByTimeouts) {
  const auto run = [](const std::string& lb) {
    return RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 8, host_link: {rate: "
        "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}\n"
        "transport: {kind: dctcp, min_rto: 1ms, max_rto: 2ms}\nack_path: symmetric\n"
        "workload: [{kind: permutation, size: 2MB, cross_rack: true}]\n"
        "measure: {t_max: 200ms, unfinished: drop}\nrouting: {convergence: 1s}\n"
        "schedule: [{at: 500us, switches: [spine1], state: down}]\nlb: " +
        lb + "\n"));
  };
  EXPECT_GT(run("ecmp").result.unfinished, 0);
  EXPECT_EQ(run("{kind: plb, suspend: 10ms}").result.unfinished, 0);
}

}  // namespace heddle::plb_test
