// SPDX-License-Identifier: Apache-2.0
// Which paths a packet can be pinned to.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/packet.h"
#include "topo/routing.h"

namespace heddle {

// The ids of the shortest paths from `src` to `dst`, ascending; none if they are on one leaf. With
// `via`, only those that lead through that switch, whatever is chosen where an id says nothing.
std::vector<uint16_t> PathIds(const Routing& routing, HostId src, HostId dst,
                              std::optional<SwitchId> via);

}  // namespace heddle
