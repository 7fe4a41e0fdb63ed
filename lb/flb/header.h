// SPDX-License-Identifier: Apache-2.0
// What FLB's leaves write into packets for each other.

#pragma once

#include <cstdint>

namespace heddle {

// In data and ACKs. Times in nanoseconds, by the clocks of leaves: delays may be below zero.
struct FlbHeader {
  uint32_t stamp = 0;  // Twice the time it was queued at its first leaf, plus 1; 0: none.
  uint32_t news = 0;   // A delay the other way, times 256, plus the path from 1; 0: none.
};

// In the packets that leaves send to each other.
struct FlbControl {
  enum Kind : uint8_t { kCongested, kReleased, kDelay };
  Kind kind;
  uint8_t path;    // kDelay: of the leaf that is told.
  uint16_t flows;  // kCongested: n, now.
  int32_t number;  // kDelay: nanoseconds. kCongested: the largest n since the queue became long.
};

}  // namespace heddle
