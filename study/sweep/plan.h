// SPDX-License-Identifier: Apache-2.0
// The points of a sweep, resolved: what every later step needs to know of them. It lies in the
// sweep's folder, so that status, collect and compare need nothing else.

#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "experiment/experiment_file.h"
#include "settings/diagnostics.h"

namespace heddle {

struct PlannedPoint {
  std::string id;  // Names its results; see Experiment::Id().
  std::string label;
  std::string seed;
  std::vector<std::string> choices;  // By axis.
  double hops = 0;                   // Expected; see experiment/estimate.h.
  double memory_bytes = 0;

  friend bool operator==(const PlannedPoint&, const PlannedPoint&) = default;
};

struct Plan {
  std::vector<std::string> axes;  // Keys, but for `seed`.
  std::vector<PlannedPoint> points;

  friend bool operator==(const Plan&, const Plan&) = default;
};

// A point as it is written to a plan.
PlannedPoint PlanPoint(const ExperimentFile& file, size_t point, Diagnostics& diagnostics);

// All points. Two that are the same experiment are an error, as is any mistake in any of them.
Plan MakePlan(const ExperimentFile& file, Diagnostics& diagnostics);

std::string PlanCsv(const Plan& plan);
// InvalidArgument if it is something else.
absl::StatusOr<Plan> ParsePlan(std::string_view csv);

}  // namespace heddle
