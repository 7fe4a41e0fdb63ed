// SPDX-License-Identifier: Apache-2.0

#include "core/two_colours.h"

#include <algorithm>

namespace heddle {
namespace {

class Colouring {
 public:
  Colouring(const Edges& edges, const std::vector<bool>& pinned)
      : pinned_(pinned), neighbours_(pinned.size()), colours_(pinned.size(), kNone) {
    for (const auto& [a, b] : edges) {
      neighbours_[a].push_back(b);
      neighbours_[b].push_back(a);
    }
  }

  std::optional<std::vector<uint8_t>> Find() {
    for (uint32_t v = 0; v < colours_.size(); ++v) {
      if (colours_[v] == kNone && !ColourPart(v)) return std::nullopt;
    }
    return std::move(colours_);
  }

 private:
  static constexpr uint8_t kNone = 2;

  // Colours all that `first` is connected to. Returns false if that is impossible.
  bool ColourPart(uint32_t first) {
    std::vector<uint32_t> part{first};
    colours_[first] = 0;
    for (size_t i = 0; i < part.size(); ++i) {
      const uint8_t other = 1 - colours_[part[i]];
      for (const uint32_t neighbour : neighbours_[part[i]]) {
        if (colours_[neighbour] == 1 - other) return false;
        if (colours_[neighbour] == other) continue;
        colours_[neighbour] = other;
        part.push_back(neighbour);
      }
    }
    const auto has_pinned = [&](uint8_t colour) {
      return std::ranges::any_of(part,
                                 [&](uint32_t v) { return pinned_[v] && colours_[v] == colour; });
    };
    if (!has_pinned(1)) return true;
    if (has_pinned(0)) return false;
    for (const uint32_t v : part) colours_[v] = 1 - colours_[v];
    return true;
  }

  const std::vector<bool>& pinned_;
  std::vector<std::vector<uint32_t>> neighbours_;
  std::vector<uint8_t> colours_;
};

}  // namespace

std::optional<std::vector<uint8_t>> TwoColours(const Edges& edges,
                                               const std::vector<bool>& pinned) {
  return Colouring(edges, pinned).Find();
}

}  // namespace heddle
