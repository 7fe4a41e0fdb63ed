// SPDX-License-Identifier: Apache-2.0
// Two sides of nodes that run in turn, because every link leads from one side to the other
// (core/engine.h).

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/units.h"

namespace heddle {

inline constexpr size_t kSides = 2;

// How far each side has run: all its events before this have been handled, or there are none.
struct RanTo {
  std::array<Time, kSides> sides{};

  // Chooses the side that runs next: the one that has run less far. `due` is when something is due
  // on each side, `lookahead` the least time in which it can cause something on the other side. The
  // conductor acts no earlier than `next`. Before these times nothing happens.
  size_t Choose(const std::array<Time, kSides>& due, Duration lookahead, Time next = kNever) {
    for (size_t side = 0; side < kSides; ++side) {
      const Time earliest = std::min({next, due[side], due[1 - side] + lookahead});
      sides[side] = std::max(sides[side], earliest);
    }
    return std::tie(sides[1], due[1]) < std::tie(sides[0], due[0]) ? 1 : 0;
  }
};

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

// Divides the vertices of a graph into two sides, so that each edge leads from one side to the
// other. Returns the side, 0 or 1, of each vertex. Those that are `pinned` are on side 0. Returns
// nothing if there are no such sides.
std::optional<std::vector<uint8_t>> FindSides(const Edges& edges, const std::vector<bool>& pinned);

}  // namespace heddle
