// SPDX-License-Identifier: Apache-2.0
// How long a transmitter was paused (IEEE 802.1Qbb), and how long it was while it had something to
// send.

#pragma once

#include <cstdint>

#include "core/units.h"

namespace heddle {

struct PauseTotals {
  Duration paused{0};   // Any class was.
  Duration blocked{0};  // A paused class had packets waiting: this is what hurts.
  int64_t pauses = 0;   // Frames received,
  int64_t resumes = 0;
  int64_t pauses_sent = 0;  // and sent, to the other end of the link.
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
  // From `now` on the classes in `paused` are, and those in `waiting` have packets; bit masks.
  void Set(unsigned paused, unsigned waiting, Time now) {
    Add(now);
    is_paused_ = paused != 0;
    is_blocked_ = (paused & waiting) != 0;
  }

  // Up to `now`.
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
