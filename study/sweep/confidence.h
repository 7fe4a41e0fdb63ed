// SPDX-License-Identifier: Apache-2.0
// Means over independent replications, with 95 % confidence intervals by Student's t distribution.

#pragma once

#include <cstdint>

namespace heddle {

// The t that a variable with `degrees` degrees of freedom exceeds in magnitude with probability
// 0.05: 12.706 for 1, 2.262 for 9.
double StudentT95(int64_t degrees);

// Of numbers that come one by one (Welford, Technometrics 1962).
class Replications {
 public:
  void Add(double value);

  int64_t count() const { return count_; }
  double mean() const;  // Not a number if there are none.
  // Half the width of the interval, t s / sqrt(n); not a number for fewer than two values, or if
  // one of them is infinite.
  double half_width() const;

 private:
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // Of the distances from the mean, summed.
};

}  // namespace heddle
