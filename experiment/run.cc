// SPDX-License-Identifier: Apache-2.0

#include "experiment/run.h"

#include <fmt/format.h>

#include <string_view>

#include "core/check.h"
#include "experiment/run_folder.h"

namespace heddle {
namespace {

RunOutcome Failed(const RunFolder& folder) {
  RunOutcome outcome;
  outcome.status = folder.busy()         ? RunOutcome::Status::kBusy
                   : folder.lacks_room() ? RunOutcome::Status::kNoRoom
                                         : RunOutcome::Status::kFailed;
  outcome.error = folder.error();
  return outcome;
}

}  // namespace

RunOutcome RunToFolder(const Experiment& experiment, const SimulationOptions& options,
                       const std::filesystem::path& path, bool replace) {
  SetBrokenInvariantHandler(&RunFolder::RemoveAll);
  SetRunDescription(fmt::format("{} {} seed {}", experiment.settings.name, experiment.label,
                                experiment.settings.seed));
  RunFolder folder(path);
  if (!folder.Open(replace) || !folder.Start("flows.csv")) return Failed(folder);
  const SimulationResult result = Simulate(
      experiment, options, [&](std::string_view text) { return folder.Append("flows.csv", text); },
      [&](std::string_view file, std::string_view text) { return folder.Append(file, text); });
  if (!folder.error().empty() || !folder.Finish()) return Failed(folder);
  RunOutcome outcome;
  if (result.stopped) {
    outcome.status = RunOutcome::Status::kStopped;
    return outcome;
  }
  if (!result.notes.problem.empty()) {
    outcome.status = RunOutcome::Status::kFailed;
    outcome.error = result.notes.problem;
    return outcome;
  }
  const std::vector<ClassSummary> summary = Summarise(experiment, result);
  outcome.warnings = WarningsOf(experiment, result);
  const bool written =
      folder.Write("run.yaml", experiment.Resolved()) &&
      folder.Write("summary.csv", SummaryCsv(summary)) &&
      folder.Write("summary.json", SummaryJson(experiment, result, outcome.warnings)) &&
      folder.Commit();
  if (!written) return Failed(folder);
  outcome.row = RowOf(experiment.label.empty() ? experiment.settings.name : experiment.label,
                      summary, result);
  if (!IsComplete(experiment, result)) outcome.status = RunOutcome::Status::kIncomplete;
  return outcome;
}

}  // namespace heddle
