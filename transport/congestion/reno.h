// SPDX-License-Identifier: Apache-2.0
// RenoLike is the part of a window control that answers losses and ECN marks as TCP Reno does: half
// the window, once for each window of data (RFC 5681 section 3.1, RFC 3168 section 6.1.2). Reno and
// the coupled controls of MPTCP derive from it and say how the window grows, in
//
//   void Grow(CongestionWindow& window, const Acknowledgement& ack) const;
//
// `State` is the state of a flow. It has `uint32_t reduced_until`: the next reduction for marks
// comes when `una` has passed that segment.

#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/tcp/window_control.h"

namespace heddle {

template <class Self, class State>
class RenoLike : public WindowControl {
 public:
  void Start(CongestionWindow& window, uint32_t /*first_flight*/) const override {
    window.own.Begin<State>();
  }

  bool OnAck(CongestionWindow& window, const Acknowledgement& ack) const override {
    State& own = window.own.As<State>();
    if (ack.ecn_echo && ack.una > own.reduced_until && !ack.in_recovery) {
      SetThreshold(window, static_cast<double>(ack.nxt - ack.una) * window.mss);
      window.cwnd = std::min(window.cwnd, window.ssthresh);  // After a timeout it may be less.
      own.reduced_until = ack.nxt;
      return true;
    }
    if (!ack.ecn_echo && !ack.in_recovery && ack.window_limited) {
      static_cast<const Self&>(*this).Grow(window, ack);
    }
    return false;
  }

  void OnLoss(CongestionWindow& window, uint32_t recover) const override {
    window.own.As<State>().reduced_until = recover;
  }
};

}  // namespace heddle
