// SPDX-License-Identifier: Apache-2.0
// The part that the coupled congestion controls of MPTCP share, LIA and OLIA. Slow start and the
// answer to losses and marks are Reno's on each subflow; they couple the increase in congestion
// avoidance. RFC 6356 section 3: with several subflows, ssthresh may fall to one segment.

#pragma once

#include <algorithm>

#include "transport/congestion/reno.h"

namespace heddle {

template <class Self, class State>
class CoupledControl : public RenoLike<Self, State> {
 public:
  explicit CoupledControl(int growth_limit) : growth_limit_(growth_limit) {}

  void SetThreshold(CongestionWindow& window, double flight) const override {
    const bool has_peers = window.coupling != nullptr && window.coupling->windows.size() > 1;
    window.ssthresh = std::max(flight / 2, (has_peers ? 1 : 2) * window.mss);
  }

 protected:
  // Grows as Reno does, in slow start and where no round trip has been measured yet. Returns false
  // otherwise.
  bool GrowAlone(CongestionWindow& window, const Acknowledgement& ack) const {
    const bool is_coupled = window.coupling != nullptr && window.srtt.ps > 0;
    if (is_coupled && window.cwnd >= window.ssthresh) return false;
    GrowWindow(window, ack.bytes, growth_limit_);
    return true;
  }

 private:
  const int growth_limit_;
};

// The window of a subflow as the others count it. In recovery `cwnd` may be inflated (RFC 6356
// section 4).
inline double CountedWindow(const CongestionWindow& window) {
  return window.in_recovery ? window.ssthresh : window.cwnd;
}

}  // namespace heddle
