// SPDX-License-Identifier: Apache-2.0
// Runs a benchmark of decisions as if it were a sweep: each point gets a folder with one row of
// bench.csv, so that its metrics and claims are like those of others. Its numbers are times of this
// machine.

#pragma once

#include <absl/status/status.h>

#include <functional>
#include <string>

#include "settings/diagnostics.h"
#include "study/papers/claims.h"
#include "study/papers/experiment_points.h"

namespace heddle {

struct BenchRunOptions {
  bool replace = false;  // Results that are there, also of other versions of Heddle.
  std::function<void(size_t done, size_t all)> progress;
  std::function<bool()> stop;
};

// Its load balancers; one that there is not is an error.
void CheckBench(const PaperExperiment& experiment, Diagnostics& diagnostics);

// Measures the points that are missing.
absl::Status RunBench(const ExperimentPoints& points, const BenchRunOptions& options);

}  // namespace heddle
