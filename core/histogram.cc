// SPDX-License-Identifier: Apache-2.0

#include "core/histogram.h"

#include <algorithm>
#include <bit>

#include "core/statistics.h"

namespace heddle {
namespace {

constexpr int kSubBits = 7;  // 128 buckets for each power of two.
constexpr uint64_t kSubBuckets = uint64_t{1} << kSubBits;

size_t BucketOf(int64_t value) {
  const uint64_t v = static_cast<uint64_t>(value);
  if (v < 2 * kSubBuckets) return v;
  const int shift = static_cast<int>(std::bit_width(v)) - 1 - kSubBits;
  return static_cast<size_t>(shift) * kSubBuckets + (v >> shift);
}

int64_t UpperEnd(size_t bucket) {
  if (bucket < 2 * kSubBuckets) return static_cast<int64_t>(bucket);
  const size_t shift = bucket / kSubBuckets - 1;
  const uint64_t mantissa = bucket - shift * kSubBuckets;
  return static_cast<int64_t>(((mantissa + 1) << shift) - 1);
}

}  // namespace

void Histogram::Add(int64_t value) {
  const size_t bucket = BucketOf(value);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  ++count_;
  sum_ += value;
  max_ = std::max(max_, value);
}

void Histogram::Merge(const Histogram& other) {
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

int64_t Histogram::Percentile(double p) const {
  const int64_t rank = NearestRank(p, count_);
  int64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::min(UpperEnd(i), max_);
  }
  return 0;
}

}  // namespace heddle
