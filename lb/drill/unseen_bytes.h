// SPDX-License-Identifier: Apache-2.0
// What a port has been given so lately that its counter does not show it yet: hardware counts a
// packet when it has been written to the queue, so decisions that follow at once do not see it.

#pragma once

#include <cstdint>

#include "core/ring.h"
#include "core/units.h"

namespace heddle {

class UnseenBytes {
 public:
  // `delay`: for how long what is added is not seen.
  explicit UnseenBytes(Duration delay) : delay_(delay) {}

  // Times never decrease. Forgets what is old: many ports are never looked at.
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
