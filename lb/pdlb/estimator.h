// SPDX-License-Identifier: Apache-2.0
// PDLB's estimates from delays: the share of slow paths to one destination, and how slow they are.
// The host policy adds each measured delay to a DelayWindow and calls ContrastOf() once a period.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units.h"

namespace heddle {

// The delays of one window, in nanoseconds; the latest ones, if there are too many.
class DelayWindow {
 public:
  static constexpr size_t kSamples = 512;  // At 10 Gbps with a packet every 1.2 us: 600 us.

  void Add(Duration delay) {
    const uint32_t ns = static_cast<uint32_t>(std::min<int64_t>(delay.ps / 1'000, UINT32_MAX));
    if (samples_.size() < kSamples) {
      samples_.push_back(ns);
    } else {
      samples_[next_] = ns;
      next_ = (next_ + 1) % kSamples;
    }
  }
  void Reserve() { samples_.reserve(kSamples); }
  void Clear() {
    samples_.clear();
    next_ = 0;
  }
  std::span<const uint32_t> samples() const { return samples_; }
  size_t size() const { return samples_.size(); }

 private:
  std::vector<uint32_t> samples_;
  size_t next_ = 0;  // The oldest sample, once the window is full.
};

// The rule by which a delay indicates a slow path.
enum class SlowRule {
  kAboveLeast,    // Delays above theta times the least of the window.
  kAboveAverage,  // Delays above twice the mean of the window, as published.
};

struct PathContrast {
  double slow_share = 0;  // P_b
  double slowness = 1;    // X: mean slow delay / mean fast delay.
  double fast_ns = 0;     // D_g: mean fast delay.
};

// Compares the slow delays of a window, which must not be empty, with the others. If all would be
// slow, none is, because nothing is left to compare with.
inline PathContrast ContrastOf(std::span<const uint32_t> samples_ns, SlowRule rule, double theta) {
  int64_t sum = 0;
  for (const uint32_t ns : samples_ns) sum += ns;
  const double mean = static_cast<double>(sum) / static_cast<double>(samples_ns.size());
  const double limit =
      rule == SlowRule::kAboveAverage ? 2 * mean : theta * std::ranges::min(samples_ns);
  int64_t slow = 0;
  int64_t slow_sum = 0;
  for (const uint32_t ns : samples_ns) {
    if (ns <= limit) continue;
    ++slow;
    slow_sum += ns;
  }
  const int64_t fast = static_cast<int64_t>(samples_ns.size()) - slow;
  if (slow == 0 || fast == 0) return {.fast_ns = mean};
  const double fast_mean = static_cast<double>(sum - slow_sum) / static_cast<double>(fast);
  const double slow_mean = static_cast<double>(slow_sum) / static_cast<double>(slow);
  return {.slow_share = static_cast<double>(slow) / static_cast<double>(samples_ns.size()),
          .slowness = fast_mean > 0 ? slow_mean / fast_mean : 1,
          .fast_ns = fast_mean};
}

}  // namespace heddle
