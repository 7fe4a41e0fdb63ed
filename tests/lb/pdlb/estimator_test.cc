// SPDX-License-Identifier: Apache-2.0
// PDLB's window of delays and its estimate, against plain lists and sums over random delays.

#include "lb/pdlb/estimator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/random.h"

namespace heddle::estimator_test {

PathContrast PlainContrast(const std::vector<uint32_t>& samples, double limit) {
  std::vector<uint32_t> slow;
  std::vector<uint32_t> fast;
  for (const uint32_t ns : samples) (ns > limit ? slow : fast).push_back(ns);
  const auto mean = [](const std::vector<uint32_t>& all) {
    double sum = 0;
    for (const uint32_t ns : all) sum += ns;
    return sum / static_cast<double>(all.size());
  };
  if (slow.empty() || fast.empty())
    return {.slow_share = 0, .slowness = 1, .fast_ns = mean(samples)};
  return {.slow_share = static_cast<double>(slow.size()) / static_cast<double>(samples.size()),
          .slowness = mean(slow) / mean(fast),
          .fast_ns = mean(fast)};
}

void ExpectSame(const PathContrast& found, const PathContrast& expected) {
  EXPECT_NEAR(found.slow_share, expected.slow_share, 1e-12);
  EXPECT_NEAR(found.slowness, expected.slowness, 1e-9 * expected.slowness);
  EXPECT_NEAR(found.fast_ns, expected.fast_ns, 1e-9 * expected.fast_ns);
}

TEST(PdlbContrastTest, IsThatOfTwoListsByEitherRule) {
  Rng rng = Rng::Stream(1, "contrast", 0);
  int with_slow = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<uint32_t> samples;
    const uint32_t factor = 1 + rng.Below(8);
    for (uint32_t n = 1 + rng.Below(40); n-- > 0;) {
      samples.push_back((50'000 + rng.Below(9'000)) * (rng.Below(5) == 0 ? factor : 1));
    }
    const double theta = 1.1 + rng.Uniform();
    const double least = std::ranges::min(samples);
    const PathContrast found = ContrastOf(samples, SlowRule::kAboveLeast, theta);
    ExpectSame(found, PlainContrast(samples, theta * least));
    with_slow += found.slow_share > 0 ? 1 : 0;
    double sum = 0;
    for (const uint32_t ns : samples) sum += ns;
    ExpectSame(ContrastOf(samples, SlowRule::kAboveAverage, theta),
               PlainContrast(samples, 2 * sum / static_cast<double>(samples.size())));
  }
  EXPECT_GT(with_slow, 100);
}

// The limit itself is not slow: 1500 is 1.5 times 1000, and 4 is twice the mean of 1, 1 and 4.
TEST(PdlbContrastTest, ADelayAtTheLimitIsFast) {
  EXPECT_EQ(ContrastOf(std::vector<uint32_t>{1'000, 1'500}, SlowRule::kAboveLeast, 1.5).slow_share,
            0);
  EXPECT_EQ(ContrastOf(std::vector<uint32_t>{1'000, 1'501}, SlowRule::kAboveLeast, 1.5).slow_share,
            0.5);
  EXPECT_EQ(ContrastOf(std::vector<uint32_t>{1, 1, 4}, SlowRule::kAboveAverage, 1.5).slow_share, 0);
  EXPECT_NEAR(ContrastOf(std::vector<uint32_t>{1, 1, 5}, SlowRule::kAboveAverage, 1.5).slow_share,
              1.0 / 3, 1e-12);
}

TEST(PdlbContrastTest, DelaysOfANanosecondHaveARatio) {
  EXPECT_EQ(ContrastOf(std::vector<uint32_t>{1, 1, 3}, SlowRule::kAboveLeast, 1.4).slowness, 3);
}

// Delays below a nanosecond count as none; there is no ratio to nothing.
TEST(PdlbContrastTest, DelaysOfNothingHaveNoRatio) {
  const PathContrast found = ContrastOf(std::vector<uint32_t>{0, 0, 7}, SlowRule::kAboveLeast, 1.4);
  EXPECT_NEAR(found.slow_share, 1.0 / 3, 1e-12);
  EXPECT_EQ(found.slowness, 1);
  EXPECT_EQ(found.fast_ns, 0);
}

TEST(PdlbWindowTest, KeepsTheLatest512InWholeNanoseconds) {
  Rng rng = Rng::Stream(2, "window", 0);
  DelayWindow window;
  std::deque<uint32_t> plain;
  for (int i = 0; i < 2'000; ++i) {
    const int64_t ps = rng.Below(4'000'000);
    window.Add(Duration{ps});
    plain.push_back(static_cast<uint32_t>(ps / 1'000));
    if (plain.size() > 512) plain.pop_front();
    ASSERT_EQ(window.size(), plain.size());
    if (i % 50 > 0) continue;
    std::vector<uint32_t> kept(window.samples().begin(), window.samples().end());
    std::vector<uint32_t> expected(plain.begin(), plain.end());
    std::ranges::sort(kept);
    std::ranges::sort(expected);
    ASSERT_EQ(kept, expected) << i;
  }
  window.Clear();
  EXPECT_EQ(window.size(), 0u);
  // The next window keeps its first samples in their places.
  for (int i = 0; i < 600; ++i) window.Add(1'000_ps * i);
  EXPECT_EQ(std::ranges::min(window.samples()), 600u - 512);
  EXPECT_EQ(window.samples()[88], 88u);
}

// 2^32 - 1 ns are 4.3 s.
TEST(PdlbWindowTest, ADelayBeyondFourSecondsIsTheLongest) {
  DelayWindow window;
  window.Add(5_s);
  window.Add(4'294'967'295_ns);
  window.Add(4'294'967'294_ns);
  EXPECT_EQ(window.samples()[0], 4'294'967'295u);
  EXPECT_EQ(window.samples()[1], 4'294'967'295u);
  EXPECT_EQ(window.samples()[2], 4'294'967'294u);
}

}  // namespace heddle::estimator_test
