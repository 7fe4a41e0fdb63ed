// SPDX-License-Identifier: Apache-2.0
// Statistics of counts, which tests of random choices compare with a given distribution.

#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace heddle {

// Pearson's statistic for counts that should be in proportion to `weights`.
inline double ChiSquare(const std::vector<int64_t>& counts, const std::vector<double>& weights) {
  const double total =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  const double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * weights[i] / weight;
    sum += std::pow(static_cast<double>(counts[i]) - expected, 2) / expected;
  }
  return sum;
}

// Quantiles of 99% by degrees of freedom.
inline constexpr double kChiSquare99[] = {0, 6.63, 9.21, 11.34, 13.28, 15.09, 16.81, 18.48};

// Returns how many of `counts` are not zero.
inline int64_t Used(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0},
                         [](int64_t n, int64_t count) { return n + (count > 0 ? 1 : 0); });
}

// Three standard deviations of a count of `n` with probability `p` each.
inline double ThreeSigma(double n, double p) { return 3 * std::sqrt(n * p * (1 - p)); }

}  // namespace heddle
