// SPDX-License-Identifier: Apache-2.0
// The queued ports of a switch together: class 0, a shared buffer, marks, and links that change.
// Late and eager ports give the same results.

#include "fabric/queued_ports.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/support/port_settings.h"
#include "tests/support/printers.h"
#include "tests/support/switch_bench.h"
#include "tests/support/traces.h"

namespace heddle::queued_ports_test {

// --- Class 0 ---

// Two peers send at full rate to one port, and now and then a control packet. It waits for the
// packet being sent at most, 1250 bytes, and is never dropped.
TEST(QueuedPortsTest, ControlWaitsForOnePacketAtMostAndIsNeverDropped) {
  for (const bool eager : {false, true}) {
    PortSettings port = Port(10_Gbps);
    port.buffer = 10'000;
    SwitchPlan plan = EqualPorts(4, port, Queues(0b11, Scheduler::kStrict));
    plan.queueing.eager = eager;
    Rng rng = Rng::Stream(1, "test", 0);
    std::vector<Offer> offers;
    for (int64_t i = 0; i < 4'000; ++i) {
      const Duration at = 1_us + 1_us * (i / 2) + 3_ns * (i % 2);
      offers.push_back({Time{} + at, static_cast<PortIndex>(i % 2), PacketOf(1'250, 1, 3)});
    }
    constexpr int64_t kControl = 1'000;
    for (int64_t i = 0; i < kControl; ++i) {
      const Time at = Time{} + 10_us + 1'950_ns * i + Duration{rng.Below(800'000)};
      offers.push_back({at, 2, PacketOf(64, 0, 3)});
      offers.back().packet.sent = at;
    }
    SwitchBench bench(plan);
    bench.Run(offers);
    Duration longest{0};
    int64_t received = 0;
    const Duration own = SerializationDelay(64_B, 10_Gbps);
    for (const Packet& packet : bench.received(3)) {
      if (packet.priority != 0) continue;
      ++received;
      longest = std::max(longest, packet.arrival - packet.sent);
    }
    EXPECT_EQ(received, kControl);
    EXPECT_LE(longest, own + kDelay + 1_us);
    EXPECT_GT(longest, own + kDelay + 900_ns);
    EXPECT_GT(bench.node().drops(DropReason::kTail), 1'000);
  }
}

// --- A shared buffer ---

// Alpha is 1: of 8000 bytes, 3999 are safe. 1333 bytes take 1066.4 ns. The fourth packet makes late
// ports eager at the instant at which the first one has left. It finds 2666 bytes in the buffer and
// fits; with 3999 it would not.
TEST(QueuedPortsTest, APacketThatHasJustLeftMakesRoom) {
  for (const bool eager : {false, true}) {
    SCOPED_TRACE(eager);
    SwitchPlan plan = EqualPorts(2, Port(10_Gbps), Queues(0b10, Scheduler::kStrict));
    plan.queueing.memory = {.model = MemorySettings::Model::kDynamic, .size = 8'000};
    plan.queueing.eager = eager;
    std::vector<Offer> offers(3, {Time{} + 1_us, 1, PacketOf(1'333, 1)});
    offers.push_back({Time{} + 1_us + 1'066'400_ps, 1, PacketOf(1'333, 1)});
    SwitchBench bench(plan);
    bench.Run(offers);
    EXPECT_EQ(bench.received(0).size(), 4u);
    EXPECT_EQ(bench.node().drops(DropReason::kThreshold), 0);
  }
}

// Ports with little safe space (half of the buffer less a byte, with alpha 1) are always eager.
TEST(QueuedPortsTest, AreAlwaysEagerIfLittleIsSafe) {
  for (const int64_t size : {5'998, 6'000, 6'002, 6'004}) {
    SwitchPlan plan = EqualPorts(2, Port(10_Gbps), Queues(0b10, Scheduler::kStrict));
    plan.queueing.memory = {.model = MemorySettings::Model::kDynamic, .size = size};
    EXPECT_EQ(SwitchBench(plan).node().queued()->eager(), size / 2 - 1 < 3'000) << size;
  }
}

using Bits = std::vector<bool>;

// Returns whether the ports are eager at these times.
Bits EagerAt(const std::vector<Duration>& times, const SwitchPlan& plan,
             const std::vector<Offer>& offers) {
  Bits eager;
  std::vector<SwitchBench::Action> samples;
  for (const Duration time : times) {
    samples.emplace_back(Time{} + time,
                         [&](Switch& node, Time) { eager.push_back(node.queued()->eager()); });
  }
  SwitchBench bench(plan);
  bench.Run(offers, samples);
  return eager;
}

// 8000 bytes are safe. A packet of 1000 bytes leaves port 0 within 100 us, and port 1 within 0.8
// us. Ports stay late until more than 8000 bytes have come. Then they become eager if more than
// three quarters of these are in the buffer, and late again when half of them are.
TEST(QueuedPortsTest, BecomeEagerAndLateWithTheBytesInTheBuffer) {
  SwitchPlan plan = EqualPorts(3, Port(10_Gbps), Queues(0b10, Scheduler::kStrict));
  plan.ports[0].rate = 80_Mbps;
  plan.queueing.memory = {.model = MemorySettings::Model::kDynamic, .size = 16'002};
  // Packets for port 0 at 1 us, then some for port 1; the last one for port 0 has more bytes.
  const auto run = [&](int slow, int fast, uint16_t more, std::vector<Duration> at) {
    std::vector<Offer> offers;
    for (int i = 0; i < slow; ++i) {
      const uint16_t bytes = static_cast<uint16_t>(1'000 + (i + 1 == slow ? more : 0));
      offers.push_back({Time{} + 1_us, 2, PacketOf(bytes, 1, 0)});
    }
    for (int i = 0; i < fast; ++i) {
      offers.push_back({Time{} + 2_us * (i + 2), 2, PacketOf(1'000, 1, 1)});
    }
    return EagerAt(at, plan, offers);
  };
  EXPECT_EQ(run(8, 0, 0, {50_us}), Bits{false});
  EXPECT_EQ(run(8, 0, 1, {50_us}), Bits{true});
  EXPECT_EQ(run(5, 6, 0, {30_us}), Bits{false});  // 6000 with the one that comes.
  EXPECT_EQ(run(5, 6, 1, {30_us}), Bits{true});
  // A ninth packet is dropped. Four of eight are left after 401 us, three after 501 us.
  EXPECT_EQ(run(9, 0, 0, {390_us, 410_us}), (Bits{true, false}));
  EXPECT_EQ(run(8, 0, 1, {410_us, 490_us, 510_us}), (Bits{true, true, false}));
}

// 14,000 bytes are safe, a quarter of what headroom leaves, and 4000 of them from one input.
// Packets of 1000 bytes wait at port 0, which takes 100 us for each.
TEST(QueuedPortsTest, BecomeEagerAndLateWithTheBytesOfAnInput) {
  SwitchPlan plan = EqualPorts(4, Port(10_Gbps), Queues(0b10, Scheduler::kStrict));
  plan.ports[0].rate = 80_Mbps;
  plan.queueing.memory = {
      .model = MemorySettings::Model::kDynamic, .size = 64'000, .lossless = 0b10};
  for (SharedMemory::Port& port : plan.shares)
    port = {.buffer = 0, .headroom = 2'000, .xoff = 4'000};
  const auto run = [&](int from_2, int from_3, std::vector<Duration> at) {
    std::vector<Offer> offers;
    for (int i = 0; i < from_2; ++i) offers.push_back({Time{} + 1_us, 2, PacketOf(1'000, 1, 0)});
    for (int i = 0; i < from_3; ++i) offers.push_back({Time{} + 1_us, 3, PacketOf(1'000, 1, 0)});
    return EagerAt(at, plan, offers);
  };
  EXPECT_EQ(run(4, 4, {50_us}), Bits{false});
  EXPECT_EQ(run(5, 0, {50_us}), Bits{true});
  // Packets of input 2 go first. Those of input 3 keep the ports eager until two of them are left.
  EXPECT_EQ(run(5, 4, {690_us, 710_us}), (Bits{true, false}));
}

// 8000 bytes are safe. Seven packets fill port 0, which is slow; then packets pass port 1, which is
// fast and free. The second of these makes late ports eager, and leaves before the third comes.
TEST(QueuedPortsTest, APacketThatMakesPortsEagerMayPassAtOnce) {
  for (int shift = 0; shift < 10; ++shift) {  // In some of these all come within one window.
    SCOPED_TRACE(shift);
    std::vector<Time> arrivals[2];
    for (const bool eager : {false, true}) {
      SwitchPlan plan = EqualPorts(3, Port(100_Gbps), Queues(0b10, Scheduler::kStrict));
      plan.ports[0].rate = 80_Mbps;
      plan.queueing.memory = {.model = MemorySettings::Model::kDynamic, .size = 16'002};
      plan.queueing.eager = eager;
      const Time start = Time{} + 2_us + 100_ns * shift;
      std::vector<Offer> offers(7, {Time{} + 1_us, 2, PacketOf(1'000, 1, 0)});
      for (const Duration at : {0_ns, 200_ns, 400_ns, 600_ns}) {
        offers.push_back({start + at, 2, PacketOf(1'000, 1, 1)});
      }
      SwitchBench bench(plan);
      bench.Run(offers);
      for (const Packet& packet : bench.received(1)) arrivals[eager].push_back(packet.arrival);
      EXPECT_EQ(arrivals[eager].size(), 4u);
      EXPECT_EQ(bench.received(0).size(), 7u);
      EXPECT_EQ(bench.node().queued()->BytesInMemory(kNever), 0);
    }
    EXPECT_EQ(arrivals[0], arrivals[1]);
  }
}

// --- Marks ---

// Sends packets through two ports of switch `id`. Each finds an empty queue, which is half-way
// between the thresholds with it. Returns for each packet if it was marked, port by port.
std::vector<std::vector<bool>> MarksOfSwitch(SwitchId id) {
  constexpr int64_t kPackets = 2'000;
  SwitchPlan plan = EqualPorts(3, Port(10_Gbps),
                               Queues(0b1000, Scheduler::kRoundRobin, {.above = 0, .all = 2'000}));
  std::vector<Offer> offers;
  for (int64_t i = 0; i < kPackets; ++i) {
    for (const HostId dst : {HostId{0}, HostId{1}}) {
      offers.push_back({Time{} + 1_us * (i + 1), 2, PacketOf(1'000, 3, dst)});
      offers.back().packet.Set(Packet::kEct);
    }
  }
  SwitchBench bench(plan, 1_us, nullptr, id);
  bench.Run(offers);
  std::vector<std::vector<bool>> marks;
  for (const PortIndex port : {PortIndex{0}, PortIndex{1}}) {
    marks.emplace_back();
    for (const Packet& packet : bench.received(port)) {
      marks.back().push_back(packet.Has(Packet::kCe));
    }
    EXPECT_EQ(marks.back().size(), static_cast<size_t>(kPackets));
  }
  return marks;
}

// Marks of different ports are independent: 2000 pairs agree in half of the cases, within four
// deviations of sqrt(2000) / 2 = 22.
TEST(QueuedPortsTest, EachPortOfEachSwitchDrawsItsOwnMarks) {
  const std::vector<std::vector<bool>> first = MarksOfSwitch(0);
  const std::vector<std::vector<bool>> second = MarksOfSwitch(1);
  EXPECT_EQ(first, MarksOfSwitch(0));
  const std::vector<std::vector<bool>> all = {first[0], first[1], second[0], second[1]};
  for (size_t a = 0; a < all.size(); ++a) {
    EXPECT_NEAR(static_cast<double>(std::ranges::count(all[a], true)), 1'000, 90);
    for (size_t b = 0; b < a; ++b) {
      double agree = 0;
      for (size_t i = 0; i < all[a].size(); ++i) agree += all[a][i] == all[b][i] ? 1 : 0;
      EXPECT_NEAR(agree, 1'000, 90) << a << " and " << b;
    }
  }
}

// --- Links that change ---

// Two packets of class 0 would leave until 12 us, and one of class 1 waits behind them. The link
// fails at 10.5 us, loses all of them, and is up again at 10.6 us. What comes then leaves at once.
TEST(QueuedPortsTest, AfterAFailureNothingWaitsForWhatWasLost) {
  for (const bool eager : {false, true}) {
    SwitchPlan plan =
        EqualPorts(2, {.rate = 10_Gbps, .delay = 5_us, .wire_overhead = 0_B},
                   {.classes = 0b111, .scheduler = Scheduler::kStrict, .marking = {}});
    plan.queueing.eager = eager;
    SwitchBench bench(plan);
    bench.Run({{Time{} + 10_us, 1, PacketOf(1'250, 0, 0)},
               {Time{} + 10_us, 1, PacketOf(1'250, 0, 0)},
               {Time{} + 10_us, 1, PacketOf(1'250, 1, 0)},
               {Time{} + 10'700_ns, 1, PacketOf(125, 2, 0)},
               {Time{} + 10'700_ns, 1, PacketOf(125, 2, 0)},
               {Time{} + 11'500_ns, 1, PacketOf(125, 1, 0)}},
              {{Time{} + 10'500_ns, [](Switch& node, Time now) { Fail(node, 0, now); }},
               {Time{} + 10'600_ns, [](Switch& node, Time now) { node.BringUp(0, now); }}});
    std::vector<std::pair<int, Duration>> left;
    for (const Packet& packet : bench.received(0)) {
      left.emplace_back(packet.priority, packet.arrival - Time{} - 5_us);
    }
    EXPECT_EQ(left, (std::vector<std::pair<int, Duration>>{
                        {2, 10'800_ns}, {2, 10'900_ns}, {1, 11'600_ns}}))
        << (eager ? "eager" : "late");
  }
}

// Five control packets and then data at 10 Mbps: 125 bytes take 100 us. At 50 us the link becomes a
// thousand times as fast; the packet being sent goes on as it began.
TEST(QueuedPortsTest, ARateThatRisesIsNoticedAtOnce) {
  for (const bool eager : {false, true}) {
    SCOPED_TRACE(eager);
    SwitchPlan plan = EqualPorts(2, Port(10_Mbps), Queues(0b11, Scheduler::kStrict));
    plan.queueing.eager = eager;
    std::vector<Offer> offers(5, {Time{} + 1_us, 1, PacketOf(125, 0)});
    offers.push_back({Time{} + 1_us, 1, PacketOf(125, 1)});
    SwitchBench bench(plan);
    bench.Run(offers, {{Time{} + 50_us,
                        [](Switch& node, Time now) { node.SetChannel(0, now, 10_Gbps, kDelay); }}});
    ASSERT_EQ(bench.received(0).size(), 6u);
    EXPECT_EQ(bench.received(0)[0].arrival, Time{} + 101_us + kDelay);
    EXPECT_EQ(bench.received(0)[4].arrival, Time{} + 101_us + 400_ns + kDelay);
    EXPECT_EQ(bench.received(0)[5].arrival, Time{} + 101_us + 500_ns + kDelay);
  }
}

std::vector<std::pair<Duration, bool>> ResponsesLateAndEager() {
  return {{Duration{0}, false}, {10_us, false}, {Duration{0}, true}, {10_us, true}};
}

// The link fails while the first of three packets leaves, in class 1 or class 0.
TEST(QueuedPortsTest, AFailureLeavesNothingOfAnyQueue) {
  for (const bool packets : {false, true}) {
    for (const bool eager : {false, true}) {
      for (const uint8_t cls : {uint8_t{0}, uint8_t{1}}) {
        SwitchPlan plan =
            EqualPorts(2, Port(10_Gbps, 0_B, packets), Queues(0b111, Scheduler::kDeficit));
        plan.queueing.eager = eager;
        SwitchBench bench(plan);
        const auto fail = [](Switch& node, Time now) {
          QueuedPort& port = (*node.queued())[0];
          EXPECT_GT(port.QueuedPackets(now), 0);
          Fail(node, 0, now);
          EXPECT_EQ(port.Length(now), 0);
          EXPECT_EQ(port.QueuedPackets(now), 0);
          EXPECT_EQ(port.Unsent(now), 0_B);
          EXPECT_EQ(port.backlogged(), 0u);
          for (const size_t c : {0u, 1u, 2u}) {
            EXPECT_EQ(port.QueueAt(c, now).bytes, 0);
            EXPECT_EQ(port.QueueAt(c, now).packets, 0);
          }
        };
        bench.Run({{Time{} + 1_us, 1, PacketOf(1'250, cls)},
                   {Time{} + 1_us, 1, PacketOf(1'250, 1)},
                   {Time{} + 1_us, 1, PacketOf(1'250, 2)}},
                  {{Time{} + 1'500_ns, fail}});
        EXPECT_TRUE(bench.received(0).empty());
      }
    }
  }
}

// Port 0 gets pause frames, and packets from port 1. Its link is down from 5 us to 6 us. Returns
// what leaves through it.
std::vector<Packet> SentDespiteFailure(Duration response, bool eager,
                                       const std::vector<Offer>& offers) {
  SwitchPlan plan = EqualPorts(2, Port(10_Gbps), Queues(0b10, Scheduler::kStrict));
  plan.queueing.eager = eager;
  plan.queueing.pause.response = response;
  SwitchBench bench(plan);
  bench.Run(offers, {{Time{} + 5_us, [](Switch& node, Time now) { Fail(node, 0, now); }},
                     {Time{} + 6_us, [](Switch& node, Time now) { node.BringUp(0, now); }}});
  return bench.received(0);
}

// A pause frame takes effect a while after its arrival. If the link fails meanwhile it is void: the
// other end has forgotten that it asked for a pause, and will not lift it.
TEST(QueuedPortsTest, ALinkThatFailsVoidsPausesOnTheirWay) {
  for (const auto& [response, eager] : ResponsesLateAndEager()) {
    SCOPED_TRACE(fmt::format("{} ps, {}", response.ps, eager ? "eager" : "late"));
    const std::vector<Packet> sent = SentDespiteFailure(
        response, eager,
        {{Time{} + 2_us, 0, PauseOf(0b10, true)}, {Time{} + 50_us, 1, PacketOf(125, 1)}});
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].arrival, Time{} + 50_us + 100_ns + kDelay);
  }
}

// A link that fails in the other direction alone: the packet that waits for the end of the pause
// leaves at once.
TEST(QueuedPortsTest, APauseThatIsVoidHoldsNothingBack) {
  for (const auto& [response, eager] : ResponsesLateAndEager()) {
    SCOPED_TRACE(fmt::format("{} ps, {}", response.ps, eager ? "eager" : "late"));
    SwitchPlan plan = EqualPorts(2, Port(10_Gbps), Queues(0b10, Scheduler::kStrict));
    plan.queueing.eager = eager;
    plan.queueing.pause.response = response;
    SwitchBench bench(plan);
    bench.Run({{Time{} + 2_us, 0, PauseOf(0b10, true)},
               {Time{} + 20_us, 1, PacketOf(125, 1)},
               {Time{} + 30_us, 1, PacketOf(125, 1)}},
              {{Time{} + 40_us, [](Switch& node, Time now) { node.VoidPauses(0, now); }}});
    ASSERT_EQ(bench.received(0).size(), 2u);
    EXPECT_EQ(bench.received(0)[0].arrival, Time{} + 40_us + 100_ns + kDelay);
    EXPECT_EQ(bench.received(0)[1].arrival, Time{} + 40_us + 200_ns + kDelay);
  }
}

// A failure acts before all packets of its instant. So a pause frame that arrives at that instant
// came over the link after the failure, and counts, however long it takes to have an effect.
TEST(QueuedPortsTest, APauseOfTheInstantOfTheFailureCounts) {
  for (const auto& [response, eager] : ResponsesLateAndEager()) {
    SCOPED_TRACE(fmt::format("{} ps, {}", response.ps, eager ? "eager" : "late"));
    const std::vector<Packet> sent =
        SentDespiteFailure(response, eager,
                           {{Time{} + 5_us, 0, PauseOf(0b10, true)},
                            {Time{} + 50_us, 1, PacketOf(125, 1)},
                            {Time{} + 60_us, 0, PauseOf(0b10, false)}});
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].arrival, Time{} + 60_us + response + 100_ns + kDelay);
  }
}

}  // namespace heddle::queued_ports_test
