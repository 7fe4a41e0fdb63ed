// SPDX-License-Identifier: Apache-2.0
// Two sides of a sweep, or two sweeps, against each other: the difference of each metric, paired by
// seed, with its 95 % confidence interval. Both sides meet the same flows at the same seed (common
// random numbers), so what a seed does to both cancels out.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/confidence.h"
#include "sweep/plan.h"
#include "sweep/sweep_folder.h"

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
};

// One side: points of a sweep, each with what it has in common with its counterpart.
struct ComparedSide {
  struct Point {
    std::vector<std::string> choices;
    std::string seed;
    std::filesystem::path run;
  };
  std::vector<Point> points;
};

struct CompareOptions {
  std::vector<std::string> metrics;
  std::string class_set = "all";
  std::string size_class = "all";
};

// Combinations in the order of side A. What is wrong in `error`, empty if nothing is.
std::vector<Comparison> Compare(const ComparedSide& a, const ComparedSide& b,
                                const CompareOptions& options, std::string& error);

// The points of `plan` that have `value` on the axis `axis`; all of them if there is no axis. Only
// those with results that are not stale.
ComparedSide SideOf(const SweepFolder& folder, const Plan& plan, std::string_view axis,
                    std::string_view value);

// The value of the axis that is meant by `word`: itself, or the only one whose kind it is. Nothing,
// and why not in `error`, if there is none.
std::string FindValue(const Plan& plan, std::string_view axis, const std::string& word,
                      std::string& error);

}  // namespace heddle
