// SPDX-License-Identifier: Apache-2.0

#include "core/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/random.h"

namespace heddle::histogram_test {

constexpr double kShares[] = {0,    0.01, 0.07, 0.1,  0.25,  0.29,   0.5, 0.55,
                              0.57, 0.58, 0.95, 0.99, 0.999, 0.9999, 1};

// The smallest of the values that at least a share `p` of them does not exceed.
int64_t ExactPercentile(std::vector<int64_t> values, double p) {
  std::ranges::sort(values);
  const double count = static_cast<double>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (static_cast<double>(i + 1) / count >= p) return values[i];
  }
  return values.back();
}

// Values of all magnitudes up to 2^`bits`.
std::vector<int64_t> RandomValues(uint64_t seed, size_t count, uint32_t bits) {
  Rng rng = Rng::Stream(seed, "values", 0);
  std::vector<int64_t> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<int64_t>(rng.Next() >> (63 - rng.Below(bits))));
  }
  return values;
}

Histogram Of(const std::vector<int64_t>& values) {
  Histogram histogram;
  for (const int64_t value : values) histogram.Add(value);
  return histogram;
}

TEST(HistogramTest, PercentilesAreExactUpTo255) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng = Rng::Stream(seed, "small", 0);
    std::vector<int64_t> values(1 + rng.Below(1'000));
    for (int64_t& value : values) value = rng.Below(256);
    const Histogram histogram = Of(values);
    for (const double p : kShares) {
      EXPECT_EQ(histogram.Percentile(p), ExactPercentile(values, p))
          << p << " of " << values.size();
    }
  }
}

TEST(HistogramTest, CountsRanksAsWrittenThoughTheProductIsRoundedUp) {
  std::vector<int64_t> values(100);
  for (size_t i = 0; i < 100; ++i) values[i] = static_cast<int64_t>(i + 1);
  const Histogram histogram = Of(values);
  for (int percent = 1; percent <= 100; ++percent) {
    EXPECT_EQ(histogram.Percentile(percent / 100.0), percent);
  }
}

TEST(HistogramTest, LargePercentilesAreHighByLessThanOneIn128) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<int64_t> values = RandomValues(seed, 2'000, 50);
    const Histogram histogram = Of(values);
    for (const double p : kShares) {
      const int64_t exact = ExactPercentile(values, p);
      EXPECT_GE(histogram.Percentile(p), exact);
      EXPECT_LE(histogram.Percentile(p) - exact, exact / 128);
    }
  }
}

TEST(HistogramTest, CountMeanAndMaximumAreExact) {
  const std::vector<int64_t> values = RandomValues(1, 1'000, 40);
  const Histogram histogram = Of(values);
  double sum = 0;
  for (const int64_t value : values) sum += static_cast<double>(value);
  EXPECT_EQ(histogram.count(), 1'000);
  EXPECT_EQ(histogram.max(), *std::ranges::max_element(values));
  EXPECT_EQ(histogram.Percentile(1), histogram.max());
  EXPECT_NEAR(histogram.mean() / (sum / 1'000), 1, 1e-12);
}

TEST(HistogramTest, MergingInAnyOrderIsAddingAll) {
  const std::vector<int64_t> values = RandomValues(2, 3'000, 50);
  const Histogram whole = Of(values);
  std::vector<Histogram> parts;
  for (size_t i = 0; i < 3; ++i) {
    parts.push_back(Of({values.begin() + static_cast<int64_t>(1'000 * i),
                        values.begin() + static_cast<int64_t>(1'000 * (i + 1))}));
  }
  std::vector<size_t> order{0, 1, 2};
  do {
    Histogram merged;
    for (const size_t i : order) merged.Merge(parts[i]);
    EXPECT_EQ(merged.count(), whole.count());
    EXPECT_EQ(merged.max(), whole.max());
    EXPECT_EQ(merged.mean(), whole.mean());
    for (const double p : kShares) EXPECT_EQ(merged.Percentile(p), whole.Percentile(p));
  } while (std::ranges::next_permutation(order).found);
}

TEST(HistogramTest, WithoutValuesEverythingIsZero) {
  const Histogram empty;
  EXPECT_EQ(empty.count(), 0);
  EXPECT_EQ(empty.max(), 0);
  EXPECT_EQ(empty.mean(), 0);
  EXPECT_EQ(empty.Percentile(0.5), 0);
}

}  // namespace heddle::histogram_test
