// SPDX-License-Identifier: Apache-2.0
// How leaves name whole paths.

#include "lb/leaf_paths.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/support/lb_bench.h"

namespace heddle {
namespace {

using Paths = std::vector<uint16_t>;

// On a leaf with two uplinks, ports 0 and 1, from which the other one is `links` away.
void OnLeaf(int links, const std::function<void(SwitchView&, LeafPaths&)>& look, size_t radix = 0) {
  LbSwitch leaf("ecmp", {.uplinks = std::vector<BitRate>(2, 100_Gbps),
                         .ways = std::vector<Way>(2, {10_us, 100_Gbps, 100_Gbps, 375_KB, links})});
  leaf.At(Time{}, [&](SwitchView& view, SwitchPolicy&) {
    LeafPaths paths;
    paths.Attach(view, 3, radix);
    look(view, paths);
  });
}

Paths LiveTo1(LeafPaths& paths, const std::vector<PortIndex>& live) {
  const auto found = paths.LiveTo(1, {0, 1, live});
  return {found.begin(), found.end()};
}

TEST(LeafPathsTest, TheFirstDigitIsTheUplink) {
  OnLeaf(4, [](SwitchView&, LeafPaths& paths) {
    EXPECT_EQ(paths.count(), 6u);
    for (uint16_t path = 0; path < 6; ++path) EXPECT_EQ(paths.UplinkOf(path), path % 2);
    EXPECT_EQ(paths.FirstOver(1), 1);
    EXPECT_EQ(LiveTo1(paths, {0, 1}), (Paths{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(paths.AsTo(1, 5), 5);
  });
}

TEST(LeafPathsTest, PathsOverAFailedUplinkDoNotLive) {
  OnLeaf(4, [](SwitchView&, LeafPaths& paths) {
    EXPECT_EQ(LiveTo1(paths, {1}), (Paths{1, 3, 5}));
    const std::vector<PortIndex> only_1 = {1};
    EXPECT_FALSE(paths.Lives(4, {0, 1, only_1}));
    EXPECT_TRUE(paths.Lives(5, {0, 1, only_1}));
    EXPECT_FALSE(paths.Lives(6, {0, 1, only_1}));
  });
}

TEST(LeafPathsTest, ToANearLeafTheSecondDigitIsZero) {
  OnLeaf(2, [](SwitchView&, LeafPaths& paths) {
    EXPECT_TRUE(paths.IsNear(1));
    EXPECT_EQ(paths.CountTo(1), 2u);
    EXPECT_EQ(LiveTo1(paths, {0, 1}), (Paths{0, 1}));
    EXPECT_EQ(paths.AsTo(1, 5), 1);
    EXPECT_EQ(paths.AsTo(1, 1), 1);
  });
}

// Another leaf has four uplinks, and switches above read digits of four: 2, 3, 6, 7, 10 and 11 name
// nothing here.
TEST(LeafPathsTest, WhereAnotherLeafHasMoreUplinksNumbersAreLeftOut) {
  OnLeaf(
      4,
      [](SwitchView&, LeafPaths& paths) {
        EXPECT_EQ(paths.count(), 12u);
        EXPECT_EQ(LiveTo1(paths, {0, 1}), (Paths{0, 1, 4, 5, 8, 9}));
        for (const uint16_t path : std::vector<uint16_t>{4, 8}) EXPECT_EQ(paths.UplinkOf(path), 0);
        for (const uint16_t path : std::vector<uint16_t>{5, 9}) EXPECT_EQ(paths.UplinkOf(path), 1);
        const std::vector<PortIndex> both = {0, 1};
        EXPECT_FALSE(paths.Lives(6, {0, 1, both}));
      },
      4);
}

}  // namespace
}  // namespace heddle
