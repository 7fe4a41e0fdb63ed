// SPDX-License-Identifier: Apache-2.0

#include "study/papers/findings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace heddle {
namespace {

constexpr const char* kOneSeed = "one seed gives no interval";

double MeanOf(const BySeed& values) { return Over(values).mean(); }

// Returns a - b, seed by seed.
BySeed Minus(const BySeed& a, const BySeed& b) {
  BySeed difference;
  for (const auto& [seed, value] : a) {
    if (const auto other = b.find(seed); other != b.end()) difference[seed] = value - other->second;
  }
  return difference;
}

BySeed Negated(BySeed values) {
  for (auto& [seed, value] : values) value = -value;
  return values;
}

Finding Unknown(std::string reason) {
  Finding finding;
  finding.reason = std::move(reason);
  return finding;
}

Outcome OutcomeOfSign(double mean, double half_width) {
  if (std::abs(mean) <= half_width) return Outcome::kUndecided;
  return mean > 0 ? Outcome::kFor : Outcome::kAgainst;
}

// Returns each seed's change as a share of the seed's own mean.
BySeed RelativeChanges(const std::vector<double>& x, const std::vector<BySeed>& y) {
  BySeed changes = ChangesOverRange(x, y);
  for (auto& [seed, change] : changes) {
    double sum = 0;
    for (const BySeed& at : y) sum += at.at(seed);
    // A curve that is zero throughout is flat.
    if (change != 0) change /= std::abs(sum / static_cast<double>(y.size()));
  }
  return changes;
}

Finding JudgeFlat(const std::vector<double>& x, const std::vector<BySeed>& y, double flat) {
  Finding finding = Measured(RelativeChanges(x, y));
  if (!finding.reason.empty()) return finding;
  if (finding.seeds < 2) {
    finding.reason = kOneSeed;
    return finding;
  }
  // The whole interval has to be within: with few and scattered seeds the mean may be near zero by
  // chance.
  const double size = std::abs(finding.mean);
  if (size + finding.half_width <= flat) {
    finding.outcome = Outcome::kFor;
  } else {
    const bool may_be = size - finding.half_width <= flat;
    finding.outcome = may_be ? Outcome::kUndecided : Outcome::kAgainst;
  }
  return finding;
}

// Returns the inner x at which the mean is least.
size_t LowestInside(const std::vector<BySeed>& y) {
  size_t lowest = 1;
  for (size_t i = 2; i + 1 < y.size(); ++i) {
    if (MeanOf(y[i]) < MeanOf(y[lowest])) lowest = i;
  }
  return lowest;
}

// Down and up again: both ends lie above the lowest point between them.
Finding JudgeValley(const std::vector<BySeed>& y) {
  if (y.size() < 3) return Unknown("a turning point inside the axis needs at least three points");
  const BySeed& lowest = y[LowestInside(y)];
  const Finding first = JudgeSign(Minus(y.front(), lowest));
  const Finding last = JudgeSign(Minus(y.back(), lowest));
  Finding finding = first.mean < last.mean ? first : last;
  const std::array<Outcome, 2> ends = {first.outcome, last.outcome};
  const auto count = [&](Outcome outcome) { return std::ranges::count(ends, outcome); };
  if (count(Outcome::kUnknown) > 0) {
    finding.outcome = Outcome::kUnknown;
    finding.reason = first.reason.empty() ? last.reason : first.reason;
  } else if (count(Outcome::kAgainst) > 0) {
    finding.outcome = Outcome::kAgainst;
  } else if (count(Outcome::kFor) > 0) {
    finding.outcome = count(Outcome::kFor) == 2 ? Outcome::kFor : Outcome::kInDirection;
  } else {
    finding.outcome = Outcome::kUndecided;
  }
  return finding;
}

// Returns the value of a quantity at which A and B are alike.
std::optional<double> NeutralOf(Quantity quantity) {
  switch (quantity) {
    case Quantity::kImprovement:
    case Quantity::kGain:
    case Quantity::kDifference:
      return 0;
    case Quantity::kRatio:
      return 1;
    case Quantity::kValue:
      break;
  }
  return std::nullopt;
}

Finding JudgeBounds(Finding finding, const Target& target) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double least = target.at_least.value_or(-kInfinity);
  const double most = target.at_most.value_or(kInfinity);
  if (finding.seeds < 2) {
    finding.reason = kOneSeed;
  } else if (finding.mean - finding.half_width >= least &&
             finding.mean + finding.half_width <= most) {
    finding.outcome = Outcome::kFor;
  } else if (finding.mean >= least && finding.mean <= most) {
    finding.outcome = Outcome::kInDirection;
  } else {
    const bool may_be =
        finding.mean + finding.half_width >= least && finding.mean - finding.half_width <= most;
    finding.outcome = may_be ? Outcome::kUndecided : Outcome::kAgainst;
  }
  return finding;
}

// Without a point at which A and B are alike there is no direction.
Finding JudgeDistance(Finding finding, double distance, double allowed) {
  if (distance <= allowed) {
    finding.outcome = Outcome::kFor;
  } else if (finding.seeds < 2) {
    finding.reason = kOneSeed;
  } else {
    const bool may_be = distance - finding.half_width <= allowed;
    finding.outcome = may_be ? Outcome::kUndecided : Outcome::kAgainst;
  }
  return finding;
}

}  // namespace

Replications Over(const BySeed& values) {
  Replications replications;
  for (const auto& [seed, value] : values) replications.Add(value);
  return replications;
}

