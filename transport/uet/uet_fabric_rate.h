// SPDX-License-Identifier: Apache-2.0
// The share of a receiver's line that an oversubscribed fabric carries, as uet-htsim (August 2025)
// adapts it: the receiver counts the packets that arrive, and period by period grants less credit
// if many were marked, or some were trimmed before the last hop.

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/packet.h"

namespace heddle {

class UetFabricRate {
 public:
  double rate() const { return rate_; }

  // A data packet, or the header of one, has arrived.
  void OnArrival(const Packet& packet) {
    ++packets_;
    if (packet.Has(Packet::kTrimmed)) {
      trimmed_at_last_hop_ += packet.Has(Packet::kCutAtLastHop) ? 1 : 0;
      trimmed_before_ += packet.Has(Packet::kCutAtLastHop) ? 0 : 1;
    } else {
      marked_ += packet.Has(Packet::kCe) ? 1 : 0;
    }
  }

  void EndPeriod() {
    const int64_t whole = packets_ - trimmed_at_last_hop_ - trimmed_before_;
    marked_share_ = (marked_share_ + Share(marked_, whole)) / 2;
    const bool has_marks = marked_share_ > kMarksAllowed;
    rate_ -= Share(trimmed_before_, packets_);
    if (has_marks) rate_ *= 1 - kCut * (marked_share_ - kMarksAllowed);
    if (has_marks || trimmed_before_ > 0) {
      increases_ = 0;
    } else {
      rate_ += kStep * static_cast<double>(marked_ > 0 ? 1 : 1 << increases_);
      increases_ = std::min(increases_ + 1, kMostDoublings);
    }
    rate_ = std::clamp(rate_, kLeast, 1.0);
    packets_ = trimmed_at_last_hop_ = trimmed_before_ = marked_ = 0;
  }

  // Returns true if periods without packets do not change the rate any more.
  bool is_at_rest() const { return packets_ == 0 && rate_ == 1 && marked_share_ < kAlmostNone; }

 private:
  static constexpr double kMarksAllowed = 0.3;
  static constexpr double kCut = 0.5;
  static constexpr double kStep = 0.01;
  static constexpr double kLeast = 0.01;
  static constexpr int kMostDoublings = 7;  // A step of 1.28 lines is as good as any greater one.
  static constexpr double kAlmostNone = 1e-9;

  static double Share(int64_t part, int64_t all) {
    return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
  }

  double rate_ = 1;
  double marked_share_ = 0;  // A moving average over periods.
  int increases_ = 0;        // In a row.
  int64_t packets_ = 0;      // In this period; of these:
  int64_t trimmed_at_last_hop_ = 0;
  int64_t trimmed_before_ = 0;
  int64_t marked_ = 0;
};

}  // namespace heddle
