// SPDX-License-Identifier: Apache-2.0
// The best of several ports, and what to do if several are best.

#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "core/packet.h"
#include "core/random.h"

namespace heddle {

// For a flow that has no port yet.
inline constexpr PortIndex kNoPort = std::numeric_limits<PortIndex>::max();

// The port of the least cost. Of several it is `previous` if that is among them, so that a flow
// does not move for nothing, else one drawn at random: the first would be the same at all switches.
// `cost` may be asked twice about a port, and answers the same.
template <class Cost>
PortIndex LeastOf(std::span<const PortIndex> ports, PortIndex previous, Rng& rng, Cost&& cost) {
  auto least = cost(ports.front());
  uint32_t tied = 0;
  bool previous_is_tied = false;
  PortIndex best = ports.front();
  for (const PortIndex port : ports) {
    const auto its = cost(port);
    if (its < least) {
      least = its;
      tied = 0;
      previous_is_tied = false;
    }
    if (its != least) continue;
    if (tied++ == 0) best = port;
    previous_is_tied = previous_is_tied || port == previous;
  }
  if (previous_is_tied) return previous;
  if (tied == 1) return best;
  uint32_t skip = rng.Below(tied);
  for (const PortIndex port : ports) {
    if (cost(port) == least && skip-- == 0) return port;
  }
  return best;
}

}  // namespace heddle
