// SPDX-License-Identifier: Apache-2.0
// Two sides of a sweep, or two sweeps, against each other: the difference of each metric, paired by
// seed, with its 95 % confidence interval. Both sides meet the same flows at the same seed (common
// random numbers), so what a seed does to both cancels out.

#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "study/sweep/plan.h"
#include "study/sweep/sweep_folder.h"

namespace heddle {

enum class Verdict { kBetter, kWorse, kTie, kDifferent, kUnknown };
std::string_view NameOf(Verdict verdict);

// Of B, by the interval of B - A: whether it excludes 0, and what that means for `metric`.
Verdict Judge(std::string_view metric, const Replications& difference);

struct ComparedMetric {
  std::string metric;
  Replications a;
  Replications b;
  Replications difference;  // B - A at the same seed.
};

// At one combination of what is not compared.
struct Comparison {
  std::vector<std::string> choices;  // By axis, that which is compared left out.
  std::vector<ComparedMetric> metrics;
  size_t planned = 0;  // Seeds that both sides plan.
  size_t paired = 0;   // Those that both have finished.
};

// One side: points of a sweep, each with what it has in common with its counterpart.
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

// Combinations that both sides have finished at some seed, in the order of side A. NotFound if
// there is no such metric or class. A point whose results cannot be read becomes a damaged one.
absl::StatusOr<std::vector<Comparison>> Compare(ComparedSide& a, ComparedSide& b,
                                                const CompareOptions& options);

// The first points that both sides have finished, null if there are none.
std::pair<const ComparedSide::Point*, const ComparedSide::Point*> FirstPair(const ComparedSide& a,
                                                                            const ComparedSide& b);

// Combinations that `side` plans and `other` does not, as exclusions and other axes have it.
size_t CombinationsOnlyIn(const ComparedSide& side, const ComparedSide& other);

// The points of `plan` that have `value` on the axis `axis`; all of them if there is no axis.
ComparedSide SideOf(const SweepFolder& folder, const Plan& plan, std::string_view axis,
                    std::string_view value);

// The value of the axis that is meant by `word`: itself, or the only one whose kind it is. NotFound
// if there is none, InvalidArgument if there are several.
absl::StatusOr<std::string> FindValue(const Plan& plan, std::string_view axis,
                                      const std::string& word);

}  // namespace heddle
