// SPDX-License-Identifier: Apache-2.0
// Measures the parts of the engine, one by one. Items are packets, timers, entries or visits, as
// the comment above each benchmark says.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "bench/benchmark_main.h"
#include "core/arrivals.h"
#include "core/barrier.h"
#include "core/due_nodes.h"
#include "core/due_tree.h"
#include "core/engine.h"
#include "core/node.h"
#include "core/random.h"
#include "core/timers.h"
#include "core/tournament.h"
#include "core/wire.h"

namespace heddle {
namespace {

constexpr Duration kGap = 123'040_ps;  // A full frame at 100 Gbps.

// Random gaps, drawn beforehand so that drawing them is not timed.
class Gaps {
 public:
  explicit Gaps(Duration mean) {
    Rng rng = Rng::Stream(1, "gaps", 0);
    for (Duration& gap : gaps_) {
      gap = rng.ExponentialDuration(static_cast<double>(mean.ps)) + 1_ps;
    }
  }
  Duration Next() { return gaps_[next_++ % gaps_.size()]; }

 private:
  std::vector<Duration> gaps_ = std::vector<Duration>(4'096);
  size_t next_ = 0;
};

// The node at the end of the wires under test. It never runs: benchmarks take its packets.
class Taker final : public Node {
 public:
  void Run(const Window& /*window*/) override {}
  Time Due() const override { return kNever; }
  Arrivals& arrivals() { return arrivals_; }
};

// Wires from one node to another on the same thread.
class Wires {
 public:
  explicit Wires(size_t count) : tails_(count), last_(count, Time{}) {
    engine_.Add(from_, engine_.AddGroup());
    engine_.Add(to_, engine_.AddGroup());
    for (WireTail& tail : tails_) engine_.Connect(from_, tail, to_, 1_us);
    engine_.Place(1);
  }

  // Pushes a packet that arrives `gap` after the last one on the wire. The receiver is told of the
  // first packet of an empty wire only.
  void Push(size_t wire, Duration gap) {
    WireTail& tail = tails_[wire];
    const Time arrival = last_[wire] + gap;
    Packet& slot = tail.Slot();
    slot = packet_;
    slot.arrival = arrival;
    const Time horizon = to_.arrivals().head(static_cast<PortIndex>(wire)).popped() == tail.pushed()
                             ? arrival
                             : last_[wire];
    tail.Commit(arrival, last_[wire], horizon);
    last_[wire] = arrival;
  }
  Arrivals& arrivals() { return to_.arrivals(); }
  WireHead& head(size_t wire) { return to_.wire_head(static_cast<PortIndex>(wire)); }

