// SPDX-License-Identifier: Apache-2.0
// Verdicts against numbers that were worked out by hand, and against a slow judgement of its own.

#include "study/papers/findings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/random.h"

namespace heddle::findings_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

BySeed Seeds(const std::vector<double>& values) {
  BySeed seeds;
  for (size_t i = 0; i < values.size(); ++i) seeds[fmt::format("{}", i + 1)] = values[i];
  return seeds;
}

// --- Orderings ---

// Mean 1, s = 0.1; t for 2 degrees is 4.302653: +- 0.248414.
TEST(JudgeSignTest, GoesByTheInterval) {
  const Finding finding = JudgeSign(Seeds({1, 1.1, 0.9}));
  EXPECT_EQ(finding.outcome, Outcome::kFor);
  EXPECT_NEAR(finding.mean, 1, 1e-12);
  EXPECT_NEAR(finding.half_width, 0.248414, 1e-5);
  EXPECT_EQ(finding.seeds, 3);
  EXPECT_EQ(JudgeSign(Seeds({-1, -1.1, -0.9})).outcome, Outcome::kAgainst);
  EXPECT_EQ(JudgeSign(Seeds({1, -1, 0.5})).outcome, Outcome::kUndecided);
  EXPECT_EQ(JudgeSign(Seeds({0, 0, 0})).outcome, Outcome::kUndecided);
}

TEST(JudgeSignTest, SaysWhyItCannotTell) {
  EXPECT_EQ(JudgeSign(Seeds({1})).reason, "one seed gives no interval");
  EXPECT_EQ(JudgeSign({}).reason, "there are no values");
  EXPECT_THAT(JudgeSign(Seeds({1, kInfinity})).reason, testing::HasSubstr("infinite"));
  EXPECT_THAT(JudgeSign(Seeds({1, std::nan("")})).reason, testing::HasSubstr("divided by zero"));
  EXPECT_EQ(JudgeSign(Seeds({1})).outcome, Outcome::kUnknown);
}

// Two seeds at a distance of 1 from their mean: s = sqrt(2), t for one degree is 12.7062, so
// +- 12.7062.
TEST(JudgeSignTest, TurnsWhereTheIntervalReachesZero) {
  EXPECT_EQ(JudgeSign(Seeds({11.7, 13.7})).outcome, Outcome::kUndecided);
  EXPECT_EQ(JudgeSign(Seeds({11.71, 13.71})).outcome, Outcome::kFor);
  EXPECT_EQ(JudgeSign(Seeds({-11.7, -13.7})).outcome, Outcome::kUndecided);
  EXPECT_EQ(JudgeSign(Seeds({-11.71, -13.71})).outcome, Outcome::kAgainst);
  EXPECT_NEAR(Measured(Seeds({1, 3})).half_width, 12.7062, 1e-3);
}

TEST(MeasuredTest, IsNotJudgedYet) {
  const Finding finding = Measured(Seeds({1, 2, 3}));
  EXPECT_EQ(finding.outcome, Outcome::kUnknown);
  EXPECT_EQ(finding.mean, 2);
  EXPECT_EQ(finding.reason, "");
  EXPECT_TRUE(std::isnan(Measured(Seeds({5})).half_width));
}

// Exactly half is mixed, as is more; less is not.
TEST(CombineTest, HalfOfTheComparisonsMakeItMixed) {
  EXPECT_EQ(ContradictedOrMixed(1, 2), ClaimVerdict::kMixed);
  EXPECT_EQ(ContradictedOrMixed(2, 3), ClaimVerdict::kMixed);
  EXPECT_EQ(ContradictedOrMixed(1, 3), ClaimVerdict::kContradicted);
  EXPECT_EQ(ContradictedOrMixed(2, 5), ClaimVerdict::kContradicted);
  EXPECT_EQ(ContradictedOrMixed(0, 1), ClaimVerdict::kContradicted);
}

