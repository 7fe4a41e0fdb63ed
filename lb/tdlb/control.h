// SPDX-License-Identifier: Apache-2.0
// What TDLB's switches send to each other.

#pragma once

#include <cstdint>

namespace heddle {

struct TdlbControl {
  enum Kind : uint8_t {
    kProbe,      // To all other leaves; Packet::sent says when.
    kEcho,       // What a probe has measured.
    kCongested,  // Of Packet::flow, to its source; as if from its destination.
    kCleared,
  };
  Kind kind;
  uint8_t unused;
  uint16_t path;     // That the probe, or the flow's packet, has taken.
  int32_t delay_ns;  // By the clocks of two leaves: it may be below zero.
};

}  // namespace heddle
