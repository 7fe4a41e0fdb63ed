// SPDX-License-Identifier: Apache-2.0
// What an operator knows of the fabric as it was built, and configures a scheme with. It does not
// follow what happens to links later.

#pragma once

#include <cstdint>
#include <optional>

#include "core/packet.h"
#include "core/units.h"

namespace heddle {

// A shortest way from a switch to a leaf.
struct Way {
  Duration propagation;  // Of all its links, with what the switches add.
  BitRate last_rate;     // Of its last link, which leads to the leaf.
  BitRate least_rate;    // Of its slowest.
  Bytes last_buffer;     // What the port of its last link can hold; many if there is no limit.
  int links = 2;
};

class FabricMap {
 public:
  virtual ~FabricMap() = default;

  // The quickest way from `from` through its `port` to a leaf, numbered from 0 among the switches
  // that have hosts; nothing if none of the shortest ways begins there.
  virtual std::optional<Way> WayTo(SwitchId from, PortIndex port, uint16_t leaf) const = 0;

  // What a port can hold; many if there is no limit.
  virtual Bytes BufferOf(SwitchId at, PortIndex port) const = 0;
};

}  // namespace heddle