TEST(CombineTest, RandomFindingsAreJudgedByTheirCountsAlone) {
  Rng rng = Rng::Stream(/*seed=*/1, "combine", 0);
  for (int round = 0; round < 500; ++round) {
    std::vector<Finding> findings(1 + rng.Below(6));
    std::array<size_t, 5> counts{};
    for (Finding& finding : findings) {
      const uint64_t outcome = rng.Below(5);
      finding.outcome = static_cast<Outcome>(outcome);
      ++counts[outcome];
    }
    const ClaimVerdict verdict = Combine(findings);
    const auto [agree, partly, undecided, against, unknown] = counts;
    EXPECT_EQ(verdict == ClaimVerdict::kUnjudged, unknown > 0);
    EXPECT_EQ(verdict == ClaimVerdict::kReproduced, agree == findings.size());
    EXPECT_EQ(verdict == ClaimVerdict::kTie, undecided == findings.size());
    const bool opposed = verdict == ClaimVerdict::kMixed || verdict == ClaimVerdict::kContradicted;
    EXPECT_EQ(opposed, unknown == 0 && against > 0);
    std::ranges::reverse(findings);
    EXPECT_EQ(Combine(findings), verdict);
  }
}

// Improvements are within ten points, the limit included; ratios within a tenth of the claimed one.
TEST(JudgeNumberTest, TheLimitItselfCounts) {
  const auto outcome = [](double mean, Quantity quantity, bool absolute, double claimed) {
    const BySeed values = Seeds({mean - 1e-6, mean, mean + 1e-6});
    Target target;
    target.value = claimed;
    target.absolute = absolute;
    return JudgeNumber(values, quantity, target).outcome;
  };
  EXPECT_EQ(outcome(0.4, Quantity::kImprovement, true, 0.5), Outcome::kFor);
  EXPECT_EQ(outcome(0.3999, Quantity::kImprovement, true, 0.5), Outcome::kInDirection);
  EXPECT_EQ(outcome(0.6, Quantity::kImprovement, true, 0.5), Outcome::kFor);
  EXPECT_EQ(outcome(0.6001, Quantity::kImprovement, true, 0.5), Outcome::kInDirection);
  EXPECT_EQ(outcome(2.2, Quantity::kRatio, false, 2), Outcome::kFor);
  EXPECT_EQ(outcome(2.2001, Quantity::kRatio, false, 2), Outcome::kInDirection);
  EXPECT_EQ(outcome(1.8, Quantity::kRatio, false, 2), Outcome::kFor);
  EXPECT_EQ(outcome(1.7999, Quantity::kRatio, false, 2), Outcome::kInDirection);
}

// An effect of 1 % is one; 0.99 % is none, although all seeds agree. A difference has no percents.
TEST(JudgeNumberTest, LessThanTheLeastEffectIsATie) {
  const auto outcome = [](double mean, Quantity quantity) {
    Target target;
    target.value = 0.05;
    return JudgeNumber(Seeds({mean - 1e-6, mean, mean + 1e-6}), quantity, target).outcome;
  };
  EXPECT_EQ(outcome(0.0101, Quantity::kGain), Outcome::kFor);
  EXPECT_EQ(outcome(0.0099, Quantity::kGain), Outcome::kUndecided);
  EXPECT_EQ(outcome(-0.0099, Quantity::kGain), Outcome::kUndecided);
  EXPECT_EQ(outcome(-0.0101, Quantity::kGain), Outcome::kAgainst);
  EXPECT_EQ(outcome(0.0099, Quantity::kDifference), Outcome::kFor);
}

TEST(JudgeNumberTest, ZeroDenominatorsLeaveNoVerdict) {
  EXPECT_EQ(QuantityOf(Quantity::kDifference, 3, 0), 3);
  Target target;
  target.value = 2;
  const Finding infinite =
      JudgeNumber(Seeds({QuantityOf(Quantity::kRatio, 1, 0), 2}), Quantity::kRatio, target);
  EXPECT_EQ(infinite.outcome, Outcome::kUnknown);
  EXPECT_EQ(infinite.reason, "a value is infinite; did flows not finish?");
  const Finding none =
      JudgeNumber(Seeds({QuantityOf(Quantity::kGain, 0, 0), 2}), Quantity::kGain, target);
  EXPECT_EQ(none.outcome, Outcome::kUnknown);
  EXPECT_EQ(none.reason, "zero is divided by zero");
}

