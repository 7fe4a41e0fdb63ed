// SPDX-License-Identifier: Apache-2.0
// The headers that FLB's leaves write into packets for each other: stamps and measured delays in
// data and ACKs, notices and delays in control packets.

#pragma once

#include <cstdint>

namespace heddle {

// The header of data and ACKs. Times are nanoseconds of two leaves' clocks: a delay may be
// negative.
struct FlbHeader {
  uint32_t stamp = 0;  // Twice the time when its first leaf queued it, plus 1; 0: none.
  uint32_t news = 0;   // A delay times 256, plus the receiver's path id and 1; 0: none.
};

// The header of control packets between leaves.
struct FlbControl {
  enum Kind : uint8_t { kCongested, kReleased, kDelay };
  Kind kind;
  uint8_t path;    // kDelay: a path of the receiving leaf.
  uint16_t flows;  // kCongested: n, the flows in the queue now.
  int32_t number;  // kDelay: nanoseconds. kCongested: the largest n since the queue became long.
};

}  // namespace heddle
