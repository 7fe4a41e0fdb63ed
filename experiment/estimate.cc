// SPDX-License-Identifier: Apache-2.0

#include "experiment/estimate.h"

#include <algorithm>

namespace heddle {

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

// The constants are from docs/validation.md. The number of live flows depends on the load balancer
// too; eight per host are many for most workloads.
double ExpectedMemoryBytes(const Experiment& experiment) {
  constexpr double kProgram = 20e6;
  constexpr double kPerHost = 3'500;
  constexpr double kPerLiveFlow = 1'300;
  constexpr double kPerFlow = 37;
  constexpr double kLiveFlowsPerHost = 8;
  double flows = 0;
  for (const Forecast& forecast : experiment.forecasts) flows += forecast.flows;
  const double hosts = static_cast<double>(experiment.stage.hosts);
  const double live = std::min(flows, kLiveFlowsPerHost * hosts);
  return kProgram + hosts * kPerHost + live * kPerLiveFlow + flows * kPerFlow;
}

}  // namespace heddle
