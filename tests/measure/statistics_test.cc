// SPDX-License-Identifier: Apache-2.0

#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/random.h"

namespace heddle {
namespace {

using enum PercentileMethod;

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

// With p = k / 1000 the ranks can be had in integers.
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
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> x = {1, 2, infinity, infinity};
  EXPECT_EQ(Percentile(x, 0.99, kLinear), infinity);
  EXPECT_EQ(Percentile(x, 0.5, kLinear), infinity);
  EXPECT_EQ(Percentile(x, 1.0 / 3, kLinear), 2);
  EXPECT_EQ(Percentile(x, 0.5, kNearest), 2);
}

}  // namespace
}  // namespace heddle
