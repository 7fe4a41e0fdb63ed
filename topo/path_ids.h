// SPDX-License-Identifier: Apache-2.0
// Finds the ids of the paths that flows and datagrams can be pinned to. An experiment calls these
// functions while it is prepared, and so learns whether the paths that it names exist.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/packet.h"
#include "topo/routing.h"

namespace heddle {

// Returns the ids of the shortest paths from `src` to `dst`, ascending; none if both are on one
// leaf. With `via`, returns only ids whose paths all cross that switch, even where switches choose
// by themselves.
std::vector<uint16_t> PathIds(const Routing& routing, HostId src, HostId dst,
                              std::optional<SwitchId> via);

// Returns the id of the path from `src` to `dst` that takes these uplinks: the first of the leaf,
// the next of the switch that it leads to, and so on, each counted from 0 in the order of ports.
// Returns kNoPath if there is no such path; then `refuse` is told why.
uint16_t PathIdOf(const Routing& routing, HostId src, HostId dst, std::span<const int64_t> uplinks,
                  const std::function<void(std::string_view)>& refuse);

// Returns as text a path between leaves that cannot be walked back by its id, because the way back
// would leave a switch by an uplink of another number. Empty if there is none.
std::string FindUnmirroredPath(const Routing& routing, const Graph& graph);

}  // namespace heddle
