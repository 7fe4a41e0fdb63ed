// SPDX-License-Identifier: Apache-2.0
// Slow start and congestion avoidance of RFC 5681, with the ECN response of RFC 3168 section 6.1.2.

#include "transport/reno.h"

#include <algorithm>

namespace heddle {
namespace {

class Reno final : public CongestionControl {
 public:
  Reno(bool ecn, int growth_limit) : ecn_(ecn), growth_limit_(growth_limit) {}

  bool marks_data() const override { return ecn_; }
  bool marks_retransmissions() const override { return false; }
  bool latches_echo() const override { return ecn_; }

  bool OnAck(CongestionWindow& window, const Acknowledgement& ack) const override {
    if (ack.ecn_echo && ack.una > window.reduced_until && !ack.in_recovery) {
      const double flight = static_cast<double>(ack.nxt - ack.una) * window.mss;
      window.cwnd = window.ssthresh = std::max(flight / 2, 2 * window.mss);
      window.reduced_until = ack.nxt;
      return true;
    }
    if (!ack.ecn_echo && !ack.in_recovery && ack.window_limited) {
      GrowWindow(window, ack.bytes, growth_limit_);
    }
    return false;
  }

  void OnLoss(CongestionWindow& window, uint32_t recover) const override {
    window.reduced_until = recover;
  }

 private:
  const bool ecn_;
  const int growth_limit_;
};

}  // namespace

std::unique_ptr<CongestionControl> MakeReno(bool ecn, int growth_limit) {
  return std::make_unique<Reno>(ecn, growth_limit);
}

}  // namespace heddle
