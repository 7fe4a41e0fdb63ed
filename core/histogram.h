// SPDX-License-Identifier: Apache-2.0
// A histogram of non-negative integers in buckets of at most 1/128 relative width. Values up to
// 255, the count, the sum and the maximum are exact. Merging histograms gives the same result in
// any order, so each thread can fill its own.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

class Histogram {
 public:
  void Add(int64_t value);
  void Merge(const Histogram& other);

  int64_t count() const { return count_; }
  int64_t max() const { return max_; }
  double mean() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
  }

  // The smallest value that a share of at least `p` of all values does not exceed; 0 without
  // values. The result is the upper end of that value's bucket, at most the maximum.
  int64_t Percentile(double p) const;

 private:
  std::vector<int64_t> buckets_;  // Grows as far as needed.
  int64_t count_ = 0;
  int64_t sum_ = 0;
  int64_t max_ = 0;
};

}  // namespace heddle
