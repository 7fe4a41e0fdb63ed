// SPDX-License-Identifier: Apache-2.0
// DCTCP (RFC 8257; Alizadeh et al., SIGCOMM 2010): the window shrinks in proportion to the share of
// bytes that were marked. Losses are answered as in any TCP.

#include "transport/dctcp.h"

#include <algorithm>

namespace heddle {
namespace {

class Dctcp final : public CongestionControl {
 public:
  Dctcp(const DctcpSettings& settings, int growth_limit)
      : settings_(settings), growth_limit_(growth_limit) {}

  bool marks_data() const override { return true; }

  void Start(CongestionWindow& window, uint32_t first_flight) const override {
    window.alpha = settings_.alpha0;
    window.window_end = first_flight;
  }

  bool OnAck(CongestionWindow& window, const Acknowledgement& ack) const override {
    window.bytes_acked += ack.bytes;
    if (ack.ecn_echo) window.bytes_marked += ack.bytes;
    if (ack.una > window.window_end) CloseObservation(window, ack.nxt);
    if (ack.ecn_echo && ack.una > window.reduced_until && !ack.in_recovery) {
      Reduce(window, ack.nxt);
      return true;
    }
    const bool may_grow = ack.una > window.reduced_until || settings_.grow_in_cwr;
    if (may_grow && !ack.ecn_echo && !ack.in_recovery && ack.window_limited) {
      GrowWindow(window, ack.bytes, growth_limit_);
    }
    return false;
  }

  // One reduction per window, be it for marks or for a loss.
  void OnLoss(CongestionWindow& window, uint32_t recover) const override {
    window.reduced_until = recover;
  }

  void OnTimeout(CongestionWindow& window, uint32_t nxt) const override {
    window.bytes_acked = window.bytes_marked = 0;
    window.window_end = nxt;
  }

 private:
  void CloseObservation(CongestionWindow& window, uint32_t nxt) const {
    const double marked =
        static_cast<double>(window.bytes_marked) / static_cast<double>(window.bytes_acked);
    window.alpha = (1 - settings_.g) * window.alpha + settings_.g * marked;  // Paper, eq. (1).
    window.bytes_acked = window.bytes_marked = 0;
    window.window_end = nxt;
  }

  void Reduce(CongestionWindow& window, uint32_t nxt) const {
    window.cwnd = std::max(window.cwnd * (1 - window.alpha / 2),  // Paper, eq. (2).
                           settings_.min_cwnd * window.mss);
    window.ssthresh = window.cwnd;
    window.reduced_until = nxt;
  }

  const DctcpSettings settings_;
  const int growth_limit_;
};

}  // namespace

std::unique_ptr<CongestionControl> MakeDctcp(const DctcpSettings& settings, int growth_limit) {
  return std::make_unique<Dctcp>(settings, growth_limit);
}

}  // namespace heddle
