// SPDX-License-Identifier: Apache-2.0
// Tests of the numbers by which leaves name whole paths.

#include "lb/parts/leaf_paths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"

namespace heddle::leaf_paths_test {

using Paths = std::vector<uint16_t>;

// Calls `look` on a leaf with two uplinks, ports 0 and 1, whose distance to the other leaf is
// `links`.
void OnLeaf(int links, const std::function<void(SwitchView&, LeafPaths&)>& look, size_t radix = 2) {
  LbSwitch leaf("ecmp", {.uplinks = std::vector<BitRate>(2, 100_Gbps),
                         .ways = std::vector<Way>(2, {10_us, 100_Gbps, 100_Gbps, 375_KB, links})});
  leaf.At(Time{}, [&](SwitchView& view, SwitchPolicy&) {
    LeafPaths paths;
    paths.Attach(view, {.first = radix, .second = 3});
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

// Each path has one name if leaves have three uplinks and the switches above two: flows that are
// too small to tell one path from another use all of them alike.
class PathNamesTest : public testing::TestWithParam<std::string> {};

TEST_P(PathNamesTest, EachPathHasOne) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: fat_tree, k: 6, core_links_per_agg: 2, host_link: {rate: 10Gbps, delay: "
      "1us}, edge_link: {rate: 10Gbps, delay: 1us}, core_link: {rate: 10Gbps, delay: 1us}}\nlb: " +
      GetParam() +
      "\nworkload: [{kind: poisson, sizes: 'fixed:1KB', load: 0.01, flows: 20000}]\n"));
  const CsvTable links(run.files.links);
  std::vector<int64_t> packets;
  for (size_t row = 0; row < links.rows.size(); ++row) {
    if (links.At(row, "tier") == "spine_up") packets.push_back(links.Integer(row, "pkts"));
  }
  ASSERT_EQ(packets.size(), 36u);
  EXPECT_LT(static_cast<double>(std::ranges::max(packets)),
            1.25 * static_cast<double>(std::ranges::min(packets)));
}

INSTANTIATE_TEST_SUITE_P(Schemes, PathNamesTest,
                         testing::Values("ag", "aac", "proteus", "conweave",
                                         "{kind: conga, mode: path}"),
                         [](const auto& tested) { return std::to_string(tested.index); });

}  // namespace heddle::leaf_paths_test
