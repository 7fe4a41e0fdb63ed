// SPDX-License-Identifier: Apache-2.0
// RankTimes adds up how long each rank took for one iteration of a job, or for one collective in
// it. Sums are integers, so the order of ranks does not matter.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/units.h"

namespace heddle {

// The mean of `count` times that add up to `sum_ps`, rounded to the picosecond.
constexpr Duration MeanTime(int64_t sum_ps, int64_t count) {
  const int64_t rest = sum_ps % count;
  return Duration{sum_ps / count + (rest >= count - rest ? 1 : 0)};
}

// In 10^9 bytes per second.
constexpr double GigabytesPerSecond(int64_t bytes, Duration time) {
  return static_cast<double>(bytes) * 1e3 / static_cast<double>(time.ps);
}

struct RankTimes {
  Time begin = kNever;
  Time end{0};
  Time first_end = kNever;  // When the first rank finished.
  uint32_t slowest = 0;     // The rank that finished last; of several, the first.
  int64_t ranks = 0;        // Only those that have finished.
  int64_t time_ps = 0;
  int64_t longest_ps = 0;
  int64_t shortest_ps = std::numeric_limits<int64_t>::max();

  // `its_end`: kNever if the rank has not finished.
  void Add(uint32_t rank, Time its_begin, Time its_end) {
    begin = std::min(begin, its_begin);
    if (its_end == kNever) return;
    ++ranks;
    if (its_end > end || (its_end == end && rank < slowest)) {
      end = its_end;
      slowest = rank;
    }
    const Duration time = its_end - its_begin;
    first_end = std::min(first_end, its_end);
    time_ps += time.ps;
    longest_ps = std::max(longest_ps, time.ps);
    shortest_ps = std::min(shortest_ps, time.ps);
  }

  Duration time() const { return end - begin; }
  Duration mean() const { return MeanTime(time_ps, ranks); }
};

}  // namespace heddle
