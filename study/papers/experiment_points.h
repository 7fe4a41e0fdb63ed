// SPDX-License-Identifier: Apache-2.0
// The points of a paper's experiment at some scale: their choices, and where their results lie. The
// commands of `heddle papers` load them.

#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiment/experiment_file.h"
#include "settings/diagnostics.h"
#include "study/papers/claims.h"
#include "study/sweep/plan.h"
#include "study/sweep/sweep_folder.h"

namespace heddle {

class ExperimentPoints {
 public:
  // `out` is the folder of the results. Returns nothing, with errors, if the experiment has
  // mistakes.
  static std::optional<ExperimentPoints> Load(const Paper& paper, const PaperExperiment& experiment,
                                              const LoadOptions& options,
                                              const std::filesystem::path& out,
                                              Diagnostics& diagnostics);

  const std::string& experiment() const { return experiment_; }
  const Points& points() const { return points_; }
  const Plan& plan() const { return plan_; }
  const SweepFolder& folder() const { return folder_; }
  // Null for a benchmark.
  const ExperimentFile* file() const { return file_ ? &*file_ : nullptr; }

 private:
  ExperimentPoints(std::string experiment, std::optional<ExperimentFile> file, Points points,
                   Plan plan, SweepFolder folder)
      : experiment_(std::move(experiment)),
        file_(std::move(file)),
        points_(std::move(points)),
        plan_(std::move(plan)),
        folder_(std::move(folder)) {}

  std::string experiment_;
  std::optional<ExperimentFile> file_;
  Points points_;
  Plan plan_;
  SweepFolder folder_;
};

// Returns the folder of an experiment's results. Experiments from one file share it.
SweepFolder FolderOf(const Paper& paper, const PaperExperiment& experiment,
                     const std::filesystem::path& out);

// Adds the `problems` of an experiment to `diagnostics`. It names the experiment, since settings of
// `load` may suit other experiments.
void TakeProblems(const PaperExperiment& experiment, const LoadOptions& load,
                  const Diagnostics& problems, Diagnostics& diagnostics);

// Returns an experiment's points without planning them, which takes long. Enough to know the axes.
std::optional<Points> AxesOf(const PaperExperiment& experiment, Diagnostics& diagnostics);

}  // namespace heddle
