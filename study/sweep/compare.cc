// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "settings/diagnostics.h"
#include "settings/number_text.h"
#include "study/sweep/point_rows.h"

namespace heddle {
namespace {

// Parts of metrics' names: more is better for the first list, less for the second. Other metrics
// have no better side.
constexpr std::array<std::string_view, 4> kMoreIsBetter = {"goodput", "carried", "algbw", "busbw"};
constexpr std::array<std::string_view, 15> kLessIsBetter = {
    "iter_us",  "fct",     "slowdown", "qct",    "unfinished", "reorder",
    "deg",      "extent",  "late",     "dupack", "retx",       "retransmissions",
    "timeouts", "dropped", "pause"};

template <size_t N>
bool NamesOne(std::string_view metric, const std::array<std::string_view, N>& parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return metric.find(part) != std::string_view::npos; });
}

using Key = std::pair<std::vector<std::string>, std::string>;  // Choices and seed.

// `Point` is const or not, as `side` is.
template <class Point, class Side>
std::map<Key, Point*> IndexOf(Side& side) {
  std::map<Key, Point*> index;
  for (Point& point : side.points) index.emplace(Key(point.choices, point.seed), &point);
  return index;
}

bool HasResults(const ComparedSide::Point& point) {
  return HasResult(point.state, /*with_stale=*/false);
}

std::string NoSuchClass(const PointRows& rows, const CompareOptions& options) {
  std::vector<std::string> known;
  for (const PointRows::Row& row : rows.rows) known.push_back(row.class_set + "/" + row.size_class);
  const std::string name = options.class_set + "/" + options.size_class;
  // The class may lack its set, as in "XL".
  const auto meant = std::ranges::find(rows.rows, options.class_set, &PointRows::Row::size_class);
  if (options.size_class == "all" && meant != rows.rows.end()) {
    return fmt::format("\"{0}\" is no class set; did you mean \"{1}/{0}\"? (known: {2})",
                       options.class_set, meant->class_set, fmt::join(known, ", "));
  }
  return fmt::format("no class is called \"{}\"{}", name, Suggestion(name, known));
}

// Returns the metrics of a point, NaN for a cell without a number. Empty if the point is damaged.
absl::StatusOr<std::vector<double>> MetricsOf(ComparedSide::Point& point,
                                              const CompareOptions& options) {
  const auto rows = ReadPointRows(point.run);
  std::vector<double> values;
  if (!rows.ok()) {
    point.state = PointState::kDamaged;
    return values;
  }
  const auto row = std::ranges::find_if(rows->rows, [&](const PointRows::Row& candidate) {
    return candidate.class_set == options.class_set && candidate.size_class == options.size_class;
  });
  if (row == rows->rows.end()) return absl::NotFoundError(NoSuchClass(*rows, options));
  for (const std::string& metric : options.metrics) {
    const auto column = std::ranges::find(rows->columns, metric);
    if (column == rows->columns.end()) {
      return absl::NotFoundError(
          fmt::format("no metric is called \"{}\"{}", metric, Suggestion(metric, rows->columns)));
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
  comparisons.push_back({.choices = choices, .metrics = {}});
  for (const std::string& metric : options.metrics) {
    comparisons.back().metrics.push_back({metric, {}, {}, {}});
  }
  return comparisons.back();
}

// Adds the metrics of a seed on both sides.
void AddPair(const std::vector<double>& a, const std::vector<double>& b, Comparison& comparison) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) continue;
    comparison.metrics[i].a.Add(a[i]);
    comparison.metrics[i].b.Add(b[i]);
    comparison.metrics[i].difference.Add(b[i] - a[i]);
  }
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

absl::StatusOr<std::vector<Comparison>> Compare(ComparedSide& a, ComparedSide& b,
                                                const CompareOptions& options) {
  std::vector<Comparison> comparisons;
  const auto counterparts = IndexOf<ComparedSide::Point>(b);
  for (ComparedSide::Point& point : a.points) {
    const auto counterpart = counterparts.find(Key(point.choices, point.seed));
    if (counterpart == counterparts.end()) continue;
    Comparison& comparison = ComparisonOf(comparisons, point.choices, options);
    ++comparison.planned;
    if (!HasResults(point) || !HasResults(*counterpart->second)) continue;
    const auto of_a = MetricsOf(point, options);
    const auto of_b = MetricsOf(*counterpart->second, options);
    if (!of_b.ok()) return of_b.status();
    if (!of_a.ok()) return of_a.status();
    if (!HasResults(point) || !HasResults(*counterpart->second)) continue;  // Damaged.
    ++comparison.paired;
    AddPair(*of_a, *of_b, comparison);
  }
  std::erase_if(comparisons, [](const Comparison& comparison) { return comparison.paired == 0; });
  return comparisons;
}

