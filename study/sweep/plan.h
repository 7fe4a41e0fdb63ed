// SPDX-License-Identifier: Apache-2.0
// The plan of a sweep: its resolved points, with all that later steps need to know of them. `heddle
// sweep` writes it to the sweep's folder, so that status, collect and compare need nothing else.

#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "experiment/experiment_file.h"
#include "settings/diagnostics.h"

namespace heddle {

struct PlannedPoint {
  std::string id;  // The name of its results; see Experiment::Id().
  std::string label;
  std::string seed;
  std::vector<std::string> choices;  // By axis.
  double hops = 0;                   // Expected packet hops; see experiment/estimate.h.
  double memory_bytes = 0;
  double work =
      0;  // Expected work, by which time is estimated. plan.csv has none: then it is hops.

  // Compares what plan.csv holds.
  friend bool operator==(const PlannedPoint& a, const PlannedPoint& b) {
    const auto written = [](const PlannedPoint& point) {
      return std::tie(point.id, point.label, point.seed, point.choices, point.hops,
                      point.memory_bytes);
    };
    return written(a) == written(b);
  }
};

struct Plan {
  std::vector<std::string> axes;  // The keys of all axes but `seed`.
  std::vector<PlannedPoint> points;

  friend bool operator==(const Plan&, const Plan&) = default;
};

// Returns the plan's entry for a point.
PlannedPoint PlanPoint(const ExperimentFile& file, size_t point, Diagnostics& diagnostics);

// Plans all points. A mistake in a point is an error, and so are two points with the same
// experiment.
Plan MakePlan(const ExperimentFile& file, Diagnostics& diagnostics);

std::string PlanCsv(const Plan& plan);
// Returns InvalidArgument if `csv` is no plan.
absl::StatusOr<Plan> ParsePlan(std::string_view csv);

}  // namespace heddle
