// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/confidence.h"

#include <cmath>
#include <numbers>

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

}  // namespace

double StudentT95(int64_t degrees) {
  constexpr int64_t kAsGoodAsNormal = 100'000;  // The rest is less than 0.0003.
  constexpr double kNormal = 1.959963984540054;
  if (degrees > kAsGoodAsNormal) return kNormal;
  double low = 1.9;
  double high = 13;  // Above the largest, that of one degree.
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

}  // namespace heddle
