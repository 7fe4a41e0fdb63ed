// SPDX-License-Identifier: Apache-2.0
// What one decision costs, for every registered load balancer and 8, 16 and 64 candidate ports: the
// packets that a leaf forwards to its uplinks in a simulation of 400 DCTCP flows, with their times,
// data and ACKs mixed. Queues are idle: this is the cost of deciding alone.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "lb/load_balancer.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"
#include "tests/support/scripted_policy.h"

namespace heddle {
namespace {

struct Arrival {
  Time at;
  Packet packet;
};

// What leaf 0 receives for hosts on other leaves.
std::vector<Arrival> Record() {
  constexpr int kHostsPerLeaf = 16;
  std::vector<Arrival> arrivals;
  const auto record = [&](const SwitchView& view, const Packet& packet) {
    if (packet.dst < kHostsPerLeaf) return;
    arrivals.push_back({view.now(), packet});
    // The hosts of the bench's switch; flows keep their numbers.
    arrivals.back().packet.src = 0;
    arrivals.back().packet.dst = 1;
  };
  const auto anything = [](const Packet&) { return true; };
  Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 4, hosts_per_leaf: 16,"
                                  " host_link: {rate: 25Gbps, delay: 1us},"
                                  " fabric_link: {rate: 100Gbps, delay: 1us}}"),
           .transport = "{kind: dctcp}",
           .switch_policy = Scripted({WatchAt(0, anything, record)})});
  Rng rng = Rng::Stream(1, "bench", 0);
  Time start;
  for (int i = 0; i < 400; ++i) {
    const HostId left = static_cast<HostId>(rng.Below(kHostsPerLeaf));
    const HostId right = static_cast<HostId>(kHostsPerLeaf + rng.Below(kHostsPerLeaf));
    const int64_t size = 1 + static_cast<int64_t>(rng.Exponential(200'000));
    start += rng.ExponentialDuration(5e6);
    const bool away = rng.Below(2) == 0;
    lab.AddFlow(away ? left : right, away ? right : left, size, start);
  }
  lab.Run();
  return arrivals;
}

void Decide(benchmark::State& state, const std::string& balancer) {
  static const std::vector<Arrival> arrivals = Record();
  constexpr size_t kBatch = 256;
  LbSwitch::Shape shape;
  shape.uplinks.assign(static_cast<size_t>(state.range(0)), 100_Gbps);
  LbSwitch leaf(balancer, shape);
  const Candidates candidates{0, 1, leaf.uplinks()};
  const PortIndex in_port = static_cast<PortIndex>(shape.uplinks.size());
  const Duration length = arrivals.back().at - Time{} + 1_us;
  size_t next = 0;
  Time round;
  while (state.KeepRunningBatch(kBatch)) {
    if (next + kBatch > arrivals.size()) {
      next = 0;
      round += length;
    }
    leaf.At(round + (arrivals[next].at - Time{}), [&](SwitchView& view, SwitchPolicy& policy) {
      for (size_t i = 0; i < kBatch; ++i) {
        benchmark::DoNotOptimize(
            policy.OnPacket(view, arrivals[next + i].packet, in_port, candidates));
      }
    });
    next += kBatch;
  }
  state.SetLabel(fmt::format("{} bytes of state", leaf.policy().StateBytes()));
}

// The same for what its sending host does to each packet, on the given number of paths.
void DecideAtHost(benchmark::State& state, const std::string& balancer) {
  constexpr size_t kFlows = 256;
  const std::vector<uint16_t> weights(static_cast<size_t>(state.range(0)), 1);
  const PathTable paths = PathsOfWeights(weights);
  LbHost host(balancer, paths);
  std::vector<HostFlow> flows;
  for (FlowId id = 0; id < kFlows; ++id) flows.push_back(host.Start(/*dst=*/1, id));
  Packet packet;
  packet.data.payload = 1460;
  Time now;
  while (state.KeepRunningBatch(kFlows)) {
    now += 1_us;
    host.At(now, [&](HostView& view, HostPolicy& policy) {
      for (HostFlow& flow : flows) {
        policy.OnSend(view, flow, packet);
        benchmark::DoNotOptimize(packet);
      }
    });
  }
  state.SetLabel(fmt::format("{} bytes of state", host.policy().StateBytes()));
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  for (const std::string& name : heddle::LoadBalancers().Names()) {
    benchmark::RegisterBenchmark((name + "/ports").c_str(), heddle::Decide, name)
        ->Arg(8)
        ->Arg(16)
        ->Arg(64);
    const auto host = heddle::LoadBalancers().Make(name).settings->ForHost(0, 1);
    if (host == nullptr || (host->hooks() & heddle::HostPolicy::kSend) == 0) continue;
    benchmark::RegisterBenchmark((name + "/host/paths").c_str(), heddle::DecideAtHost, name)
        ->Arg(8)
        ->Arg(16)
        ->Arg(64);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
