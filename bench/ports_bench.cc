// SPDX-License-Identifier: Apache-2.0
// Measures the work of each kind of port for a packet. Items are packets. The receiver takes each
// packet off the wire again, which is measured with it (wire/push_pop in engine_bench).

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/benchmark_main.h"
#include "core/engine.h"
#include "core/node.h"
#include "fabric/fifo_port.h"
#include "fabric/queued_port.h"
#include "fabric/shared_memory.h"

namespace heddle {
namespace {

constexpr uint16_t kFrame = 1'518;
constexpr Duration kFrameTime = 123'040_ps;  // A full frame and 20 bytes around it, at 100 Gbps.
constexpr PortSettings kLink{.rate = 100_Gbps, .delay = 1_us, .wire_overhead = 20_B};

// The node at each end of the wire under test. It never runs: benchmarks take its packets.
class Taker final : public Node {
 public:
  void Run(const Window& /*window*/) override {}
  Time Due() const override { return kNever; }
  void TakeUntil(Time now) {
    while (arrivals_.Next() <= now) {
      benchmark::DoNotOptimize(arrivals_.Front().seq);
      arrivals_.Pop();
    }
  }
};

// A port, its wire and the node at the other end. Time goes on by a frame's transmission for each
// packet, in windows as long as the link.
class PortRig {
 public:
  explicit PortRig(const PortSettings& settings) : port_(settings) {
    engine_.Add(from_, engine_.AddGroup());
    engine_.Add(to_, engine_.AddGroup());
    engine_.Connect(from_, port_.wire(), to_, settings.delay);
    engine_.Place(1);
    packet_.bytes = kFrame;
    packet_.data.payload = 1'460;
    packet_.Set(Packet::kEct);
    packet_.priority = 1;
  }

  FifoPort& port() { return port_; }
  Packet& packet() { return packet_; }
  Time now() const { return now_; }
  const Window& window() const { return window_; }

  void Advance(Duration time) {
    now_ += time;
    if (now_ < window_.end) return;
    window_ = Window::Until(now_ + kLink.delay);
    to_.TakeUntil(now_);
  }

