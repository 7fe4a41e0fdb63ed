// SPDX-License-Identifier: Apache-2.0

#include "core/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <vector>

#include "core/random.h"

namespace heddle::statistics_test {

using enum PercentileMethod;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// M10.
TEST(PercentileTest, OfOneToTen) {
  std::vector<double> x(10);
  std::iota(x.begin(), x.end(), 1.0);
  EXPECT_DOUBLE_EQ(Percentile(x, 0.99, kLinear), 9.91);
  EXPECT_DOUBLE_EQ(Percentile(x, 0.99, kNearest), 10);
  EXPECT_DOUBLE_EQ(Percentile(x, 0.99, kHpcc), 10);
  EXPECT_DOUBLE_EQ(Percentile(x, 0.5, kLinear), 5.5);
  EXPECT_DOUBLE_EQ(Percentile(x, 0.5, kNearest), 5);
  EXPECT_DOUBLE_EQ(Percentile(x, 0.5, kHpcc), 6);
}

// For p = k / 1000 integers give the ranks.
TEST(PercentileTest, AgreesWithIntegerArithmetic) {
  Rng rng = Rng::Stream(1, "test", 0);
  for (size_t n = 1; n < 400; ++n) {
    std::vector<double> x(n);
    for (double& value : x) value = std::floor(rng.Uniform() * 1000);
    std::ranges::sort(x);
    for (const size_t k : {0, 1, 250, 500, 950, 990, 999, 1000}) {
      const double p = static_cast<double>(k) / 1000;
      const size_t nearest = std::max<size_t>((k * n + 999) / 1000, 1) - 1;
      EXPECT_EQ(Percentile(x, p, kNearest), x[nearest]) << n << " " << k;
      EXPECT_EQ(Percentile(x, p, kHpcc), x[std::min(k * n / 1000, n - 1)]) << n << " " << k;
      const size_t below = k * (n - 1) / 1000;
      const double weight = static_cast<double>(k * (n - 1) % 1000) / 1000;
      const double above = x[std::min(below + 1, n - 1)];
      EXPECT_NEAR(Percentile(x, p, kLinear), x[below] + weight * (above - x[below]), 1e-6);
    }
  }
}

TEST(PercentileTest, InfiniteSamplesGiveNoNan) {
  const std::vector<double> x = {1, 2, kInfinity, kInfinity};
  EXPECT_EQ(Percentile(x, 0.99, kLinear), kInfinity);
  EXPECT_EQ(Percentile(x, 0.5, kLinear), kInfinity);
  EXPECT_EQ(Percentile(x, 1.0 / 3, kLinear), 2);
  EXPECT_EQ(Percentile(x, 0.5, kNearest), 2);
}

// Checks the definition, also for shares whose product with the count is rounded up.
TEST(NearestRankTest, IsTheLeastRankThatReachesTheShare) {
  for (const double p : {0.0, 0.07, 0.29, 0.5, 0.55, 0.57, 0.58, 0.95, 0.99, 0.999, 1.0}) {
    for (int64_t count = 1; count < 2'000; ++count) {
      const int64_t rank = NearestRank(p, count);
      const double n = static_cast<double>(count);
      EXPECT_GE(static_cast<double>(rank) / n, p) << p << " of " << count;
      EXPECT_TRUE(rank == 1 || static_cast<double>(rank - 1) / n < p) << p << " of " << count;
    }
  }
}

// 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squares 32.
TEST(MeanTest, AgreesWithAHandWorkedExample) {
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_EQ(Mean(values), 5);
  EXPECT_EQ(Deviation(values), 2);
  EXPECT_TRUE(std::isnan(Mean({})));
}

// --- Confidence intervals ---

Replications Of(std::initializer_list<double> values) {
  Replications replications;
  for (const double value : values) replications.Add(value);
  return replications;
}

// Abramowitz and Stegun, table 26.10, column 0.95.
TEST(ConfidenceTest, HasTheQuantilesOfTheTables) {
  EXPECT_NEAR(StudentT95(1), 12.706, 5e-4);
  EXPECT_NEAR(StudentT95(2), 4.303, 5e-4);
  EXPECT_NEAR(StudentT95(3), 3.182, 5e-4);
  EXPECT_NEAR(StudentT95(4), 2.776, 5e-4);
  EXPECT_NEAR(StudentT95(9), 2.262, 5e-4);
  EXPECT_NEAR(StudentT95(10), 2.228, 5e-4);
  EXPECT_NEAR(StudentT95(19), 2.093, 5e-4);
  EXPECT_NEAR(StudentT95(120), 1.980, 5e-4);
  EXPECT_NEAR(StudentT95(1'000'000), 1.960, 5e-4);
}

// 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squares 32, s = sqrt(32/7) = 2.13809, s/sqrt(8) = 0.755929; with
// t = 2.364624 (7 degrees) the half width is 1.787487.
TEST(ConfidenceTest, AgreesWithAHandWorkedExample) {
  const Replications values = Of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(values.count(), 8);
  EXPECT_DOUBLE_EQ(values.mean(), 5);
  EXPECT_NEAR(values.half_width(), 1.787487, 1e-6);
}

TEST(ConfidenceTest, TwoValuesHaveAnIntervalOneHasNone) {
  EXPECT_NEAR(Of({1, 3}).half_width(), 12.7062, 1e-4);  // s = sqrt(2), over sqrt(2): 1.
  EXPECT_TRUE(std::isnan(Of({1}).half_width()));
  EXPECT_EQ(Of({1}).mean(), 1);
  EXPECT_TRUE(std::isnan(Of({}).mean()));
  EXPECT_EQ(Of({3, 3, 3}).half_width(), 0);
}

TEST(ConfidenceTest, InfinityIsInfinitelyFarAndHasNoInterval) {
  for (const Replications& values :
       {Of({1, kInfinity, 2}), Of({kInfinity, 1}), Of({1, kInfinity})}) {
    EXPECT_EQ(values.mean(), kInfinity);
    EXPECT_TRUE(std::isnan(values.half_width()));
  }
}

// --- Pairs of samples ---

// x - 2.5 is -1.5, -0.5, 0.5, 1.5 and y - 5 is -3, -2, 0, 5: 13 over 5.
TEST(SlopeTest, IsThatOfTheLeastSquaresLine) {
  EXPECT_NEAR(Slope({1, 2, 3, 4}, {2, 3, 5, 10}), 13.0 / 5, 1e-12);
  EXPECT_EQ(Slope({0, 10}, {7, 2}), -0.5);
}

// Ranks 1 2 3 4 5 and 2 1 4 3 5: 1 - 6 * 4 / (5 * 24) = 0.8.
TEST(RankCorrelationTest, IsSpearmans) {
  EXPECT_NEAR(RankCorrelation({10, 20, 30, 40, 50}, {0.2, 0.1, 7, 0.5, 1'000}), 0.8, 1e-12);
  EXPECT_NEAR(RankCorrelation({1, 2, 3}, {9, 8, 7}), -1, 1e-12);
  // Ties have mean ranks: 1, 2.5, 2.5, 4 with 1, 2, 3, 4 is 4.5 / sqrt(4.5 * 5).
  EXPECT_NEAR(RankCorrelation({1, 2, 2, 3}, {1, 2, 3, 4}), 4.5 / std::sqrt(4.5 * 5), 1e-12);
  EXPECT_TRUE(std::isnan(RankCorrelation({1, 1, 1}, {1, 2, 3})));
}

}  // namespace heddle::statistics_test
