// SPDX-License-Identifier: Apache-2.0

#include "core/sides.h"

#include <numeric>

namespace heddle {
namespace {

// Joins vertices that are connected, and knows of each if it is on the same side as the first
// vertex of its part or on the other one (union-find with parity).
class Parts {
 public:
  explicit Parts(size_t vertices) : above_(vertices), differs_(vertices, 0) {
    std::iota(above_.begin(), above_.end(), 0);
  }

  // The part of `v`, named by its lowest vertex, and 1 if `v` is on the other side than that.
  std::pair<uint32_t, uint8_t> Find(uint32_t v) {
    uint8_t differs = 0;
    while (above_[v] != v) {
      const uint32_t above = above_[v];
      differs_[v] ^= differs_[above];  // Halves the way for the next time; 0 at the top.
      above_[v] = above_[above];
      differs ^= differs_[v];
      v = above_[v];
    }
    return {v, differs};
  }

  // `a` and `b` are on different sides. Returns false if that is impossible.
  bool Separate(uint32_t a, uint32_t b) {
    const auto [top_a, differs_a] = Find(a);
    const auto [top_b, differs_b] = Find(b);
    if (top_a == top_b) return differs_a != differs_b;
    const auto [low, high] = std::minmax(top_a, top_b);
    above_[high] = low;
    differs_[high] = 1 ^ differs_a ^ differs_b;
    return true;
  }

 private:
  std::vector<uint32_t> above_;   // By vertex: one of its part, up to the lowest, which has itself.
  std::vector<uint8_t> differs_;  // From the side of that one.
};

}  // namespace

std::optional<std::vector<uint8_t>> FindSides(const Edges& edges, const std::vector<bool>& pinned) {
  Parts parts(pinned.size());
  for (const auto& [a, b] : edges) {
    if (!parts.Separate(a, b)) return std::nullopt;
  }
  std::vector<std::optional<uint8_t>> side_of_part(pinned.size());  // By its lowest vertex.
  for (uint32_t v = 0; v < pinned.size(); ++v) {
    if (!pinned[v]) continue;
    const auto [part, differs] = parts.Find(v);
    if (side_of_part[part].value_or(differs) != differs) return std::nullopt;
    side_of_part[part] = differs;
  }
  std::vector<uint8_t> sides(pinned.size());
  for (uint32_t v = 0; v < pinned.size(); ++v) {
    const auto [part, differs] = parts.Find(v);
    sides[v] = side_of_part[part].value_or(0) ^ differs;
  }
  return sides;
}

}  // namespace heddle
