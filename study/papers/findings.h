// SPDX-License-Identifier: Apache-2.0
// Judges claims by numbers: one comparison by its interval over seeds (95 %, Student's t, see
// core/statistics.h), and a claim by several comparisons together. study/papers/judge.h calls it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/statistics.h"

namespace heddle {

// The values of points that differ only in their seed.
using BySeed = std::map<std::string, double>;

Replications Over(const BySeed& values);

// The outcome of one comparison for a claim.
enum class Outcome {
  kFor,
  kInDirection,  // The claimed direction, but a smaller effect.
  kUndecided,
  kAgainst,
  kUnknown,
};

struct Finding {
  Outcome outcome = Outcome::kUnknown;
  double mean = 0;        // The mean of the judged quantity.
  double half_width = 0;  // Half the width of its interval; NaN if there is none.
  int64_t seeds = 0;
  std::string reason;  // The reason if the outcome is unknown.
};

// Returns a finding with the mean and interval of `values`, not judged yet. It is unknown if there
// are no values or if one is not finite.
Finding Measured(const BySeed& values);

// Judges if the mean is above zero; a mean below zero is against the claim.
Finding JudgeSign(const BySeed& differences);

// The least effect. A relative difference below 1 % counts as none, however many seeds agree on it.
inline constexpr double kLeastEffect = 0.01;

// Returns `finding`, but undecided if its effect is below kLeastEffect. `relative` is the effect as
// a share of the compared value; if it is NaN, nothing changes.
Finding WithLeastEffect(Finding finding, double relative);

enum class Shape { kUp, kDown, kFlat, kDownUp, kUpDown };

// Returns, for each seed, the change of y over the range of x, by least squares.
BySeed ChangesOverRange(const std::vector<double>& x, const std::vector<BySeed>& y);

// Judges the trend of `y` over x. x ascends, and all of `y` have the same seeds. The judged
// quantity is the change of y over the range of x; for kFlat the change as a share of the mean, at
// most `flat`; for kDownUp and kUpDown the smaller distance from the best inner point to an end.
Finding JudgeTrend(const std::vector<double>& x, const std::vector<BySeed>& y, Shape goes,
                   double flat);

enum class Quantity { kImprovement, kGain, kRatio, kDifference, kValue };
double QuantityOf(Quantity quantity, double a, double b);

// The value of a quantity that a paper claims.
struct Target {
  std::optional<double> value = std::nullopt;
  double within = 0.1;  // In the quantity's unit if `absolute`, else a share of the value.
  bool absolute = true;
  std::optional<double> at_most = std::nullopt;
  std::optional<double> at_least = std::nullopt;
  // True if the paper describes a relation ("about twice") rather than promises a gain. A result
  // more than twice as far from the point at which A and B are alike is then not in the same
  // direction.
  bool describes = false;
};

// kFor: as claimed, and significantly beyond the point at which A and B are alike. kInDirection:
// significantly beyond that point, but not as claimed. A quantity without such a point is judged by
// its distance from the claimed value.
Finding JudgeNumber(const BySeed& values, Quantity quantity, const Target& target);

// Returns true if the least value is at neither end.
bool HasInnerMinimum(const std::vector<double>& values);

// --- Verdicts ---

// In ascending order: a claim with several parts has the last of their verdicts.
enum class ClaimVerdict { kReproduced, kSameDirection, kTie, kMixed, kUnjudged, kContradicted };
std::string_view NameOf(ClaimVerdict verdict);

// Returns the verdict on a claim that is contradicted in some of `all` comparisons and holds in
// `agreeing`: mixed if these are at least half of them.
ClaimVerdict ContradictedOrMixed(size_t agreeing, size_t all);

// Returns the verdict on findings that must all hold.
ClaimVerdict Combine(const std::vector<Finding>& findings);

}  // namespace heddle
