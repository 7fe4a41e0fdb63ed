// SPDX-License-Identifier: Apache-2.0

#include "experiment/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/check.h"
#include "experiment/run_costs.h"
#include "experiment/simulation.h"
#include "experiment/traffic.h"

namespace heddle {
namespace {

// Sixteen hosts send to hosts of the other leaf for 40 us, some 40,000 packet-hops.
constexpr std::string_view kCalibrationRun =
    "name: calibration\n"
    "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 8,\n"
    "  host_link: {rate: 100Gbps, delay: 1us}, fabric_link: {rate: 200Gbps, delay: 1us}}\n"
    "transport: dctcp\n"
    "lb: ecmp\n"
    "workload: [{kind: permutation, size: 1GB, cross_rack: true}]\n"
    "measure: {unfinished: drop, t_max: 40us}\n";

bool IsRoce(const Experiment& experiment) { return experiment.settings.transport.kind == "rocev2"; }

CostedPorts PortsOf(const Experiment& experiment) {
  const PortRule& rule = experiment.settings.topology.settings->port;
  const bool is_shared = rule.pfc.on() || rule.memory.model != MemorySettings::Model::kPrivate;
  if (is_shared) return CostedPorts::kShared;
  const QueuePlan plan(experiment.graph, rule, TrafficOf(experiment), experiment.events);
  // RoCE through FIFO ports is rare, and has no row.
  return plan.fifo_is_exact() && !IsRoce(experiment) ? CostedPorts::kFifo : CostedPorts::kQueues;
}

// Returns the cost for a number of hosts, on a line between the table's columns by the logarithm of
// the number. Beyond the last column the cost stays: caches are too small already.
double CostAt(const HopCost& cost, double hosts) {
  size_t upper = 0;
  while (upper < kCostedHosts.size() && kCostedHosts[upper] < hosts) ++upper;
  if (upper == 0) return cost.by_hosts.front();
  if (upper == kCostedHosts.size()) return cost.by_hosts.back();
  const double share = std::log(hosts / kCostedHosts[upper - 1]) /
                       std::log(kCostedHosts[upper] / kCostedHosts[upper - 1]);
  return std::lerp(cost.by_hosts[upper - 1], cost.by_hosts[upper], share);
}

double CostPerHop(const Experiment& experiment) {
  const bool is_roce = IsRoce(experiment);
  const CostedPorts ports = PortsOf(experiment);
  const auto row = std::ranges::find_if(kHopCosts, [&](const HopCost& cost) {
    return cost.is_roce == is_roce && cost.ports == ports;
  });
  HEDDLE_CHECK(row != kHopCosts.end(), "no cost for ports {}", static_cast<int>(ports));
  return CostAt(*row, static_cast<double>(experiment.stage.hosts));
}

}  // namespace

double ExpectedPacketHops(const Experiment& experiment) {
  // Without a forecast, any two hosts are equally likely to be the ends of a flow.
  const double hosts = static_cast<double>(experiment.stage.hosts);
  const double same_leaf = hosts / static_cast<double>(experiment.stage.leaves) - 1;
  double hops = 0;
  for (const Forecast& forecast : experiment.forecasts) {
    const double crossing = forecast.crossing.value_or(1 - same_leaf / (hosts - 1));
    hops += 2 * forecast.packets * (2 + crossing * (experiment.mean_links - 2));
  }
  return hops;
}

double ExpectedWork(const Experiment& experiment) {
  return ExpectedPacketHops(experiment) * CostPerHop(experiment) +
         experiment.Total(&Forecast::flows) * (IsRoce(experiment) ? kRoceFlowCost : kTcpFlowCost);
}

double MeasureSecondsPerWork() {
  Diagnostics diagnostics;
  const std::vector<Experiment> experiments =
      LoadExperimentsFromText(std::string(kCalibrationRun), "calibration", "", {}, diagnostics);
  HEDDLE_CHECK(diagnostics.ok(), "{}", diagnostics.Report());
  const auto result =
      Simulate(experiments.front(), {}, [](std::string_view /*flows*/) { return true; });
  HEDDLE_CHECK(result.ok(), "the calibration run fails");
  return result->cpu_seconds / static_cast<double>(result->packets.hops);
}

double SecondsPerWork() {
  static const double seconds = [] {
    constexpr int kRounds = 3;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kRounds; ++i) least = std::min(least, MeasureSecondsPerWork());
    return least;
  }();
  return seconds;
}

double ExpectedSeconds(const Experiment& experiment) {
  return ExpectedWork(experiment) * SecondsPerWork();
}

// The constants are from docs/validation.md. The number of live flows depends on the load balancer
// too; eight per host are many for most workloads.
double ExpectedMemoryBytes(const Experiment& experiment) {
  constexpr double kProgram = 20e6;
  constexpr double kPerHost = 3'500;
  constexpr double kPerLiveFlow = 1'300;
  constexpr double kPerFlow = 37;
  constexpr double kLiveFlowsPerHost = 8;
  const double flows = experiment.Total(&Forecast::flows);
  const double hosts = static_cast<double>(experiment.stage.hosts);
  const double live = std::min(flows, kLiveFlowsPerHost * hosts);
  return kProgram + hosts * kPerHost + live * kPerLiveFlow + flows * kPerFlow;
}

}  // namespace heddle
