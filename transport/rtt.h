// SPDX-License-Identifier: Apache-2.0
// RttEstimator computes the smoothed round-trip time and the retransmission timeout (RFC 6298
// section 2). A sender feeds it samples from ACKs.

#pragma once

#include <algorithm>

#include "core/units.h"

namespace heddle {

struct RtoLimits {
  Duration min;
  Duration max;
  Duration initial;      // Used before the first sample.
  Duration granularity;  // G, the clock's.
};

class RttEstimator {
 public:
  void Sample(Duration rtt) {
    if (srtt_.ps == 0) {
      srtt_ = rtt;
      rttvar_ = rtt / 2;
      return;
    }
    const Duration error = srtt_ > rtt ? srtt_ - rtt : rtt - srtt_;
    rttvar_ = (3 * rttvar_ + error) / 4;
    srtt_ = (7 * srtt_ + rtt) / 8;
  }

  // 0: no sample yet.
  Duration srtt() const { return srtt_; }

  Duration Rto(const RtoLimits& limits) const {
    if (srtt_.ps == 0) return limits.initial;
    return std::clamp(srtt_ + std::max(limits.granularity, 4 * rttvar_), limits.min, limits.max);
  }

 private:
  Duration srtt_{0};
  Duration rttvar_{0};
};

}  // namespace heddle
