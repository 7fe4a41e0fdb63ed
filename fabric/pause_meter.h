// SPDX-License-Identifier: Apache-2.0
// Measures how long a transmitter was paused (PFC, IEEE 802.1Qbb), and how long a pause held back
// waiting packets. Hosts and switches call Set() whenever pauses or backlogs change.

#pragma once

#include <cstdint>

#include "core/units.h"

namespace heddle {

struct PauseTotals {
  Duration paused{0};       // Time in which any class was paused.
  Duration blocked{0};      // Time in which packets waited in a paused class.
  int64_t pauses = 0;       // Pause frames received.
  int64_t resumes = 0;      // Resume frames received.
  int64_t pauses_sent = 0;  // Pause frames sent to the other end of the link.
  int64_t resumes_sent = 0;

  PauseTotals& operator-=(const PauseTotals& before) {
    paused -= before.paused;
    blocked -= before.blocked;
    pauses -= before.pauses;
    resumes -= before.resumes;
    pauses_sent -= before.pauses_sent;
    resumes_sent -= before.resumes_sent;
    return *this;
  }
};

class PauseMeter {
 public:
  // From `now` on the classes in `paused` are paused and those in `waiting` have packets. Both are
  // bit masks.
  void Set(unsigned paused, unsigned waiting, Time now) {
    Add(now);
    is_paused_ = paused != 0;
    is_blocked_ = (paused & waiting) != 0;
  }

  // Returns the totals up to `now`.
  const PauseTotals& Until(Time now) {
    Add(now);
    return totals_;
  }

  PauseTotals& counts() { return totals_; }
  const PauseTotals& counts() const { return totals_; }

 private:
  void Add(Time now) {
    if (is_paused_) totals_.paused += now - since_;
    if (is_blocked_) totals_.blocked += now - since_;
    since_ = now;
  }

  PauseTotals totals_;
  Time since_;
  bool is_paused_ = false;
  bool is_blocked_ = false;
};

}  // namespace heddle
