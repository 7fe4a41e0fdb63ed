// SPDX-License-Identifier: Apache-2.0
// Predicts the time and memory of a sweep's points, from finished points if there are any, else
// from the table of experiment/estimate.h. `heddle sweep` shows the prediction, and the Slurm
// script divides points into tasks by it.

#pragma once

#include <cstddef>
#include <vector>

#include "study/sweep/plan.h"
#include "study/sweep/sweep_folder.h"

namespace heddle {

struct CostModel {
  double seconds_per_work;
  double memory_factor = 1;  // Measured memory as a share of the expected.
  size_t measured = 0;       // The number of finished points that this is computed from.

  double Seconds(const PlannedPoint& point) const { return point.work * seconds_per_work; }
  double MemoryBytes(const PlannedPoint& point) const { return point.memory_bytes * memory_factor; }
};

// `reports` has all points of `plan`.
CostModel CostModelOf(const Plan& plan, const std::vector<PointReport>& reports);

}  // namespace heddle
