// SPDX-License-Identifier: Apache-2.0
// What ConWeave's leaves write into packets for each other (Song et al., SIGCOMM 2023), with 8
// bits of epoch for the paper's two.

#pragma once

#include <cstdint>

#include "core/units.h"

namespace heddle {

// Times modulo 2^16 ticks, which is a millisecond.
inline constexpr Duration kConWeaveTick = 16_ns;
constexpr uint16_t ConWeaveTicks(Time at) {
  return static_cast<uint16_t>(at.ps / kConWeaveTick.ps);
}

// In data.
struct ConWeaveHeader {
  enum Flag : uint8_t {
    kRequest = 1,   // The destination's leaf shall reply at once.
    kTail = 2,      // The last packet of this epoch on the path that the flow leaves.
    kRerouted = 4,  // On the path that it has changed to.
    kStamped = 8,   // It comes from a leaf at all.
  };
  uint8_t flags = 0;
  uint8_t epoch = 0;
  uint16_t sent = 0;  // Ticks: by the source's leaf;
  uint16_t tail = 0;  // kRerouted: the epoch's kTail.
};

// From the destination's leaf to the source's.
struct ConWeaveControl {
  enum Kind : uint8_t {
    kReply,
    kClear,
    kClearUnseen,  // kClear, and of this epoch nothing has come over the path that the flow left.
    kNotify
  };
  Kind kind;
  uint8_t epoch;  // But of kNotify.
  uint16_t path;  // kNotify: that is congested.
};

// Whether epoch `a` began before `b`; they are never further apart than a few.
constexpr bool IsOlderEpoch(uint8_t a, uint8_t b) { return static_cast<int8_t>(a - b) < 0; }

}  // namespace heddle
