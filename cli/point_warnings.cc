// SPDX-License-Identifier: Apache-2.0

#include "cli/point_warnings.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "cli/warning_tally.h"
#include "study/sweep/result_row.h"

namespace heddle {

void PrintPointWarnings(const SweepFolder& folder, const Plan& plan,
                        const std::vector<size_t>& points) {
  WarningTally tally;
  for (const size_t point : points) {
    const PlannedPoint& planned = plan.points[point];
    for (const std::string& warning : ReadWarnings(folder.PointPath(planned.id))) {
      tally.Add(WithoutNumbers(warning), warning, planned.label);
    }
  }
  for (const auto& [text, label, count] : tally.entries()) {
    fmt::print(stderr, "{}: warning: {}{}\n", label, text,
               count == 1 ? "" : fmt::format(" (and {} more like it)", count - 1));
  }
}

}  // namespace heddle
