// SPDX-License-Identifier: Apache-2.0

#include "core/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace heddle {
namespace {

// xoshiro256** and SplitMix64, written from their authors' description alone.
class Xoshiro {
 public:
  explicit Xoshiro(uint64_t key) {
    for (uint64_t& word : s_) {
      uint64_t z = (key += 0x9e3779b97f4a7c15);
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      word = z ^ (z >> 31);
    }
  }
  uint64_t Next() {
    const uint64_t result = Rotate(s_[1] * 5, 7) * 9;
    const uint64_t t = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = Rotate(s_[3], 45);
    return result;
  }

 private:
  static uint64_t Rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  uint64_t s_[4];
};

uint64_t Finalise(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// How a stream's key is made from its names; a change here changes every result.
Xoshiro Reference(uint64_t seed, const std::string& purpose, uint64_t id) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  uint64_t fnv = 0xcbf29ce484222325;
  for (const char c : purpose) {
    fnv ^= static_cast<unsigned char>(c);
    fnv *= 0x100000001b3;
  }
  return Xoshiro(Finalise(Finalise(Finalise(seed + kGolden) ^ fnv) + kGolden * (id + 1)));
}

TEST(Mix64Test, IsTheFinaliserOfSplitMix64) {
  // The first output of SplitMix64 with seed 1234567, from its reference code.
  EXPECT_EQ(Mix64(1234567 + 0x9e3779b97f4a7c15), 6457827717110365317u);
}

TEST(RngTest, IsXoshiro256StarStar) {
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    for (const char* purpose : {"", "letflow", "a longer purpose"}) {
      Rng rng = Rng::Stream(seed, purpose, seed + 17);
      Xoshiro reference = Reference(seed, purpose, seed + 17);
      for (int i = 0; i < 1'000; ++i) ASSERT_EQ(rng.Next(), reference.Next());
    }
  }
}

TEST(RngTest, StreamsWithDifferentNamesHaveNothingInCommon) {
  std::set<uint64_t> seen;
  size_t draws = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (const char* purpose : {"ecmp", "letflow", "rps"}) {
      for (uint64_t id = 0; id < 10; ++id) {
        Rng rng = Rng::Stream(seed, purpose, id);
        for (int i = 0; i < 100; ++i, ++draws) seen.insert(rng.Next());
      }
    }
  }
  EXPECT_EQ(seen.size(), draws);
}

TEST(RngTest, StreamsOfNeighbouringIdsAreUncorrelated) {
  Rng a = Rng::Stream(1, "x", 0);
  Rng b = Rng::Stream(1, "x", 1);
  double sum = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) sum += (a.Uniform() - 0.5) * (b.Uniform() - 0.5);
  EXPECT_LT(std::abs(sum / kDraws), 4.0 / 12 / std::sqrt(kDraws));
}

// Pearson's statistic of `draws` draws below `n`.
double ChiSquare(uint32_t n, int draws) {
  Rng rng = Rng::Stream(7, "chi", n);
  std::vector<int> counts(n);
  for (int i = 0; i < draws; ++i) ++counts.at(rng.Below(n));
  const double expected = static_cast<double>(draws) / n;
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(RngTest, BelowIsUniform) {
  // Quantiles of 99.9%.
  EXPECT_LT(ChiSquare(2, 300'000), 10.8);
  EXPECT_LT(ChiSquare(3, 300'000), 13.8);
  EXPECT_LT(ChiSquare(7, 300'000), 22.5);
  EXPECT_LT(ChiSquare(100, 300'000), 148.2);
}

TEST(RngTest, BelowHasNoBiasWhereAModuloWouldBeFarOff) {
  // Of 2^32 values, n = 3 * 2^30 leaves a third over: the lower half would get 2/3 of all draws.
  constexpr uint32_t kN = 3u << 30;
  Rng rng = Rng::Stream(7, "bias", 0);
  constexpr int kDraws = 100'000;
  int in_third[3] = {};
  for (int i = 0; i < kDraws; ++i) ++in_third[rng.Below(kN) >> 30];
  for (const int count : in_third) EXPECT_NEAR(count, kDraws / 3.0, 4 * std::sqrt(kDraws * 2 / 9.));
}

TEST(RngTest, BelowOneIsZero) {
  Rng rng = Rng::Stream(7, "one", 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rng.Below(1), 0u);
}

TEST(RngTest, UniformIsInTheHalfOpenUnitIntervalWithItsMean) {
  Rng rng = Rng::Stream(3, "uniform", 0);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double u = rng.Uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 4 * std::sqrt(1.0 / 12 / 100'000));
}

TEST(RngTest, ExponentialHasItsMeanVarianceAndTail) {
  Rng rng = Rng::Stream(3, "exponential", 0);
  constexpr int kDraws = 200'000;
  double sum = 0;
  double squares = 0;
  int beyond = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = rng.Exponential(2.0);
    ASSERT_TRUE(x >= 0 && std::isfinite(x));
    sum += x;
    squares += x * x;
    beyond += x > 6.0 ? 1 : 0;
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 2.0, 4 * 2.0 / std::sqrt(kDraws));
  // The fourth central moment is 9 mean^4.
  EXPECT_NEAR(squares / kDraws - mean * mean, 4.0, 4 * 4.0 * std::sqrt(8.0 / kDraws));
  EXPECT_NEAR(beyond, kDraws * std::exp(-3), 4 * std::sqrt(kDraws * std::exp(-3)));
}

TEST(RngTest, ExponentialDurationRoundsTheSameDraw) {
  Rng a = Rng::Stream(3, "duration", 0);
  Rng b = Rng::Stream(3, "duration", 0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(a.ExponentialDuration(1e6).ps, std::llround(b.Exponential(1e6)));
  }
}

}  // namespace
}  // namespace heddle
