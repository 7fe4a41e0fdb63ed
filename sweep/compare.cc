// SPDX-License-Identifier: Apache-2.0

#include "sweep/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "settings/diagnostics.h"
#include "settings/number_text.h"
#include "sweep/point_rows.h"

namespace heddle {
namespace {

// Metrics of which more is better, and less is; of others it cannot be said.
constexpr std::array<std::string_view, 2> kMoreIsBetter = {"goodput", "carried"};
constexpr std::array<std::string_view, 14> kLessIsBetter = {
    "fct",  "slowdown", "qct",  "unfinished",      "reorder",  "deg",     "extent",
    "late", "dupack",   "retx", "retransmissions", "timeouts", "dropped", "pause"};

template <size_t N>
bool NamesOne(std::string_view metric, const std::array<std::string_view, N>& parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return metric.find(part) != std::string_view::npos; });
}

using Key = std::pair<std::vector<std::string>, std::string>;  // Choices and seed.

std::map<Key, const ComparedSide::Point*> IndexOf(const ComparedSide& side) {
  std::map<Key, const ComparedSide::Point*> index;
  for (const ComparedSide::Point& point : side.points) {
    index.emplace(Key(point.choices, point.seed), &point);
  }
  return index;
}

// The metrics of a point; a cell without a number is not a number. Empty with an `error`.
std::vector<double> MetricsOf(const std::filesystem::path& run, const CompareOptions& options,
                              std::string& error) {
  const auto rows = ReadPointRows(run);
  if (!rows) {
    error = fmt::format("{}: its results cannot be read", run.string());
    return {};
  }
  const auto row = std::ranges::find_if(rows->rows, [&](const PointRows::Row& candidate) {
    return candidate.class_set == options.class_set && candidate.size_class == options.size_class;
  });
  if (row == rows->rows.end()) {
    std::vector<std::string> known;
    for (const auto& candidate : rows->rows) {
      known.push_back(candidate.class_set + "/" + candidate.size_class);
    }
    const std::string name = options.class_set + "/" + options.size_class;
    error = fmt::format("no class is called \"{}\"{}", name, Suggestion(name, known));
    return {};
  }
  std::vector<double> values;
  for (const std::string& metric : options.metrics) {
    const auto column = std::ranges::find(rows->columns, metric);
    if (column == rows->columns.end()) {
      error =
          fmt::format("no metric is called \"{}\"{}", metric, Suggestion(metric, rows->columns));
      return {};
    }
    const std::string& cell = row->cells[static_cast<size_t>(column - rows->columns.begin())];
    values.push_back(NumberFrom<double>(cell).value_or(std::nan("")));
  }
  return values;
}

Comparison& ComparisonOf(std::vector<Comparison>& comparisons,
                         const std::vector<std::string>& choices, const CompareOptions& options) {
  const auto found = std::ranges::find(comparisons, choices, &Comparison::choices);
  if (found != comparisons.end()) return *found;
  comparisons.push_back({choices, {}});
  for (const std::string& metric : options.metrics) {
    comparisons.back().metrics.push_back({metric, {}, {}, {}});
  }
  return comparisons.back();
}

}  // namespace

std::string_view NameOf(Verdict verdict) {
  static constexpr std::array<std::string_view, 5> kNames = {"better", "worse", "tie", "different",
                                                             "-"};
  return kNames[static_cast<size_t>(verdict)];
}

Verdict Judge(std::string_view metric, const Replications& difference) {
  const double half_width = difference.half_width();
  if (std::isnan(half_width)) return Verdict::kUnknown;
  if (std::abs(difference.mean()) <= half_width) return Verdict::kTie;
  const bool more = difference.mean() > 0;
  if (NamesOne(metric, kMoreIsBetter)) return more ? Verdict::kBetter : Verdict::kWorse;
  if (NamesOne(metric, kLessIsBetter)) return more ? Verdict::kWorse : Verdict::kBetter;
  return Verdict::kDifferent;
}

std::vector<Comparison> Compare(const ComparedSide& a, const ComparedSide& b,
                                const CompareOptions& options, std::string& error) {
  std::vector<Comparison> comparisons;
  const auto counterparts = IndexOf(b);
  for (const ComparedSide::Point& point : a.points) {
    const auto counterpart = counterparts.find(Key(point.choices, point.seed));
    if (counterpart == counterparts.end()) continue;
    const std::vector<double> of_a = MetricsOf(point.run, options, error);
    const std::vector<double> of_b = MetricsOf(counterpart->second->run, options, error);
    if (!error.empty()) return {};
    Comparison& comparison = ComparisonOf(comparisons, point.choices, options);
    for (size_t i = 0; i < of_a.size(); ++i) {
      if (std::isnan(of_a[i]) || std::isnan(of_b[i])) continue;
      comparison.metrics[i].a.Add(of_a[i]);
      comparison.metrics[i].b.Add(of_b[i]);
      comparison.metrics[i].difference.Add(of_b[i] - of_a[i]);
    }
  }
  return comparisons;
}

ComparedSide SideOf(const SweepFolder& folder, const Plan& plan, std::string_view axis,
                    std::string_view value) {
  const auto index = static_cast<size_t>(std::ranges::find(plan.axes, axis) - plan.axes.begin());
  ComparedSide side;
  for (const PlannedPoint& point : plan.points) {
    if (!axis.empty() && point.choices[index] != value) continue;
    const PointState state = folder.Inspect(point.id).state;
    if (state != PointState::kDone && state != PointState::kIncomplete) continue;
    ComparedSide::Point& added =
        side.points.emplace_back(point.choices, point.seed, folder.PointPath(point.id));
    if (!axis.empty()) added.choices.erase(added.choices.begin() + static_cast<ptrdiff_t>(index));
  }
  return side;
}

std::string FindValue(const Plan& plan, std::string_view axis, const std::string& word,
                      std::string& error) {
  const auto found = std::ranges::find(plan.axes, axis);
  if (found == plan.axes.end()) {
    error =
        fmt::format("no axis is called \"{}\"{}", axis, Suggestion(std::string(axis), plan.axes));
    return "";
  }
  std::vector<std::string> known;
  std::vector<std::string> of_kind;  // "letflow" for "letflow.gap=100us".
  for (const PlannedPoint& point : plan.points) {
    const std::string& value = point.choices[static_cast<size_t>(found - plan.axes.begin())];
    if (value == word) return value;
    if (std::ranges::find(known, value) != known.end()) continue;
    known.push_back(value);
    if (value.starts_with(word + ".")) of_kind.push_back(value);
  }
  if (of_kind.size() == 1) return of_kind.front();
  error = of_kind.empty()
              ? fmt::format("{} has no value \"{}\"{}", axis, word, Suggestion(word, known))
              : fmt::format("\"{}\" may be any of: {}", word, fmt::join(of_kind, ", "));
  return "";
}

}  // namespace heddle
