// SPDX-License-Identifier: Apache-2.0
// Finds the best of several ports, or paths, with a rule for ties. Policies call LeastOf() to
// choose.

#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "core/packet.h"
#include "core/random.h"

namespace heddle {

// The port of a flow that has none yet.
inline constexpr PortIndex kNoPort = std::numeric_limits<PortIndex>::max();

// Returns the port of the least cost. Among ties it returns `previous` if that is one, so that a
// flow does not move without need, else a random one: the first would be the same at all switches.
// Calls `cost` once for each port, except with very many ties; it must return the same each time.
//
// The loop has no branches on costs: they are in random order, so half of them would be
// mispredicted.
template <class Cost>
PortIndex LeastOf(std::span<const PortIndex> ports, PortIndex previous, Rng& rng, Cost&& cost) {
  constexpr uint32_t kKept = 128;
  PortIndex kept[kKept + 1];  // The first of the ports that tie; the last place is for all others.
  kept[0] = ports.front();
  auto least = cost(ports.front());
  uint32_t ties = 1;
  bool previous_ties = ports.front() == previous;
  for (const PortIndex port : ports.subspan(1)) {
    const auto its = cost(port);
    const bool is_less = its < least;
    const bool is_more = least < its;
    least = is_less ? its : least;
    ties = is_less ? 0 : ties;
    kept[ties < kKept ? ties : kKept] = port;
    ties += !is_more;
    previous_ties = (previous_ties & !is_less) | (!is_more & (port == previous));
  }
  if (previous_ties) return previous;
  if (ties == 1) return kept[0];
  uint32_t drawn = rng.Below(ties);
  if (drawn < kKept) return kept[drawn];
  for (const PortIndex port : ports) {
    if (!(least < cost(port)) && drawn-- == 0) return port;
  }
  return kept[0];  // Not reached: as many ports tie as before.
}

}  // namespace heddle
