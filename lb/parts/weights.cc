// SPDX-License-Identifier: Apache-2.0

#include "lb/parts/weights.h"

#include <algorithm>
#include <numeric>

namespace heddle {
namespace {

int64_t SumOf(std::span<const int64_t> weights) {
  return std::accumulate(weights.begin(), weights.end(), int64_t{0});
}

}  // namespace

double Oversubscription(std::span<const int64_t> weights, std::span<const int64_t> reduced) {
  const double scale = static_cast<double>(SumOf(weights)) / static_cast<double>(SumOf(reduced));
  double worst = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double ratio = static_cast<double>(reduced[i]) / static_cast<double>(weights[i]);
    worst = std::max(worst, ratio * scale);
  }
  return worst;
}

// Greedy: starts from one each, and adds one to the port that leaves the least oversubscription.
std::vector<int64_t> ReduceWeights(std::span<const int64_t> capacities, int64_t limit,
                                   double target) {
  int64_t unit = 0;
  for (const int64_t capacity : capacities) unit = std::gcd(unit, capacity);
  std::vector<int64_t> weights;
  for (const int64_t capacity : capacities) weights.push_back(capacity / unit);
  if (SumOf(weights) <= limit) return weights;
  std::vector<int64_t> reduced(weights.size(), 1);
  std::vector<int64_t> best = reduced;
  double least = Oversubscription(weights, reduced);
  while (least > target && SumOf(reduced) < limit) {
    size_t chosen = 0;
    double after_chosen = 0;
    for (size_t i = 0; i < reduced.size(); ++i) {
      ++reduced[i];
      const double after = Oversubscription(weights, reduced);
      --reduced[i];
      if (i > 0 && after >= after_chosen) continue;
      chosen = i;
      after_chosen = after;
    }
    ++reduced[chosen];
    if (after_chosen >= least) continue;
    least = after_chosen;
    best = reduced;
  }
  return best;
}

std::vector<uint32_t> Interleave(std::span<const int64_t> weights) {
  std::vector<uint32_t> order;
  if (std::ranges::count(weights, 1) == std::ssize(weights)) {  // The usual case, in linear time.
    order.resize(weights.size());
    std::iota(order.begin(), order.end(), 0u);
    return order;
  }
  std::vector<int64_t> credit(weights.size(), 0);
  const int64_t total = SumOf(weights);
  for (int64_t n = 0; n < total; ++n) {
    for (size_t i = 0; i < weights.size(); ++i) credit[i] += weights[i];
    const auto richest = std::ranges::max_element(credit);
    *richest -= total;
    order.push_back(static_cast<uint32_t>(richest - credit.begin()));
  }
  return order;
}

}  // namespace heddle
