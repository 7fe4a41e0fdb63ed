// SPDX-License-Identifier: Apache-2.0
// Runs points of a sweep side by side, each in a process of its own.

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
  size_t done = 0;  // Points that have come to an end, whichever.
  size_t failed = 0;
  size_t all = 0;
  std::vector<size_t> running;  // Points.
  double share = 0;             // Of the expected work of all of them.
  double seconds = 0;
};

struct RunnerOptions {
  int jobs = 1;     // At once,
  int threads = 1;  // each with so many threads.
  bool replace = false;
  // Called several times a second.
  std::function<void(const RunnerProgress&)> progress;
  // Called when a point has come to an end.
  std::function<void(size_t point, const PointReport& report)> ended;
  // How often the user has asked to stop: once lets runs end between two windows, twice at once.
  const std::atomic<int>* stops = nullptr;
};

// Runs `points`, which have no results that are to be kept, in an order of its own. What comes of
// each is in `folder`. One that another process works on is waited for; one that is killed from
// outside, as for lack of memory, is tried once more, alone. Fails if no process can be started;
// ResourceExhausted names the first point that the disk has no room for, which is the last one that
// is tried. This process must have no threads.
absl::Status RunPoints(const ExperimentFile& file, const Plan& plan,
                       const std::vector<size_t>& points, const SweepFolder& folder,
                       const RunnerOptions& options);

}  // namespace heddle
