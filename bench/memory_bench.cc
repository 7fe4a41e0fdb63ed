// SPDX-License-Identifier: Apache-2.0
// The memory that a simulation takes for each host, each live flow and each finished flow. The
// counter bytes_each is the figure to look at; times are those of the runs that fill the memory.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "bench/benchmark_main.h"
#include "bench/scenario.h"
#include "experiment/results.h"

namespace heddle {
namespace {

SimulationResult Run(benchmark::State& state, const Scenario& scenario) {
  SimulationResult result;
  for (auto _ : state) {
    Outcome outcome = RunScenario(scenario);
    state.SetIterationTime(outcome.result.run_seconds);
    state.counters["csv_MB"] = static_cast<double>(outcome.csv_bytes) * 1e-6;
    result = std::move(outcome.result);
  }
  state.counters["peak_MB"] = static_cast<double>(PeakMemoryBytes()) * 1e-6;
  return result;
}

// `bytes` of memory belong to `count` hosts or flows.
void Report(benchmark::State& state, int64_t count, int64_t bytes) {
  state.counters["count"] = static_cast<double>(count);
  state.counters["bytes_each"] =
      static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(count, 1));
}

void RunOnce(benchmark::internal::Benchmark* benchmark) {
  benchmark->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);
}

// Flows of one packet that come and go: bytes that the process has kept for each at its end, beyond
// what it had used at its peak before. With few flows it is mostly the network's own memory.
void FinishedFlows(benchmark::State& state) {
  const int64_t before = PeakMemoryBytes();
  Run(state,
      {LeafSpine(4, 4, 8),
       fmt::format("{{kind: poisson, sizes: fixed:1000B, load: 0.3, flows: {}}}", state.range(0))});
  Report(state, state.range(0), PeakMemoryBytes() - before);
}
BENCHMARK(FinishedFlows)
    ->Name("memory/finished_flows")
    ->ArgName("flows")
    ->Arg(10'000)
    ->Arg(10'000'000)
    ->Apply(RunOnce);

// One short flow among 1024 hosts and 64 switches.
const Scenario kIdle{k1024Hosts, "{kind: incast, fan_in: 1, bytes_each: 1B}", "100us"};

// Builds a network in which nothing happens, and reports bytes per host, with its share of
// switches, ports and wires.
void IdleHosts(benchmark::State& state) {
  const SimulationResult result = Run(state, kIdle);
  Report(state, 1'024, result.node_bytes + result.wire_bytes);
}
BENCHMARK(IdleHosts)->Name("memory/idle_hosts")->Apply(RunOnce);

// Every host sends to 31 others at once, and no flow ends in time. Reports bytes per flow at both
// ends, beyond those of an idle network.
void LiveFlows(benchmark::State& state, const std::string& transport) {
  Scenario idle = kIdle;
  idle.transport = transport;
  Scenario busy = idle;
  busy.workload = "{kind: incast, fan_in: 31, bytes_each: 1GB, queries: 1000, period: 1ps}";
  busy.t_max = "20us";
  const int64_t idle_bytes = RunScenario(idle).result.node_bytes;
  const SimulationResult result = Run(state, busy);
  Report(state, result.flows_started - result.flows_finished, result.node_bytes - idle_bytes);
}
BENCHMARK_CAPTURE(LiveFlows, dctcp, "dctcp")->Name("memory/live_flows")->Apply(RunOnce);
BENCHMARK_CAPTURE(LiveFlows, roce, "rocev2")->Name("memory/live_flows/roce")->Apply(RunOnce);
BENCHMARK_CAPTURE(LiveFlows, uet, "uet")->Name("memory/live_flows/uet")->Apply(RunOnce);
BENCHMARK_CAPTURE(LiveFlows, mprdma, "mprdma")->Name("memory/live_flows/mprdma")->Apply(RunOnce);
BENCHMARK_CAPTURE(LiveFlows, mptcp, "{kind: mptcp, subflows: 8}")
    ->Name("memory/live_flows/mptcp")
    ->Apply(RunOnce);
BENCHMARK_CAPTURE(LiveFlows, mmptcp, "mmptcp")->Name("memory/live_flows/mmptcp")->Apply(RunOnce);
BENCHMARK_CAPTURE(LiveFlows, rccc, "{kind: uet, receiver: rccc}")
    ->Name("memory/live_flows/rccc")
    ->Apply(RunOnce);

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) { return heddle::BenchmarkMain(argc, argv, "0"); }
