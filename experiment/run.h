// SPDX-License-Identifier: Apache-2.0
// From an experiment to a folder of results.

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/results.h"
#include "experiment/simulation.h"

namespace heddle {

struct RunOutcome {
  enum class Status {
    kDone,
    kIncomplete,  // The results are there, but measured flows are unfinished.
    kStopped,     // By the user; there are no results.
    kBusy,        // Another process is writing these results; `error` says so.
    kNoRoom,      // There are no results, as the disk is full; `error` says so.
    kFailed,      // There are no results; `error` says why.
  };
  Status status = Status::kDone;
  std::string error;
  std::vector<std::string> warnings;
  TableRow row;
};

// Simulates `experiment` and writes its results to `folder`, replacing what is there if `replace`.
RunOutcome RunToFolder(const Experiment& experiment, const SimulationOptions& options,
                       const std::filesystem::path& folder, bool replace);

}  // namespace heddle