// Less than a hundredth is no effect, whatever the interval; what cannot be known stays so.
TEST(LeastEffectTest, ADifferenceOfLessThanAHundredthIsATie) {
  const Finding certain = JudgeSign(Seeds({1, 1.001, 0.999}));
  EXPECT_EQ(WithLeastEffect(certain, 0.0099).outcome, Outcome::kUndecided);
  EXPECT_EQ(WithLeastEffect(certain, -0.0099).outcome, Outcome::kUndecided);
  EXPECT_EQ(WithLeastEffect(certain, 0.01).outcome, Outcome::kFor);
  EXPECT_EQ(WithLeastEffect(certain, std::nan("")).outcome, Outcome::kFor);
  EXPECT_EQ(WithLeastEffect(certain, kInfinity).outcome, Outcome::kFor);
  EXPECT_EQ(WithLeastEffect(JudgeSign(Seeds({1})), 0).outcome, Outcome::kUnknown);
}

// --- Trends ---

// Slopes 2, 3 and 1 over a range of 2: 4, 6, 2, on average 4 with s = 2: +- 4.302653 * 2 / sqrt(3).
TEST(JudgeTrendTest, FitsEachSeed) {
  const std::vector<BySeed> y = {Seeds({1, 10, 5}), Seeds({3, 13, 6}), Seeds({5, 16, 7})};
  const Finding up = JudgeTrend({0, 1, 2}, y, Shape::kUp, 0.1);
  EXPECT_NEAR(up.mean, 4, 1e-12);
  EXPECT_NEAR(up.half_width, 4.96828, 1e-4);
  EXPECT_EQ(up.outcome, Outcome::kUndecided);
  const std::vector<BySeed> steady = {Seeds({1, 10, 5}), Seeds({3, 12.1, 7}), Seeds({5, 14, 9})};
  EXPECT_EQ(JudgeTrend({0, 1, 2}, steady, Shape::kUp, 0.1).outcome, Outcome::kFor);
  const Finding down = JudgeTrend({0, 1, 2}, steady, Shape::kDown, 0.1);
  EXPECT_EQ(down.outcome, Outcome::kAgainst);
  EXPECT_NEAR(down.mean, 4, 0.01);  // The change itself, whatever was claimed.
}

// Least squares of (1, 1), (2, 3), (4, 4): slope 26/28 = 0.928571, over a range of 3.
TEST(JudgeTrendTest, GoesByDistancesAlongTheAxis) {
  const BySeed changes = ChangesOverRange({1, 2, 4}, {Seeds({1}), Seeds({3}), Seeds({4})});
  EXPECT_NEAR(changes.at("1"), 3 * 26.0 / 28, 1e-12);
}

TEST(JudgeTrendTest, FlatIsWithinAShareOfTheMean) {
  const auto judge = [](const std::vector<double>& ends, double flat = 0.1) {
    std::vector<double> start(ends.size(), 100);
    return JudgeTrend({0, 1}, {Seeds(start), Seeds(ends)}, Shape::kFlat, flat).outcome;
  };
  EXPECT_EQ(judge({105, 104, 106}), Outcome::kFor);
  EXPECT_EQ(judge({95, 96, 94}), Outcome::kFor);
  EXPECT_EQ(judge({130, 131, 129}), Outcome::kAgainst);
  EXPECT_EQ(judge({130, 131, 129}, 0.5), Outcome::kFor);
  EXPECT_EQ(judge({100, 120, 160}), Outcome::kUndecided);
  // -3 % +- 50 %: the mean is within a tenth, the interval is not.
  EXPECT_EQ(judge({80, 120, 95}), Outcome::kUndecided);
  EXPECT_EQ(judge({101}), Outcome::kUnknown);
  EXPECT_EQ(JudgeTrend({0, 1}, {Seeds({0, 0}), Seeds({0, 0})}, Shape::kFlat, 0.1).outcome,
            Outcome::kFor);
}

