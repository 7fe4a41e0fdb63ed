// SPDX-License-Identifier: Apache-2.0

#include "transport/congestion_control.h"

#include <algorithm>

namespace heddle {

void GrowWindow(CongestionWindow& window, int64_t bytes, int limit) {
  const double acked = static_cast<double>(bytes);
  if (window.cwnd < window.ssthresh) {
    window.cwnd += std::min(acked, limit * window.mss);
    return;
  }
  window.cwnd += window.mss * acked / window.cwnd;
}

}  // namespace heddle
