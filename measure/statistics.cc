// SPDX-License-Identifier: Apache-2.0

#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace heddle {

double Percentile(std::span<const double> sorted, double p, PercentileMethod method) {
  const size_t last = sorted.size() - 1;
  const double n = static_cast<double>(sorted.size());
  // A product such as 0.99 * 100 may fall short of a whole number by rounding alone.
  constexpr double kTolerance = 1e-9;
  switch (method) {
    case PercentileMethod::kNearest: {
      const double rank = std::ceil(p * n - kTolerance);
      return sorted[std::min(last, static_cast<size_t>(std::max(rank, 1.0)) - 1)];
    }
    case PercentileMethod::kHpcc:
      return sorted[std::min(last, static_cast<size_t>(p * n + kTolerance))];
    case PercentileMethod::kLinear:
      break;
  }
  const double position = p * static_cast<double>(last);
  const size_t below = static_cast<size_t>(position);
  if (below >= last || sorted[below] == sorted[below + 1]) return sorted[std::min(below, last)];
  const double weight = position - static_cast<double>(below);
  if (weight == 0) return sorted[below];
  return sorted[below] + (sorted[below + 1] - sorted[below]) * weight;
}

}  // namespace heddle