TEST(JudgeTrendTest, AValleyLiesBelowBothEnds) {
  const std::vector<double> x = {1, 2, 3, 4};
  const auto judge = [&](const std::vector<std::vector<double>>& y, Shape shape) {
    std::vector<BySeed> seeds;
    for (const auto& at : y) seeds.push_back(Seeds(at));
    return JudgeTrend(x, seeds, shape, 0.1).outcome;
  };
  const std::vector<std::vector<double>> valley = {{9, 9.1}, {4, 4}, {3, 3.1}, {8, 8.1}};
  EXPECT_EQ(judge(valley, Shape::kDownUp), Outcome::kFor);
  EXPECT_EQ(judge(valley, Shape::kUpDown), Outcome::kAgainst);
  // Down, and then nobody knows.
  EXPECT_EQ(judge({{9, 9.1}, {4, 4}, {3, 3}, {2, 5}}, Shape::kDownUp), Outcome::kInDirection);
  // Down only.
  EXPECT_EQ(judge({{9, 9.1}, {4, 4}, {3, 3.1}, {1, 1.1}}, Shape::kDownUp), Outcome::kAgainst);
  EXPECT_EQ(judge({{1, 9}, {4, 4}, {4, 4}, {2, 7}}, Shape::kDownUp), Outcome::kUndecided);
  EXPECT_EQ(judge({{1, 1.1}, {4, 4}, {5, 5.1}, {2, 2.1}}, Shape::kUpDown), Outcome::kFor);
}

TEST(JudgeTrendTest, NeedsPoints) {
  EXPECT_THAT(JudgeTrend({1}, {Seeds({1, 2})}, Shape::kUp, 0.1).reason,
              testing::HasSubstr("at least two points"));
  EXPECT_THAT(JudgeTrend({1, 2}, {Seeds({1, 2}), Seeds({1, 2})}, Shape::kDownUp, 0.1).reason,
              testing::HasSubstr("at least three points"));
}

// --- Numbers ---

TEST(JudgeNumberTest, QuantitiesAreOfAOverB) {
  EXPECT_DOUBLE_EQ(QuantityOf(Quantity::kImprovement, 3, 4), 0.25);
  EXPECT_DOUBLE_EQ(QuantityOf(Quantity::kGain, 5, 4), 0.25);
  EXPECT_DOUBLE_EQ(QuantityOf(Quantity::kRatio, 5, 4), 1.25);
  EXPECT_DOUBLE_EQ(QuantityOf(Quantity::kDifference, 5, 4), 1);
  EXPECT_DOUBLE_EQ(QuantityOf(Quantity::kValue, 5, 4), 5);
}

TEST(JudgeNumberTest, TenPercentagePointsReproduceAnImprovement) {
  const auto judge = [](const std::vector<double>& values, double claimed) {
    return JudgeNumber(Seeds(values), Quantity::kImprovement, {.value = claimed}).outcome;
  };
  EXPECT_EQ(judge({0.33, 0.33}, 0.43), Outcome::kFor);
  EXPECT_EQ(judge({0.40, 0.55}, 0.43), Outcome::kUndecided);  // +- 0.95: perhaps nothing.
  EXPECT_EQ(judge({0.53}, 0.43), Outcome::kUnknown);
  EXPECT_EQ(judge({0.32, 0.321}, 0.43), Outcome::kInDirection);
  EXPECT_EQ(judge({0.8, 0.81}, 0.43), Outcome::kInDirection);
  EXPECT_EQ(judge({-0.2, 0.3}, 0.43), Outcome::kUndecided);
  EXPECT_EQ(judge({-0.2, -0.21}, 0.43), Outcome::kAgainst);
  EXPECT_EQ(judge({0.8}, 0.43), Outcome::kUnknown);
}

// Near enough to a small number is not enough if nothing is gained, or less than a hundredth.
TEST(JudgeNumberTest, ANumberIsReproducedOnlyIfThereIsAnEffect) {
  const auto judge = [](const std::vector<double>& values, double claimed) {
    return JudgeNumber(Seeds(values), Quantity::kGain, {.value = claimed}).outcome;
  };
  EXPECT_EQ(judge({0.05, 0.05}, 0.08), Outcome::kFor);
  EXPECT_EQ(judge({-0.01, 0.05}, 0.08), Outcome::kUndecided);
  EXPECT_EQ(judge({-0.015, -0.015}, 0.08), Outcome::kAgainst);
  EXPECT_EQ(judge({0.0099, 0.0099}, 0.08), Outcome::kUndecided);
  EXPECT_EQ(judge({0.0099, 0.0099}, 0.43), Outcome::kUndecided);
  EXPECT_EQ(judge({-0.0099, -0.0099}, 0.43), Outcome::kUndecided);
}

