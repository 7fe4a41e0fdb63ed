// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/moe.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.h"

namespace heddle {
namespace {

// The share of each expert in all choices: that of the j-th most popular one is in proportion to
// (j + 1)^-skew.
std::vector<double> Weights(const MoeSettings& moe, uint64_t seed, uint32_t job) {
  const size_t experts = static_cast<size_t>(moe.experts);
  std::vector<uint32_t> by_popularity(experts);
  std::iota(by_popularity.begin(), by_popularity.end(), 0);
  Rng rng = Rng::Stream(seed, "experts", job);
  rng.MoveToFront(by_popularity, experts);
  std::vector<double> weights(experts);
  double sum = 0;
  for (size_t j = 0; j < experts; ++j) {
    sum += weights[by_popularity[j]] = std::pow(static_cast<double>(j + 1), -moe.skew);
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// Shares `total` out by weight, in whole numbers: the largest remainders are rounded up.
std::vector<int64_t> ShareOut(int64_t total, const std::vector<double>& weights) {
  std::vector<int64_t> shares;
  std::vector<double> remainders;
  for (const double weight : weights) {
    const double exact = weight * static_cast<double>(total);
    shares.push_back(static_cast<int64_t>(exact));
    remainders.push_back(exact - std::floor(exact));
  }
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order,
                           [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  const int64_t left = total - std::accumulate(shares.begin(), shares.end(), int64_t{0});
  for (int64_t i = 0; i < left; ++i) ++shares[order[static_cast<size_t>(i) % order.size()]];
  return shares;
}

// Draws experts by their weights.
class ExpertDraw {
 public:
  explicit ExpertDraw(const std::vector<double>& weights)
      : weights_(weights), up_to_(weights.size()) {
    std::partial_sum(weights.begin(), weights.end(), up_to_.begin());
  }

  // Returns an expert that is not in `chosen`.
  size_t Next(const std::vector<size_t>& chosen, Rng& rng) const {
    constexpr int kTries = 256;
    for (int i = 0; i < kTries; ++i) {
      const auto at = std::ranges::upper_bound(up_to_, rng.Uniform() * up_to_.back());
      const size_t expert = std::min(static_cast<size_t>(at - up_to_.begin()), weights_.size() - 1);
      if (!Contains(chosen, expert)) return expert;
    }
    return OfTheOthers(chosen, rng);
  }

 private:
  static bool Contains(const std::vector<size_t>& chosen, size_t expert) {
    return std::ranges::find(chosen, expert) != chosen.end();
  }

  // The same distribution, in a bounded time: the popular experts may all be chosen, and the
  // others so rare that further tries would take millions of draws.
  size_t OfTheOthers(const std::vector<size_t>& chosen, Rng& rng) const {
    double sum = 0;
    for (size_t e = 0; e < weights_.size(); ++e) sum += Contains(chosen, e) ? 0 : weights_[e];
    double left = rng.Uniform() * sum;
    size_t last = 0;  // For what rounding leaves over.
    for (size_t e = 0; e < weights_.size(); ++e) {
      if (Contains(chosen, e)) continue;
      last = e;
      if (left < weights_[e]) break;
      left -= weights_[e];
    }
    return last;
  }

  const std::vector<double>& weights_;
  std::vector<double> up_to_;
};

// The tokens that one rank sends to each expert: each token goes to `top_k` different ones.
std::vector<int64_t> Sample(const MoeSettings& moe, const std::vector<double>& weights, Rng rng) {
  const ExpertDraw draw(weights);
  std::vector<int64_t> tokens(weights.size());
  std::vector<size_t> chosen;
  for (int64_t token = 0; token < moe.tokens; ++token) {
    chosen.clear();
    while (chosen.size() < static_cast<size_t>(moe.top_k)) chosen.push_back(draw.Next(chosen, rng));
    for (const size_t expert : chosen) ++tokens[expert];
  }
  return tokens;
}

}  // namespace

void MoeSettings::Declare(Fields& fields) {
  fields.Add("tokens", tokens, Between<int64_t>(0, 1 << 24),
             "Tokens of each rank. 0: no such layer.");
  fields.Add("top_k", top_k, Between<int64_t>(1, 64), "The experts that each token goes to.");
  fields.Add("hidden", hidden, Between<int64_t>(1, 1 << 20), "The elements of a token.");
  fields.Add("element", element, {.above = 0_B, .at_most = 16_B}, "The size of an element.");
  fields.Add("experts", experts, Between<int64_t>(1, 1 << 16),
             "Experts. Expert e of E is on rank e * ranks / E, rounded down.");
  fields.Add("skew", skew, Between(0.0, 3.0),
             "The j-th most popular expert gets a share in proportion to j^-skew. 0: all get the "
             "same.");
  fields.Choice("routing", routing,
                {{"expected", Routing::kExpected}, {"sampled", Routing::kSampled}},
                "expected: each expert gets its share of each rank's tokens. sampled: each token "
                "draws its experts.");
  fields.Choice("direction", direction,
                {{"dispatch", Direction::kDispatch}, {"combine", Direction::kCombine}},
                "dispatch: tokens go to their experts. combine: they come back.");
  fields.Require(top_k <= experts, "top_k", "is more than there are experts");
}

std::vector<int64_t> MoeTraffic(const MoeSettings& moe, uint32_t ranks, uint64_t seed,
                                uint32_t job) {
  const std::vector<double> weights = Weights(moe, seed, job);
  const bool sampled = moe.routing == MoeSettings::Routing::kSampled;
  std::vector<int64_t> tokens = ShareOut(moe.tokens * moe.top_k, weights);
  std::vector<int64_t> bytes(size_t{ranks} * ranks);
  for (uint32_t src = 0; src < ranks; ++src) {
    if (sampled) {
      tokens = Sample(moe, weights, Rng::Stream(seed, "expert_samples", uint64_t{job} << 32 | src));
    }
    for (size_t expert = 0; expert < tokens.size(); ++expert) {
      const size_t dst = expert * ranks / tokens.size();
      const bool forth = moe.direction == MoeSettings::Direction::kDispatch;
      bytes[forth ? src * size_t{ranks} + dst : dst * ranks + src] +=
          tokens[expert] * moe.hidden * moe.element.count;
    }
  }
  return bytes;
}

}  // namespace heddle
