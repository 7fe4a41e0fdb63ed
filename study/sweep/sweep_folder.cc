// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/sweep_folder.h"

#include <fmt/format.h>

#include <array>
#include <system_error>

#include "experiment/checked_folder.h"
#include "experiment/run_folder.h"
#include "experiment/version.h"
#include "settings/files.h"
#include "settings/json.h"
#include "settings/status.h"
#include "settings/yaml.h"
#include "study/sweep/run_results.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxSweepBytes = size_t{1} << 28;
// Files up to this size are read to find damage: all but flows.csv and series. A sweep may have
// thousands of points.
constexpr size_t kMaxReadToInspect = size_t{1} << 16;

absl::StatusOr<FlatJson> ReadJson(const fs::path& path) {
  const auto text = ReadTextFile(path.string(), kMaxSweepBytes);
  return text.ok() ? ParseJson(*text) : text.status();
}

// Returns version and commit, as in "0.1.0 (35d89dc)". Results belong together if these are equal.
std::string VersionOf(const FlatJson& json) {
  const std::string commit = FindText(json, "commit");
  return FindText(json, "version") + (commit.empty() ? "" : fmt::format(" ({})", commit));
}

std::string OurVersion() { return VersionOf({{"version", Version()}, {"commit", Commit()}}); }

PointReport ReportOn(const FlatJson& summary) {
  PointReport report;
  report.version = VersionOf(summary);
  report.run_seconds =
      FindNumber(summary, "performance.run_seconds") * FindNumber(summary, "performance.threads");
  report.memory_bytes = FindNumber(summary, "performance.peak_memory_bytes");
  report.state = report.version != OurVersion()            ? PointState::kStale
                 : FindText(summary, "complete") == "true" ? PointState::kDone
                                                           : PointState::kIncomplete;
  return report;
}

}  // namespace

std::string_view NameOf(PointState state) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "missing", "running", "done", "incomplete", "failed", "stale", "damaged"};
  return kNames[static_cast<size_t>(state)];
}

bool HasResult(PointState state, bool with_stale) {
  return state == PointState::kDone || state == PointState::kIncomplete ||
         (state == PointState::kStale && with_stale);
}

fs::path SweepFolder::FailurePath(const std::string& id) const {
  return path_ / "points" / (id + ".failed");
}

absl::Status SweepFolder::Make() const {
  std::error_code error;
  fs::create_directories(path_ / "points", error);
  return error ? FileStatus(error.value(), path_.string()) : absl::OkStatus();
}

// The plan is written last, so a reader of the plan finds a document that is at least as new.
absl::Status SweepFolder::WritePlan(const ExperimentFile& file, const Plan& plan) const {
  const absl::Status status = WriteWholeFile(path_ / "sweep.yaml", file.Text());
  return status.ok() ? WriteWholeFile(path_ / "plan.csv", PlanCsv(plan)) : status;
}

absl::Status SweepFolder::WriteFailure(const PlannedPoint& point, const std::string& status,
                                       const std::string& message) const {
  JsonFields failure;
  failure.Text("label", point.label);
  failure.Text("version", Version());
  failure.Text("commit", Commit());
  failure.Text("status", status);
  failure.Text("message", message);
  return WriteWholeFile(FailurePath(point.id), IndentJson(failure.Done()));
}

void SweepFolder::RemoveFailure(const std::string& id) const {
  std::error_code ignored;
  fs::remove(FailurePath(id), ignored);
}

bool SweepFolder::IsRun() const {
  std::error_code ignored;
  return fs::exists(path_ / "run.yaml", ignored) || fs::exists(path_ / kManifestFile, ignored);
}

bool SweepFolder::RemoveTables() const {
  bool any = false;
  for (const char* name : {"points.csv", "means.csv", "report.html"}) {
    std::error_code ignored;
    any |= fs::remove(path_ / name, ignored);
  }
  return any;
}

absl::StatusOr<Plan> SweepFolder::ReadPlan() const {
  const fs::path path = path_ / "plan.csv";
  const auto text = ReadTextFile(path.string(), kMaxSweepBytes);
  std::error_code ignored;
  if (!fs::exists(path_, ignored)) {
    return absl::NotFoundError(fmt::format("{}: there is no such folder", path_.string()));
  }
  if (!text.ok()) {
    const bool is_run = fs::exists(path_ / "summary.json", ignored);
    return absl::NotFoundError(
        is_run ? fmt::format("{}: holds a single run, not a sweep", path_.string())
               : fmt::format("{}: no sweep has been started here", path.string()));
  }
  auto plan = ParsePlan(*text);
  if (plan.ok()) return plan;
  return Within(plan.status(), path.string());
}

ChoiceLabels SweepFolder::ReadLabels() const {
  const std::string path = (path_ / "sweep.yaml").string();
  const auto text = ReadTextFile(path, kMaxSweepBytes);
  Diagnostics ignored;
  const auto document = text.ok() ? ParseYaml(*text, path, ignored) : std::nullopt;
  return document ? ChoiceLabels::Of(*document) : ChoiceLabels();
}

PointReport SweepFolder::Inspect(const std::string& id) const {
  PointReport report;
  std::error_code ignored;
  if (fs::exists(PointPath(id), ignored)) {
    const CheckedFolder run(PointPath(id));
    const auto summary = ReadSummary(run);
    if (summary.ok()) report = ReportOn(*summary);
    if (!summary.ok() || !run.Damage(kMaxReadToInspect).empty()) {
      report.state = PointState::kDamaged;
    } else if (report.state != PointState::kStale) {
      NoteUnchecked(run);
    }
    return report;
  }
  if (RunFolder::IsBeingWritten(PointPath(id))) {
    report.state = PointState::kRunning;
    return report;
  }
  const auto failure = ReadJson(FailurePath(id));
  // A point that failed under another version may work under this one.
  if (!failure.ok() || VersionOf(*failure) != OurVersion()) return report;
  report.state = PointState::kFailed;
  report.status = FindText(*failure, "status");
  report.message = FindText(*failure, "message");
  return report;
}

}  // namespace heddle
