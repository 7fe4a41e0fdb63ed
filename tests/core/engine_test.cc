// SPDX-License-Identifier: Apache-2.0
// Compares the engine with a plain global event queue: every node must handle the same events in
// the same order, whatever the number of threads.

#include "core/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "core/timers.h"
#include "tests/support/core_toy.h"
#include "tests/support/until_conductor.h"

namespace heddle::engine_test {

size_t EventsIn(const ToyLog& log) {
  return std::transform_reduce(log.begin(), log.end(), size_t{0}, std::plus<>(),
                               [](const auto& events) { return events.size(); });
}

// Compares the engine with the reference for each number of threads, and returns the events.
size_t Compare(const ToyPlan& plan, bool moves = false, bool alternates = false) {
  const ToyLog expected = RunOnEventQueue(plan);
  for (const int threads : {1, 2, 3, 8}) {
    SCOPED_TRACE(testing::Message() << "seed " << plan.seed << ", " << threads << " threads");
    const ToyResult result = RunOnEngine(plan, threads, moves);
    for (size_t n = 0; n < plan.nodes(); ++n) {
      EXPECT_TRUE(result.log[n] == expected[n]) << "node " << n;
    }
    EXPECT_EQ(result.letters_read, result.letters_posted);
    EXPECT_TRUE(result.alternates || !alternates);
    EXPECT_EQ(result.threads, std::min<int>(threads, static_cast<int>(plan.groups())));
  }
  return EventsIn(expected);
}

TEST(EngineTest, EqualsAGlobalEventQueueWhenEachNodeRunsAlone) {
  size_t events = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    events += Compare(RandomToyPlan(seed, /*groups=*/12, /*group_size=*/1, 60_ns));
  }
  EXPECT_GT(events, 10'000u);
}

TEST(EngineTest, EqualsAGlobalEventQueueWithShortLinksInsideGroups) {
  size_t events = 0;
  for (uint64_t seed = 101; seed <= 120; ++seed) {
    events += Compare(RandomToyPlan(seed, /*groups=*/5, /*group_size=*/4, 40_ns));
  }
  EXPECT_GT(events, 10'000u);
}

TEST(EngineTest, EqualsAGlobalEventQueueWithEnoughWorkForAllThreads) {
  for (uint64_t seed = 201; seed <= 204; ++seed) {
    EXPECT_GT(Compare(RandomToyPlan(seed, /*groups=*/24, /*group_size=*/4, 60_ns)), 5'000u);
  }
}

TEST(EngineTest, EqualsAGlobalEventQueueWhenOneGroupHasAllTheWork) {
  ToyPlan plan = RandomToyPlan(301, /*groups=*/4, /*group_size=*/6, 40_ns);
  for (ToyPlan::Shock& shock : plan.shocks) shock.node %= 6;
  Compare(plan);
}

TEST(EngineTest, EqualsAGlobalEventQueueWhenGroupsMoveFromThreadToThread) {
  for (uint64_t seed = 401; seed <= 420; ++seed) {
    Compare(RandomToyPlan(seed, /*groups=*/12, /*group_size=*/1, 60_ns), /*moves=*/true);
    Compare(RandomToyPlan(seed, /*groups=*/5, /*group_size=*/4, 40_ns), /*moves=*/true);
  }
  Compare(RandomToyPlan(421, /*groups=*/24, /*group_size=*/4, 60_ns), /*moves=*/true);
}

TEST(EngineTest, EqualsAGlobalEventQueueWhenTwoSidesRunInTurn) {
  size_t events = 0;
  for (uint64_t seed = 501; seed <= 515; ++seed) {
    for (const ToySides sides : {ToySides::kGroups, ToySides::kNodes}) {
      for (const bool moves : {false, true}) {
        events += Compare(RandomToyPlan(seed, /*groups=*/12, /*group_size=*/1, 60_ns, sides), moves,
                          /*alternates=*/true);
        events += Compare(RandomToyPlan(seed, /*groups=*/6, /*group_size=*/4, 40_ns, sides), moves,
                          /*alternates=*/true);
      }
    }
  }
  EXPECT_GT(events, 40'000u);
}

TEST(EngineTest, ASideRunsTwiceTheLookaheadAtOnce) {
  ToyPlan plan = RandomToyPlan(8, 6, 2, 500_ns, ToySides::kNodes);
  const auto windows = [&](Duration letter_delay) {
    plan.letter_delay = letter_delay;
    const ToyResult result = RunOnEngine(plan, 1);
    Duration longest{0};
    for (const auto& [start, end] : result.spans) longest = std::max(longest, end - start);
    EXPECT_EQ(longest, letter_delay);
    return result.windows;
  };
  const uint64_t few = windows(2 * plan.Lookahead());
  EXPECT_GT(windows(plan.Lookahead()), few);
}

// The conductor acts between rounds, so a round is no longer than a letter may take.
TEST(EngineTest, ARoundHasSeveralWindowsIfManyNodesRun) {
  ToyPlan plan = RandomToyPlan(9, 24, 1, 200_ns, ToySides::kGroups);
  plan.letter_delay = 6 * plan.Lookahead();
  for (const int threads : {1, 2}) {
    const ToyResult result = RunOnEngine(plan, threads);
    EXPECT_GT(2 * result.windows, 3 * result.spans.size());
    for (const auto& [start, end] : result.spans) EXPECT_LE(end - start, plan.letter_delay);
  }
}

TEST(EngineTest, WindowsFollowEachOtherWithinTheLookaheadAndEndWithTheRun) {
  const ToyPlan plan = RandomToyPlan(7, 6, 2, 50_ns);
  const ToyResult result = RunOnEngine(plan, 2);
  EXPECT_EQ(result.end, plan.end);
  Time last;
  for (const auto& [start, end] : result.spans) {
    ASSERT_GE(start, last);
    ASSERT_LE(end - start, plan.Lookahead());
    last = end;
  }
  EXPECT_LE(last, plan.end);
}

// --- By hand ---

// Handles timers and letters, and sends a packet when told to.
class Clerk final : public Node {
 public:
  void Run(const Window& window) override {
    while (Due() < window.end) {
      now = Due();
      if (arrivals_.Next() == now) {
        arrivals_.Pop();
        packets.push_back(now);
        continue;
      }
      timers.Pop();
      fired.push_back(now);
      if (on_timer) on_timer(window);
    }
  }
  Time Due() const override { return std::min(arrivals_.Next(), timers.Next()); }
  void OnLetter(const Letter& letter) override { letters.push_back(letter.Body<int>()); }
  void Tell(Clerk& other, int what, Time due) { Post(Letter::Of(other, 0, what), due); }
  void Set(Time at) {
    timers.Set(at, 0);
    Wake(at);
  }

  Timers timers;
  WireTail wire;
  Time now;
  std::vector<Time> fired;
  std::vector<Time> packets;
  std::vector<int> letters;
  std::function<void(const Window&)> on_timer;
};

// Two clerks with a link each way, apart by 1 us.
class TwoClerks {
 public:
  explicit TwoClerks(int threads, Duration apart = 1_us) {
    engine.Add(a, engine.AddGroup());
    engine.Add(b, engine.AddGroup());
    engine.Connect(a, a.wire, b, apart);
    engine.Connect(b, b.wire, a, apart);
    engine.Place(threads);
  }
  Clerk a, b;
  Engine engine;
};

// A node with links in both directions, which never does anything.
class Hub final : public Node {
 public:
  void Run(const Window&) override {}
  Time Due() const override { return kNever; }

  std::deque<WireTail> wires;
};

// Two pods of two leaves, each with a host, and two switches above the leaves. Two switches above
// all connect the pods.
TEST(EngineTest, PlacesPodsOnThreadsOfTheirOwn) {
  std::array<std::array<Hub, 2>, 2> hosts, leaves, aggregates;  // By pod.
  std::array<Hub, 2> cores;
  Engine engine;
  const auto connect = [&](Hub& a, Hub& b) {
    engine.Connect(a, a.wires.emplace_back(), b, 1_us);
    engine.Connect(b, b.wires.emplace_back(), a, 1_us);
  };
  for (const size_t pod : {0, 1}) {
    for (const size_t i : {0, 1}) {
      const Engine::GroupId group = engine.AddGroup();
      engine.Add(hosts[pod][i], group);
      engine.Add(leaves[pod][i], group);
    }
  }
  for (Hub& core : cores) engine.Add(core, engine.AddGroup());
  for (const size_t i : {0, 1}) {
    for (const size_t pod : {1, 0}) engine.Add(aggregates[pod][i], engine.AddGroup());
  }
  for (const size_t pod : {0, 1}) {
    for (const size_t i : {0, 1}) {
      connect(hosts[pod][i], leaves[pod][i]);
      for (Hub& aggregate : aggregates[pod]) connect(leaves[pod][i], aggregate);
      connect(aggregates[pod][i], cores[i]);
    }
  }
  engine.Place(2);
  for (const size_t pod : {0, 1}) {
    for (const size_t i : {0, 1}) {
      EXPECT_EQ(engine.shard_of(hosts[pod][i]), static_cast<int>(pod));
      EXPECT_EQ(engine.shard_of(leaves[pod][i]), static_cast<int>(pod));
      EXPECT_EQ(engine.shard_of(aggregates[pod][i]), static_cast<int>(pod));
    }
  }
  EXPECT_NE(engine.shard_of(cores[0]), engine.shard_of(cores[1]));
}

// Works for a while in each window, and is due again in the next one.
class Worker final : public Node {
 public:
  Worker(std::chrono::microseconds work, bool may_move) : work_(work), may_move_(may_move) {}
  void Run(const Window& window) override {
    const auto end = std::chrono::steady_clock::now() + work_;
    while (std::chrono::steady_clock::now() < end) continue;
    due_ = window.end;
  }
  Time Due() const override { return due_; }
  bool MayMove() const override { return may_move_; }

  WireTail wire;

 private:
  const std::chrono::microseconds work_;
  const bool may_move_;
  Time due_;
};

// Connects each half of the workers to a ring.
void ConnectTwoRings(Engine& engine, std::deque<Worker>& workers) {
  const size_t half = workers.size() / 2;
  for (size_t i = 0; i < workers.size(); ++i) {
    const size_t next = i % half == half - 1 ? i - (half - 1) : i + 1;
    engine.Connect(workers[i], workers[i].wire, workers[next], 1_us);
  }
}

// The first half of the nodes, on one thread, works longer than the other half.
TEST(EngineTest, TheBusiestThreadPassesGroupsOn) {
  if (std::thread::hardware_concurrency() < 2)
    GTEST_SKIP() << "threads that share a core move none";
  for (const bool may_move : {true, false}) {
    SCOPED_TRACE(may_move);
    std::deque<Worker> workers;
    Engine engine;
    for (int i = 0; i < 80; ++i) {
      engine.Add(workers.emplace_back(std::chrono::microseconds(i < 40 ? 10 : 1), may_move),
                 engine.AddGroup());
    }
    ConnectTwoRings(engine, workers);
    engine.Place(2);
    std::vector<int> before;
    for (const Worker& worker : workers) before.push_back(engine.shard_of(worker));
    UntilConductor conductor(Time{} + 1_us * 1000);
    engine.Run(conductor);
    int left = 0;
    int came = 0;
    for (size_t i = 0; i < workers.size(); ++i) {
      const bool moved = engine.shard_of(workers[i]) != before[i];
      (i < 40 ? left : came) += moved ? 1 : 0;
    }
    EXPECT_EQ(left > came, may_move) << left << " left, " << came << " came";
  }
}

// Most nodes may not move and have little work. Eight of those that may are on one thread, and four
// on the other. If the thread passed on groups by their number, far too many would move, back and
// forth.
TEST(EngineTest, PassesOnNoMoreWorkThanTheDifference) {
  if (std::thread::hardware_concurrency() < 2)
    GTEST_SKIP() << "threads that share a core move none";
  std::deque<Worker> workers;
  Engine engine;
  for (int i = 0; i < 96; ++i) {
    const bool stays = i % 48 < 40;
    const bool is_long = !stays && i < 92;
    engine.Add(workers.emplace_back(std::chrono::microseconds(is_long ? 10 : 1), !stays),
               engine.AddGroup());
  }
  ConnectTwoRings(engine, workers);
  engine.Place(2);
  const auto long_on_first = [&] {
    int on_first = 0;
    for (const size_t ring : {0, 48}) {
      for (size_t i = ring + 40; i < std::min<size_t>(ring + 48, 92); ++i) {
        on_first += engine.shard_of(workers[i]) == engine.shard_of(workers[0]) ? 1 : 0;
      }
    }
    return on_first;
  };
  ASSERT_EQ(long_on_first(), 8);
  UntilConductor conductor(Time{} + 1_us * 3000);
  engine.Run(conductor);
  EXPECT_GE(long_on_first(), 5);
  EXPECT_LE(long_on_first(), 7);
}

TEST(EngineTest, SkipsWindowsInWhichNobodyHasAnythingDue) {
  for (const int threads : {1, 2}) {
    TwoClerks two(threads);
    for (int i = 1; i <= 10; ++i) two.a.Set(Time{} + 1_s * i);
    UntilConductor conductor(Time{} + 100_s);
    two.engine.Run(conductor);
    EXPECT_EQ(two.a.fired.size(), 10u);
    EXPECT_EQ(conductor.starts, two.a.fired);
    EXPECT_LE(two.engine.windows(), 11u);
    EXPECT_EQ(two.engine.node_visits(), 10);
  }
}

TEST(EngineTest, HandlesWhatIsDueBeforeTheEndAndNothingAtIt) {
  TwoClerks two(1);
  for (const int64_t at : {0, 999, 1'000, 1'001}) two.a.Set(Time{at});
  UntilConductor conductor(Time{1'000});
  EXPECT_EQ(two.engine.Run(conductor), Time{1'000});
  EXPECT_EQ(two.a.fired, (std::vector<Time>{Time{0}, Time{999}}));
}

TEST(EngineTest, EndsWhenNobodyWaitsForAnything) {
  TwoClerks two(2);
  two.a.Set(Time{5});
  UntilConductor conductor(kNever + 1_ps);
  EXPECT_EQ(two.engine.Run(conductor), kNever);
  EXPECT_EQ(two.a.fired.size(), 1u);
}

TEST(EngineTest, ReadsLettersByTheirDueTimeAndThoseOfTheLastWindowAtTheEnd) {
  for (const int threads : {1, 2}) {
    SCOPED_TRACE(threads);
    TwoClerks two(threads);
    two.a.Set(Time{0});
    two.a.Set(Time{} + 10_us);
    std::vector<size_t> read_at_open;
    two.a.on_timer = [&](const Window&) {
      const bool first = two.a.fired.size() == 1;
      two.a.Tell(two.b, first ? 1 : 2, first ? two.a.now + 1_us : kNever);
      two.a.Tell(two.a, first ? 3 : 4, kNever);
    };
    UntilConductor conductor(Time{} + 20_us);
    two.engine.Run(conductor);
    // A window opens for the letter that is due, none for those that are not.
    EXPECT_EQ(conductor.starts, (std::vector<Time>{Time{}, Time{} + 1_us, Time{} + 10_us}));
    EXPECT_EQ(two.b.letters, (std::vector<int>{1, 2}));
    EXPECT_EQ(two.a.letters, (std::vector<int>{3, 4}));
  }
}

TEST(EngineTest, DeliversAPacketAtExactlyTheEndOfItsWindow) {
  for (const int threads : {1, 2}) {
    TwoClerks two(threads);
    two.a.Set(Time{0});
    two.a.on_timer = [&](const Window& window) {
      Packet& packet = two.a.wire.Slot();
      packet.Clear();
      packet.arrival = two.a.now + 1_us;
      EXPECT_EQ(window.end, packet.arrival);
      two.a.wire.Commit(packet.arrival, Time{-1}, window.Horizon(two.a.wire));
    };
    UntilConductor conductor(Time{} + 1_s);
    two.engine.Run(conductor);
    EXPECT_EQ(two.b.packets, (std::vector<Time>{Time{} + 1_us}));
  }
}

TEST(EngineTest, NoWindowIsLongerThanTheLimit) {
  TwoClerks two(1);
  EXPECT_EQ(two.engine.lookahead(), 1_us);
  two.engine.LimitWindow(2_us);
  EXPECT_EQ(two.engine.lookahead(), 1_us);
  two.engine.LimitWindow(100_ns);
  EXPECT_EQ(two.engine.lookahead(), 100_ns);
  two.a.Set(Time{0});
  two.a.on_timer = [](const Window& window) { EXPECT_EQ(window.outer, Time{} + 100_ns); };
  UntilConductor conductor(Time{} + 1_s);
  two.engine.Run(conductor);
}

TEST(EngineTest, UsesNoMoreThreadsThanThereAreGroups) {
  EXPECT_EQ(TwoClerks(16).engine.threads(), 2);
  EXPECT_EQ(TwoClerks(0).engine.threads(), 1);
}

TEST(EngineDeathTest, RefusesALinkWithoutDelay) {
  EXPECT_EXIT(TwoClerks(1, 0_ps), testing::ExitedWithCode(3), "a link without delay");
}

TEST(EngineDeathTest, RefusesAWindowLongerThanAllowed) {
  class Greedy final : public UntilConductor {
   public:
    Greedy() : UntilConductor(Time{} + 1_s) {}
    Time Open(Time, Time latest) override { return latest + 1_ps; }
  };
  TwoClerks two(1);
  two.a.Set(Time{0});
  Greedy conductor;
  EXPECT_EXIT(two.engine.Run(conductor), testing::ExitedWithCode(3), "a window of");
}

}  // namespace heddle::engine_test
