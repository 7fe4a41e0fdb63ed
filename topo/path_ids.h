// SPDX-License-Identifier: Apache-2.0
// Which paths a packet can be pinned to.

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

// The ids of the shortest paths from `src` to `dst`, ascending; none if they are on one leaf. With
// `via`, only those that lead through that switch, whatever is chosen where an id says nothing.
std::vector<uint16_t> PathIds(const Routing& routing, HostId src, HostId dst,
                              std::optional<SwitchId> via);

// The id of the path from `src` to `dst` that takes these uplinks: the first of the leaf, the next
// of the switch that it leads to, and so on, each counted from 0 in the order of ports. kNoPath if
// there is no such path; then `refuse` is told why.
uint16_t PathIdOf(const Routing& routing, HostId src, HostId dst, std::span<const int64_t> uplinks,
                  const std::function<void(std::string_view)>& refuse);

// A path between leaves that cannot be walked back by its id, as text: the way back would leave a
// switch by an uplink of another number. Empty if there is none.
std::string FindUnmirroredPath(const Routing& routing, const Graph& graph);

}  // namespace heddle
