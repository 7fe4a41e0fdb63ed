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
// `cost` is asked about each port once, but for very many ties, and answers the same.
//
// Costs come in no order, so a processor would guess wrong at every other branch: there is none.
template <class Cost>
PortIndex LeastOf(std::span<const PortIndex> ports, PortIndex previous, Rng& rng, Cost&& cost) {
  constexpr uint32_t kKept = 128;
  PortIndex kept[kKept + 1];  // The first of those that tie; the last place is for all others.
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
  return kept[0];  // Never: as many ports tie as did before.
}

}  // namespace heddle
