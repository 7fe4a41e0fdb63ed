// SPDX-License-Identifier: Apache-2.0
// The control packets that TDLB's switches send to each other: probes, their echoes, and notices
// about congested flows.

#pragma once

#include <cstdint>

namespace heddle {

struct TdlbControl {
  enum Kind : uint8_t {
    kProbe,      // Goes to all other leaves; Packet::sent is its time.
    kEcho,       // Returns the delay that a probe measured.
    kCongested,  // Packet::flow is. Sent to its source, as if from its destination.
    kCleared,
  };
  Kind kind;
  uint8_t unused;
  uint16_t path;     // The path that the probe, or the flow's packet, took.
  int32_t delay_ns;  // Measured by two leaves' clocks: may be negative.
};

}  // namespace heddle
