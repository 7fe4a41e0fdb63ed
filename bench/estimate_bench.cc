// SPDX-License-Identifier: Apache-2.0
// Measures the table of experiment/run_costs.h, by which Heddle estimates the time of a run before
// it is simulated, and prints the table as code. Each figure is a ratio to the calibration run,
// which is timed before and after each case. With --smoke it runs just enough of each case to show
// that it works.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/paired.h"
#include "bench/scenario.h"
#include "experiment/estimate.h"
#include "experiment/run_costs.h"

namespace heddle {
namespace {

const std::string kRoce = "{kind: rocev2, cc: {kind: dcqcn, rp: nic}}";
const std::string kShared =
    "{marking: step, memory: {model: broadcom_mmu, size: 32MB}, pfc: {classes: [3]}}";

struct Case {
  std::string transport;
  std::string port;
};

// Returns the CPU seconds of a run, without those of building the network.
double RunSeconds(const SimulationResult& result) {
  return result.cpu_seconds - result.build_seconds;
}

// Returns the median over the rounds of the ratio of `measure()` to the calibration run.
template <class Measure>
double RatioToCalibration(int rounds, const Measure& measure) {
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const double before = MeasureSecondsPerWork();
    const double seconds = measure();
    ratios.push_back(seconds / std::min(before, MeasureSecondsPerWork()));
  }
  std::ranges::sort(ratios);
  return ratios[ratios.size() / 2];
}

double HopRatio(const Case& which, const std::string& shape, const std::string& t_max, int rounds) {
  Scenario scenario{shape, "{kind: poisson, sizes: websearch, load: 0.5, duration: 10ms}", t_max};
  scenario.transport = which.transport;
  scenario.port = which.port;
  return RatioToCalibration(rounds, [&] {
    const SimulationResult result = RunScenario(scenario).result;
    return RunSeconds(result) / static_cast<double>(result.packets.hops);
  });
}

// The cost of a flow that has one packet, without that of the packet's hops.
double FlowRatio(const std::string& transport, double hop, const std::string& t_max, int rounds) {
  Scenario scenario{LeafSpine(4, 4, 4),
                    "{kind: poisson, sizes: 'fixed:1KB', load: 0.3, duration: 10ms}", t_max};
  scenario.transport = transport;
  double hops_per_flow = 0;
  const double flow = RatioToCalibration(rounds, [&] {
    const SimulationResult result = RunScenario(scenario).result;
    const double flows = static_cast<double>(result.flows_started);
    hops_per_flow = static_cast<double>(result.packets.hops) / flows;
    return RunSeconds(result) / flows;
  });
  return flow - hops_per_flow * hop;
}

void PrintTable(bool smoke) {
  const int rounds = smoke ? 1 : 9;
  const std::vector<std::string> shapes = {LeafSpine(4, 4, 4), k128Hosts, k1024Hosts};
  const std::vector<std::string> t_max = smoke ? std::vector<std::string>{"20us", "20us", "20us"}
                                               : std::vector<std::string>{"2ms", "500us", "100us"};
  const auto print = [&](const Case& which, const char* start) {
    std::vector<double> ratios;
    for (size_t i = 0; i < shapes.size(); ++i) {
      ratios.push_back(HopRatio(which, shapes[i], t_max[i], rounds));
    }
    fmt::print("    {{{}, {{{:.2f}}}}},\n", start, fmt::join(ratios, ", "));
    return ratios.front();
  };
  const double tcp = print({"dctcp", "{}"}, "false, CostedPorts::kFifo");
  print({"{kind: dctcp, control_priority: 0}", "{}"}, "false, CostedPorts::kQueues");
  print({"dctcp", "{memory: {model: broadcom_mmu, size: 32MB}}"}, "false, CostedPorts::kShared");
  const double roce = print({kRoce, "{marking: step}"}, "true, CostedPorts::kQueues");
  print({kRoce, kShared}, "true, CostedPorts::kShared");
  const std::string end = smoke ? "50us" : "5ms";
  fmt::print("kTcpFlowCost = {:.0f}\n", FlowRatio("dctcp", tcp, end, rounds));
  fmt::print("kRoceFlowCost = {:.0f}\n", FlowRatio(kRoce, roce, end, rounds));
  fmt::print("The calibration run: {:.1f} ns a packet-hop\n", MeasureSecondsPerWork() * 1e9);
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  heddle::PrintTable(heddle::IsSmoke(argc, argv));
  return 0;
}
