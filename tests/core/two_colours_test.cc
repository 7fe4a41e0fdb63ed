// SPDX-License-Identifier: Apache-2.0

#include "core/two_colours.h"

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

TEST(TwoColours, ColoursEachPartByItself) {
  EXPECT_THAT(TwoColours({{0, 1}, {2, 1}, {4, 3}}, Pinned(6, {})),
              Optional(ElementsAre(0, 1, 0, 0, 1, 0)));
  EXPECT_THAT(TwoColours({}, {}), Optional(ElementsAre()));
}

TEST(TwoColours, PinnedVerticesHaveColour0) {
  EXPECT_THAT(TwoColours({{0, 1}, {2, 1}, {4, 3}}, Pinned(6, {1, 3, 5})),
              Optional(ElementsAre(1, 0, 1, 0, 1, 0)));
  EXPECT_EQ(TwoColours({{0, 1}, {1, 2}, {2, 3}}, Pinned(4, {0, 3})), std::nullopt);
}

TEST(TwoColours, OddCyclesHaveNone) {
  EXPECT_EQ(TwoColours({{0, 1}, {1, 2}, {2, 0}}, Pinned(3, {})), std::nullopt);
  EXPECT_EQ(TwoColours({{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}, Pinned(5, {})), std::nullopt);
  EXPECT_NE(TwoColours({{0, 1}, {1, 2}, {2, 3}, {3, 0}}, Pinned(4, {})), std::nullopt);
}

// Edges between vertices of hidden colours, some of them pinned.
TEST(TwoColours, FindsAColouringIfThereIsOne) {
  Rng rng = Rng::Stream(3, "colours", 0);
  for (int run = 0; run < 200; ++run) {
    const uint32_t vertices = 2 + rng.Below(40);
    std::vector<uint32_t> hidden(vertices);
    for (uint32_t& colour : hidden) colour = rng.Below(2);
    Edges edges;
    for (uint32_t i = 0; i < 2 * vertices; ++i) {
      const uint32_t a = rng.Below(vertices);
      const uint32_t b = rng.Below(vertices);
      if (hidden[a] != hidden[b]) edges.push_back({a, b});
    }
    std::vector<bool> pinned(vertices, false);
    for (uint32_t v = 0; v < vertices; ++v) pinned[v] = hidden[v] == 0 && rng.Below(4) == 0;
    const auto colours = TwoColours(edges, pinned);
    ASSERT_TRUE(colours);
    for (const auto& [a, b] : edges) EXPECT_NE((*colours)[a], (*colours)[b]);
    for (uint32_t v = 0; v < vertices; ++v) EXPECT_FALSE(pinned[v] && (*colours)[v] == 1);
  }
}

}  // namespace
}  // namespace heddle
