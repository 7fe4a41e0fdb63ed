// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/sweep_folder.h"

#include <fmt/format.h>

#include <array>
#include <system_error>

#include "experiment/checked_folder.h"
#include "experiment/run_folder.h"
#include "experiment/version.h"
#include "settings/json.h"
#include "settings/yaml.h"
#include "study/sweep/run_results.h"
#include "study/sweep/whole_file.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = size_t{1} << 28;
// All but flows.csv and what is measured over time: a sweep may have thousands of points.
constexpr size_t kMaxReadToInspect = size_t{1} << 16;

std::optional<FlatJson> ReadJson(const fs::path& path) {
  std::string ignored;
  const auto text = ReadTextFile(path.string(), kMaxBytes, ignored);
  return text ? ParseJson(*text) : std::nullopt;
}

// "0.1.0 (35d89dc)": what must be the same for results to belong together.
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

std::string SweepFolder::Make() const {
  std::error_code error;
  fs::create_directories(path_ / "points", error);
  return error ? fmt::format("{}: {}", path_.string(), error.message()) : "";
}

// The plan last: whoever finds it finds the document of at least its time.
std::string SweepFolder::WritePlan(const ExperimentFile& file, const Plan& plan) const {
  std::string error = WriteWholeFile(path_ / "sweep.yaml", file.Text());
  if (error.empty()) error = WriteWholeFile(path_ / "plan.csv", PlanCsv(plan));
  return error;
}

std::string SweepFolder::WriteFailure(const PlannedPoint& point, const std::string& status,
                                      const std::string& message) const {
  return WriteWholeFile(
      FailurePath(point.id),
      fmt::format("{{\n  \"label\": {},\n  \"version\": {},\n  \"commit\": {},\n  \"status\": {},\n"
                  "  \"message\": {}\n}}\n",
                  QuoteJson(point.label), QuoteJson(Version()), QuoteJson(Commit()),
                  QuoteJson(status), QuoteJson(message)));
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

std::optional<Plan> SweepFolder::ReadPlan(std::string& error) const {
  const fs::path path = path_ / "plan.csv";
  const auto text = ReadTextFile(path.string(), kMaxBytes, error);
  std::optional<Plan> plan = text ? ParsePlan(*text) : std::nullopt;
  if (plan) return plan;
  std::error_code ignored;
  error = !fs::exists(path_, ignored)
              ? fmt::format("{}: there is no such folder", path_.string())
              : fmt::format("{}: {}", path.string(),
                            text ? "is not the plan of a sweep" : "no sweep has been started here");
  return std::nullopt;
}

PointReport SweepFolder::Inspect(const std::string& id) const {
  PointReport report;
  std::error_code ignored;
  if (fs::exists(PointPath(id), ignored)) {
    const CheckedFolder run(PointPath(id));
    const auto summary = ReadSummary(run);
    if (summary) report = ReportOn(*summary);
    if (!summary || !run.Damage(kMaxReadToInspect).empty()) {
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
  // What failed under another version may work under this one.
  if (!failure || VersionOf(*failure) != OurVersion()) return report;
  report.state = PointState::kFailed;
  report.status = FindText(*failure, "status");
  report.message = FindText(*failure, "message");
  return report;
}

}  // namespace heddle
