// SPDX-License-Identifier: Apache-2.0
// How long a rank computes, on any of its streams: the length of the union of its computations.

#pragma once

#include <algorithm>
#include <vector>

#include "core/units.h"

namespace heddle {

class BusyTime {
 public:
  // A computation lasts from `begin`, at or after `now`, to `end`. Returns how much of this time no
  // earlier computation covers. `now` never decreases.
  Duration Add(Time now, Time begin, Time end) {
    std::erase_if(covered_, [now](const Interval& interval) { return interval.end <= now; });
    Duration fresh = end - begin;
    Interval merged{begin, end};
    std::erase_if(covered_, [&](const Interval& interval) {
      if (interval.begin > end || interval.end < begin) return false;
      const Time from = std::max(interval.begin, begin);
      const Time to = std::min(interval.end, end);
      fresh = fresh - (to - from);
      merged = {std::min(merged.begin, interval.begin), std::max(merged.end, interval.end)};
      return true;
    });
    covered_.push_back(merged);
    return fresh;
  }

 private:
  struct Interval {
    Time begin;
    Time end;
  };
  std::vector<Interval> covered_;  // Disjoint, and not over yet.
};

}  // namespace heddle
