// SPDX-License-Identifier: Apache-2.0

#include "experiment/run.h"

#include <fmt/format.h>

#include <string_view>

#include "core/check.h"
#include "experiment/resolved.h"
#include "experiment/run_folder.h"
#include "experiment/warnings.h"

namespace heddle {

absl::StatusOr<RunOutcome> RunToFolder(const Experiment& experiment,
                                       const SimulationOptions& options,
                                       const std::filesystem::path& path, bool replace) {
  SetBrokenInvariantHandler(&RunFolder::RemoveAll);
  const std::string label = experiment.label.empty() ? "" : " " + experiment.label;
  SetRunDescription(
      fmt::format("{}{} seed {}", experiment.settings.name, label, experiment.settings.seed));
  RunFolder folder(path);
  folder.Open(replace).IgnoreError();  // The folder keeps its first failure.
  if (absl::Status status = folder.Start("flows.csv"); !status.ok()) return status;
  const absl::StatusOr<SimulationResult> simulated = Simulate(
      experiment, options,
      [&](std::string_view text) { return folder.Append("flows.csv", text).ok(); },
      [&](std::string_view file, std::string_view text) { return folder.Append(file, text).ok(); });
  if (!simulated.ok()) return simulated.status();
  if (absl::Status status = folder.Finish(); !status.ok()) return status;
  const SimulationResult& result = *simulated;
  if (result.stopped) return absl::CancelledError("stopped");
  if (!result.notes.problem.empty()) return absl::FailedPreconditionError(result.notes.problem);
  const std::vector<ClassSummary> summary = Summarise(experiment, result);
  RunOutcome outcome;
  outcome.warnings = WarningsOf(experiment, result, summary);
  folder.Write("run.yaml", experiment.Resolved() + ResolvedYaml(ResolvedOf(experiment)))
      .IgnoreError();  // Commit() returns the first failure.
  folder.Write("summary.csv", SummaryCsv(summary)).IgnoreError();
  folder.Write("summary.json", SummaryJson(experiment, result, outcome.warnings)).IgnoreError();
  if (absl::Status status = folder.Commit(); !status.ok()) return status;
  outcome.row = RowOf(experiment.label.empty() ? experiment.settings.name : experiment.label,
                      summary, result);
  outcome.complete = IsComplete(experiment, result);
  return outcome;
}

}  // namespace heddle
