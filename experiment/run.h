// SPDX-License-Identifier: Apache-2.0
// From an experiment to a folder of results.

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
  bool complete = true;  // False: the results are there, but measured flows are unfinished.
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
