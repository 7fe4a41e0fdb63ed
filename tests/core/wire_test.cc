// SPDX-License-Identifier: Apache-2.0
// Wires and the merge of those that arrive at one node.

#include "core/wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <tuple>
#include <vector>

#include "core/engine.h"
#include "core/random.h"

namespace heddle::wire_test {

class Receiver final : public Node {
 public:
  void Run(const Window&) override {}
  Time Due() const override { return arrivals_.Next(); }
  Arrivals& arrivals() { return arrivals_; }
};

// `wires` wires into one node, driven by hand.
class Merge {
 public:
  explicit Merge(size_t wires) : tails_(wires), last_(wires, Time{-kNever.ps}) {
    engine_.Add(sender_, engine_.AddGroup());
    engine_.Add(receiver_, 0);
    for (WireTail& tail : tails_) engine_.Connect(sender_, tail, receiver_, 1_ps);
    engine_.Place(1);
  }

  void Push(size_t wire, Time arrival, uint32_t seq) {
    Packet& packet = tails_[wire].Slot();
    packet.Clear();
    packet.arrival = arrival;
    packet.seq = seq;
    tails_[wire].Commit(arrival, std::exchange(last_[wire], arrival), horizon);
  }

  void CarryTelemetry(size_t wire) { tails_[wire].CarryTelemetry(); }
  Arrivals& arrivals() { return receiver_.arrivals(); }
  WireTail& tail(size_t wire) { return tails_[wire]; }
  Engine& engine() { return engine_; }
  Time horizon;  // All that arrives before it has been taken.

