// SPDX-License-Identifier: Apache-2.0
// A map of the fabric as it was built, from which an operator would configure a scheme. Policies
// read it through SwitchView, usually in Attach(). It does not follow later changes of links.

#pragma once

#include <cstdint>
#include <optional>

#include "core/packet.h"
#include "core/units.h"

namespace heddle {

// A shortest path from a switch to a leaf.
struct Way {
  Duration propagation;  // The sum over its links and switch latencies.
  BitRate last_rate;     // Rate of its last link, which leads to the leaf.
  BitRate least_rate;    // Rate of its slowest link.
  Bytes last_buffer;     // Buffer of the last link's port; very large if unlimited.
  int links = 2;
};

class FabricMap {
 public:
  virtual ~FabricMap() = default;

  // The fastest path from switch `from` through its `port` to a leaf. Leaves are the switches that
  // have hosts, numbered from 0. Returns nothing if no shortest path begins at `port`.
  virtual std::optional<Way> WayTo(SwitchId from, PortIndex port, uint16_t leaf) const = 0;

  // The buffer of a port; very large if there is no limit.
  virtual Bytes BufferOf(SwitchId at, PortIndex port) const = 0;

  // The switch at the far end of a port; nothing if a host is there.
  virtual std::optional<SwitchId> PeerOf(SwitchId at, PortIndex port) const = 0;
};

}  // namespace heddle
