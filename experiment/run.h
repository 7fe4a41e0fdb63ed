// SPDX-License-Identifier: Apache-2.0
// Runs an experiment and writes a folder of results. `heddle run` and each process of `heddle
// sweep` call it.

#pragma once

#include <absl/status/statusor.h>

#include <filesystem>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/results.h"
#include "experiment/simulation.h"

namespace heddle {

struct RunOutcome {
  bool complete = true;  // False if there are results, but measured flows are unfinished.
  std::vector<std::string> warnings;
  TableRow row;
};

// Simulates `experiment` and writes its results to `folder`, replacing what is there if `replace`.
// If it fails, there are no results. Cancelled means that the user has stopped the run,
// InvalidArgument that the load balancer has made no policies; other codes are those of RunFolder.
absl::StatusOr<RunOutcome> RunToFolder(const Experiment& experiment,
                                       const SimulationOptions& options,
                                       const std::filesystem::path& folder, bool replace);

}  // namespace heddle
