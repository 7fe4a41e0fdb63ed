// SPDX-License-Identifier: Apache-2.0
// The folder of a sweep:
//
//   sweep.yaml            the document, which gives the same points wherever it lies
//   plan.csv              its points, in order
//   points/ID/            the results of a point, a run's folder like any other
//   points/ID.failed      why a point has none, if it was tried in vain
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

#include "study/sweep/plan.h"

namespace heddle {

enum class PointState {
  kMissing,
  kRunning,  // Some process is at it, and there is no result yet.
  kDone,
  kIncomplete,  // Done, but measured flows are unfinished.
  kFailed,
  kStale,    // The result of another version of Heddle.
  kDamaged,  // A file is missing or not as it was written; of large ones only who reads them finds
             // that their contents are others.
};
std::string_view NameOf(PointState state);
// Whether there are results to take; those of other versions of Heddle count if `with_stale`.
bool HasResult(PointState state, bool with_stale);

struct PointReport {
  PointState state = PointState::kMissing;
  // Of a result:
  double run_seconds = 0;  // Of all its threads' wall-clock time together.
  double memory_bytes = 0;
  std::string version;  // That made it.
  // Of a failure:
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

  // Whether it is the folder of a single run, a point of a sweep for example.
  bool IsRun() const;
  // Removes what has been made of the points of another plan, or of fewer. Whether there was any.
  bool RemoveTables() const;

  // NotFound if there is no plan, or not even a folder.
  absl::StatusOr<Plan> ReadPlan() const;

  PointReport Inspect(const std::string& id) const;

 private:
  std::filesystem::path FailurePath(const std::string& id) const;

  std::filesystem::path path_;
};

}  // namespace heddle
