// SPDX-License-Identifier: Apache-2.0
// What the points of a sweep will take: by those that are finished, if any are, else by what runs
// usually take.

#pragma once

#include <cstddef>
#include <vector>

#include "study/sweep/plan.h"
#include "study/sweep/sweep_folder.h"

namespace heddle {

struct CostModel {
  double seconds_per_hop;
  double memory_factor = 1;  // Of what was expected.
  size_t measured = 0;       // Points that this is taken from; 0: from none.

  double Seconds(const PlannedPoint& point) const { return point.hops * seconds_per_hop; }
  double MemoryBytes(const PlannedPoint& point) const { return point.memory_bytes * memory_factor; }
};

// `reports` are those of all points of `plan`.
CostModel CostModelOf(const Plan& plan, const std::vector<PointReport>& reports);

}  // namespace heddle
