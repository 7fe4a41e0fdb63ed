// SPDX-License-Identifier: Apache-2.0
// Queued ports of switches with more ports than a word has bits, and the watchdog at each port.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/support/switch_bench.h"
#include "tests/support/traces.h"

namespace heddle::wide_switch_test {

constexpr Duration kDelay = 1_us;

// Packets of 1250 bytes take 1 us at each port.
SwitchPlan PlanOf(size_t ports) {
  const PortSettings port{.rate = 10_Gbps, .delay = kDelay, .wire_overhead = 0_B};
  QueueSettings queues{.classes = 0b11, .scheduler = Scheduler::kStrict, .marking = {}};
  queues.quantum.fill(1'250);
  return EqualPorts(ports, port, queues);
}

// Each port gets between one and seven packets at once, and some of them more later: every packet
// leaves when those before it have left.
TEST(WideSwitchTest, EveryPortEmptiesItsOwnQueue) {
  for (const bool eager : {false, true}) {
    for (const size_t ports : {63u, 64u, 65u, 130u, 200u}) {
      SCOPED_TRACE(testing::Message() << ports << " ports, " << (eager ? "eager" : "late"));
      SwitchPlan plan = PlanOf(ports);
      plan.queueing.eager = eager;
      std::vector<Offer> offers;
      std::vector<std::vector<Time>> leaves(ports);
      for (size_t port = 0; port < ports; ++port) {
        const Packet packet = PacketOf(1'250, 1, static_cast<HostId>(port));
        const int first = 1 + static_cast<int>(port * 5 % 7);
        const int later = static_cast<int>(port % 3);
        const Duration again = 1_us * (2 + static_cast<int>(port % 11));
        for (int i = 0; i < first; ++i) {
          offers.push_back({Time{} + 1_us, static_cast<PortIndex>((port + 1) % ports), packet});
          leaves[port].push_back(Time{} + 1_us * (2 + i));
        }
        for (int i = 0; i < later; ++i) {
          const Time at = Time{} + again + 1_ns;
          offers.push_back({at, static_cast<PortIndex>((port + 1) % ports), packet});
          leaves[port].push_back(std::max(at, leaves[port].back()) + 1_us);
        }
      }
      SwitchBench bench(plan);
      bench.Run(offers);
      for (size_t port = 0; port < ports; ++port) {
        std::vector<Time> left;
        for (const Packet& packet : bench.received(static_cast<PortIndex>(port))) {
          left.push_back(packet.arrival - kDelay);
        }
        EXPECT_EQ(left, leaves[port]) << "port " << port;
      }
    }
  }
}

// --- The watchdog, which polls at 10, 20, 30, ... us ---

constexpr uint8_t kClass1 = 0b10;

SwitchPlan WatchedPlan(bool drops, Duration restore = 20_us) {
  SwitchPlan plan = PlanOf(4);
  plan.queueing.memory.lossless = kClass1;
  plan.queueing.watchdog = {.detect = 30_us, .restore = restore, .poll = 10_us, .drops = drops};
  return plan;
}

// Returns when the packets of 125 bytes that arrive for `port` at `packets` leave it, while pause
// frames come at `pauses`, and resume frames at `resumes`.
struct Storm {
  std::vector<Duration> packets;
  std::vector<Duration> pauses;
  std::vector<Duration> resumes = {};
  PortIndex port = 0;
};
struct Outcome {
  std::vector<Duration> left;
  int64_t storms = 0;
  int64_t dropped = 0;
  int64_t held = 0;  // Bytes in the buffer at the end.
};

Outcome RunStorm(const SwitchPlan& plan, const Storm& storm) {
  std::vector<Offer> offers;
  const PortIndex other = storm.port == 1 ? 2 : 1;
  for (const Duration at : storm.packets) {
    offers.push_back({Time{} + at, other, PacketOf(125, 1, storm.port)});
  }
  for (const Duration at : storm.pauses) {
    offers.push_back({Time{} + at, storm.port, PauseOf(kClass1, true)});
  }
  for (const Duration at : storm.resumes) {
    offers.push_back({Time{} + at, storm.port, PauseOf(kClass1, false)});
  }
  SwitchBench bench(plan);
  bench.Run(std::move(offers), {}, Time{} + 200_us);
  Outcome outcome;
  for (const Packet& packet : bench.received(storm.port)) {
    outcome.left.push_back(packet.arrival - kDelay - 100_ns - Time{});
  }
  outcome.storms = bench.node().queued()->storms();
  outcome.held = bench.node().queued()->BytesInMemory(kNever);
  outcome.dropped = bench.node().drops(DropReason::kWatchdog);
  return outcome;
}

// The class is paused from 10 us on, with a packet that waits: so it is stuck at 20, 30 and 40 us.
TEST(WatchdogTest, GivesUpAfterTheDetectionTimeAtAnyPort) {
  for (PortIndex port = 0; port < 4; ++port) {
    SCOPED_TRACE(port);
    const Storm storm = {.packets = {12_us}, .pauses = {10_us}, .port = port};
    const Outcome kept = RunStorm(WatchedPlan(false), storm);
    EXPECT_EQ(kept.left, std::vector<Duration>{40_us});
    EXPECT_EQ(kept.storms, 1);
    EXPECT_EQ(kept.dropped, 0);
    const Outcome lost = RunStorm(WatchedPlan(true), storm);
    EXPECT_TRUE(lost.left.empty());
    EXPECT_EQ(lost.storms, 1);
    EXPECT_EQ(lost.dropped, 1);
    EXPECT_EQ(lost.held, 0);
  }
}

// 9.9 of 10 us are 99 %.
TEST(WatchdogTest, AClassIsStuckIfItIsPausedFor99PercentOfAPoll) {
  const auto left = [](Duration pause) {
    return RunStorm(WatchedPlan(false), {.packets = {12_us}, .pauses = {pause}}).left;
  };
  EXPECT_EQ(left(10'100_ns), std::vector<Duration>{40_us});
  EXPECT_EQ(left(10'101_ns), std::vector<Duration>{50_us});
}

// A pause of 10 us in an earlier poll is none of this one, in which it is paused for 5 us.
TEST(WatchdogTest, EachPollCountsItsOwnPause) {
  const Storm storm = {.packets = {26_us}, .pauses = {10_us, 25_us}, .resumes = {20_us}};
  EXPECT_EQ(RunStorm(WatchedPlan(false), storm).left, std::vector<Duration>{60_us});
}

// The first poll after the start counts: 99 of 100 us.
TEST(WatchdogTest, TheFirstPollMayFindAStorm) {
  SwitchPlan plan = WatchedPlan(false);
  plan.queueing.watchdog.detect = plan.queueing.watchdog.poll = 100_us;
  EXPECT_EQ(RunStorm(plan, {.packets = {2_us}, .pauses = {1_us}}).left,
            std::vector<Duration>{100_us});
}

// Two polls are 20 us, which is not yet longer than the detection time; so it takes a third.
TEST(WatchdogTest, CountsFromZeroAfterAPollThatWasNotStuck) {
  SwitchPlan plan = WatchedPlan(false);
  plan.queueing.watchdog.detect = 20_us + 1_ps;
  const Storm storm = {.packets = {12_us}, .pauses = {10_us}};
  EXPECT_EQ(RunStorm(plan, storm).left, std::vector<Duration>{40_us});
}

TEST(WatchdogTest, AClassWithoutPacketsIsNotStuck) {
  EXPECT_EQ(RunStorm(WatchedPlan(false), {.packets = {22_us}, .pauses = {10_us}}).left,
            std::vector<Duration>{50_us});
  EXPECT_EQ(RunStorm(WatchedPlan(false), {.packets = {}, .pauses = {10_us}}).storms, 0);
}

// One packet begins between two pauses, at 15 us: the time begins anew at the next poll.
TEST(WatchdogTest, AClassThatSendsIsNotStuck) {
  const Outcome outcome = RunStorm(
      WatchedPlan(false),
      {.packets = {12_us, 12_us, 12_us}, .pauses = {10_us, 15'050_ns}, .resumes = {15_us}});
  EXPECT_EQ(outcome.left, (std::vector<Duration>{15_us, 50_us, 50'100_ns}));
  EXPECT_EQ(outcome.storms, 1);
}

// From 40 to 60 us the port ignores pauses. Then it obeys again, also one that came meanwhile and
// has not ended, and may see a storm again.
TEST(WatchdogTest, PausesAreIgnoredUntilTheyAreRestored) {
  const Outcome ignored = RunStorm(
      WatchedPlan(false), {.packets = {12_us, 51_us, 61_us}, .pauses = {10_us, 50_us, 60_us}});
  EXPECT_EQ(ignored.left, (std::vector<Duration>{40_us, 51_us, 90_us}));
  const Outcome restored = RunStorm(WatchedPlan(false), {.packets = {12_us, 62_us, 72_us},
                                                         .pauses = {10_us, 60'001_ns, 70_us},
                                                         .resumes = {55_us, 65_us}});
  EXPECT_EQ(restored.left, (std::vector<Duration>{40_us, 65_us, 100_us}));
  EXPECT_EQ(restored.storms, 2);
}

// Packets of the class that come in the meantime are dropped as well, and those of others are not.
TEST(WatchdogTest, DropsTheClassUntilPausesAreRestored) {
  SwitchPlan plan = WatchedPlan(true);
  plan.queues.classes = 0b111;
  SwitchBench bench(plan);
  std::vector<Offer> offers = {
      {Time{} + 10_us, 0, PauseOf(kClass1, true)}, {Time{} + 12_us, 1, PacketOf(125, 1, 0)},
      {Time{} + 45_us, 1, PacketOf(125, 1, 0)},    {Time{} + 46_us, 1, PacketOf(125, 2, 0)},
      {Time{} + 47_us, 2, PacketOf(125, 1, 3)},    {Time{} + 55_us, 0, PauseOf(kClass1, false)},
      {Time{} + 60'001_ns, 1, PacketOf(125, 1, 0)}};
  bench.Run(offers, {}, Time{} + 100_us);
  EXPECT_EQ(bench.node().drops(DropReason::kWatchdog), 2);
  ASSERT_EQ(bench.received(0).size(), 2u);
  EXPECT_EQ(bench.received(0)[0].priority, 2);
  EXPECT_EQ(bench.received(0)[1].arrival, Time{} + 60'101_ns + kDelay);
  EXPECT_EQ(bench.received(3).size(), 1u);
}

// A port counts the time of its pauses, whether it has packets or not.
TEST(PauseTotalsTest, CountPausesOfAPortWithoutPackets) {
  SwitchBench bench(PlanOf(2));
  bench.Run({{Time{} + 10_us, 0, PauseOf(kClass1, true)},
             {Time{} + 25_us, 0, PauseOf(kClass1, false)},
             {Time{} + 40_us, 0, PauseOf(kClass1, true)},
             {Time{} + 42_us, 1, PacketOf(125, 1, 0)},
             {Time{} + 45_us, 0, PauseOf(kClass1, false)}});
  const PauseTotals totals = bench.node().queued()->PausesOf(0, Time{} + 60_us);
  EXPECT_EQ(totals.paused, 20_us);
  EXPECT_EQ(totals.blocked, 3_us);
  EXPECT_EQ(totals.pauses, 2);
  EXPECT_EQ(totals.resumes, 2);
}

// --- What a policy sends itself ---

Packet OwnPacketTo(HostId dst) {
  Packet own;
  own.kind = PacketKind::kControl;
  own.bytes = 64;
  own.dst = dst;
  return own;
}

// Sends a packet of the control class to the port of each data packet, before that packet goes.
class SendingFirst final : public SwitchPolicy {
 public:
  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex,
                    const Candidates& candidates) override {
    view.SendControl(OwnPacketTo(packet.dst), candidates.ports.front());
    return Decision::Forward(candidates.ports.front());
  }
  size_t StateBytes() const override { return 0; }
};

// Both are in the queue at that instant, so the port chooses by class.
TEST(OwnPacketTest, WaitsForALowerClassThatComesAtTheSameInstant) {
  SwitchPlan plan = PlanOf(2);
  plan.queues.classes = 0b110;
  SwitchBench bench(plan, 1_us, std::make_unique<SendingFirst>());
  bench.node().SetClasses(2, 1);
  bench.Run({{Time{} + 2_us, 0, PacketOf(1'250, 1, 1)}});
  ASSERT_EQ(bench.received(1).size(), 2u);
  EXPECT_EQ(bench.received(1)[0].kind, PacketKind::kData);
  EXPECT_EQ(bench.received(1)[0].arrival, Time{} + 3_us + kDelay);
  EXPECT_EQ(bench.received(1)[1].kind, PacketKind::kControl);
}

// Sends a packet of the control class to port 1 at the time of a later packet.
class SendingAtATimer final : public SwitchPolicy {
 public:
  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex,
                    const Candidates& candidates) override {
    if (packet.dst == 0) view.SetTimer(view.now() + 2_us, 0);
    return Decision::Forward(candidates.ports.front());
  }
  void OnTimer(SwitchView& view, uint32_t) override { view.SendControl(OwnPacketTo(1), 1); }
  size_t StateBytes() const override { return 0; }
};

// A timer comes before the port chooses, so the lower class goes first.
TEST(OwnPacketTest, SentByATimerGoesBeforeAHigherClassOfItsInstant) {
  SwitchPlan plan = PlanOf(2);
  plan.queues.classes = 0b110;
  SwitchBench bench(plan, 1_us, std::make_unique<SendingAtATimer>());
  bench.node().SetClasses(1, 2);
  bench.Run({{Time{} + 2_us, 1, PacketOf(125, 2, 0)}, {Time{} + 4_us, 0, PacketOf(1'250, 2, 1)}});
  ASSERT_EQ(bench.received(1).size(), 2u);
  EXPECT_EQ(bench.received(1)[0].kind, PacketKind::kControl);
  EXPECT_EQ(bench.received(1)[0].arrival, Time{} + 4'051'200_ps + kDelay);
  EXPECT_EQ(bench.received(1)[1].arrival, Time{} + 5'051'200_ps + kDelay);
}

}  // namespace heddle::wide_switch_test
