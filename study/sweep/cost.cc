// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/cost.h"

#include <algorithm>

#include "experiment/estimate.h"

namespace heddle {

CostModel CostModelOf(const Plan& plan, const std::vector<PointReport>& reports) {
  double seconds = 0;
  double hops = 0;
  double memory_factor = 0;
  size_t measured = 0;
  for (size_t i = 0; i < reports.size(); ++i) {
    const PointReport& report = reports[i];
    const bool has_result =
        report.state == PointState::kDone || report.state == PointState::kIncomplete;
    if (!has_result || plan.points[i].hops <= 0) continue;
    ++measured;
    seconds += report.run_seconds;
    hops += plan.points[i].hops;
    memory_factor = std::max(memory_factor, report.memory_bytes / plan.points[i].memory_bytes);
  }
  if (measured == 0) return {.seconds_per_hop = kSecondsPerHop};
  return {.seconds_per_hop = seconds / hops, .memory_factor = memory_factor, .measured = measured};
}

}  // namespace heddle
