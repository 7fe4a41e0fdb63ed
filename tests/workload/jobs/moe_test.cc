// SPDX-License-Identifier: Apache-2.0
// The bytes of mixture-of-experts layers, against shares by weight that are computed another way.

#include "workload/jobs/moe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "core/random.h"

namespace heddle::moe_test {

using Routing = MoeSettings::Routing;

// One byte a token, so that bytes are tokens.
MoeSettings Layer(int64_t tokens, int64_t top_k, int64_t experts, double skew, Routing routing) {
  MoeSettings moe;
  moe.tokens = tokens;
  moe.top_k = top_k;
  moe.hidden = 1;
  moe.element = Bytes{1};
  moe.experts = experts;
  moe.skew = skew;
  moe.routing = routing;
  return moe;
}

// The tokens that rank 0 sends to each expert: each expert is alone on the rank of its number.
std::vector<int64_t> TokensOf(const MoeSettings& moe, uint64_t seed = 1, uint32_t job = 1) {
  const uint32_t experts = static_cast<uint32_t>(moe.experts);
  std::vector<int64_t> tokens = MoeTraffic(moe, experts, seed, job);
  tokens.resize(experts);
  return tokens;
}

// Weights j^-skew over their sum, in descending order.
std::vector<double> WeightsOf(int64_t experts, double skew) {
  std::vector<double> weights;
  for (int64_t j = 1; j <= experts; ++j) {
    weights.push_back(1 / std::pow(static_cast<double>(j), skew));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

// Every share is rounded down or up, and of two the one with the larger rest is not rounded down if
// the other one is rounded up (Hamilton's method).
TEST(MoeTest, SharesAreRoundedByTheLargestRemainders) {
  for (const double skew : {0.3, 1.0, 2.2, 3.0}) {
    for (const int64_t experts : {1, 2, 3, 7, 16}) {
      for (const int64_t tokens : {1, 10, 999}) {
        const int64_t top_k = std::min<int64_t>(experts, 2);
        std::vector<int64_t> shares =
            TokensOf(Layer(tokens, top_k, experts, skew, Routing::kExpected));
        std::ranges::sort(shares, std::greater<>());
        const std::vector<double> weights = WeightsOf(experts, skew);
        const int64_t total = tokens * top_k;
        int64_t left = total;
        std::vector<double> up;
        std::vector<double> down;
        for (size_t j = 0; j < shares.size(); ++j) {
          const double exact = weights[j] * static_cast<double>(total);
          const double whole = std::floor(exact + 1e-9);
          left -= shares[j];
          if (static_cast<double>(shares[j]) == whole) {
            down.push_back(exact - whole);
          } else {
            EXPECT_EQ(static_cast<double>(shares[j]), whole + 1) << j << " of " << experts;
            up.push_back(exact - whole);
          }
        }
        EXPECT_EQ(left, 0);
        if (!up.empty() && !down.empty()) {
          EXPECT_GE(std::ranges::min(up) + 1e-9, std::ranges::max(down));
        }
      }
    }
  }
}

// Equal experts have equal remainders; the result does not depend on how they are sorted.
TEST(MoeTest, TheFirstOfEqualRemaindersAreRoundedUp) {
  EXPECT_EQ(TokensOf(Layer(10, 1, 4, 0, Routing::kExpected)), (std::vector<int64_t>{3, 3, 2, 2}));
  EXPECT_EQ(TokensOf(Layer(19, 1, 4, 0, Routing::kExpected)), (std::vector<int64_t>{5, 5, 5, 4}));
}

// Expert e of E is on rank e * n / E, rounded down, for fewer and for more experts than ranks. All
// ranks send the same.
TEST(MoeTest, ExpertsAreOnTheRanksOfTheManual) {
  for (const int64_t experts : {1, 2, 5, 8, 12}) {
    const MoeSettings moe = Layer(1'000, 1, experts, 1, Routing::kExpected);
    const std::vector<int64_t> tokens = TokensOf(moe);
    for (const uint32_t ranks : {2u, 3u, 8u, 13u}) {
      std::vector<int64_t> expected(ranks);
      for (size_t e = 0; e < tokens.size(); ++e) {
        expected[e * ranks / static_cast<size_t>(experts)] += tokens[e];
      }
      const std::vector<int64_t> traffic = MoeTraffic(moe, ranks, 1, 1);
      ASSERT_EQ(traffic.size(), size_t{ranks} * ranks);
      for (uint32_t src = 0; src < ranks; ++src) {
        const auto row = traffic.begin() + src * ranks;
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), row))
            << experts << " on " << ranks;
      }
    }
  }
}

TEST(MoeTest, ATokenHasTheBytesOfItsElements) {
  for (const Routing routing : {Routing::kExpected, Routing::kSampled}) {
    MoeSettings moe = Layer(100, 2, 6, 1, routing);
    const std::vector<int64_t> tokens = MoeTraffic(moe, 3, 1, 1);
    moe.hidden = 5;
    moe.element = Bytes{7};
    const std::vector<int64_t> bytes = MoeTraffic(moe, 3, 1, 1);
    for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(bytes[i], 35 * tokens[i]);
  }
}

// Any expert may be the most popular one: each of four is in about a quarter of the jobs.
TEST(MoeTest, PopularityIsDrawnForEachJobAndSeed) {
  std::vector<int> first(4);
  constexpr int kJobs = 400;
  for (int job = 0; job < kJobs; ++job) {
    const auto tokens = TokensOf(Layer(1'000, 1, 4, 2, Routing::kExpected),
                                 static_cast<uint64_t>(job % 20), static_cast<uint32_t>(job / 20));
    ++first[static_cast<size_t>(std::ranges::max_element(tokens) - tokens.begin())];
  }
  for (const int count : first) EXPECT_NEAR(count, kJobs / 4, 40);  // 4.6 standard deviations.
}

// Ranks draw apart from each other, and so do jobs and seeds.
TEST(MoeTest, EveryRankDrawsItsOwnSamples) {
  std::set<std::vector<int64_t>> rows;
  const MoeSettings moe = Layer(1'000, 1, 8, 0, Routing::kSampled);
  for (const uint32_t job : {1, 2}) {
    for (const uint64_t seed : {1, 2}) {
      const std::vector<int64_t> traffic = MoeTraffic(moe, 8, seed, job);
      for (size_t rank = 0; rank < 8; ++rank) {
        rows.emplace(traffic.begin() + static_cast<std::ptrdiff_t>(8 * rank),
                     traffic.begin() + static_cast<std::ptrdiff_t>(8 * rank + 8));
      }
    }
  }
  EXPECT_EQ(rows.size(), 4u * 8);
}

// Successive draws by weight choose the experts with the shortest of exponential times whose rates
// are the weights (Efraimidis and Spirakis, 2006): another way to draw the same. Of 40 experts with
// skew 3, the last of 25 are found among those that have a thousandth of all choices together.
TEST(MoeTest, RareExpertsAreDrawnByWeightToo) {
  constexpr size_t kTop = 25;
  constexpr size_t kExperts = 40;
  const std::vector<int64_t> traffic =
      MoeTraffic(Layer(20, kTop, kExperts, 3, Routing::kSampled), kExperts, 1, 1);
  std::vector<double> drawn(kExperts);  // How often, for each of 20 * 40 tokens.
  for (size_t i = 0; i < traffic.size(); ++i) {
    drawn[i % kExperts] += static_cast<double>(traffic[i]) / (20 * kExperts);
  }
  std::ranges::sort(drawn, std::greater<>());

  const std::vector<double> weights = WeightsOf(kExperts, 3);
  std::vector<double> expected(kExperts);
  Rng rng = Rng::Stream(3, "exponential", 0);
  constexpr int kTokens = 4'000;
  for (int token = 0; token < kTokens; ++token) {
    std::vector<std::pair<double, size_t>> times;
    for (size_t e = 0; e < kExperts; ++e) {
      times.emplace_back(-std::log(1 - rng.Uniform()) / weights[e], e);
    }
    std::ranges::nth_element(times, times.begin() + kTop);
    for (size_t i = 0; i < kTop; ++i) expected[times[i].second] += 1.0 / kTokens;
  }
  std::ranges::sort(expected, std::greater<>());
  for (size_t first = 0; first < kExperts; first += 5) {
    double a = 0;
    double b = 0;
    for (size_t e = first; e < first + 5; ++e) {
      a += drawn[e];
      b += expected[e];
    }
    EXPECT_NEAR(a, b, 0.15) << "experts from " << first;  // 4 standard deviations.
  }
}

}  // namespace heddle::moe_test
