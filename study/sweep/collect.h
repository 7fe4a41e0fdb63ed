// SPDX-License-Identifier: Apache-2.0
// Merges the results of a sweep's points into points.csv and means.csv; docs/metrics.md has their
// columns. They do not depend on which point ran when or where.

#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "study/sweep/plan.h"
#include "study/sweep/sweep_folder.h"

namespace heddle {

struct Collected {
  std::vector<PointState>
      states;  // By point; points that are done or incomplete have been collected.
  size_t taken = 0;
  absl::Status status;  // OK if both files have been written.
};

// Writes both files into the folder `into`, usually the sweep's own; each file is either whole or
// absent. Results of other versions of Heddle are left out unless `with_stale`.
Collected Collect(const SweepFolder& folder, const Plan& plan, bool with_stale,
                  const std::filesystem::path& into);

}  // namespace heddle
