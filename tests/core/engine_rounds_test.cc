// SPDX-License-Identifier: Apache-2.0
// Rounds of windows on two threads: who waits for whom, and what happens to letters and exceptions.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <stdexcept>
#include <thread>

#include "core/engine.h"
#include "tests/support/until_conductor.h"

namespace heddle::engine_rounds_test {

// Is due in each window, and reads letters that hold their due times.
class Runner final : public Node {
 public:
  explicit Runner(bool may_move) : may_move_(may_move) {}
  void Run(const Window& window) override {
    due_ = window.end;
    ran_to.store(window.end);
    if (on_run) on_run(window);
  }
  Time Due() const override { return due_; }
  bool MayMove() const override { return may_move_; }
  void OnLetter(const Letter& letter) override {
    ++letters;
    EXPECT_LE(due_, letter.Body<Time>());
  }
  void Tell(Node& to, Time due) { Post(Letter::Of(to, 0, due), due); }

  std::deque<WireTail> wires;
  std::atomic<Time> ran_to = Time{};
  std::function<void(const Window&)> on_run;
  int letters = 0;

 private:
  const bool may_move_;
  Time due_;
};

// Two pods of two hosts, leaves and aggregation switches, each pod on a thread; four core switches
// connect them. The first half of each tier is one pod.
struct TwoPods {
  TwoPods() {
    for (int i = 0; i < 4; ++i) {
      const Engine::GroupId group = engine.AddGroup();
      engine.Add(hosts.emplace_back(/*may_move=*/false), group);
      engine.Add(leaves.emplace_back(/*may_move=*/true), group);
    }
    for (auto* tier : {&aggregates, &cores}) {
      for (int i = 0; i < 4; ++i) {
        engine.Add(tier->emplace_back(/*may_move=*/true), engine.AddGroup());
      }
    }
    for (size_t i = 0; i < 4; ++i) {
      Connect(hosts[i], leaves[i]);
      for (size_t j = 0; j < 4; ++j) {
        if (i / 2 == j / 2) Connect(leaves[i], aggregates[j]);
        Connect(aggregates[i], cores[j]);
      }
    }
    engine.LimitWindow(8_us);  // So several windows make a round.
    engine.Place(2);
    EXPECT_TRUE(engine.alternates());
    EXPECT_NE(engine.shard_of(leaves[0]), engine.shard_of(aggregates[2]));
  }
  void Connect(Runner& a, Runner& b) {
    engine.Connect(a, a.wires.emplace_back(), b, 1_us);
    engine.Connect(b, b.wires.emplace_back(), a, 1_us);
  }

  std::deque<Runner> hosts, leaves, aggregates, cores;
  Engine engine;
};

// A leaf waits, in its window, until an aggregation switch of the other pod has run in the next
// one.
TEST(EngineRoundsTest, AThreadWaitsOnlyForTheBordersOfTheOthers) {
  TwoPods two;
  bool overtaken = false;
  int waits = 0;
  two.leaves[0].on_run = [&](const Window& window) {
    if (overtaken || ++waits > 20) return;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    while (!overtaken && std::chrono::steady_clock::now() < deadline) {
      overtaken = two.aggregates[2].ran_to.load() > window.end;
      std::this_thread::yield();
    }
  };
  UntilConductor conductor(Time{} + 100_us);
  two.engine.Run(conductor);
  EXPECT_TRUE(overtaken);
}

// The first host is inland, and the host that it writes to is on the other thread.
TEST(EngineRoundsTest, LettersOfInlandNodesAreReadInTime) {
  TwoPods two;
  int posted = 0;
  two.hosts[0].on_run = [&](const Window& window) {
    ++posted;
    two.hosts[0].Tell(two.hosts[3], window.end + 6_us);  // A window is 2 us long.
  };
  UntilConductor conductor(Time{} + 100_us);
  two.engine.Run(conductor);
  EXPECT_GT(posted, 40);
  EXPECT_EQ(two.hosts[3].letters, posted);
  EXPECT_GT(two.engine.windows(), 2 * conductor.starts.size());
}

// The other thread waits for the border of the one that has failed.
TEST(EngineRoundsTest, AnExceptionInsideARoundEndsTheRun) {
  for (const int window : {3, 4, 5, 6, 7}) {
    for (const auto tier : {&TwoPods::hosts, &TwoPods::leaves, &TwoPods::cores}) {
      TwoPods two;
      int windows = 0;
      (two.*tier)[0].on_run = [&](const Window&) {
        if (++windows == window) throw std::runtime_error("no more");
      };
      UntilConductor conductor(Time{} + 100_us);
      EXPECT_THROW(two.engine.Run(conductor), std::runtime_error);
    }
  }
}

}  // namespace heddle::engine_rounds_test
