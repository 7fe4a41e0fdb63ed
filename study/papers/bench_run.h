// SPDX-License-Identifier: Apache-2.0
// Runs a benchmark of decisions as if it were a sweep: each point gets a folder with one row of
// bench.csv, so that its metrics and claims are like those of others. `heddle papers run` calls it.
// Its numbers are times on this machine.

#pragma once

#include <absl/status/status.h>

#include <functional>
#include <string>

#include "settings/diagnostics.h"
#include "study/papers/claims.h"
#include "study/papers/experiment_points.h"

namespace heddle {

struct BenchRunOptions {
  bool replace = false;  // Replaces existing results, also those of other versions of Heddle.
  std::function<void(size_t done, size_t all)> progress;
  std::function<bool()> stop;
};

// Reports an error for each of its load balancers that does not exist.
void CheckBench(const PaperExperiment& experiment, Diagnostics& diagnostics);

// Measures the points that are missing.
absl::Status RunBench(const ExperimentPoints& points, const BenchRunOptions& options);

}  // namespace heddle
