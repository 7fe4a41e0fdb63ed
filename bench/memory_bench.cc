// SPDX-License-Identifier: Apache-2.0
// What a simulation keeps in memory: per host, per live flow, per finished flow; and that ten
// million flows fit.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/paired.h"
#include "bench/scenario.h"
#include "experiment/results.h"

namespace heddle {
namespace {

int64_t NodeAndWireBytes(const SimulationResult& result) {
  return result.node_bytes + result.wire_bytes;
}

void MeasureHostsAndLiveFlows() {
  const std::string shape = "leaves: 32, spines: 32, hosts_per_leaf: 32";
  // One short flow; then every host sends to 31 others at once, none of which ends in time.
  const Outcome idle = RunScenario({shape, "{kind: incast, fan_in: 1, bytes_each: 1B}", "100us"});
  const Outcome busy = RunScenario(
      {shape, "{kind: incast, fan_in: 31, bytes_each: 1GB, queries: 1000, period: 1ps}", "20us"});
  fmt::print("1024 hosts, 64 switches, idle: {} bytes per host, ports and wires included\n",
             NodeAndWireBytes(idle.result) / 1024);
  const int64_t live = busy.result.flows_started - busy.result.flows_finished;
  fmt::print("{} live flows: {} bytes each, both ends\n", live,
             (busy.result.node_bytes - idle.result.node_bytes) / std::max<int64_t>(live, 1));
}

void MeasureFinishedFlows(int64_t flows) {
  const int64_t before = PeakMemoryBytes();
  const std::string workload =
      fmt::format("{{kind: poisson, sizes: fixed:1000B, load: 0.3, flows: {}}}", flows);
  Outcome outcome;
  const double seconds = SecondsOf([&] {
    outcome = RunScenario({"leaves: 4, spines: 4, hosts_per_leaf: 8", workload});
  });
  fmt::print("{} finished flows of one packet: {:.1f} s, {:.1f} GB of flows.csv\n",
             outcome.result.flows_finished, seconds, static_cast<double>(outcome.csv_bytes) * 1e-9);
  fmt::print(
      "  peak memory {:.0f} MB, {:.0f} MB more than before: {:.1f} bytes per finished flow\n",
      static_cast<double>(PeakMemoryBytes()) * 1e-6,
      static_cast<double>(PeakMemoryBytes() - before) * 1e-6,
      static_cast<double>(PeakMemoryBytes() - before) / static_cast<double>(flows));
  fmt::print("  nodes and wires at the end: {:.2f} MB\n",
             static_cast<double>(NodeAndWireBytes(outcome.result)) * 1e-6);
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  heddle::MeasureHostsAndLiveFlows();
  heddle::MeasureFinishedFlows(heddle::IsSmoke(argc, argv) ? 10'000 : 10'000'000);
  return 0;
}
