// SPDX-License-Identifier: Apache-2.0

#include "experiment/estimate.h"

#include <algorithm>

namespace heddle {

double ExpectedPacketHops(const Experiment& experiment) {
  // Of flows between any two hosts.
  const double hosts = static_cast<double>(experiment.stage.hosts);
  const double same_leaf = hosts / static_cast<double>(experiment.stage.leaves) - 1;
  double hops = 0;
  for (const Forecast& forecast : experiment.forecasts) {
    const double crossing = forecast.crossing.value_or(1 - same_leaf / (hosts - 1));
    hops += 2 * forecast.packets * (2 + crossing * (experiment.mean_links - 2));
  }
  return hops;
}

// Figures of docs/validation.md. How many flows live at once follows from the load balancer too;
// eight a host are many for most workloads.
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
