// SPDX-License-Identifier: Apache-2.0
// Names the layer of each link of a network. Instruments whose tables list links call it, so that
// all of these tables use the same names.

#pragma once

#include <cstdint>
#include <string>

#include "topo/graph.h"

namespace heddle {

// Returns the layer of the link from `vertex` to `peer`: host_up, leaf_up, spine_down...
std::string TierName(const Graph& graph, VertexId vertex, VertexId peer);

}  // namespace heddle
