// SPDX-License-Identifier: Apache-2.0
// The folder of a sweep:
//
//   sweep.yaml            the document, which gives the same points wherever it lies
//   plan.csv              its points, in order
//   points/ID/            the results of a point, a run's folder like any other
//   points/ID.failed      why a point has no results, if it failed
//   points.csv, means.csv what `heddle collect` makes of them
//
// A point's name is a digest of its experiment. So finished points are found again whatever has
// become of the sweep, several processes may work on one folder, and what is not there under its
// name does not exist: nothing else is kept that could be wrong after a crash.

#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "experiment/choice_labels.h"
#include "study/sweep/plan.h"

namespace heddle {

enum class PointState {
  kMissing,
  kRunning,  // A process runs it, and there is no result yet.
  kDone,
  kIncomplete,  // Done, but measured flows are unfinished.
  kFailed,
  kStale,    // The result is from another version of Heddle.
  kDamaged,  // A file is missing or has changed; in a large file only a reader notices
             // that its contents have changed.
};
std::string_view NameOf(PointState state);
// Returns true if there are results to use. Results of other versions of Heddle count if
// `with_stale`.
bool HasResult(PointState state, bool with_stale);

struct PointReport {
  PointState state = PointState::kMissing;
  // If there is a result:
  double run_seconds = 0;  // The sum of its threads' wall-clock times.
  double memory_bytes = 0;
  std::string version;  // The version of Heddle that made it.
  // If it failed:
  std::string status;  // "exit code 3", "signal 11 (Segmentation fault)".
  std::string message;
};

class SweepFolder {
 public:
  explicit SweepFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path PointPath(const std::string& id) const { return path_ / "points" / id; }

  // Makes the folders.
  absl::Status Make() const;
  absl::Status WritePlan(const ExperimentFile& file, const Plan& plan) const;
  absl::Status WriteFailure(const PlannedPoint& point, const std::string& status,
                            const std::string& message) const;
  void RemoveFailure(const std::string& id) const;

  // Returns true if it is the folder of a single run, such as a point of a sweep.
  bool IsRun() const;
  // Removes the tables and the report, which may be of an older plan. Returns true if there were
  // any.
  bool RemoveTables() const;

  // Returns NotFound if there is no plan or no folder.
  absl::StatusOr<Plan> ReadPlan() const;

  // Returns the labels of the axes' values. They only change what people read, so there are none if
  // sweep.yaml cannot be read.
  ChoiceLabels ReadLabels() const;

  PointReport Inspect(const std::string& id) const;

 private:
  std::filesystem::path FailurePath(const std::string& id) const;

  std::filesystem::path path_;
};

}  // namespace heddle
