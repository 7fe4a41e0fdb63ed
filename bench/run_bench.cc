// SPDX-License-Identifier: Apache-2.0
// Measures whole runs, and forwarding alone. An iteration is a run, items are packet-hops: one
// packet, data or ACK, crossing one port and wire. Read the counter ns_per_hop. Time covers the
// run, without reading the experiment and building its network; CPU includes both.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "bench/benchmark_main.h"
#include "bench/forwarding.h"
#include "bench/paired.h"
#include "bench/scenario.h"

namespace heddle {
namespace {

// Counts the hops of all iterations and their time.
class HopCount {
 public:
  explicit HopCount(benchmark::State& state) : state_(state) {}
  ~HopCount() {
    state_.SetItemsProcessed(hops_);
    state_.counters["ns_per_hop"] = seconds_ * 1e9 / static_cast<double>(hops_);
  }

  // One iteration.
  void Add(int64_t hops, double seconds) {
    hops_ += hops;
    seconds_ += seconds;
    state_.SetIterationTime(seconds);
  }

 private:
  benchmark::State& state_;
  int64_t hops_ = 0;
  double seconds_ = 0;
};

// Runs a simulation as `heddle run` does, with statistics and rows of flows.csv, which are
// discarded.
void Run(benchmark::State& state, const Scenario& scenario) {
  HopCount count(state);
  for (auto _ : state) {
    const SimulationResult result = RunScenario(scenario, static_cast<int>(state.range(0))).result;
    count.Add(result.packets.hops, result.run_seconds);
  }
}

// Engine, switches and ports without transport and statistics (bench/forwarding.h).
void Forward(benchmark::State& state, const forwarding::Shape& shape, Time end) {
  HopCount count(state);
  for (auto _ : state) {
    forwarding::HeddleNetwork network(shape, static_cast<int>(state.range(0)));
    const double seconds = SecondsOf([&] { network.Run(end); });
    count.Add(network.counts().hops, seconds);
  }
}

template <class Benchmark>
void Register(const std::string& name, const Benchmark& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->ArgName("threads")
      ->Arg(1)
      ->Arg(2)
      ->MeasureProcessCPUTime()
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

void RegisterRun(const std::string& name, const Scenario& scenario) {
  Register("run/" + name, [scenario](benchmark::State& state) { Run(state, scenario); });
}

void RegisterForwarding(const std::string& name, const forwarding::Shape& shape, Time end) {
  Register("forward/" + name,
           [shape, end](benchmark::State& state) { Forward(state, shape, end); });
}

void RegisterAll() {
  const std::string permutation = "{kind: permutation, size: 1GB}";
  const std::string websearch = "{kind: poisson, sizes: websearch, load: 0.5, duration: 1ms}";
  const std::string roce = "{kind: rocev2, cc: {kind: dcqcn, rp: nic}}";
  const std::string lossless =
      "{marking: step, memory: {model: broadcom_mmu, size: 32MB}, pfc: {classes: [3]}}";
  for (const auto& [shape_name, shape] :
       {std::pair{"leaf_spine", k128Hosts}, std::pair{"fat_tree", FatTree(8)}}) {
    for (const auto& [load_name, load, t_max] :
         {std::tuple{"permutation", permutation, "500us"}, {"websearch", websearch, "1ms"}}) {
      const Scenario dctcp{shape, load, t_max};
      Scenario rdma = dctcp;
      rdma.transport = roce;
      rdma.port = lossless;
      Scenario uet = dctcp;
      uet.transport = "uet";
      uet.port = kTrimming;
      const std::string name = fmt::format("{}/{}", load_name, shape_name);
      RegisterRun(name + "/dctcp/hosts:128", dctcp);
      RegisterRun(name + "/roce_pfc/hosts:128", rdma);
      RegisterRun(name + "/uet_trim/hosts:128", uet);
    }
  }
  RegisterRun("permutation/leaf_spine/dctcp/hosts:1024", {k1024Hosts, permutation, "100us"});
  RegisterRun("websearch/leaf_spine/dctcp/hosts:1024", {k1024Hosts, websearch, "200us"});
  RegisterForwarding("hosts:128", forwarding::k128Hosts, Time{} + 1_ms);
  RegisterForwarding("hosts:1024", forwarding::k1024Hosts, Time{} + 200_us);
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  heddle::RegisterAll();
  return heddle::BenchmarkMain(argc, argv, "0.5");
}
