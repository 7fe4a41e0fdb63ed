// SPDX-License-Identifier: Apache-2.0

#include "core/sides.h"

#include <algorithm>

namespace heddle {
namespace {

class Division {
 public:
  Division(const Edges& edges, const std::vector<bool>& pinned)
      : pinned_(pinned), neighbours_(pinned.size()), sides_(pinned.size(), kNone) {
    for (const auto& [a, b] : edges) {
      neighbours_[a].push_back(b);
      neighbours_[b].push_back(a);
    }
  }

  std::optional<std::vector<uint8_t>> Find() {
    for (uint32_t v = 0; v < sides_.size(); ++v) {
      if (sides_[v] == kNone && !DividePart(v)) return std::nullopt;
    }
    return std::move(sides_);
  }

 private:
  static constexpr uint8_t kNone = 2;

  // Divides all that `first` is connected to. Returns false if that is impossible.
  bool DividePart(uint32_t first) {
    std::vector<uint32_t> part{first};
    sides_[first] = 0;
    for (size_t i = 0; i < part.size(); ++i) {
      const uint8_t other = 1 - sides_[part[i]];
      for (const uint32_t neighbour : neighbours_[part[i]]) {
        if (sides_[neighbour] == 1 - other) return false;
        if (sides_[neighbour] == other) continue;
        sides_[neighbour] = other;
        part.push_back(neighbour);
      }
    }
    const auto has_pinned = [&](uint8_t side) {
      return std::ranges::any_of(part, [&](uint32_t v) { return pinned_[v] && sides_[v] == side; });
    };
    if (!has_pinned(1)) return true;
    if (has_pinned(0)) return false;
    for (const uint32_t v : part) sides_[v] = 1 - sides_[v];
    return true;
  }

  const std::vector<bool>& pinned_;
  std::vector<std::vector<uint32_t>> neighbours_;
  std::vector<uint8_t> sides_;
};

}  // namespace

std::optional<std::vector<uint8_t>> FindSides(const Edges& edges, const std::vector<bool>& pinned) {
  return Division(edges, pinned).Find();
}

}  // namespace heddle
