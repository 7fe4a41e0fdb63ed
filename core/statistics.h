// SPDX-License-Identifier: Apache-2.0
// The sample statistics behind results, comparisons and claims: means, percentiles, 95 % confidence
// intervals, slopes and rank correlation. All other code calls these functions instead of writing
// its own. Counts of many integers are kept in a Histogram (core/histogram.h), whose percentiles
// have the same ranks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

// The mean, summed in the order of `values`; NaN if there are none.
double Mean(std::span<const double> values);

// The square root of the mean squared distance from the mean (of a population, divided by n).
double Deviation(std::span<const double> values);

// --- Percentiles ---

// The least rank, from 1, such that a share of at least `p` of `count` values lies at or below it.
int64_t NearestRank(double p, int64_t count);

enum class PercentileMethod {
  kLinear,  // Between the two samples around (n - 1) p (Hyndman and Fan's type 7, numpy's default).
  kNearest,  // The sample of NearestRank().
  kHpcc,     // Sample floor(p n), from 0, as in the HPCC study's scripts.
};

// The percentile `p`, in [0, 1], of `sorted`, which is ascending and not empty.
double Percentile(std::span<const double> sorted, double p, PercentileMethod method);

// --- Confidence intervals ---

// The t that a variable with `degrees` degrees of freedom exceeds in magnitude with probability
// 0.05: 12.706 for 1, 2.262 for 9.
double StudentT95(int64_t degrees);

// The mean over independent replications with its 95 % confidence interval by Student's t
// distribution. Values come one by one (Welford, Technometrics 1962).
class Replications {
 public:
  void Add(double value);

  int64_t count() const { return count_; }
  double mean() const;  // NaN if there are no values.
  // Half the width of the interval, t s / sqrt(n); NaN for fewer than two values, or if one of them
  // is infinite.
  double half_width() const;

 private:
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // The squared distances from the mean, summed.
};

// --- Pairs of samples ---

// The slope of the least-squares line through (x, y).
double Slope(const std::vector<double>& x, const std::vector<double>& y);

// Spearman's coefficient, with mean ranks for ties; NaN if `a` or `b` is constant.
double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace heddle
