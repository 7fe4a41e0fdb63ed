// SPDX-License-Identifier: Apache-2.0
// The generators give what their authors have published; distributions and independence are judged
// by statistics whose bounds follow from the number of draws: at least 4 standard deviations, or
// the 99.9 % quantile. Streams are fixed, so a test that has passed once passes always.

#include "core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

namespace heddle::random_test {

// --- Published sequences ---

// The output of Vigna's splitmix64.c (https://prng.di.unimi.it/splitmix64.c) for two seeds, as
// printed in Rosetta Code's "Pseudo-random numbers/Splitmix64" (1234567) and in the tests of many
// implementations (0).
TEST(SplitMix64Test, GivesThePublishedSequence) {
  SplitMix64 generator(1'234'567);
  for (const uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                  4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(generator.Next(), expected);
  }
  SplitMix64 from_zero(0);
  for (const uint64_t expected : {0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u, 0x06c45d188009454fu,
                                  0xf88bb8a8724c81ecu, 0x1b39896a51a8749bu}) {
    EXPECT_EQ(from_zero.Next(), expected);
  }
}

// The output of Blackman and Vigna's xoshiro256starstar.c
// (https://prng.di.unimi.it/xoshiro256starstar.c) from the state 1, 2, 3, 4, as printed in the
// tests of the Rust crate rand_xoshiro.
TEST(Xoshiro256Test, GivesThePublishedSequence) {
  Xoshiro256 generator({1, 2, 3, 4});
  for (const uint64_t expected : std::initializer_list<uint64_t>{
           11520u, 0u, 1509978240u, 1215971899390074240u, 1216172134540287360u, 607988272756665600u,
           16172922978634559625u, 8476171486693032832u, 10595114339597558777u,
           2904607092377533576u}) {
    EXPECT_EQ(generator.Next(), expected);
  }
}

// --- Names ---

// These values fix how a stream's key is made from its names: a change changes every result. An
// independent implementation of the rules in random.h computed them.
TEST(RngTest, StreamsAreThoseThatResultsRestOn) {
  struct Row {
    uint64_t seed;
    const char* purpose;
    uint64_t id;
    std::array<uint64_t, 2> first;
  };
  constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();
  for (const Row& row : {Row{1, "letflow", 0, {0xad06f3064ad68044, 0xfa8b6ab855bd0895}},
                         {1, "letflow", 1, {0xf54c6b6daa304e84, 0xbd8f641300c08e6d}},
                         {2, "letflow", 0, {0x394ab2f60a657b89, 0x0481ce2d212e8529}},
                         {1, "ecmp", 0, {0xafabc9afc7b1c099, 0x6071f40ddae95987}},
                         {0, "", 0, {0x4595ca8d08653d65, 0x5833e428ddf1d24d}},
                         {kLargest, "size", kLargest, {0xd2acc808ccb5de94, 0x390b713b5ae81e2a}}}) {
    Rng rng = Rng::Stream(row.seed, row.purpose, row.id);
    EXPECT_EQ(rng.Next(), row.first[0]) << row.seed << row.purpose << row.id;
    EXPECT_EQ(rng.Next(), row.first[1]) << row.seed << row.purpose << row.id;
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

// Pearson's statistic of counts that are all expected to be the same.
double ChiSquare(const std::vector<int>& counts) {
  const double expected =
      std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

// Two streams whose names differ in one part only, or in parts that have changed places.
struct Pair {
  const char* differs;
  Rng a;
  Rng b;
};

std::vector<Pair> RelatedStreams() {
  const auto stream = [](uint64_t seed, const char* purpose, uint64_t id) {
    return Rng::Stream(seed, purpose, id);
  };
  return {{"id, by one", stream(1, "x", 0), stream(1, "x", 1)},
          {"id, by one bit at the top", stream(1, "x", 0), stream(1, "x", uint64_t{1} << 63)},
          {"id, by a workload", stream(1, "x", 7), stream(1, "x", uint64_t{1} << 32 | 7)},
          {"seed, by one", stream(1, "x", 0), stream(2, "x", 0)},
          {"seed, by one bit at the top", stream(1, "x", 0), stream(uint64_t{1} << 63 | 1, "x", 0)},
          {"purpose, by a letter", stream(1, "x", 0), stream(1, "y", 0)},
          {"purpose, by its length", stream(1, "x", 0), stream(1, "xx", 0)},
          {"purpose, which is empty", stream(1, "", 0), stream(1, "x", 0)},
          {"seed and id, changed round", stream(3, "x", 5), stream(5, "x", 3)}};
}

TEST(RngTest, StreamsOfRelatedNamesAreUncorrelated) {
  constexpr int kDraws = 100'000;
  for (Pair& pair : RelatedStreams()) {
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) sum += (pair.a.Uniform() - 0.5) * (pair.b.Uniform() - 0.5);
    // Each term has mean 0 and variance 1/12^2; 4 standard deviations of their mean.
    EXPECT_LT(std::abs(sum / kDraws), 4.0 / 12 / std::sqrt(kDraws)) << pair.differs;
  }
}

// Correlation sees lines only; the cells of a square see any dependence that is as coarse as they.
TEST(RngTest, DrawsOfRelatedNamesFallIntoTheSquareEvenly) {
  constexpr size_t kSide = 8;
  for (Pair& pair : RelatedStreams()) {
    std::vector<int> cells(kSide * kSide);
    for (int i = 0; i < 100'000; ++i) ++cells[pair.a.Below(kSide) * kSide + pair.b.Below(kSide)];
    EXPECT_LT(ChiSquare(cells), 113.5) << pair.differs;  // 63 degrees of freedom, 99.99%.
  }
}

TEST(RngTest, HalfTheBitsOfRelatedNamesDiffer) {
  constexpr int kDraws = 100'000;
  for (Pair& pair : RelatedStreams()) {
    std::array<int, 64> differ{};
    for (int i = 0; i < kDraws; ++i) {
      const uint64_t bits = pair.a.Next() ^ pair.b.Next();
      for (size_t bit = 0; bit < 64; ++bit) differ[bit] += static_cast<int>(bits >> bit & 1);
    }
    // Binomial of variance kDraws/4; 6 standard deviations, as there are 64 bits and 9 pairs.
    for (const int count : differ) {
      EXPECT_NEAR(count, kDraws / 2.0, 6 * std::sqrt(kDraws) / 2) << pair.differs;
    }
  }
}

// The first draws, which are all that many streams are asked for.
TEST(RngTest, FirstDrawsOfNeighbouringIdsAreUniform) {
  std::vector<int> sixteenths(16);
  for (uint64_t id = 0; id < 100'000; ++id) ++sixteenths[Rng::Stream(1, "x", id).Below(16)];
  EXPECT_LT(ChiSquare(sixteenths), 44.3);  // 15 degrees of freedom, 99.99%.
}

// --- Distributions ---

TEST(RngTest, EveryBitIsSetInHalfOfTheDraws) {
  Rng rng = Rng::Stream(7, "bits", 0);
  constexpr int kDraws = 100'000;
  std::array<int, 64> set{};
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t bits = rng.Next();
    for (size_t bit = 0; bit < 64; ++bit) set[bit] += static_cast<int>(bits >> bit & 1);
  }
  // Binomial of variance kDraws/4; 5 standard deviations, as there are 64 bits.
  for (const int count : set) EXPECT_NEAR(count, kDraws / 2.0, 5 * std::sqrt(kDraws) / 2);
}

double ChiSquareOfBelow(uint32_t n) {
  Rng rng = Rng::Stream(7, "chi", n);
  std::vector<int> counts(n);
  for (int i = 0; i < 300'000; ++i) ++counts.at(rng.Below(n));
  return ChiSquare(counts);
}

TEST(RngTest, BelowIsUniform) {
  // Quantiles of 99.9% with 1, 2, 6 and 99 degrees of freedom.
  EXPECT_LT(ChiSquareOfBelow(2), 10.8);
  EXPECT_LT(ChiSquareOfBelow(3), 13.8);
  EXPECT_LT(ChiSquareOfBelow(7), 22.5);
  EXPECT_LT(ChiSquareOfBelow(100), 148.2);
}

TEST(RngTest, BelowHasNoBiasWhereAModuloWouldBeFarOff) {
  // 2^32 values leave a third over for n = 3 * 2^30: the lower half would get 2/3 of all draws.
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

// Each of the 4 * 3 ordered pairs comes to the front equally often, and nothing is lost.
TEST(RngTest, MoveToFrontDrawsOrderedPairsAlike) {
  Rng rng = Rng::Stream(7, "front", 0);
  std::vector<int> pairs(16);
  for (int i = 0; i < 100'000; ++i) {
    std::vector<size_t> items = {0, 1, 2, 3};
    rng.MoveToFront(items, 2);
    ++pairs[items[0] * 4 + items[1]];
    std::ranges::sort(items);
    ASSERT_EQ(items, (std::vector<size_t>{0, 1, 2, 3}));
  }
  std::vector<int> drawn;
  for (size_t pair = 0; pair < pairs.size(); ++pair) {
    if (pair / 4 != pair % 4) drawn.push_back(pairs[pair]);
  }
  EXPECT_LT(ChiSquare(drawn), 37.4);  // 11 degrees of freedom, 99.99%.
}

// The largest distance between the distribution of `draws` and `cdf` (Kolmogorov and Smirnov).
double DistanceFrom(const std::function<double(double)>& cdf, std::vector<double> draws) {
  std::ranges::sort(draws);
  const double n = static_cast<double>(draws.size());
  double distance = 0;
  for (size_t i = 0; i < draws.size(); ++i) {
    const double expected = cdf(draws[i]);
    distance = std::max({distance, expected - static_cast<double>(i) / n,
                         static_cast<double>(i + 1) / n - expected});
  }
  return distance;
}

// Massart (1990): P(distance > d) <= 2 exp(-2 n d^2), here 1/10,000.
double DistanceBound(size_t draws) {
  return std::sqrt(std::log(2 * 10'000.0) / (2 * static_cast<double>(draws)));
}

TEST(RngTest, UniformIsUniformInTheHalfOpenUnitInterval) {
  Rng rng = Rng::Stream(3, "uniform", 0);
  std::vector<double> draws(100'000);
  for (double& draw : draws) {
    draw = rng.Uniform();
    ASSERT_TRUE(draw >= 0 && draw < 1);
  }
  EXPECT_LT(DistanceFrom([](double x) { return x; }, draws), DistanceBound(draws.size()));
  const double mean = std::accumulate(draws.begin(), draws.end(), 0.0) / 100'000;
  EXPECT_NEAR(mean, 0.5, 4 * std::sqrt(1.0 / 12 / 100'000));
}

TEST(RngTest, ExponentialIsExponential) {
  Rng rng = Rng::Stream(3, "exponential", 1);
  std::vector<double> draws(100'000);
  for (double& draw : draws) draw = rng.Exponential(2.0);
  const auto cdf = [](double x) { return 1 - std::exp(-x / 2.0); };
  EXPECT_LT(DistanceFrom(cdf, draws), DistanceBound(draws.size()));
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

// One more than kNever, which is as near as a double can be.
TEST(RngTest, ExponentialDurationEndsWithTime) {
  Rng rng = Rng::Stream(3, "duration", 1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rng.ExponentialDuration(1e40).ps, kNever.ps + 1);
}

}  // namespace heddle::random_test
