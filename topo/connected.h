// SPDX-License-Identifier: Apache-2.0
// Draws links that fail without cutting the network apart. The schedule calls DrawShare().

#pragma once

#include <cstddef>
#include <set>

#include "core/random.h"
#include "topo/graph.h"

namespace heddle {

// Draws a share of the links between switches, as indices into Graph::links, rounded to the nearest
// number. With `keep_connected` it leaves out each link without which, and without those drawn
// before it, two switches with hosts would lose their last shortest path.
std::set<size_t> DrawShare(const Graph& graph, double share, bool keep_connected, Rng& rng);

}  // namespace heddle
