// SPDX-License-Identifier: Apache-2.0
// The bytes enqueued at a port so recently that its counter does not show them yet: hardware counts
// a packet once it has been written to the queue. DRILL calls Add() for each enqueued packet and
// subtracts At() from the port's true load.

#pragma once

#include <cstdint>

#include "core/ring.h"
#include "core/units.h"

namespace heddle {

class UnseenBytes {
 public:
  // `delay`: how long added bytes stay invisible.
  explicit UnseenBytes(Duration delay) : delay_(delay) {}

  // Times never decrease. Add() also drops old entries, because many ports are never read.
  void Add(int64_t bytes, Time now) {
    ForgetSeen(now);
    recent_.push_back({now, bytes});
    sum_ += bytes;
  }

  int64_t At(Time now) {
    ForgetSeen(now);
    return sum_;
  }

 private:
  struct Added {
    Time at;
    int64_t bytes;
  };

  void ForgetSeen(Time now) {
    for (; !recent_.empty() && now - recent_.front().at >= delay_; recent_.pop_front()) {
      sum_ -= recent_.front().bytes;
    }
  }

  Duration delay_;
  Ring<Added> recent_;
  int64_t sum_ = 0;
};

}  // namespace heddle