// "About twice" is not eleven times; a gain may be as large as it likes.
TEST(JudgeNumberTest, MoreThanTwiceTheEffectIsNotWhatAPaperDescribes) {
  const auto judge = [](const std::vector<double>& values, bool describes) {
    return JudgeNumber(Seeds(values), Quantity::kRatio,
                       {.value = 2, .absolute = false, .describes = describes})
        .outcome;
  };
  EXPECT_EQ(judge({11.2, 11.3}, true), Outcome::kAgainst);
  EXPECT_EQ(judge({11.2, 11.3}, false), Outcome::kInDirection);
  EXPECT_EQ(judge({2.99, 2.99}, true), Outcome::kInDirection);
  EXPECT_EQ(judge({2.1, 2.1}, true), Outcome::kFor);
  EXPECT_EQ(judge({0.5, 0.5}, true), Outcome::kAgainst);
}

TEST(JudgeNumberTest, RatiosAreAlikeAtOneAndValuesNowhere) {
  const auto judge = [](const std::vector<double>& values, Quantity quantity, double claimed) {
    return JudgeNumber(Seeds(values), quantity, {.value = claimed, .absolute = false}).outcome;
  };
  EXPECT_EQ(judge({2.2, 2.2}, Quantity::kRatio, 2), Outcome::kFor);
  EXPECT_EQ(judge({1.3, 1.31}, Quantity::kRatio, 2), Outcome::kInDirection);
  EXPECT_EQ(judge({0.9, 0.91}, Quantity::kRatio, 2), Outcome::kAgainst);
  EXPECT_EQ(judge({1.3, 1.31}, Quantity::kRatio, 1), Outcome::kAgainst);
  EXPECT_EQ(judge({1.0, 1.6}, Quantity::kRatio, 1), Outcome::kUndecided);
  EXPECT_EQ(judge({1'400, 1'410}, Quantity::kValue, 1'507), Outcome::kFor);
  EXPECT_EQ(judge({1'000, 1'001}, Quantity::kValue, 1'507), Outcome::kAgainst);
}

TEST(JudgeNumberTest, Bounds) {
  const Target below = {.at_most = 0.5};
  const auto judge = [](const std::vector<double>& values, const Target& target) {
    return JudgeNumber(Seeds(values), Quantity::kValue, target).outcome;
  };
  EXPECT_EQ(judge({0.4, 0.41}, below), Outcome::kFor);
  EXPECT_EQ(judge({0.4, 0.55}, below), Outcome::kInDirection);
  EXPECT_EQ(judge({0.6, 0.61}, below), Outcome::kAgainst);
  EXPECT_EQ(judge({0.5, 0.55}, below), Outcome::kUndecided);  // 0.525 +- 0.32.
  EXPECT_EQ(judge({0.6, 0.61}, {.at_most = 0.7, .at_least = 0.5}), Outcome::kFor);
  EXPECT_EQ(judge({0.4}, below), Outcome::kUnknown);
}

// --- Models ---

TEST(InnerMinimumTest, IsAtNeitherEnd) {
  EXPECT_TRUE(HasInnerMinimum({3, 1, 2}));
  EXPECT_FALSE(HasInnerMinimum({1, 1, 2}));
  EXPECT_FALSE(HasInnerMinimum({3, 2, 1}));
  EXPECT_FALSE(HasInnerMinimum({3, 1}));
}

// --- Verdicts ---

TEST(CombineTest, TheWholeClaimByItsParts) {
  const auto combine = [](const std::vector<Outcome>& outcomes) {
    std::vector<Finding> findings;
    for (const Outcome outcome : outcomes) findings.push_back({outcome, 0, 0, 2, ""});
    return Combine(findings);
  };
  using enum Outcome;
  EXPECT_EQ(combine({kFor, kFor}), ClaimVerdict::kReproduced);
  EXPECT_EQ(combine({kFor, kUndecided}), ClaimVerdict::kSameDirection);
  EXPECT_EQ(combine({kInDirection}), ClaimVerdict::kSameDirection);
  EXPECT_EQ(combine({kUndecided, kUndecided}), ClaimVerdict::kTie);
  EXPECT_EQ(combine({kFor, kFor, kAgainst}), ClaimVerdict::kMixed);
  EXPECT_EQ(combine({kFor, kAgainst}), ClaimVerdict::kMixed);
  EXPECT_EQ(combine({kFor, kUndecided, kAgainst}), ClaimVerdict::kContradicted);
  EXPECT_EQ(combine({kInDirection, kAgainst}), ClaimVerdict::kContradicted);
  EXPECT_EQ(combine({kFor, kUnknown, kAgainst}), ClaimVerdict::kUnjudged);
  EXPECT_EQ(combine({}), ClaimVerdict::kUnjudged);
}

// --- Against a judgement of its own ---

// An independent calculation from the definitions: it solves the normal equations, and takes the
// intervals from sums of squares.
struct SlowTrend {
  double change = 0;
  Outcome outcome = Outcome::kUndecided;
};

SlowTrend SlowUp(const std::vector<double>& x, const std::vector<std::vector<double>>& y) {
  std::vector<double> changes;
  for (size_t seed = 0; seed < y.front().size(); ++seed) {
    const double n = static_cast<double>(x.size());
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      sx += x[i];
      sy += y[i][seed];
      sxx += x[i] * x[i];
      sxy += x[i] * y[i][seed];
    }
    changes.push_back((n * sxy - sx * sy) / (n * sxx - sx * sx) * (x.back() - x.front()));
  }
  const double n = static_cast<double>(changes.size());
  const double mean = std::accumulate(changes.begin(), changes.end(), 0.0) / n;
  double squares = 0;
  for (const double change : changes) squares += change * change;
  const double variance = (squares - n * mean * mean) / (n - 1);
  const double half_width =
      StudentT95(static_cast<int64_t>(changes.size()) - 1) * std::sqrt(std::max(0.0, variance) / n);
  SlowTrend trend{mean, Outcome::kUndecided};
  if (mean > half_width) trend.outcome = Outcome::kFor;
  if (mean < -half_width) trend.outcome = Outcome::kAgainst;
  return trend;
}

TEST(JudgeTrendTest, AgreesWithASlowJudgementOfRandomSeries) {
  Rng rng = Rng::Stream(1, "trends", 0);
  const auto uniform = [&] { return static_cast<double>(rng.Below(1'000'000)) * 1e-6; };
  std::map<Outcome, int> seen;
  for (int round = 0; round < 2'000; ++round) {
    std::vector<double> x = {uniform()};
    for (size_t i = 1 + rng.Below(6); i > 0; --i) x.push_back(x.back() + 0.1 + uniform());
    const size_t count = 2 + rng.Below(9);
    const double slope = 3 * (uniform() - 0.5);
    std::vector<std::vector<double>> y;
    std::vector<BySeed> seeds;
    for (const double at : x) {
      std::vector<double>& values = y.emplace_back();
      for (size_t seed = 0; seed < count; ++seed) values.push_back(slope * at + 3 * uniform());
      seeds.push_back(Seeds(values));
    }
    const SlowTrend slow = SlowUp(x, y);
    const Finding up = JudgeTrend(x, seeds, Shape::kUp, 0.1);
    EXPECT_NEAR(up.mean, slow.change, 1e-9 * (1 + std::abs(slow.change)));
    EXPECT_EQ(up.outcome, slow.outcome);
    ++seen[up.outcome];
  }
  EXPECT_GT(seen[Outcome::kFor], 200);
  EXPECT_GT(seen[Outcome::kAgainst], 200);
  EXPECT_GT(seen[Outcome::kUndecided], 200);
}

}  // namespace heddle::findings_test