 private:
  Engine engine_;
  Receiver sender_;
  Receiver receiver_;
  std::deque<WireTail> tails_;
  std::vector<Time> last_;
};

struct Arrived {
  Time at;
  PortIndex port;
  uint32_t seq;
  friend auto operator<=>(const Arrived&, const Arrived&) = default;
};

enum class Way { kOneByOne, kWhile, kInParts, kLookingAhead };

// Everything that arrives before `end`, taken in one of four ways.
std::vector<Arrived> TakeBefore(Merge& merge, Time end, Way way = Way::kOneByOne) {
  std::vector<Arrived> taken;
  Arrivals& arrivals = merge.arrivals();
  const auto take = [&](const Packet& packet, PortIndex port, Time at) {
    EXPECT_EQ(packet.arrival, at);
    taken.push_back({at, port, packet.seq});
    return true;
  };
  const auto look = [](const Packet& packet) { return packet.seq; };
  if (way == Way::kWhile) {
    arrivals.TakeWhile(
        end, [](const Packet&, PortIndex, Time) { return true; }, take);
  }
  while (way == Way::kInParts && arrivals.Next() < end) {  // Each visit of a third packet stops.
    arrivals.TakeBefore(end, look,
                        [&](const Packet& packet, PortIndex port, Time at, uint32_t seen) {
                          EXPECT_EQ(packet.seq, seen);
                          return take(packet, port, at) && taken.size() % 3 != 0;
                        });
  }
  if (way == Way::kLookingAhead) {
    arrivals.TakeLookingAhead(end, look,
                              [&](const Packet& packet, PortIndex port, Time at, uint32_t seen) {
                                EXPECT_EQ(packet.seq, seen);
                                take(packet, port, at);
                              });
  }
  while (arrivals.Next() < end) {
    take(arrivals.Front(), arrivals.Port(), arrivals.Next());
    arrivals.Pop();
  }
  merge.horizon = end;
  return taken;
}

// A record lies beside its packet, also when the ring grows and is used again.
TEST(WireTest, KeepsTelemetryBesideItsPacket) {
  Merge merge(2);
  merge.CarryTelemetry(1);
  uint32_t pushed = 0;
  uint32_t taken = 0;
  for (const uint32_t more : {10, 7, 40, 3, 200}) {
    for (uint32_t end = pushed + more; pushed < end; ++pushed) {
      merge.Push(1, Time{pushed + 1}, pushed);
      merge.tail(1).Extra(pushed) = {.path = pushed, .hops = 1, .at = {Time{3 * pushed}}};
    }
    for (; taken + more / 3 < pushed; ++taken) {
      ASSERT_EQ(merge.arrivals().Front().seq, taken);
      ASSERT_EQ(merge.arrivals().FrontExtra().path, taken);
      ASSERT_EQ(merge.arrivals().FrontExtra().at[0], Time{3 * taken});
      merge.arrivals().Pop();
    }
  }
  merge.Push(0, Time{1'000}, 0);
  EXPECT_EQ(merge.tail(0).memory_bytes(), 64 + 16 * sizeof(Packet));
  EXPECT_EQ(merge.tail(1).memory_bytes(), 64 + 256 * (sizeof(Packet) + sizeof(Telemetry)));
}

TEST(ArrivalsTest, ComeByTimeThenInPortThenWireOrder) {
  for (const size_t wires : {size_t{1}, size_t{2}, size_t{3}, size_t{17}, size_t{64}}) {
    SCOPED_TRACE(wires);
    Rng rng = Rng::Stream(1, "arrivals", wires);
    Merge merge(wires);
    std::vector<Time> last(wires);
    std::vector<Arrived> on_the_way;
    uint32_t seq = 0;
    for (int window = 0; window < 100; ++window) {
      for (uint32_t i = rng.Below(40); i > 0; --i) {
        const PortIndex port = static_cast<PortIndex>(rng.Below(static_cast<uint32_t>(wires)));
        last[port] = std::max(last[port], merge.horizon) + Duration{rng.Below(3)};
        merge.Push(port, last[port], seq);
        on_the_way.push_back({last[port], port, seq++});
      }
      merge.arrivals().Prefetch(kNever);
      std::ranges::sort(on_the_way);
      const Time end = merge.horizon + Duration{rng.Below(20)};
      const auto first_later =
          std::ranges::partition_point(on_the_way, [&](const Arrived& a) { return a.at < end; });
      ASSERT_EQ(TakeBefore(merge, end, static_cast<Way>(window % 4)),
                std::vector<Arrived>(on_the_way.begin(), first_later));
      on_the_way.erase(on_the_way.begin(), first_later);
      ASSERT_EQ(merge.engine().packets_on_wires(), on_the_way.size());
    }
  }
}

// Packets are looked at one ahead, and only those that arrive before the end.
TEST(ArrivalsTest, AreLookedAtOnePacketAhead) {
  for (const bool same_wire : {false, true}) {
    Merge merge(2);
    for (uint32_t i = 0; i < 6; ++i) merge.Push(same_wire ? 0 : i % 2, Time{i}, i);
    std::string log;
    const auto take = [&](Time end) {
      log.clear();
      merge.arrivals().TakeLookingAhead(
          end,
          [&](const Packet& packet) {
            log += "look " + std::to_string(packet.seq) + ", ";
            return packet.seq;
          },
          [&](const Packet& packet, PortIndex, Time, uint32_t seen) {
            EXPECT_EQ(packet.seq, seen);
            log += "visit " + std::to_string(packet.seq) + ", ";
          });
      merge.horizon = end;
      return log;
    };
    EXPECT_EQ(take(Time{0}), "");
    EXPECT_EQ(take(Time{1}), "look 0, visit 0, ");
    EXPECT_EQ(take(Time{4}), "look 1, look 2, visit 1, look 3, visit 2, visit 3, ");
    EXPECT_EQ(merge.arrivals().Front().seq, 4u);
    EXPECT_EQ(TakeBefore(merge, kNever).size(), 2u);
  }
}

TEST(ArrivalsTest, HoldTimesUpToTheLatestTheyPromise) {
  Merge merge(33);
  const Time latest = Tournament::LatestFor(merge.arrivals().wires());
  EXPECT_EQ(latest.ps, kNever.ps / 64);
  merge.Push(32, latest - 1_ps, 7);
  EXPECT_EQ(merge.arrivals().Next(), latest - 1_ps);
  EXPECT_EQ(merge.arrivals().Port(), 32);
}

TEST(ArrivalsTest, WithoutWiresNothingIsNext) { EXPECT_EQ(Arrivals().Next(), kNever); }

TEST(WireTest, KeepsItsOrderWhileItsRingGrowsAroundTheEnd) {
  Merge merge(1);
  uint32_t pushed = 0;
  uint32_t popped = 0;
  for (const uint32_t backlog : {10u, 16u, 3u, 17u, 40u, 5u, 1'000u}) {
    while (pushed - popped < backlog) merge.Push(0, Time{pushed}, pushed), ++pushed;
    while (pushed - popped > backlog / 2) {
      ASSERT_EQ(merge.arrivals().Front().seq, popped);
      merge.arrivals().Pop();
      ++popped;
    }
    merge.horizon = merge.arrivals().Next();
  }
  EXPECT_EQ(merge.tail(0).pushed(), pushed);
  EXPECT_EQ(merge.arrivals().head(0).popped(), popped);
}

TEST(WireTest, TakesNoMemoryBeforeItsFirstPacketAndNoMoreThanItNeeds) {
  Merge merge(2);
  EXPECT_EQ(merge.engine().wire_memory_bytes(), 0u);
  for (uint32_t i = 0; i < 1'000; ++i) {
    merge.Push(0, Time{i}, i);
    TakeBefore(merge, Time{i + 1});
  }
  EXPECT_EQ(merge.tail(1).memory_bytes(), 0u);
  EXPECT_LE(merge.tail(0).memory_bytes(), 2u * 1024);
}

// The receiver may have read the arrival of a packet that the sender then takes back.
TEST(WireTest, PacketsThatAreTakenBackDoNotArrive) {
  for (uint32_t taken = 0; taken < 3; ++taken) {
    Merge merge(1);
    for (uint32_t i = 0; i < 4; ++i) merge.Push(0, Time{10 * i}, i);
    for (uint32_t i = 0; i < taken; ++i) merge.arrivals().Pop();
    merge.tail(0).TakeBack(1);
    merge.Push(0, Time{35}, 4);
    merge.tail(0).TellOfChange();
    std::vector<Arrived> expected;
    for (uint32_t i = taken; i < 3; ++i) expected.push_back({Time{10 * i}, 0, i});
    expected.push_back({Time{35}, 0, 4});
    EXPECT_EQ(TakeBefore(merge, kNever), expected) << taken << " taken";
  }
}

TEST(WireTest, ReachesBackToWhatIsStillOnItAfterItsRingHasGrown) {
  Merge merge(1);
  for (uint32_t i = 0; i < 100; ++i) merge.Push(0, Time{i}, i);
  EXPECT_EQ(merge.tail(0).At(42).seq, 42u);
  EXPECT_EQ(merge.tail(0).At(99).seq, 99u);
  EXPECT_EQ(merge.tail(0).At(0).seq, 0u);
}

TEST(WireDeathTest, RefusesAPacketThatArrivesTooEarly) {
  Merge merge(1);
  merge.horizon = Time{1'000};
  EXPECT_EXIT(merge.Push(0, Time{999}, 0), testing::ExitedWithCode(3),
              "a packet arrives at 999 ps, but its receiver has run to 1000 ps");
}

}  // namespace heddle::wire_test
