// SPDX-License-Identifier: Apache-2.0
// Divides the vertices of a graph into two sides, so that each edge leads from one side to the
// other. The engine runs the nodes of the two sides in turn (core/engine.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace heddle {

inline constexpr size_t kSides = 2;

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

// Returns the side, 0 or 1, of each vertex. Those that are `pinned` are on side 0. Returns nothing
// if there are no such sides.
std::optional<std::vector<uint8_t>> FindSides(const Edges& edges, const std::vector<bool>& pinned);

}  // namespace heddle
