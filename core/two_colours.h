// SPDX-License-Identifier: Apache-2.0
// Colours the vertices of a graph with two colours, so that the ends of each edge differ. The
// engine runs the nodes of each colour in turn.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace heddle {

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

// Returns the colour, 0 or 1, of each vertex. Those that are `pinned` have colour 0. Returns
// nothing if there is no such colouring.
std::optional<std::vector<uint8_t>> TwoColours(const Edges& edges, const std::vector<bool>& pinned);

}  // namespace heddle