std::pair<const ComparedSide::Point*, const ComparedSide::Point*> FirstPair(const ComparedSide& a,
                                                                            const ComparedSide& b) {
  const auto counterparts = IndexOf<const ComparedSide::Point>(b);
  for (const ComparedSide::Point& point : a.points) {
    const auto counterpart = counterparts.find(Key(point.choices, point.seed));
    if (counterpart == counterparts.end()) continue;
    if (HasResults(point) && HasResults(*counterpart->second)) return {&point, counterpart->second};
  }
  return {nullptr, nullptr};
}

size_t CombinationsOnlyIn(const ComparedSide& side, const ComparedSide& other) {
  std::set<std::vector<std::string>> only;
  for (const ComparedSide::Point& point : side.points) only.insert(point.choices);
  for (const ComparedSide::Point& point : other.points) only.erase(point.choices);
  return only.size();
}

ComparedSide SideOf(const SweepFolder& folder, const Plan& plan, std::string_view axis,
                    std::string_view value) {
  const auto index = static_cast<size_t>(std::ranges::find(plan.axes, axis) - plan.axes.begin());
  ComparedSide side;
  for (const PlannedPoint& point : plan.points) {
    if (!axis.empty() && point.choices[index] != value) continue;
    ComparedSide::Point& added = side.points.emplace_back(
        point.choices, point.seed, folder.PointPath(point.id), folder.Inspect(point.id).state);
    if (!axis.empty()) added.choices.erase(added.choices.begin() + static_cast<ptrdiff_t>(index));
  }
  return side;
}

std::vector<size_t> AxesThatFollow(std::span<const ComparedSide* const> sides) {
  std::vector<size_t> follow;
  if (std::ranges::any_of(sides, [](const ComparedSide* side) { return side->points.empty(); })) {
    return follow;
  }
  for (size_t axis = 0; axis < sides.front()->points.front().choices.size(); ++axis) {
    const auto value_of = [axis](const ComparedSide* side) -> const std::string& {
      return side->points.front().choices[axis];
    };
    const bool has_one = std::ranges::all_of(sides, [&](const ComparedSide* side) {
      return std::ranges::all_of(side->points, [&](const ComparedSide::Point& point) {
        return point.choices[axis] == value_of(side);
      });
    });
    const bool differs = std::ranges::any_of(
        sides, [&](const ComparedSide* side) { return value_of(side) != value_of(sides.front()); });
    if (has_one && differs) follow.push_back(axis);
  }
  return follow;
}

absl::StatusOr<std::string> FindValue(const Plan& plan, std::string_view axis,
                                      const std::string& word, const ChoiceLabels& labels) {
  const auto found = std::ranges::find(plan.axes, axis);
  if (found == plan.axes.end()) {
    return absl::NotFoundError(
        fmt::format("no axis is called \"{}\"{}", axis, Suggestion(axis, plan.axes)));
  }
  std::vector<std::string> known;
  std::vector<std::string> of_kind;  // "letflow" for "letflow.gap=100us".
  std::vector<std::string> labelled;
  for (const PlannedPoint& point : plan.points) {
    const std::string& value = point.choices[static_cast<size_t>(found - plan.axes.begin())];
    if (value == word) return value;
    if (std::ranges::find(known, value) != known.end()) continue;
    known.push_back(value);
    const std::string* label = labels.Find(std::string(axis), value);
    if (label != nullptr && *label == word) return value;
    if (label != nullptr) labelled.push_back(*label);
    if (value.starts_with(word + ".")) of_kind.push_back(value);
  }
  if (of_kind.size() == 1) return of_kind.front();
  if (!of_kind.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("\"{}\" may be any of: {}", word, fmt::join(of_kind, ", ")));
  }
  known.insert(known.end(), labelled.begin(), labelled.end());
  return absl::NotFoundError(
      fmt::format("{} has no value \"{}\"{}", axis, word, Suggestion(word, known)));
}

}  // namespace heddle
