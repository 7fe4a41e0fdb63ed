// SPDX-License-Identifier: Apache-2.0
// Percentiles of samples.

#pragma once

#include <span>

namespace heddle {

enum class PercentileMethod {
  kLinear,  // Between the two samples around (n - 1) p (Hyndman and Fan's type 7, numpy's default).
  kNearest,  // Sample ceil(p n), from 1.
  kHpcc,     // Sample floor(p n), from 0, as in the HPCC study's scripts.
};

// The percentile `p`, in [0, 1], of `sorted`, which is ascending and not empty.
double Percentile(std::span<const double> sorted, double p, PercentileMethod method);

}  // namespace heddle
