// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/cost.h"

#include <algorithm>

#include "experiment/estimate.h"

namespace heddle {

CostModel CostModelOf(const Plan& plan, const std::vector<PointReport>& reports) {
  double seconds = 0;
  double work = 0;
  double memory_factor = 0;
  size_t measured = 0;
  for (size_t i = 0; i < reports.size(); ++i) {
    const PointReport& report = reports[i];
    const bool has_result =
        report.state == PointState::kDone || report.state == PointState::kIncomplete;
    if (!has_result || plan.points[i].work <= 0) continue;
    ++measured;
    seconds += report.run_seconds;
    work += plan.points[i].work;
    memory_factor = std::max(memory_factor, report.memory_bytes / plan.points[i].memory_bytes);
  }
  if (measured == 0) return {.seconds_per_work = SecondsPerWork()};
  return {.seconds_per_work = seconds / work, .memory_factor = memory_factor, .measured = measured};
}

}  // namespace heddle
