// SPDX-License-Identifier: Apache-2.0
// Compares two sides of a sweep, or two sweeps: the difference of each metric, paired by seed, with
// its 95 % confidence interval. Both sides have the same flows at the same seed (common random
// numbers), so a seed's effect on both cancels out. `heddle compare` calls it.

#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "experiment/choice_labels.h"
#include "study/sweep/plan.h"
#include "study/sweep/sweep_folder.h"

namespace heddle {

enum class Verdict { kBetter, kWorse, kTie, kDifferent, kUnknown };
std::string_view NameOf(Verdict verdict);

// Returns the verdict on B by the interval of B - A: a tie if it contains 0, else better, worse or
// different, depending on `metric`.
Verdict Judge(std::string_view metric, const Replications& difference);

struct ComparedMetric {
  std::string metric;
  Replications a;
  Replications b;
  Replications difference;  // The difference B - A at the same seed.
};

// The comparison at one combination of the other axes.
struct Comparison {
  std::vector<std::string> choices;  // By axis, without the compared one.
  std::vector<ComparedMetric> metrics;
  size_t planned = 0;  // Seeds that both sides plan.
  size_t paired = 0;   // Seeds that both sides have finished.
};

// One side: points of a sweep, each with the choices that it shares with its counterpart.
struct ComparedSide {
  struct Point {
    std::vector<std::string> choices;
    std::string seed;
    std::filesystem::path run;
    PointState state = PointState::kDone;
  };
  std::vector<Point> points;
};

struct CompareOptions {
  std::vector<std::string> metrics;
  std::string class_set = "all";
  std::string size_class = "all";
};

// Compares at each combination that both sides have finished at some seed, in the order of side A.
// Returns NotFound if there is no such metric or class. A point whose results cannot be read is
// then marked as damaged.
absl::StatusOr<std::vector<Comparison>> Compare(ComparedSide& a, ComparedSide& b,
                                                const CompareOptions& options);

// Returns the first pair of points that both sides have finished; null if there is none.
std::pair<const ComparedSide::Point*, const ComparedSide::Point*> FirstPair(const ComparedSide& a,
                                                                            const ComparedSide& b);

// Returns the number of combinations that `side` plans and `other` does not.
size_t CombinationsOnlyIn(const ComparedSide& side, const ComparedSide& other);

// Returns the points of `plan` with `value` on the axis `axis`; all points if `axis` is empty.
ComparedSide SideOf(const SweepFolder& folder, const Plan& plan, std::string_view axis,
                    std::string_view value);

// Returns the axes, as indices of the points' choices, that follow from the side: all points of a
// side have one value, and not all sides the same. Such an axis changes together with the compared
// one.
std::vector<size_t> AxesThatFollow(std::span<const ComparedSide* const> sides);

// Returns the value of the axis that `word` names: an equal value, the value with this label, or
// the only value of that kind. NotFound if there is none, InvalidArgument if there are several.
absl::StatusOr<std::string> FindValue(const Plan& plan, std::string_view axis,
                                      const std::string& word, const ChoiceLabels& labels = {});

}  // namespace heddle
