// SPDX-License-Identifier: Apache-2.0
// Names the layers of a network's links for the tables that list links.

#pragma once

#include <cstdint>
#include <string>

#include "topo/graph.h"

namespace heddle {

// Returns the layer of the link from `vertex` to `peer`: host_up, leaf_up, spine_down...
std::string TierName(const Graph& graph, VertexId vertex, VertexId peer);

}  // namespace heddle
