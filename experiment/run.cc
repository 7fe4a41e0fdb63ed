// SPDX-License-Identifier: Apache-2.0

#include "experiment/run.h"

#include <fmt/format.h>

#include <string_view>

#include "core/check.h"
#include "experiment/run_folder.h"

namespace heddle {

absl::StatusOr<RunOutcome> RunToFolder(const Experiment& experiment,
                                       const SimulationOptions& options,
                                       const std::filesystem::path& path, bool replace) {
  SetBrokenInvariantHandler(&RunFolder::RemoveAll);
  SetRunDescription(fmt::format("{} {} seed {}", experiment.settings.name, experiment.label,
                                experiment.settings.seed));
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
  if (!result.trace_problem.empty()) return absl::FailedPreconditionError(result.trace_problem);
  const std::vector<ClassSummary> summary = Summarise(experiment, result);
  RunOutcome outcome;
  outcome.warnings = WarningsOf(experiment, result);
  const auto write = [&](const char* file, const std::string& text) {
    folder.Write(file, text).IgnoreError();  // Commit() returns the first failure.
  };
  write("run.yaml", experiment.Resolved());
  write("summary.csv", SummaryCsv(summary));
  write("reorder.csv", ReorderCsv(experiment, result));
  write("links.csv", LinksCsv(experiment, result));
  write("lb.csv", LbCsv(experiment, result));
  if (!result.queueing.empty()) write("queueing.csv", QueueingCsv(experiment, result));
  if (experiment.settings.measure.link_classes) {
    write("link_classes.csv", LinkClassesCsv(experiment, result));
  }
  if (!result.background.empty()) write("udp.csv", UdpCsv(result));
  if (!result.resequencing.empty()) write("resequencing.csv", ResequencingCsv(result));
  write("summary.json", SummaryJson(experiment, result, outcome.warnings));
  if (absl::Status status = folder.Commit(); !status.ok()) return status;
  outcome.row = RowOf(experiment.label.empty() ? experiment.settings.name : experiment.label,
                      summary, result);
  outcome.complete = IsComplete(experiment, result);
  return outcome;
}

}  // namespace heddle
