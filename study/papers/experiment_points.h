// SPDX-License-Identifier: Apache-2.0
// The points of a paper's experiment at some scale: what they are, and where their results lie.

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
  // `out` is the folder of the results; nothing, with errors, if the experiment has mistakes.
  static std::optional<ExperimentPoints> Load(const Paper& paper, const PaperExperiment& experiment,
                                              const LoadOptions& options,
                                              const std::filesystem::path& out,
                                              Diagnostics& diagnostics);

  const std::string& experiment() const { return experiment_; }
  const Points& points() const { return points_; }
  const Plan& plan() const { return plan_; }
  const SweepFolder& folder() const { return folder_; }
  // Of a benchmark there is none.
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

// Experiments of one file share its results.
SweepFolder FolderOf(const Paper& paper, const PaperExperiment& experiment,
                     const std::filesystem::path& out);

// Adds the `problems` of an experiment to those of all; what `load` sets may fit others, so it says
// which one that is.
void TakeProblems(const PaperExperiment& experiment, const LoadOptions& load,
                  const Diagnostics& problems, Diagnostics& diagnostics);

// Its points before they are planned, which takes long: for those who only want to know the axes.
std::optional<Points> AxesOf(const PaperExperiment& experiment, Diagnostics& diagnostics);

}  // namespace heddle
