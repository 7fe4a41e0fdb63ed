// SPDX-License-Identifier: Apache-2.0
// Whole simulations for benchmarks. closed_loop_bench, estimate_bench, memory_bench, paired_bench
// and run_bench describe an experiment as a Scenario and call RunScenario(), which ends the program
// if the settings are wrong. All scenarios use ECMP and host links of 100 Gbps; by default, links
// have 1 us of delay and the transport is DCTCP.

#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/simulation.h"

namespace heddle {

inline const std::string kBenchLink = "{rate: 100Gbps, delay: 1us}";
inline std::string LeafSpine(int leaves, int spines, int hosts_per_leaf) {
  return fmt::format(
      "kind: leaf_spine, leaves: {}, spines: {}, hosts_per_leaf: {}, fabric_link: {}", leaves,
      spines, hosts_per_leaf, kBenchLink);
}
inline std::string FatTree(int k) {
  return fmt::format("kind: fat_tree, k: {}, edge_link: {}, core_link: {}", k, kBenchLink,
                     kBenchLink);
}
inline const std::string k128Hosts = LeafSpine(8, 8, 16);
inline const std::string k1024Hosts = LeafSpine(32, 32, 32);

// Ports that trim, with marks from a fifth to four fifths of a bandwidth-delay product.
inline const std::string kTrimming =
    "{marking: red, red: {min: 25KB, max: 100KB, probability: 1}, mark_at: dequeue, trim: {when: "
    "port}}";

struct Scenario {
  std::string shape;     // LeafSpine() or FatTree().
  std::string workload;  // The list in flow style.
  std::string t_max = "10s";
  std::string host_delay = "1us";
  std::string transport = "dctcp";
  std::string port = "{}";
  NetworkPlan::Ports ports = NetworkPlan::Ports::kCheapest;
};

struct Outcome {
  SimulationResult result;
  int64_t csv_bytes = 0;  // The size of flows.csv.
};

// `flows`: gets flows.csv, unless it is null.
inline Outcome RunScenario(const Scenario& scenario, int threads = 1,
                           std::string* flows = nullptr) {
  const std::string yaml = fmt::format(
      "name: bench\n"
      "topology: {{{}, host_link: {{rate: 100Gbps, delay: {}}}, port: {}}}\n"
      "transport: {}\nlb: ecmp\nworkload: [{}]\n"
      "measure: {{unfinished: drop, warm_up: 0us, t_max: {}}}\n",
      scenario.shape, scenario.host_delay, scenario.port, scenario.transport, scenario.workload,
      scenario.t_max);
  Diagnostics diagnostics;
  const std::vector<Experiment> experiments =
      LoadExperimentsFromText(yaml, "bench", "", {}, diagnostics);
  if (!diagnostics.ok()) {
    fmt::print(stderr, "{}", diagnostics.Report());
    std::exit(1);
  }
  SimulationOptions options;
  options.threads = threads;
  options.ports = scenario.ports;
  Outcome outcome;
  auto result = Simulate(experiments.front(), options, [&](std::string_view text) {
    outcome.csv_bytes += static_cast<int64_t>(text.size());
    if (flows != nullptr) flows->append(text);
    return true;
  });
  outcome.result = std::move(result).value();  // Built-in load balancers do not fail.
  return outcome;
}

inline double NanosecondsPerHop(const Scenario& scenario, int threads = 1) {
  const SimulationResult result = RunScenario(scenario, threads).result;
  return result.run_seconds * 1e9 / static_cast<double>(result.packets.hops);
}

}  // namespace heddle
