// SPDX-License-Identifier: Apache-2.0
// Which paths a packet can be pinned to.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/packet.h"
#include "topo/routing.h"

namespace heddle {

// The ids of the shortest paths from `src` to `dst`, ascending; none if they are on one leaf. With
// `via`, only those that lead through that switch, whatever is chosen where an id says nothing.
std::vector<uint16_t> PathIds(const Routing& routing, HostId src, HostId dst,
                              std::optional<SwitchId> via);

// A path between leaves that cannot be walked back by its id, as text: the way back would leave a
// switch by an uplink of another number. Empty if there is none.
std::string FindUnmirroredPath(const Routing& routing, const Graph& graph);

}  // namespace heddle
