// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp/window_control.h"

#include <algorithm>

namespace heddle {

void WindowControl::SetThreshold(CongestionWindow& window, double flight) const {
  window.ssthresh = std::max(flight / 2, 2 * window.mss);
}

void WindowControl::Undo(CongestionWindow& window, const CongestionWindow& before) const {
  window.cwnd = std::max(window.cwnd, before.cwnd);
  window.ssthresh = std::max(window.ssthresh, before.ssthresh);
}

void GrowWindow(CongestionWindow& window, int64_t bytes, int limit) {
  const double acked = static_cast<double>(bytes);
  if (window.cwnd < window.ssthresh) {
    window.cwnd += std::min(acked, limit * window.mss);
    return;
  }
  window.cwnd += window.mss * acked / window.cwnd;
}

}  // namespace heddle