 private:
  Engine engine_;
  Taker from_;
  Taker to_;
  FifoPort port_;
  Packet packet_;
  Time now_;
  Window window_ = Window::Until(Time{} + kLink.delay);
};

// A FIFO port is sent a packet at a time and is idle when the next one comes.
void FifoIdle(benchmark::State& state) {
  PortSettings settings = kLink;
  settings.buffer = 100 * kFrame;
  settings.mark_above = 65 * kFrame;
  PortRig rig(settings);
  for (auto _ : state) {
    benchmark::DoNotOptimize(rig.port().Send(rig.packet(), 0, rig.now(), rig.window()));
    rig.Advance(2 * kFrameTime);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(FifoIdle)->Name("fifo/idle");

// A FIFO port with `queued` packets gets one more whenever one leaves. From 65 packets on it sets
// ECN marks, and has to know which packets have left.
void FifoQueue(benchmark::State& state) {
  PortSettings settings = kLink;
  settings.buffer = 1'000 * kFrame;
  settings.mark_above = 65 * kFrame;
  PortRig rig(settings);
  for (int64_t i = 0; i < state.range(0); ++i) {
    rig.port().Send(rig.packet(), 0, rig.now(), rig.window());
  }
  for (auto _ : state) {
    rig.Advance(kFrameTime);
    benchmark::DoNotOptimize(rig.port().Send(rig.packet(), 0, rig.now(), rig.window()));
  }
  state.SetItemsProcessed(state.iterations());
  state.SetLabel(rig.port().marked() > 0 ? "marks" : "no marks");
}
BENCHMARK(FifoQueue)->Name("fifo/queue")->ArgName("queued")->Arg(10)->Arg(100);

// A FIFO port whose buffer is full drops a packet.
void FifoDrop(benchmark::State& state) {
  PortSettings settings = kLink;
  settings.buffer = 100 * kFrame;
  PortRig rig(settings);
  while (rig.port().Send(rig.packet(), 0, rig.now(), rig.window())) continue;
  for (auto _ : state) {
    benchmark::DoNotOptimize(rig.port().Send(rig.packet(), 0, rig.now(), rig.window()));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(FifoDrop)->Name("fifo/drop");

QueueSettings Queues(Scheduler scheduler, size_t classes) {
  QueueSettings settings{.classes = static_cast<uint8_t>((2u << classes) - 1),
                         .scheduler = scheduler,
                         .marking = {.above = 65 * kFrame, .all = 65 * kFrame}};
  settings.quantum.fill(kFrame);
  return settings;
}

// An idle port with queues passes a packet on, past the queues.
void QueuedPass(benchmark::State& state) {
  PortRig rig(kLink);
  QueuedPort port(rig.port(), Queues(Scheduler::kRoundRobin, 1), Rng::Stream(1, "bench", 0), 0);
  for (auto _ : state) {
    if (port.backlogged() != 0 || rig.port().busy_until() > rig.now()) {
      state.SkipWithError("the port is busy");
    }
    benchmark::DoNotOptimize(
        port.Pass(rig.packet(), rig.packet().bytes, 0, 0, rig.now(), rig.window()));
    rig.Advance(2 * kFrameTime);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(QueuedPass)->Name("queued/pass");

// A port with `queued` packets, spread over its classes, gets one more and starts the next one.
void QueuedQueue(benchmark::State& state, Scheduler scheduler) {
  const auto classes = static_cast<size_t>(state.range(0));
  PortRig rig(kLink);
  QueuedPort port(rig.port(), Queues(scheduler, classes), Rng::Stream(1, "bench", 0), 0);
  size_t cls = 1;
  const auto enqueue = [&] {
    rig.packet().priority = static_cast<uint8_t>(cls);
    cls = cls % classes + 1;
    benchmark::DoNotOptimize(port.Enqueue(rig.packet(), nullptr, 0, 0, rig.now()));
  };
  for (int64_t i = 0; i < state.range(1); ++i) enqueue();
  for (auto _ : state) {
    enqueue();
    benchmark::DoNotOptimize(port.Serve(rig.window()));
    rig.Advance(kFrameTime);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(QueuedQueue, strict, Scheduler::kStrict)
    ->Name("queued/queue/strict")
    ->ArgNames({"classes", "queued"})
    ->ArgsProduct({{1, 3}, {10, 100}});
BENCHMARK_CAPTURE(QueuedQueue, round_robin, Scheduler::kRoundRobin)
    ->Name("queued/queue/round_robin")
    ->ArgNames({"classes", "queued"})
    ->ArgsProduct({{1, 3}, {10, 100}});
BENCHMARK_CAPTURE(QueuedQueue, deficit, Scheduler::kDeficit)
    ->Name("queued/queue/deficit")
    ->ArgNames({"classes", "queued"})
    ->ArgsProduct({{1, 3}, {10, 100}});

// A switch's shared buffer holds 100 packets; one more takes room in it and another one frees its
// room.
void MemoryAdmitRelease(benchmark::State& state, MemorySettings::Model model) {
  constexpr PortIndex kPorts = 32;
  SharedMemory memory({.model = model,
                       .size = 32'000'000,
                       .alpha = 1,
                       .alpha_in = 1,
                       .reserve = 2 * kFrame,
                       .mtu = kFrame,
                       .lossless = 0b1000},
                      std::vector<SharedMemory::Port>(
                          kPorts, {.buffer = 1'000'000, .headroom = 40'000, .xoff = 200'000}));
  PortIndex in = 0;
  PortIndex oldest = 0;
  const auto out_of = [](PortIndex from) {
    return static_cast<PortIndex>((from * 7 + 3) % kPorts);
  };
  const auto admit = [&] {
    benchmark::DoNotOptimize(memory.Admit(in, out_of(in), 3, kFrame, memory.used(), kFrame));
    in = static_cast<PortIndex>((in + 1) % kPorts);
  };
  for (int i = 0; i < 100; ++i) admit();
  for (auto _ : state) {
    admit();
    benchmark::DoNotOptimize(memory.MustPause(oldest, 3));
    memory.Release(oldest, out_of(oldest), 3, kFrame);
    oldest = static_cast<PortIndex>((oldest + 1) % kPorts);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(MemoryAdmitRelease, dt, MemorySettings::Model::kDynamic)
    ->Name("shared_memory/admit_release/dt");
BENCHMARK_CAPTURE(MemoryAdmitRelease, hpcc_mmu, MemorySettings::Model::kHpcc)
    ->Name("shared_memory/admit_release/hpcc_mmu");
BENCHMARK_CAPTURE(MemoryAdmitRelease, broadcom_mmu, MemorySettings::Model::kBroadcom)
    ->Name("shared_memory/admit_release/broadcom_mmu");

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) { return heddle::BenchmarkMain(argc, argv, "0.2"); }
