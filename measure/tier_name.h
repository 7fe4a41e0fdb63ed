// SPDX-License-Identifier: Apache-2.0
// The names of a network's layers of links, as tables of links have them.

#pragma once

#include <cstdint>
#include <string>

#include "topo/graph.h"

namespace heddle {

// The layer of the link from `vertex` to `peer`: host_up, leaf_up, spine_down...
std::string TierName(const Graph& graph, VertexId vertex, VertexId peer);

}  // namespace heddle
