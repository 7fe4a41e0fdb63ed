// SPDX-License-Identifier: Apache-2.0
// The timers of one node: a heap ordered by (time, key), so that timers of one instant fire in an
// order that does not depend on when they were set.
//
// A timer cannot be cancelled, because finding an entry in a heap is O(n) and few timers need it.
// Instead, the owner of a timer keeps its deadline. When the timer fires, the owner ignores it if
// the deadline no longer holds, or sets it again if the deadline has moved. So a flow that restarts
// its timer with each ACK has one entry here.

#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/units.h"

namespace heddle {

struct Timer {
  Time at;
  uint64_t key;  // Unique among the timers of one instant; its owner defines its meaning.

  friend auto operator<=>(const Timer&, const Timer&) = default;
};

class Timers {
 public:
  // When the earliest timer fires; kNever if there is none.
  Time Next() const { return next_; }

  void Set(Time at, uint64_t key) {
    heap_.push_back({at, key});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    next_ = heap_.front().at;
  }

  // Removes and returns the earliest timer; there must be one.
  Timer Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Timer timer = heap_.back();
    heap_.pop_back();
    next_ = heap_.empty() ? kNever : heap_.front().at;
    return timer;
  }

  size_t size() const { return heap_.size(); }

 private:
  Time next_ = kNever;
  std::vector<Timer> heap_;
};

}  // namespace heddle
