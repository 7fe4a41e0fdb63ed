// SPDX-License-Identifier: Apache-2.0
// RACK as RFC 8985 section 6.2 has it, step by step and segment by segment. Tests tell it of what a
// sender has sent and heard, and compare.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/units.h"

namespace heddle {

class RackModel {
 public:
  struct Segment {
    Time sent;
    bool retransmitted = false;
    bool delivered = false;
    bool lost = false;  // And not sent again since.
  };

  std::vector<Segment> segments;  // All of the flow.
  uint32_t una = 0;

  // Step 1 to 3, and how far others had overtaken the segment.
  void OnDelivered(uint32_t number, Time now) {
    Segment& segment = segments[number];
    if (segment.delivered) return;
    segment.delivered = true;
    segment.lost = false;
    const Duration rtt = now - segment.sent;
    uint32_t overtakers = 0;
    if (number < fack_) overtakers = fack_ - number - 1;
    fack_with_ack_ = std::max(fack_with_ack_, number + 1);
    if (!segment.retransmitted) {
      min_rtt_ = std::min(min_rtt_, rtt.ps);
      extent_ = std::max(extent_, overtakers);
    } else {
      unproven_extent_ = std::max(unproven_extent_, overtakers);
      if (rtt.ps < min_rtt_) return;  // Of the copy before.
    }
    if (has_latest_ && !SentAfter(segment.sent, number, latest_sent_, latest_)) return;
    has_latest_ = true;
    latest_sent_ = segment.sent;
    latest_ = number;
    rtt_ = rtt;
  }
  void EndAck() { fack_ = fack_with_ack_; }

  // Step 4.
  void OnDsack() {
    extent_ = std::max(extent_, unproven_extent_);
    if (in_dsack_round_ && una < dsack_round_end_) return;
    in_dsack_round_ = true;
    dsack_round_end_ = static_cast<uint32_t>(segments.size());
    ++multiple_;
    recoveries_left_ = 16;
  }
  void OnRecoveryEnd() {
    if (recoveries_left_ == 0) return;
    if (--recoveries_left_ == 0) multiple_ = 1;
  }
  Duration Patience(bool in_recovery, bool many_sacked, Duration srtt) const {
    if (extent_ == 0 && (in_recovery || many_sacked)) return Duration{0};
    if (min_rtt_ == std::numeric_limits<int64_t>::max()) return Duration{0};
    const int64_t patience = min_rtt_ * multiple_ / 4;
    return Duration{srtt.ps == 0 ? patience : std::min(patience, srtt.ps)};  // 0: no sample yet.
  }

  // Step 5. Returns when the next segment will be overdue.
  Time Detect(Time now, Duration patience) {
    Time next = kNever;
    for (uint32_t number = una; number < segments.size(); ++number) {
      Segment& segment = segments[number];
      if (segment.delivered || segment.lost || !has_latest_) continue;
      if (!SentAfter(latest_sent_, latest_, segment.sent, number)) continue;
      const Time overdue = segment.sent + rtt_ + patience;
      if (overdue <= now) {
        segment.lost = true;
      } else {
        next = std::min(next, overdue);
      }
    }
    return next;
  }

  uint32_t extent() const { return extent_; }
  void BeginEpisode() { unproven_extent_ = 0; }

 private:
  static bool SentAfter(Time a, uint32_t number_a, Time b, uint32_t number_b) {
    return a > b || (a == b && number_a > number_b);
  }

  bool has_latest_ = false;
  Time latest_sent_;
  uint32_t latest_ = 0;
  Duration rtt_{0};
  int64_t min_rtt_ = std::numeric_limits<int64_t>::max();
  uint32_t fack_ = 0;
  uint32_t fack_with_ack_ = 0;
  uint32_t extent_ = 0;
  uint32_t unproven_extent_ = 0;
  int64_t multiple_ = 1;
  int recoveries_left_ = 0;
  bool in_dsack_round_ = false;
  uint32_t dsack_round_end_ = 0;
};

}  // namespace heddle
