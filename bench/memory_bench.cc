// SPDX-License-Identifier: Apache-2.0
// Measures the memory of a simulation: per host, per live flow and per finished flow. Read the
// counters, which are bytes per item that their name says; the times are those of the runs that
// fill the memory.

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
  return result;
}

// Runs flows of one packet that come and go, and reports the growth of the process's peak memory in
// bytes per flow. With few flows this is mostly the network's own memory.
void FinishedFlows(benchmark::State& state) {
  const int64_t before = PeakMemoryBytes();
  Run(state,
      {"kind: leaf_spine, leaves: 4, spines: 4, hosts_per_leaf: 8",
       fmt::format("{{kind: poisson, sizes: fixed:1000B, load: 0.3, flows: {}}}", state.range(0))});
  const auto grown = static_cast<double>(PeakMemoryBytes() - before);
  state.counters["peak_MB"] = static_cast<double>(PeakMemoryBytes()) * 1e-6;
  state.counters["bytes_per_flow"] = grown / static_cast<double>(state.range(0));
}
BENCHMARK(FinishedFlows)
    ->Name("memory/finished_flows")
    ->ArgName("flows")
    ->Arg(10'000)
    ->Arg(10'000'000)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// One short flow among 1024 hosts and 64 switches.
const Scenario kIdle{k1024Hosts, "{kind: incast, fan_in: 1, bytes_each: 1B}", "100us"};

// Builds a network in which nothing happens, and reports bytes per host, with its share of
// switches, ports and wires.
void IdleHosts(benchmark::State& state) {
  const SimulationResult result = Run(state, kIdle);
  state.counters["bytes_per_host"] =
      static_cast<double>(result.node_bytes + result.wire_bytes) / 1'024;
}
BENCHMARK(IdleHosts)
    ->Name("memory/idle_hosts")
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Every host sends to 31 others at once, and no flow ends in time. Reports bytes per flow at both
// ends, beyond those of an idle network.
void LiveFlows(benchmark::State& state) {
  const int64_t idle_bytes = RunScenario(kIdle).result.node_bytes;
  const SimulationResult result = Run(
      state, {k1024Hosts, "{kind: incast, fan_in: 31, bytes_each: 1GB, queries: 1000, period: 1ps}",
              "20us"});
  const int64_t live = result.flows_started - result.flows_finished;
  state.counters["flows"] = static_cast<double>(live);
  state.counters["bytes_per_flow"] = static_cast<double>(result.node_bytes - idle_bytes) /
                                     static_cast<double>(std::max<int64_t>(live, 1));
}
BENCHMARK(LiveFlows)
    ->Name("memory/live_flows")
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) { return heddle::BenchmarkMain(argc, argv, "0"); }