Finding Measured(const BySeed& values) {
  const Replications replications = Over(values);
  Finding finding;
  finding.mean = replications.mean();
  finding.half_width = replications.half_width();
  finding.seeds = replications.count();
  if (values.empty()) finding.reason = "there are no values";
  for (const auto& [seed, value] : values) {
    if (std::isfinite(value)) continue;
    finding.reason = std::isnan(value) ? "zero is divided by zero"
                                       : "a value is infinite; did flows not finish?";
  }
  return finding;
}

Finding JudgeSign(const BySeed& differences) {
  Finding finding = Measured(differences);
  if (!finding.reason.empty()) return finding;
  if (finding.seeds < 2) {
    finding.reason = kOneSeed;
    return finding;
  }
  finding.outcome = OutcomeOfSign(finding.mean, finding.half_width);
  return finding;
}

Finding WithLeastEffect(Finding finding, double relative) {
  const bool is_known = finding.outcome != Outcome::kUnknown;
  if (is_known && std::abs(relative) < kLeastEffect) finding.outcome = Outcome::kUndecided;
  return finding;
}

BySeed ChangesOverRange(const std::vector<double>& x, const std::vector<BySeed>& y) {
  BySeed changes;
  for (const auto& [seed, unused] : y.front()) {
    std::vector<double> of_seed;
    for (const BySeed& at : y) of_seed.push_back(at.at(seed));
    changes[seed] = Slope(x, of_seed) * (x.back() - x.front());
  }
  return changes;
}

Finding JudgeTrend(const std::vector<double>& x, const std::vector<BySeed>& y, Shape goes,
                   double flat) {
  if (x.size() < 2) return Unknown("a trend needs at least two points along the axis");
  switch (goes) {
    case Shape::kUp:
      return JudgeSign(ChangesOverRange(x, y));
    case Shape::kDown: {
      Finding finding = JudgeSign(Negated(ChangesOverRange(x, y)));
      finding.mean = -finding.mean;
      return finding;
    }
    case Shape::kFlat:
      return JudgeFlat(x, y, flat);
    case Shape::kDownUp:
      return JudgeValley(y);
    case Shape::kUpDown:
      break;
  }
  std::vector<BySeed> upside_down;
  for (const BySeed& at : y) upside_down.push_back(Negated(at));
  return JudgeValley(upside_down);
}

double QuantityOf(Quantity quantity, double a, double b) {
  switch (quantity) {
    case Quantity::kImprovement:
      return 1 - a / b;
    case Quantity::kGain:
      return a / b - 1;
    case Quantity::kRatio:
      return a / b;
    case Quantity::kDifference:
      return a - b;
    case Quantity::kValue:
      break;
  }
  return a;
}

Finding JudgeNumber(const BySeed& values, Quantity quantity, const Target& target) {
  Finding finding = Measured(values);
  if (!finding.reason.empty()) return finding;
  if (!target.value) return JudgeBounds(finding, target);
  const double allowed = target.absolute ? target.within : target.within * std::abs(*target.value);
  const double distance = std::abs(finding.mean - *target.value);
  // A tolerance for rounding, so that a value exactly at the limit counts.
  const double rounded = allowed * (1 + 1e-9);
  const auto neutral = NeutralOf(quantity);
  if (!neutral || *target.value == *neutral) return JudgeDistance(finding, distance, rounded);
  if (finding.seeds < 2) {
    finding.reason = kOneSeed;
    return finding;
  }
  const double claimed = *target.value - *neutral;
  const double effect = finding.mean - *neutral;
  finding.outcome = OutcomeOfSign(claimed > 0 ? effect : -effect, finding.half_width);
  // A difference is not relative to anything.
  if (quantity != Quantity::kDifference) finding = WithLeastEffect(finding, effect);
  if (finding.outcome == Outcome::kFor && distance > rounded) {
    const bool too_much = target.describes && std::abs(effect) > 2 * std::abs(claimed);
    finding.outcome = too_much ? Outcome::kAgainst : Outcome::kInDirection;
  }
  return finding;
}

bool HasInnerMinimum(const std::vector<double>& values) {
  const auto least = std::ranges::min_element(values);
  return values.size() > 2 && *least < values.front() && *least < values.back();
}

std::string_view NameOf(ClaimVerdict verdict) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "reproduced", "same direction", "tie", "mixed", "can't be judged", "contradicted"};
  return kNames[static_cast<size_t>(verdict)];
}

ClaimVerdict ContradictedOrMixed(size_t agreeing, size_t all) {
  return 2 * agreeing >= all ? ClaimVerdict::kMixed : ClaimVerdict::kContradicted;
}

ClaimVerdict Combine(const std::vector<Finding>& findings) {
  const auto count = [&](Outcome outcome) {
    return static_cast<size_t>(std::ranges::count(findings, outcome, &Finding::outcome));
  };
  if (findings.empty() || count(Outcome::kUnknown) > 0) return ClaimVerdict::kUnjudged;
  if (count(Outcome::kAgainst) > 0) {
    return ContradictedOrMixed(count(Outcome::kFor), findings.size());
  }
  if (count(Outcome::kFor) == findings.size()) return ClaimVerdict::kReproduced;
  const bool some = count(Outcome::kFor) + count(Outcome::kInDirection) > 0;
  return some ? ClaimVerdict::kSameDirection : ClaimVerdict::kTie;
}

}  // namespace heddle
