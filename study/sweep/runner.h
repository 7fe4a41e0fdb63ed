// SPDX-License-Identifier: Apache-2.0
// Runs points of a sweep in parallel, each in a process of its own, for `heddle sweep`. A crash of
// one point leaves the others alone.

#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "experiment/experiment_file.h"
#include "study/sweep/plan.h"
#include "study/sweep/sweep_folder.h"

namespace heddle {

struct RunnerProgress {
  size_t done = 0;  // Points that have ended, with or without a result.
  size_t failed = 0;
  size_t all = 0;
  std::vector<size_t> running;  // Points.
  double share = 0;             // The finished share of the expected work of all points.
  double seconds = 0;
};

struct RunnerOptions {
  int jobs = 1;     // Points that run at once.
  int threads = 1;  // Threads of each point.
  bool replace = false;
  bool has_plugins = false;  // Which may be what crashes.
  // Called several times a second.
  std::function<void(const RunnerProgress&)> progress;
  // Called when a point has come to an end.
  std::function<void(size_t point, const PointReport& report)> ended;
  // How often the user has asked to stop. After the first time runs end between two windows, after
  // the second at once.
  const std::atomic<int>* stops = nullptr;
};

// Runs `points`, in any order, and leaves the results in `folder`; existing results of `points` are
// not kept. It waits for points that another process runs. A point that is killed from outside, as
// for lack of memory, is tried once more, alone. Fails if no process can be started;
// ResourceExhausted names the first point that the disk has no room for, and no further point is
// started. This process must have no threads.
absl::Status RunPoints(const ExperimentFile& file, const Plan& plan,
                       const std::vector<size_t>& points, const SweepFolder& folder,
                       const RunnerOptions& options);

}  // namespace heddle
