// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/confidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

namespace heddle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

}  // namespace
}  // namespace heddle
