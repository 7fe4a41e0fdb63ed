// SPDX-License-Identifier: Apache-2.0
// Makes windows and acknowledgements of segments of 1000 bytes. Tests of window controls pass them
// to a control, and read the window afterwards.

#pragma once

#include <cstdint>

#include "transport/tcp/window_control.h"

namespace heddle {

inline constexpr double kTestMss = 1'000;

inline CongestionWindow WindowOf(double segments) {
  CongestionWindow window{.mss = kTestMss};
  window.cwnd = segments * kTestMss;
  return window;
}

// The ACK of one segment, with `flight` more behind it.
inline Acknowledgement Acked(uint32_t una, uint32_t flight, bool ecn_echo = false) {
  return {.bytes = 1'000,
          .una = una,
          .nxt = una + flight,
          .ecn_echo = ecn_echo,
          .in_recovery = false,
          .window_limited = true};
}

}  // namespace heddle
