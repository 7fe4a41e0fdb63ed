// SPDX-License-Identifier: Apache-2.0
// The shared buffer in a switch: what it admits, releases, pauses and resumes, compared with a
// switch in which everything is an event; links that fail or change; and packets that a policy
// holds back.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "fabric/shared_memory.h"
#include "tests/support/memory_rigs.h"
#include "tests/support/switch_bench.h"
#include "tests/support/traces.h"

namespace heddle::shared_memory_in_switch_test {

using Model = MemorySettings::Model;

void LetPausesExpire(PauseSettings& pause, Rng& rng) {
  using Refresh = PauseSettings::Refresh;
  constexpr Refresh kinds[] = {Refresh::kTimer, Refresh::kArrivals, Refresh::kNone};
  pause.quanta = static_cast<uint16_t>(1 + rng.Below(100));  // Up to 5 us.
  pause.refresh = kinds[rng.Below(3)];
  pause.interval =
      rng.Below(2) == 0 ? Duration{0} : 100_ns * static_cast<int64_t>(1 + rng.Below(20));
}

SwitchPlan RandomPlan(Model model, Rng& rng) {
  const MemoryRig rig = RandomMemoryRig(model, rng);
  SwitchPlan plan;
  plan.shares = rig.ports;
  plan.queueing.memory = rig.settings;
  plan.queueing.pause = {.response = rng.Below(2) == 0 ? Duration{0} : 200_ns,
                         .scan_all = rng.Below(2) == 0};
  plan.queues = {.classes = 0b1111, .scheduler = Scheduler::kRoundRobin, .marking = {}};
  plan.queues.queues_control = rng.Below(4) != 0;
  for (size_t p = 0; p < kRigPorts; ++p) {
    plan.ports.push_back({.rate = p == 2 ? 7_Gbps : 10_Gbps, .delay = 1_us, .wire_overhead = 20_B});
  }
  if (rng.Below(2) == 0) LetPausesExpire(plan.queueing.pause, rng);
  return plan;
}

void ExpectSame(SwitchBench& bench, EventSwitch& reference) {
  for (size_t r = 0; r < kDropReasons; ++r) {
    ASSERT_EQ(bench.node().drops(static_cast<DropReason>(r)), reference.drops[r]);
  }
  ASSERT_EQ(bench.node().queued()->frames_sent(), reference.frames_sent);
  for (PortIndex p = 0; p < kRigPorts; ++p) {
    const std::vector<EventPort::Sent>& sent = reference.ports()[p].sent;
    ASSERT_EQ(bench.received(p).size(), sent.size());
    for (size_t i = 0; i < sent.size(); ++i) {
      const Packet& packet = bench.received(p)[i];
      ASSERT_EQ(packet.arrival, sent[i].departure + 1_us);
      ASSERT_EQ(packet.kind, sent[i].packet.kind);
      ASSERT_EQ(packet.seq, sent[i].packet.seq);
      if (packet.kind != PacketKind::kPause) continue;
      ASSERT_EQ(packet.pause.stop, sent[i].packet.pause.stop);
      ASSERT_EQ(packet.pause.classes, sent[i].packet.pause.classes);
    }
  }
}

std::vector<std::pair<uint32_t, Time>> SeqsAndArrivals(const std::vector<Packet>& packets) {
  std::vector<std::pair<uint32_t, Time>> result;
  for (const Packet& packet : packets) result.emplace_back(packet.seq, packet.arrival);
  return result;
}

// Links fail, come up again, and get other rates, whatever the ports are doing. Before each change,
// appends to `occupied` the bytes in the shared buffer.
std::vector<SwitchBench::Action> RandomLinkChanges(Rng& rng, std::vector<int64_t>& occupied) {
  std::vector<SwitchBench::Action> actions;
  Time at{};
  for (int i = 0; i < 40; ++i) {
    at = at + 100_ns * static_cast<int64_t>(1 + rng.Below(60));
    const PortIndex port = static_cast<PortIndex>(rng.Below(3));
    const BitRate rate{1'000'000'000 * static_cast<int64_t>(1 + rng.Below(12))};
    const uint32_t what = rng.Below(3);
    actions.emplace_back(at, [port, rate, what, &occupied](Switch& node, Time now) {
      // Transmissions that end now still count, as at eager ports.
      occupied.push_back(node.queued()->BytesInMemory(now - 1_ps));
      if (what == 0 && !node.ports()[port].is_down()) return Fail(node, port, now);
      if (what == 1 && node.ports()[port].is_down()) return node.BringUp(port, now);
      node.SetChannel(port, now, rate, 1_us);
    });
  }
  return actions;
}

// Links that come up again after 0.1 to 3.5 us.
std::vector<PortChange> RandomFailures(Rng& rng) {
  std::vector<PortChange> changes;
  Time at{};
  for (int i = 0; i < 12; ++i) {
    at += 100_ns * static_cast<int64_t>(40 + rng.Below(60));
    const PortIndex port = static_cast<PortIndex>(rng.Below(3));
    changes.push_back({at, port, false});
    changes.push_back({at + 100_ns * static_cast<int64_t>(1 + rng.Below(35)), port, true});
  }
  return changes;
}

// A port that fails loses its packets, which then occupy nothing, and its pauses.
TEST(SharedMemoryTest, SwitchesWhoseLinksFailBehaveAsIfEverythingWereAnEvent) {
  int64_t lost = 0;
  int64_t frames = 0;
  ForEachMemoryModel(60, /*stream=*/10, [&](Model model, uint64_t seed, Rng& rng) {
    SwitchPlan plan = RandomPlan(model, rng);
    plan.queueing.eager = seed % 4 == 3;
    plan.queues.queues_control = seed % 3 != 0;
    std::vector<Offer> offers = RandomTrace(
        {.ports = 3, .pausable = 0b1110, .on_grid = seed % 2 == 0, .load = 4, .packets = 500}, rng);
    const std::vector<PortChange> changes = RandomFailures(rng);
    std::vector<SwitchBench::Action> actions;
    for (const PortChange& change : changes) {
      actions.emplace_back(change.at, [change](Switch& node, Time now) {
        change.up ? node.BringUp(change.port, now) : Fail(node, change.port, now);
      });
    }
    SwitchBench bench(plan);
    bench.Run(offers, actions);
    SortOffers(offers);
    EventSwitch reference(plan);
    reference.Run(offers, changes);
    ExpectSame(bench, reference);
    frames += reference.frames_sent;
    lost += reference.drops[static_cast<size_t>(DropReason::kLinkDown)];
  });
  EXPECT_GT(lost, 1'000);
  EXPECT_GT(frames, 100);
}

TEST(SharedMemoryTest, LinksThatChangeDoTheSameToLateAndEagerPorts) {
  int64_t lost = 0;
  ForEachMemoryModel(50, /*stream=*/9, [&](Model model, uint64_t /*seed*/, Rng& rng) {
    SwitchPlan plan = RandomPlan(model, rng);
    const std::vector<Offer> offers =
        RandomTrace({.ports = 3, .pausable = 0b1110, .load = 2, .packets = 300}, rng);
    std::vector<int64_t> occupied;
    const std::vector<SwitchBench::Action> actions = RandomLinkChanges(rng, occupied);
    SwitchBench late(plan);
    late.Run(offers, actions);
    const std::vector<int64_t> occupied_late = std::exchange(occupied, {});
    plan.queueing.eager = true;
    SwitchBench eager(plan);
    eager.Run(offers, actions);
    ASSERT_EQ(occupied_late, occupied);
    for (size_t r = 0; r < kDropReasons; ++r) {
      const DropReason reason = static_cast<DropReason>(r);
      ASSERT_EQ(late.node().drops(reason), eager.node().drops(reason));
    }
    for (PortIndex p = 0; p < kRigPorts; ++p) {
      ASSERT_EQ(SeqsAndArrivals(late.received(p)), SeqsAndArrivals(eager.received(p)));
    }
    EXPECT_EQ(late.node().queued()->frames_sent(), eager.node().queued()->frames_sent());
    lost += late.node().drops(DropReason::kLinkDown);
  });
  EXPECT_GT(lost, 1'000);
}

// The peers do not obey, so that headroom runs out as well.
TEST(SharedMemoryTest, SwitchesAdmitReleasePauseAndResumeAsIfEverythingWereAnEvent) {
  int64_t frames = 0;
  int64_t drops = 0;
  ForEachMemoryModel(100, /*stream=*/7, [&](Model model, uint64_t seed, Rng& rng) {
    SwitchPlan plan = RandomPlan(model, rng);
    plan.queueing.eager = seed % 4 == 3;  // The others become eager now and then.
    std::vector<Offer> offers = RandomTrace(
        {.ports = 3, .pausable = 0b1110, .on_grid = seed % 2 == 0, .load = 4, .packets = 500}, rng);
    SwitchBench bench(plan, seed % 3 == 0 ? 90_ns : 1_us);
    bench.Run(offers);
    SortOffers(offers);
    EventSwitch reference(plan);
    reference.Run(offers);
    ExpectSame(bench, reference);
    if (testing::Test::HasFatalFailure()) return;
    const bool shared = bench.node().queued()->memory() != nullptr;
    EXPECT_EQ(shared ? bench.node().queued()->BytesInMemory(kNever) : 0, 0);
    frames += reference.frames_sent;
    drops += std::accumulate(reference.drops.begin(), reference.drops.end(), int64_t{0});
  });
  EXPECT_GT(frames, 1'000);
  EXPECT_GT(drops, 1'000);
}

// --- Packets that a policy holds back ---

// Holds every packet that it finds room for until `until`, and releases them in their order.
class HoldingPolicy final : public SwitchPolicy {
 public:
  HoldingPolicy(Time until, PortIndex out) : until_(until), out_(out) {}
  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in,
                    const Candidates& c) override {
    const PortIndex port = c.ports.front();
    if (view.now() >= until_ || !view.Hold(packet, in, port)) return Decision::Forward(port);
    if (held_.empty()) view.SetTimer(until_, 0);
    held_.emplace_back(packet, in, port);
    return Decision::Hold();
  }
  void OnTimer(SwitchView& view, uint32_t) override {
    for (const auto& [packet, in, port] : held_) {
      if (out_ == port) {
        view.Release(packet, in, port);
      } else {
        view.Release(packet, in, port, out_);
      }
    }
  }
  size_t StateBytes() const override { return 0; }

 private:
  const Time until_;
  const PortIndex out_;
  std::vector<std::tuple<Packet, PortIndex, PortIndex>> held_;
};

// With alpha 1 a queue may hold half of 8000 bytes, whether its packets wait in it or are held back
// for it: four of six packets of 1000 bytes are held until 20 us, and two are dropped. Then each
// takes 0.8 us, at the port for which it was held or at another one.
TEST(HeldPacketTest, OccupiesTheSharedBuffer) {
  for (const bool eager : {false, true}) {
    for (const PortIndex out : {PortIndex{0}, PortIndex{2}}) {
      SCOPED_TRACE(fmt::format("eager {}, port {}", eager, out));
      SwitchPlan plan = EqualPorts(3, {.rate = 10_Gbps, .delay = 1_us, .wire_overhead = 0_B},
                                   {.classes = 0b10, .marking = {}});
      plan.queueing.memory = {.model = Model::kDynamic, .size = 8'000};
      plan.queueing.eager = eager;
      std::vector<Offer> offers;
      for (int64_t i = 0; i < 6; ++i)
        offers.push_back({Time{} + 2_us * (i + 1), 1, PacketOf(1'000, 1)});
      SwitchBench bench(plan, 1_us, std::make_unique<HoldingPolicy>(Time{} + 20_us, out));
      std::vector<int64_t> bytes;
      std::vector<SwitchBench::Action> samples;
      for (const Duration at : {1_us, 3_us, 15_us, 21_us, 30_us}) {
        samples.emplace_back(Time{} + at, [&](Switch& node, Time now) {
          bytes.push_back(node.queued()->BytesInMemory(now));
          EXPECT_EQ(node.held(), now < Time{} + 2_us    ? 0
                                 : now < Time{} + 4_us  ? 1
                                 : now < Time{} + 20_us ? 4
                                                        : 0);
        });
      }
      bench.Run(offers, samples);
      EXPECT_EQ(bytes, (std::vector<int64_t>{0, 1'000, 4'000, 3'000, 0}));
      EXPECT_EQ(bench.node().drops(DropReason::kThreshold), 2);
      ASSERT_EQ(bench.received(out).size(), 4u);
      for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(bench.received(out)[i].arrival,
                  Time{} + 21_us + 800_ns * static_cast<int64_t>(i + 1));
      }
    }
  }
}

// Input 1 must pause above 2500 bytes. Three packets of 1000 bytes are held: the third one pauses
// it. It resumes when the first one has left, at 20.8 us.
TEST(HeldPacketTest, PausesItsInputUntilItHasLeft) {
  for (const bool eager : {false, true}) {
    for (const bool scan_all : {false, true}) {
      SwitchPlan plan = EqualPorts(2, {.rate = 10_Gbps, .delay = 1_us, .wire_overhead = 0_B},
                                   {.classes = 0b10, .marking = {}});
      plan.queueing.memory.lossless = 0b10;
      plan.queueing.eager = eager;
      plan.queueing.pause.scan_all = scan_all;
      plan.shares = std::vector<SharedMemory::Port>(
          2, {.buffer = 0, .headroom = 9'000, .xoff = 2'500, .faster = 1});
      std::vector<Offer> offers;
      for (int64_t i = 0; i < 3; ++i)
        offers.push_back({Time{} + 2_us * (i + 1), 1, PacketOf(1'000, 1)});
      SwitchBench bench(plan, 1_us, std::make_unique<HoldingPolicy>(Time{} + 20_us, 0));
      bench.Run(offers);
      EXPECT_EQ(bench.received(0).size(), 3u);
      ASSERT_EQ(bench.received(1).size(), 2u);
      const Duration frame = SerializationDelay(64_B, 10_Gbps) + 1_us;
      EXPECT_TRUE(bench.received(1)[0].pause.stop);
      EXPECT_EQ(bench.received(1)[0].arrival, Time{} + 6_us + frame);
      EXPECT_FALSE(bench.received(1)[1].pause.stop);
      EXPECT_EQ(bench.received(1)[1].arrival, Time{} + 20'800_ns + frame);
    }
  }
}

}  // namespace heddle::shared_memory_in_switch_test
