// SPDX-License-Identifier: Apache-2.0

#include "study/papers/paper_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "settings/status.h"

namespace heddle {

std::string ShownName(const std::string& label, const std::map<std::string, std::string>& names) {
  const auto name = names.find(label);
  return name == names.end() ? label : name->second;
}

std::string TextOf(const AxisLabels& choices, const std::map<std::string, std::string>& names) {
  std::string text;
  for (const auto& [axis, label] : choices) {
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : ", ", LastPart(axis), ShownName(label, names));
  }
  return text;
}

PaperResults::PaperResults(std::vector<const ExperimentPoints*> experiments,
                           bool has_experiment_axis, bool with_stale)
    : experiments_(std::move(experiments)), with_stale_(with_stale) {
  for (const ExperimentPoints* of : experiments_) {
    experiment_names_.emplace(of->experiment(), Value::Scalar(of->experiment(), {}));
    for (size_t i = 0; i < of->plan().points.size(); ++i) {
      const PlannedPoint& planned = of->plan().points[i];
      PointReport report = of->folder().Inspect(planned.id);
      Point point{of, i, {}, planned.seed, report.state, std::move(report.version)};
      if (has_experiment_axis) {
        point.choices.emplace_back(std::string(kExperimentAxis), of->experiment());
      }
      for (size_t axis = 0; axis < planned.choices.size(); ++axis) {
        point.choices.emplace_back(of->plan().axes[axis], planned.choices[axis]);
      }
      points_.push_back(std::move(point));
    }
  }
  for (const Point& point : points_) {
    for (const auto& [axis, label] : point.choices) {
      std::vector<std::string>& labels = labels_[axis];
      if (std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
    }
  }
}

size_t PaperResults::CountResults() const {
  return static_cast<size_t>(
      std::ranges::count_if(points_, [&](const Point& point) { return HasResult(point); }));
}

std::set<std::string> PaperResults::Versions() const {
  std::set<std::string> versions;
  for (const Point& point : points_) {
    if (HasResult(point)) versions.insert(point.version);
  }
  return versions;
}

void PaperResults::Read(const Metrics& metrics, const std::vector<std::string>& names,
                        Diagnostics& diagnostics) {
  std::vector<std::string> unread;
  for (const std::string& name : names) {
    if (readings_.try_emplace(name, points_.size()).second) unread.push_back(name);
  }
  // Reads point by point, so that memory holds the files of only one run.
  if (unread.empty()) return;
  for (size_t i = 0; i < points_.size(); ++i) ReadPoint(metrics, unread, i);
  // An experiment without results may be the one that has the metric.
  if (CountExperimentsWithResults() < experiments_.size()) return;
  for (const std::string& name : unread) ReportUnreadable(name, *metrics.at(name), diagnostics);
}

size_t PaperResults::CountExperimentsWithResults() const {
  std::set<const ExperimentPoints*> with_results;
  for (const Point& point : points_) {
    if (HasResult(point)) with_results.insert(point.of);
  }
  return with_results.size();
}

// A metric with a value at some point has no mistake; claims that need it elsewhere report it as
// missing.
void PaperResults::ReportUnreadable(const std::string& name, const Metric& metric,
                                    Diagnostics& diagnostics) const {
  std::string error;
  for (const Reading& reading : readings_.at(name)) {
    if (reading.value) return;
    if (error.empty()) error = reading.error;
  }
  // Experiments may share a metric.
  if (!error.empty() && diagnostics.IsSound(metric.path)) {
    diagnostics.Error(metric.place, metric.path, error);
  }
}

void PaperResults::ReadPoint(const Metrics& metrics, const std::vector<std::string>& names,
                             size_t point) {
  const Point& at = points_[point];
  Diagnostics ignored;
  const Value document = at.of->points().DocumentOf(at.index, ignored);
  PointReader reader(at.of->folder().PointPath(at.of->plan().points[at.index].id), document);
  for (const std::string& name : names) {
    const Metric& metric = *metrics.at(name);
    Reading& reading = readings_.at(name)[point];
    // A model's prediction needs no result.
    reading.has_result = HasResult(at) || !metric.model.empty();
    if (!reading.has_result) continue;
    const absl::StatusOr<double> value = reader.Read(metric);
    if (value.ok()) reading.value = *value;
    reading.error = MessageOf(value.status());
  }
  if (reader.found_damage()) LeaveOut(point);
}

// A damaged point is left out with its sound files, since it will be run again.
void PaperResults::LeaveOut(size_t point) {
  points_[point].state = PointState::kDamaged;
  for (auto& [name, readings] : readings_) readings[point] = {.has_result = false};
}

std::set<std::filesystem::path> PaperResults::Damaged() const {
  std::set<std::filesystem::path> folders;
  for (const Point& point : points_) {
    if (point.state != PointState::kDamaged) continue;
    folders.insert(point.of->folder().PointPath(point.of->plan().points[point.index].id));
  }
  return folders;
}

absl::StatusOr<std::vector<SeriesPoint>> PaperResults::ReadSeries(const Metric& metric,
                                                                  size_t point) const {
  const Point& at = points_[point];
  Diagnostics ignored;
  const Value document = at.of->points().DocumentOf(at.index, ignored);
  PointReader reader(at.of->folder().PointPath(at.of->plan().points[at.index].id), document);
  return reader.ReadSeries(metric);
}

std::vector<std::string> PaperResults::LabelsOf(const std::string& axis) const {
  const auto labels = labels_.find(axis);
  return labels == labels_.end() ? std::vector<std::string>{} : labels->second;
}

std::vector<std::string> PaperResults::WithThoseThatMove(std::vector<std::string> axes) const {
  std::set<std::string> all(axes.begin(), axes.end());
  for (const ExperimentPoints* of : experiments_) {
    for (const std::string& axis : axes) {
      for (const std::string& other : of->points().MovingWith(axis)) all.insert(other);
    }
  }
  return {all.begin(), all.end()};
}

const Value* PaperResults::ChoiceOf(const Point& point, const std::string& axis) const {
  if (axis == kExperimentAxis) return &experiment_names_.at(point.of->experiment());
  return point.of->points().ChoiceOf(point.index, axis);
}

bool PaperResults::PicksValue(const Value& pattern, const std::string& axis, size_t point) const {
  if (pattern.kind == Value::Kind::kList) {
    return std::ranges::any_of(pattern.items,
                               [&](const Value& item) { return PicksValue(item, axis, point); });
  }
  const Value* value = ChoiceOf(points_[point], axis);
  if (value == nullptr) return false;
  const std::vector<std::string> labels = LabelsOf(axis);
  const bool is_label = pattern.kind == Value::Kind::kScalar &&
                        std::ranges::find(labels, pattern.text) != labels.end();
  return is_label ? ChoiceLabel(*value) == pattern.text : MatchesChoice(pattern, *value);
}

bool PaperResults::Picks(const Selection& selection, size_t point) const {
  return std::ranges::all_of(selection, [&](const Value::Entry& entry) {
    return PicksValue(entry.value, entry.key, point);
  });
}

std::vector<std::string> PaperResults::KindsAt(const std::vector<std::string>& axes,
                                               size_t point) const {
  std::vector<std::string> kinds;
  for (const std::string& axis : axes) {
    const Value* value = ChoiceOf(points_[point], axis);
    const Value* kind = value == nullptr ? nullptr : value->Find("kind");
    kinds.push_back(kind != nullptr ? kind->text : value != nullptr ? ChoiceLabel(*value) : "");
  }
  return kinds;
}

}  // namespace heddle
