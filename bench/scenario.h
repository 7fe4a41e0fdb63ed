// SPDX-License-Identifier: Apache-2.0
// Whole simulations for benchmarks: ECMP on a leaf-spine of 100 Gbps links with 1 us of delay, with
// DCTCP if nothing else is said.

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

struct Scenario {
  std::string shape;     // "leaves: 8, spines: 8, hosts_per_leaf: 16"
  std::string workload;  // The list in flow style.
  std::string t_max = "10s";
  std::string host_delay = "1us";
  std::string transport = "dctcp";
  std::string port = "{}";
  NetworkPlan::Ports ports = NetworkPlan::Ports::kCheapest;
};

struct Outcome {
  SimulationResult result;
  int64_t csv_bytes = 0;  // Of flows.csv.
};

inline Outcome RunScenario(const Scenario& scenario, int threads = 1) {
  const std::string yaml = fmt::format(
      "name: bench\n"
      "topology: {{kind: leaf_spine, {}, host_link: {{rate: 100Gbps, delay: {}}},"
      " fabric_link: {{rate: 100Gbps, delay: 1us}}, port: {}}}\n"
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
    return true;
  });
  outcome.result = std::move(result).value();  // Built-in load balancers do not fail.
  return outcome;
}

}  // namespace heddle
