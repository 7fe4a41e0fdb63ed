// SPDX-License-Identifier: Apache-2.0
// The headers that ConWeave's leaves write into packets for each other (Song et al., SIGCOMM 2023).
// The epoch has 8 bits here, 2 bits in the paper.

#pragma once

#include <cstdint>

#include "core/units.h"

namespace heddle {

// Times count modulo 2^16 ticks, about a millisecond.
inline constexpr Duration kConWeaveTick = 16_ns;
constexpr uint16_t ConWeaveTicks(Time at) {
  return static_cast<uint16_t>(at.ps / kConWeaveTick.ps);
}

// The header of data packets.
struct ConWeaveHeader {
  enum Flag : uint8_t {
    kRequest = 1,   // The destination's leaf replies at once.
    kTail = 2,      // The last packet of this epoch on the path that the flow leaves.
    kRerouted = 4,  // A packet on the path that the flow has moved to.
    kStamped = 8,   // A leaf has written this header.
  };
  uint8_t flags = 0;
  uint8_t epoch = 0;
  uint16_t sent = 0;  // Ticks when the source's leaf sent it.
  uint16_t tail = 0;  // kRerouted: ticks when the epoch's kTail was sent.
};

// The header of control packets from the destination's leaf to the source's.
struct ConWeaveControl {
  enum Kind : uint8_t {
    kReply,
    kClear,
    kClearUnseen,  // kClear; no packet of this epoch has come over the path that the flow left.
    kNotify
  };
  Kind kind;
  uint8_t epoch;  // Not used by kNotify.
  uint16_t path;  // kNotify: the congested path.
};

// Returns true if epoch `a` began before `b`. They are never more than a few apart.
constexpr bool IsOlderEpoch(uint8_t a, uint8_t b) { return static_cast<int8_t>(a - b) < 0; }

}  // namespace heddle
