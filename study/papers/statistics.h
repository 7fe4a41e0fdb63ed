// SPDX-License-Identifier: Apache-2.0
// How claims are judged: what numbers say of one comparison, by intervals over seeds (95 %,
// Student's t, see study/sweep/confidence.h), and what several of them say together.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/sweep/confidence.h"

namespace heddle {

// The values of points that differ in their seed alone.
using BySeed = std::map<std::string, double>;

Replications Over(const BySeed& values);

// What one comparison says of a claim.
enum class Outcome {
  kFor,
  kInDirection,  // Not as much as claimed.
  kUndecided,
  kAgainst,
  kUnknown,
};

struct Finding {
  Outcome outcome = Outcome::kUnknown;
  double mean = 0;        // Of what is judged,
  double half_width = 0;  // and its interval; not a number if there is none.
  int64_t seeds = 0;
  std::string reason;  // Why it is unknown.
};

// What is known if `values` are, before they are judged: unknown without any, or if one is not
// finite.
Finding Measured(const BySeed& values);

// Whether the mean is above zero; below is against it.
Finding JudgeSign(const BySeed& differences);

// The least effect: a difference of less than a hundredth is none, however many seeds agree on it.
inline constexpr double kLeastEffect = 0.01;

// `finding`, undecided if its effect is less than kLeastEffect. `relative` is the effect as a share
// of what it is compared with; without such a share (not a number) nothing changes.
Finding WithLeastEffect(Finding finding, double relative);

enum class Shape { kUp, kDown, kFlat, kDownUp, kUpDown };

// By least squares in each seed: how much y changes over the range of x.
BySeed ChangesOverRange(const std::vector<double>& x, const std::vector<BySeed>& y);

// `y` by x, which ascends; all with the same seeds. What is measured is the change of y over the
// range of x; for kFlat its share of the mean, of which `flat` is allowed; for kDownUp and kUpDown
// the smaller of the distances from the best inner point to the ends.
Finding JudgeTrend(const std::vector<double>& x, const std::vector<BySeed>& y, Shape goes,
                   double flat);

enum class Quantity { kImprovement, kGain, kRatio, kDifference, kValue };
double QuantityOf(Quantity quantity, double a, double b);

// What a paper says that a quantity is.
struct Target {
  std::optional<double> value = std::nullopt;
  double within = 0.1;  // Of the value, or of the quantity itself if `absolute`.
  bool absolute = true;
  std::optional<double> at_most = std::nullopt;
  std::optional<double> at_least = std::nullopt;
  // The paper describes a relation ("about twice") rather than promises a gain. More than twice as
  // far from the point at which A and B are alike is then no longer the same direction.
  bool describes = false;
};

// For: as claimed, and significantly beyond the point at which A and B are alike. In direction: so
// far beyond it, but not as claimed. A quantity without such a point is judged by the distance.
Finding JudgeNumber(const BySeed& values, Quantity quantity, const Target& target);

// Spearman's, with mean ranks for ties; not a number if one of them is constant.
double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b);

// Whether the least value is at neither end.
bool HasInnerMinimum(const std::vector<double>& values);

// --- Verdicts ---

// They ascend: of several parts of a claim the last one counts.
enum class ClaimVerdict { kReproduced, kSameDirection, kTie, kMixed, kUnjudged, kContradicted };
std::string_view NameOf(ClaimVerdict verdict);

// The verdict on a claim that is contradicted in some of `all` comparisons, and holds in
// `agreeing`: mixed if these are at least half.
ClaimVerdict ContradictedOrMixed(size_t agreeing, size_t all);

// The verdict on findings that shall all hold.
ClaimVerdict Combine(const std::vector<Finding>& findings);

}  // namespace heddle
