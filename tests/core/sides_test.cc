// SPDX-License-Identifier: Apache-2.0

#include "core/sides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"

namespace heddle {
namespace {

using testing::ElementsAre;
using testing::Optional;

std::vector<bool> Pinned(size_t vertices, const std::vector<size_t>& pinned) {
  std::vector<bool> flags(vertices, false);
  for (const size_t v : pinned) flags[v] = true;
  return flags;
}

TEST(FindSides, DividesEachPartByItself) {
  EXPECT_THAT(FindSides({{0, 1}, {2, 1}, {4, 3}}, Pinned(6, {})),
              Optional(ElementsAre(0, 1, 0, 0, 1, 0)));
  EXPECT_THAT(FindSides({}, {}), Optional(ElementsAre()));
}

TEST(FindSides, PinnedVerticesAreOnSide0) {
  EXPECT_THAT(FindSides({{0, 1}, {2, 1}, {4, 3}}, Pinned(6, {1, 3, 5})),
              Optional(ElementsAre(1, 0, 1, 0, 1, 0)));
  EXPECT_EQ(FindSides({{0, 1}, {1, 2}, {2, 3}}, Pinned(4, {0, 3})), std::nullopt);
}

TEST(FindSides, OddCyclesHaveNone) {
  EXPECT_EQ(FindSides({{0, 1}, {1, 2}, {2, 0}}, Pinned(3, {})), std::nullopt);
  EXPECT_EQ(FindSides({{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}, Pinned(5, {})), std::nullopt);
  EXPECT_NE(FindSides({{0, 1}, {1, 2}, {2, 3}, {3, 0}}, Pinned(4, {})), std::nullopt);
}

// Edges between vertices of hidden sides, some of them pinned.
TEST(FindSides, FindsThemIfThereAreAny) {
  Rng rng = Rng::Stream(3, "sides", 0);
  for (int run = 0; run < 200; ++run) {
    const uint32_t vertices = 2 + rng.Below(40);
    std::vector<uint32_t> hidden(vertices);
    for (uint32_t& side : hidden) side = rng.Below(2);
    Edges edges;
    for (uint32_t i = 0; i < 2 * vertices; ++i) {
      const uint32_t a = rng.Below(vertices);
      const uint32_t b = rng.Below(vertices);
      if (hidden[a] != hidden[b]) edges.push_back({a, b});
    }
    std::vector<bool> pinned(vertices, false);
    for (uint32_t v = 0; v < vertices; ++v) pinned[v] = hidden[v] == 0 && rng.Below(4) == 0;
    const auto sides = FindSides(edges, pinned);
    ASSERT_TRUE(sides);
    for (const auto& [a, b] : edges) EXPECT_NE((*sides)[a], (*sides)[b]);
    for (uint32_t v = 0; v < vertices; ++v) EXPECT_FALSE(pinned[v] && (*sides)[v] == 1);
  }
}

}  // namespace
}  // namespace heddle
