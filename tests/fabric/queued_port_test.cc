// SPDX-License-Identifier: Apache-2.0
// One port with queues: what waits, worked examples, shares of classes, and marks.

#include "fabric/queued_port.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tests/support/late_port.h"
#include "tests/support/port_settings.h"
#include "tests/support/printers.h"
#include "tests/support/traces.h"

namespace heddle::queued_port_test {

// --- A port whose newest packets are taken back, and that loses classes ---

// While nothing is served, a port is what is enqueued and not taken, with the telemetry and the way
// that each packet came with.
TEST(QueuedPortTest, KnowsWhatWaitsWhenPacketsAreTakenBack) {
  struct Waiting {
    Packet packet;
    PortIndex in;
    uint32_t path;  // Of its telemetry.
  };
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "taken", 0);
    const bool count_packets = seed % 2 == 0;
    const BitRate rate = seed % 5 < 3 ? 10_Gbps : 7_Gbps;
    // Class 0 may queue without being one of the classes.
    const uint8_t classes = seed % 8 < 4 ? 0b10111 : 0b10110;
    QueueSettings settings = Queues(classes, Scheduler::kDeficit, {.above = 1, .all = 1});
    settings.telemetry = seed % 3 == 0;
    settings.queues_control = seed % 4 < 2;
    FifoPort out(Port(rate, 20_B, count_packets));
    QueuedPort port(out, settings, Rng::Stream(seed, "marks", 0), 0);
    std::array<std::vector<Waiting>, kClasses> queues;
    const size_t lowest = settings.queues_control ? 0 : 1;
    for (int i = 0; i < 300; ++i) {
      const size_t cls = std::array<size_t, 4>{lowest, 1, 2, 4}[rng.Below(4)];
      std::vector<Waiting>& queue = queues[cls];
      const uint32_t what = rng.Below(40);
      if (what == 0) {
        std::vector<uint32_t> lost;
        const auto note = [&](const Packet& packet, PortIndex) { lost.push_back(packet.seq); };
        std::vector<uint32_t> expected;
        for (size_t c = 0; c < kClasses; ++c) {
          if (seed % 5 != 0 && c != cls) continue;
          for (const Waiting& waiting : queues[c]) expected.push_back(waiting.packet.seq);
          queues[c].clear();
        }
        seed % 5 == 0 ? port.Clear(note) : port.ClearClass(cls, note);
        ASSERT_EQ(lost, expected);
      } else if (what < 16 && !queue.empty()) {
        const QueuedPort::Taken taken = port.TakeNewest(cls, 300);
        ASSERT_EQ(taken.packet.seq, queue.back().packet.seq);
        ASSERT_EQ(taken.packet.hops, queue.back().packet.hops);
        ASSERT_EQ(taken.packet.taken, queue.back().packet.taken);
        ASSERT_EQ(taken.in, queue.back().in);
        ASSERT_EQ(taken.telemetry.path, settings.telemetry ? queue.back().path : 0);
        queue.pop_back();
      } else {
        Packet packet =
            PacketOf(static_cast<uint16_t>(64 + rng.Below(1'400)), static_cast<uint8_t>(cls));
        packet.seq = static_cast<uint32_t>(i);
        packet.hops = static_cast<uint8_t>(rng.Below(9));
        packet.taken = static_cast<uint16_t>(rng.Below(65'536));
        Telemetry telemetry;
        telemetry.path = 1'000 + packet.seq;
        const bool has_some = rng.Below(2) == 0;
        queue.push_back(
            {packet, static_cast<PortIndex>(rng.Below(7)), has_some ? telemetry.path : 0});
        const Packet& queued =
            port.Enqueue(packet, has_some ? &telemetry : nullptr, 300, queue.back().in, Time{});
        ASSERT_EQ(queued.hops, packet.hops + 1);
        ASSERT_EQ(queued.taken, static_cast<uint16_t>(packet.taken + 300));
      }
      int64_t packets = 0;
      int64_t wire_bytes = 0;
      int64_t length = 0;
      unsigned backlogged = 0;
      for (size_t c = lowest; c < kClasses; ++c) {
        if (c != 0 && (settings.classes >> c & 1) == 0) continue;
        int64_t bytes = 0;
        ASSERT_EQ(port.waiting(c), queues[c].size());
        for (size_t k = 0; k < queues[c].size(); ++k) {
          bytes += queues[c][k].packet.bytes;
          ASSERT_EQ(port.WaitingAt(c, k).seq, queues[c][k].packet.seq);
          ASSERT_EQ(port.WaitsFrom(c, k), queues[c][k].in);
        }
        const int64_t its = std::ssize(queues[c]);
        ASSERT_EQ(port.WaitingBytes(c), bytes);
        ASSERT_EQ(port.Length(c, Time{}), count_packets ? its : bytes);
        ASSERT_EQ(port.QueueAt(c, Time{}).bytes, bytes);
        ASSERT_EQ(port.QueueAt(c, Time{}).packets, its);
        packets += its;
        wire_bytes += bytes + 20 * its;
        length += c == 0 ? 0 : count_packets ? its : bytes;
        backlogged |= its > 0 ? 1u << c : 0u;
        ASSERT_EQ(port.UnsentUpTo(c, Time{}).count, wire_bytes);
      }
      ASSERT_EQ(port.waiting(), packets);
      ASSERT_EQ(port.QueuedPackets(Time{}), packets);
      ASSERT_EQ(port.Length(Time{}), length);
      ASSERT_EQ(port.backlogged(), backlogged);
      ASSERT_EQ(port.QueueingDelay(Time{}), SerializationDelay(Bytes{wire_bytes}, rate));
      ASSERT_EQ(port.Unsent(Time{}).count, wire_bytes);
      ASSERT_EQ(port.NextService(), packets > 0 ? Time{} : kNever);
      if (!count_packets) {
        ASSERT_EQ(port.ControlBytes(Time{}), settings.queues_control ? port.WaitingBytes(0) : 0);
      }
    }
  }
}

// --- Worked examples: 10 Gbps, 1250 bytes in a microsecond ---

std::vector<Time> Departures(LatePort& late) {
  std::vector<Time> departures(late.received().size());
  for (const Packet& packet : late.received()) departures[packet.seq] = packet.arrival - kDelay;
  return departures;
}

Offer OfferAt(Duration at, uint8_t cls, uint32_t seq, uint16_t bytes = 1'250) {
  Packet packet = PacketOf(bytes, cls);
  packet.seq = seq;
  packet.Set(Packet::kEct);
  return {Time{} + at, 0, packet};
}

TEST(QueuedPortTest, ServesByPriorityButInterruptsNothing) {
  LatePort late(Port(10_Gbps), Queues(0b1111, Scheduler::kStrict));
  late.Run({OfferAt(1_us, 3, 0), OfferAt(1_us, 3, 1), OfferAt(1'500_ns, 2, 2),
            OfferAt(1'600_ns, 1, 3), OfferAt(1'700_ns, 0, 4, 125), OfferAt(2_us, 0, 5, 125)});
  // 0 was on the wire; at 2 us both of class 0 go first, then 3, 2 and 1.
  EXPECT_EQ(Departures(late),
            (std::vector<Time>{Time{} + 2_us, Time{} + 5'200_ns, Time{} + 4'200_ns,
                               Time{} + 3'200_ns, Time{} + 2'100_ns, Time{} + 2'200_ns}));
}

TEST(QueuedPortTest, FinishesTheFrameThatIsBeingSentWhenPaused) {
  LatePort late(Port(10_Gbps), Queues(0b110, Scheduler::kRoundRobin));
  late.Run({OfferAt(1_us, 1, 0),
            OfferAt(1_us, 1, 1),
            OfferAt(1_us, 2, 2),
            {Time{} + 1'001_ns, 0, PauseOf(0b010, true)},
            {Time{} + 1'002_ns, 0, PauseOf(0b100, true)},
            {Time{} + 5_us, 0, PauseOf(0b100, false)},
            {Time{} + 5'500_ns, 0, PauseOf(0b010, false)}});
  EXPECT_EQ(Departures(late), (std::vector<Time>{Time{} + 2_us, Time{} + 7_us, Time{} + 6_us}));
}

// Each of five packets of 1250 bytes finds the queue it makes, or leaves what is behind it, which
// may be counted with the packet itself.
TEST(QueuedPortTest, MarksByTheQueueAPacketMakesOrByTheOneItLeaves) {
  for (const auto& [at_dequeue, departing] : kMarkAt) {
    LatePort late(Port(10_Gbps), Queues(0b110, Scheduler::kStrict,
                                        {.above = 2'500,
                                         .all = 2'500,
                                         .at_dequeue = at_dequeue,
                                         .counts_departing = departing}));
    std::vector<Offer> offers;
    for (uint32_t i = 0; i < 5; ++i) offers.push_back(OfferAt(1_us, 1, i));
    for (uint32_t i = 5; i < 9; ++i) offers.push_back(OfferAt(1_us, 2, i));  // Another class.
    late.Run(offers);
    std::vector<uint32_t> marked;
    for (const Packet& packet : late.received()) {
      if (packet.Has(Packet::kCe)) marked.push_back(packet.seq);
    }
    EXPECT_EQ(marked, departing    ? (std::vector<uint32_t>{0, 1, 2, 5, 6})
                      : at_dequeue ? (std::vector<uint32_t>{0, 1, 5})
                                   : (std::vector<uint32_t>{2, 3, 4, 7, 8}));
    EXPECT_EQ(late.out().marked(), std::ssize(marked));
  }
}

// Two packets of 1250 bytes: the first leaves 1250 behind, and 2500 with itself counted. A queue of
// exactly K is not marked. A packet that finds the port idle counts itself as well.
TEST(QueuedPortTest, MarksAboveKWithOrWithoutTheDepartingPacket) {
  const auto marked = [](int64_t k, bool departing, std::vector<Offer> offers) {
    LatePort late(
        Port(10_Gbps),
        Queues(0b10, Scheduler::kStrict,
               {.above = k, .all = k, .at_dequeue = true, .counts_departing = departing}));
    late.Run(offers);
    return late.out().marked();
  };
  const std::vector<Offer> two = {OfferAt(1_us, 1, 0), OfferAt(1_us, 1, 1)};
  EXPECT_EQ(marked(1'250, false, two), 0);
  EXPECT_EQ(marked(1'249, false, two), 1);
  EXPECT_EQ(marked(2'500, true, two), 0);
  EXPECT_EQ(marked(2'499, true, two), 1);
  const std::vector<Offer> one = {OfferAt(1_us, 1, 0)};
  EXPECT_EQ(marked(0, false, one), 0);
  EXPECT_EQ(marked(1'250, true, one), 0);
  EXPECT_EQ(marked(1'249, true, one), 1);
}

// --- Shares ---

// Saturated classes share by bytes as their quanta are to each other, within a turn of each.
TEST(QueuedPortTest, DeficitRoundRobinSharesByQuanta) {
  QueueSettings queues = Queues(0b1110, Scheduler::kDeficit);
  queues.quantum = {0, 4'000, 1'000, 500};
  Rng rng = Rng::Stream(1, "test", 0);
  std::vector<Offer> offers;
  for (int i = 0; i < 30'000; ++i) {
    const uint8_t cls = static_cast<uint8_t>(1 + i % 3);
    // The packets of a class are of other sizes than those of the next.
    const uint16_t bytes = static_cast<uint16_t>(64 + rng.Below(500u * cls - 60));
    offers.push_back({Time{} + 1_us, 0, PacketOf(bytes, cls)});
  }
  LatePort late(Port(10_Gbps), queues);
  late.Run(offers);
  std::array<int64_t, 4> served = {};
  constexpr int64_t kMaxPacket = 1'504;
  for (size_t i = 0; i < 5'000; ++i) {  // While all have something.
    const Packet& packet = late.received()[i];
    served[packet.priority] += packet.bytes;
    for (size_t cls = 2; cls <= 3; ++cls) {
      const double turns = static_cast<double>(served[1]) / 4'000;
      const double others =
          static_cast<double>(served[cls]) / static_cast<double>(queues.quantum[cls]);
      ASSERT_NEAR(turns, others, 1 + kMaxPacket / 500.0);
    }
  }
  EXPECT_GT(served[1], 1'000'000);
}

// Quanta of 1000 bytes. Class 1 sends a packet of 900 and is empty, so that it keeps nothing of its
// turn: its next packet needs one more turn if it has 1000 bytes, and two if it has 1001.
TEST(QueuedPortTest, AClassThatRunsEmptyKeepsNothingOfItsTurn) {
  for (const bool fits : {true, false}) {
    QueueSettings queues = Queues(0b110, Scheduler::kDeficit);
    queues.quantum = {0, 1'000, 1'000};
    LatePort late(Port(10_Gbps), queues);
    std::vector<Offer> offers = {OfferAt(1_us, 1, 0, 900)};
    for (uint32_t i = 1; i <= 4; ++i) offers.push_back(OfferAt(1_us, 2, i, 1'000));
    offers.push_back(OfferAt(2_us, 1, 5, fits ? 1'000 : 1'001));
    late.Run(offers);
    std::vector<uint32_t> order;
    for (const Packet& packet : late.received()) order.push_back(packet.seq);
    EXPECT_EQ(order, fits ? (std::vector<uint32_t>{0, 1, 5, 2, 3, 4})
                          : (std::vector<uint32_t>{0, 1, 2, 5, 3, 4}));
  }
}

TEST(QueuedPortTest, RoundRobinSharesByPackets) {
  std::vector<Offer> offers;
  for (uint32_t i = 0; i < 300; ++i) {
    const uint8_t cls = static_cast<uint8_t>(1 + i / 100);
    offers.push_back(OfferAt(1_us, cls, i, static_cast<uint16_t>(400 * cls)));
  }
  LatePort late(Port(10_Gbps), Queues(0b1110, Scheduler::kRoundRobin));
  late.Run(offers);
  for (size_t i = 0; i < 300; ++i) EXPECT_EQ(late.received()[i].priority, 1 + i % 3);
}

// --- Marking between two lengths ---

// Returns the share of packets that are marked at a queue that is held at `length` bytes: the next
// packet comes as one leaves.
double ShareMarkedAt(int64_t length, bool at_dequeue) {
  constexpr int kPackets = 100'000;
  const int64_t held = length / 1'000 + (at_dequeue ? 1 : 0);
  std::vector<Offer> offers;
  for (int64_t i = 0; i < held + kPackets; ++i) {
    const Duration at = 1_us + 800_ns * std::max<int64_t>(0, i - held + 1);
    offers.push_back(OfferAt(at, 3, static_cast<uint32_t>(i), 1'000));
  }
  LatePort late(
      Port(10_Gbps),
      Queues(0b1000, Scheduler::kRoundRobin,
             {.above = 100'000, .all = 300'000, .at_all = 0.2, .at_dequeue = at_dequeue}));
  late.Run(offers);
  int64_t marked = 0;
  const size_t first = at_dequeue ? 0 : static_cast<size_t>(held);
  for (size_t i = first; i < first + kPackets; ++i) {
    marked += late.received()[i].Has(Packet::kCe) ? 1 : 0;
  }
  return static_cast<double>(marked) / kPackets;
}

TEST(QueuedPortTest, MarksBetweenTheThresholdsWithAProbabilityThatGrows) {
  for (const bool at_dequeue : {false, true}) {
    SCOPED_TRACE(at_dequeue ? "dequeue" : "enqueue");
    const auto expect = [&](int64_t length, double p) {
      EXPECT_NEAR(ShareMarkedAt(length, at_dequeue), p, 3 * std::sqrt(p * (1 - p) / 100'000));
    };
    expect(100'000, 0);
    expect(150'000, 0.05);
    expect(200'000, 0.1);
    expect(300'000, 0.2);
    expect(301'000, 1);
  }
}

}  // namespace heddle::queued_port_test
