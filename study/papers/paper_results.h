// SPDX-License-Identifier: Apache-2.0
// The results of one or several experiments of a paper: the values of metrics at their points.
// Claims and figures read values from it and select points by it.

#pragma once

#include <absl/status/statusor.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "settings/diagnostics.h"
#include "study/papers/claims.h"
#include "study/papers/evaluate.h"
#include "study/papers/experiment_points.h"

namespace heddle {

// The axis of claims over several experiments.
inline constexpr std::string_view kExperimentAxis = "experiment";

// One value on each of some axes.
using AxisLabels = std::vector<std::pair<std::string, std::string>>;

inline bool Contains(const std::vector<std::string>& list, const std::string& item) {
  return std::ranges::find(list, item) != list.end();
}

// Returns a text such as "lb=ecmp, load=0.5", with the names that `names` gives to values.
std::string TextOf(const AxisLabels& choices, const std::map<std::string, std::string>& names);
std::string ShownName(const std::string& label, const std::map<std::string, std::string>& names);

// A point's value of a metric.
struct Reading {
  std::optional<double> value = std::nullopt;
  bool has_result = true;
  std::string error = "";  // The reason why a result has no value.
};

class PaperResults {
 public:
  struct Point {
    const ExperimentPoints* of;
    size_t index;        // The index among the points of the experiment.
    AxisLabels choices;  // All axes but the seed.
    std::string seed;
    PointState state;
    std::string version;  // The version of Heddle that made its result.
  };

  // Holds the results of all points of `experiments`, which outlive it. Results of other versions
  // of Heddle count if `with_stale`. With `has_experiment_axis` the experiment is an axis like
  // others.
  PaperResults(std::vector<const ExperimentPoints*> experiments, bool has_experiment_axis,
               bool with_stale);

  const std::vector<Point>& points() const { return points_; }
  size_t CountResults() const;
  // Returns the folders of points whose results are damaged, as far as they have been read.
  std::set<std::filesystem::path> Damaged() const;
  // Returns the versions of Heddle that made the results.
  std::set<std::string> Versions() const;
  bool HasResult(const Point& point) const { return heddle::HasResult(point.state, with_stale_); }

  // Evaluates the metrics in `names`; each is read once. A metric without a value at any point is
  // an error.
  void Read(const Metrics& metrics, const std::vector<std::string>& names,
            Diagnostics& diagnostics);
  // Returns the values of a metric by point. The metric must have been read.
  const std::vector<Reading>& ValuesOf(const std::string& metric) const {
    return readings_.at(metric);
  }
  absl::StatusOr<std::vector<SeriesPoint>> ReadSeries(const Metric& metric, size_t point) const;

  // Returns all labels of `axis`, in the order of the sweep.
  std::vector<std::string> LabelsOf(const std::string& axis) const;
  // Returns `axes` and all axes that change together with one of them.
  std::vector<std::string> WithThoseThatMove(std::vector<std::string> axes) const;

  // Returns true if `selection` selects a point. A name that is a label selects that value; any
  // other name selects all values of that kind.
  bool Picks(const Selection& selection, size_t point) const;
  // Returns the kinds of a point's choices on `axes`, without their settings: letflow for {kind:
  // letflow, gap: 1us}.
  std::vector<std::string> KindsAt(const std::vector<std::string>& axes, size_t point) const;

 private:
  const Value* ChoiceOf(const Point& point, const std::string& axis) const;
  bool PicksValue(const Value& pattern, const std::string& axis, size_t point) const;
  void ReadPoint(const Metrics& metrics, const std::vector<std::string>& names, size_t point);
  void LeaveOut(size_t point);
  size_t CountExperimentsWithResults() const;
  void ReportUnreadable(const std::string& name, const Metric& metric,
                        Diagnostics& diagnostics) const;

  std::vector<const ExperimentPoints*> experiments_;
  bool with_stale_;
  std::vector<Point> points_;
  std::map<std::string, Value> experiment_names_;
  std::map<std::string, std::vector<std::string>> labels_;  // By axis.
  std::map<std::string, std::vector<Reading>> readings_;    // By metric.
};

}  // namespace heddle