 private:
  Engine engine_;
  Taker from_;
  Taker to_;
  std::deque<WireTail> tails_;
  std::vector<Time> last_;
  Packet packet_;
};

// One packet of 64 bytes goes onto a wire with `in_flight` others, and one is taken off it.
void WirePushPop(benchmark::State& state) {
  Wires wires(1);
  for (int64_t i = 0; i < state.range(0); ++i) wires.Push(0, kGap);
  for (auto _ : state) {
    wires.Push(0, kGap);
    benchmark::DoNotOptimize(wires.head(0).Front());
    benchmark::DoNotOptimize(wires.head(0).Pop());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(WirePushPop)->Name("wire/push_pop")->ArgName("in_flight")->Arg(8)->Arg(64)->Arg(512);

// Takes the earliest of the packets on `wires` busy wires, and puts another one on its wire.
void MergeArrivals(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  Wires wires(count);
  Gaps gaps(kGap * static_cast<int64_t>(count));
  for (int i = 0; i < 4; ++i) {
    for (size_t wire = 0; wire < count; ++wire) wires.Push(wire, gaps.Next());
  }
  for (auto _ : state) {
    const Arrivals::Taken taken = wires.arrivals().Take();
    benchmark::DoNotOptimize(taken.packet->seq);
    wires.arrivals().Drop(taken);
    wires.Push(taken.port, gaps.Next());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(MergeArrivals)
    ->Name("arrivals/merge")
    ->ArgName("wires")
    ->Arg(2)
    ->Arg(8)
    ->Arg(32)
    ->Arg(128);

// The earliest of `entries` entries of a tournament gets a later time: the merge without packets.
void TournamentSet(benchmark::State& state) {
  const auto entries = static_cast<size_t>(state.range(0));
  Tournament tournament;
  tournament.Resize(entries);
  Gaps gaps(kGap * state.range(0));
  for (size_t i = 0; i < entries; ++i) tournament.Set(i, Time{} + gaps.Next());
  for (auto _ : state) {
    tournament.Set(tournament.First(), tournament.Next() + gaps.Next());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(TournamentSet)
    ->Name("tournament/set")
    ->ArgName("entries")
    ->Arg(2)
    ->Arg(8)
    ->Arg(32)
    ->Arg(128);

// The earliest of `pending` timers fires and is set again for later.
void TimersPopSet(benchmark::State& state) {
  Timers timers;
  Gaps gaps(10_us);
  for (int64_t i = 0; i < state.range(0); ++i) {
    timers.Set(Time{} + gaps.Next(), static_cast<uint64_t>(i));
  }
  for (auto _ : state) {
    const Timer timer = timers.Pop();
    timers.Set(timer.at + gaps.Next(), timer.key);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(TimersPopSet)
    ->Name("timers/pop_set")
    ->ArgName("pending")
    ->Arg(1)
    ->Arg(16)
    ->Arg(256)
    ->Arg(4'096);

// The earliest of `entries` entries of a tree of due times gets a later one.
void DueTreeSet(benchmark::State& state) {
  DueTree tree;
  tree.Resize(static_cast<size_t>(state.range(0)));
  Gaps gaps(10_us);
  for (int64_t i = 0; i < state.range(0); ++i) {
    tree.Set(static_cast<size_t>(i), Time{} + gaps.Next());
  }
  for (auto _ : state) {
    tree.Set(tree.First(), tree.Min() + gaps.Next());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(DueTreeSet)
    ->Name("due_tree/set")
    ->ArgName("entries")
    ->Arg(16)
    ->Arg(128)
    ->Arg(1'024)
    ->Arg(16'384);

// One window of a group of `nodes`, in which each is due about every second window: finds those due
// and notes when they are due next. An item is a node found. Up to 64 nodes are a list.
void DueNodesWindow(benchmark::State& state) {
  const auto nodes = static_cast<size_t>(state.range(0));
  constexpr Duration kWindow = 1_us;
  DueNodes due;
  due.Resize(nodes);
  Gaps gaps(kWindow);
  for (size_t i = 0; i < nodes; ++i) due.Set(i, Time{} + gaps.Next());
  due.Refresh();
  std::vector<uint32_t> found(nodes + 1);
  int64_t items = 0;
  for (auto _ : state) {
    const Time end = due.Min() + kWindow;
    const size_t count = due.CollectBefore(end, found);
    for (size_t i = 0; i < count; ++i) due.Set(found[i], end + gaps.Next());
    due.Refresh();
    items += static_cast<int64_t>(count);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(items);
}
BENCHMARK(DueNodesWindow)
    ->Name("due_nodes/window")
    ->ArgName("nodes")
    ->Arg(16)
    ->Arg(64)
    ->Arg(65)
    ->Arg(1'024);

// All threads meet at the barrier, without work in between. An iteration is one meeting. With more
// threads than cores it includes sleeping.
void BarrierMeeting(benchmark::State& state) {
  const auto threads = static_cast<int>(state.range(0));
  const int64_t meetings = static_cast<int64_t>(state.max_iterations);
  Barrier barrier(threads);
  const auto meet = [&] {
    Patience patience(threads);
    for (int64_t i = 0; i < meetings; ++i) {
      if (barrier.ArriveAndWait(patience)) barrier.Release();
    }
  };
  while (state.KeepRunningBatch(meetings)) {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(meet);
    meet();
  }
}
BENCHMARK(BarrierMeeting)
    ->Name("barrier/meeting")
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

// Answers each packet with a packet of its own.
class Player final : public Node {
 public:
  void Run(const Window& window) override {
    while (Due() < window.end) {
      const Time now = Due();
      if (serves_at_ <= now) {
        serves_at_ = kNever;
      } else {
        arrivals_.Pop();
      }
      Packet& slot = wire.Slot();
      slot.Clear();
      slot.arrival = now + 1_us;
      wire.Commit(slot.arrival, std::exchange(last_, slot.arrival), window.Horizon(wire));
    }
  }
  Time Due() const override { return std::min(serves_at_, arrivals_.Next()); }

  WireTail wire;

 private:
  Time serves_at_;  // The first packet.
  Time last_{-kNever.ps};
};

class RunWindows final : public Conductor {
 public:
  explicit RunWindows(int64_t count) : end_(Time{} + 1_us * count) {}
  Time Next() override { return kNever; }
  Time Open(Time /*start*/, Time latest) override { return latest; }
  void Close(Time /*end*/) override {}
  Time End() const override { return end_; }

 private:
  const Time end_;
};

// Pairs of nodes that send each other a packet in every window of 1 us. An iteration is a window:
// opening it, visiting the nodes, mail between threads and meeting at its end. The pairs lie across
// the threads. An item is a visit.
void EngineWindow(benchmark::State& state) {
  const auto nodes = static_cast<size_t>(state.range(0));
  Engine engine;
  std::vector<std::unique_ptr<Player>> players;
  for (size_t i = 0; i < nodes; ++i) {
    players.push_back(std::make_unique<Player>());
    engine.Add(*players.back(), engine.AddGroup());
  }
  for (size_t i = 0; i < nodes; ++i) {
    engine.Connect(*players[i], players[i]->wire, *players[i ^ 1], 1_us);
  }
  engine.Place(static_cast<int>(state.range(1)));
  RunWindows conductor(static_cast<int64_t>(state.max_iterations));
  while (state.KeepRunningBatch(static_cast<int64_t>(state.max_iterations))) {
    engine.Run(conductor);
  }
  state.SetItemsProcessed(engine.node_visits());
}
BENCHMARK(EngineWindow)
    ->Name("engine/window")
    ->ArgNames({"nodes", "threads"})
    ->ArgsProduct({{2, 64, 1'024}, {1, 2}})
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) { return heddle::BenchmarkMain(argc, argv, "0.2"); }
