// SPDX-License-Identifier: Apache-2.0

#include "core/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace heddle {
namespace {

// The probability that |t| stays below `t`: Abramowitz and Stegun, 26.7.3 and 26.7.4, finite sums
// for whole degrees of freedom.
double ProbabilityWithin(double t, int64_t degrees) {
  const double n = static_cast<double>(degrees);
  const double theta = std::atan(t / std::sqrt(n));
  const double cosine = std::cos(theta);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = degrees == 1 ? 0 : term;
  for (int64_t k = odd ? 3 : 2; k <= degrees - 2; k += 2) {
    const double i = static_cast<double>(k);
    term *= cosine * cosine * (i - 1) / i;
    sum += term;
  }
  if (odd) return 2 / std::numbers::pi * (theta + std::sin(theta) * sum);
  return std::sin(theta) * sum;
}

// The ranks of values, from 1; equal values all have the mean of their ranks.
std::vector<double> Ranks(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double value : values) {
    const auto below = std::ranges::count_if(values, [&](double other) { return other < value; });
    const auto same = std::ranges::count(values, value);
    ranks.push_back(static_cast<double>(below) + (static_cast<double>(same) + 1) / 2);
  }
  return ranks;
}

}  // namespace

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Deviation(std::span<const double> values) {
  const double mean = Mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

int64_t NearestRank(double p, int64_t count) {
  const double n = static_cast<double>(count);
  const int64_t rank = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(p * n)));
  // The product may have been rounded up past the rank: 0.07 * 100 > 7.
  return rank > 1 && static_cast<double>(rank - 1) / n >= p ? rank - 1 : rank;
}

double Percentile(std::span<const double> sorted, double p, PercentileMethod method) {
  const size_t last = sorted.size() - 1;
  if (method == PercentileMethod::kNearest) {
    const int64_t rank = NearestRank(p, static_cast<int64_t>(sorted.size()));
    return sorted[std::min(last, static_cast<size_t>(rank) - 1)];
  }
  if (method == PercentileMethod::kHpcc) {
    // A product such as 0.29 * 100 may fall short of a whole number by rounding alone.
    constexpr double kTolerance = 1e-9;
    const double rank = p * static_cast<double>(sorted.size()) + kTolerance;
    return sorted[std::min(last, static_cast<size_t>(rank))];
  }
  const double position = p * static_cast<double>(last);
  const size_t below = static_cast<size_t>(position);
  if (below >= last || sorted[below] == sorted[below + 1]) return sorted[std::min(below, last)];
  const double weight = position - static_cast<double>(below);
  if (weight == 0) return sorted[below];
  return sorted[below] + (sorted[below + 1] - sorted[below]) * weight;
}

double StudentT95(int64_t degrees) {
  constexpr int64_t kAsGoodAsNormal = 100'000;  // The error is below 0.0003.
  constexpr double kNormal = 1.959963984540054;
  if (degrees > kAsGoodAsNormal) return kNormal;
  double low = 1.9;
  double high = 13;  // Above the largest t, that of one degree.
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (ProbabilityWithin(middle, degrees) < 0.95 ? low : high) = middle;
  }
  return low;
}

void Replications::Add(double value) {
  ++count_;
  if (std::isinf(mean_) || std::isinf(value)) {
    mean_ += value;
    squares_ = std::nan("");
    return;
  }
  const double distance = value - mean_;
  mean_ += distance / static_cast<double>(count_);
  squares_ += distance * (value - mean_);
}

double Replications::mean() const { return count_ > 0 ? mean_ : std::nan(""); }

double Replications::half_width() const {
  if (count_ < 2 || !std::isfinite(squares_)) return std::nan("");
  const double n = static_cast<double>(count_);
  return StudentT95(count_ - 1) * std::sqrt(squares_ / (n - 1) / n);
}

double Slope(const std::vector<double>& x, const std::vector<double>& y) {
  const double mean_x = Mean(x);
  const double mean_y = Mean(y);
  double covariance = 0;
  double variance = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    covariance += (x[i] - mean_x) * (y[i] - mean_y);
    variance += (x[i] - mean_x) * (x[i] - mean_x);
  }
  return covariance / variance;
}

double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> ranks_a = Ranks(a);
  const std::vector<double> ranks_b = Ranks(b);
  // r^2 is the product of the slopes in both directions.
  const double forth = Slope(ranks_a, ranks_b);
  const double back = Slope(ranks_b, ranks_a);
  return std::copysign(std::sqrt(forth * back), forth);
}

}  // namespace heddle
