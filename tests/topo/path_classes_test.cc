// SPDX-License-Identifier: Apache-2.0

#include "topo/path_classes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "topo/routing.h"

namespace heddle::path_classes_test {

using Pairs = std::vector<std::pair<int, int>>;
using Inner = std::set<std::vector<Channel>>;

Pairs Choices(const Graph& graph, HostId src, HostId dst) {
  Pairs choices;
  const auto table = Routing(graph).MakePathTable();
  for (const PathChoice& path : table->Between(src, dst))
    choices.emplace_back(path.id, path.weight);
  return choices;
}

const std::vector<std::string> kFabrics = {
    "{kind: leaf_spine, leaves: 4, spines: 3, hosts_per_leaf: 2, links_per_pair: 2, asymmetry: "
    "[{random_links: 7, rate: 2Gbps}, {random_spines: 1, delay: 5us, direction: down}]}",
    "{kind: fat_tree, k: 4, asymmetry: [{random_links: 9, rate: 2Gbps, direction: up}, "
    "{random_links: 5, delay: 9us}]}"};

// The classes say what walking all paths says.
TEST(PathClassesTest, HaveTheChannelsOfAllPathsBetweenEveryPair) {
  for (const std::string& fabric : kFabrics) {
    const Graph graph = GraphFrom(fabric);
    const Routing routing(graph);
    PathClasses classes(routing);
    for (uint32_t a = 0; a < graph.hosts; ++a) {
      for (uint32_t b = 0; b < graph.hosts; ++b) {
        if (a == b) continue;
        const HostId src = static_cast<HostId>(a);
        const HostId dst = static_cast<HostId>(b);
        const auto paths = routing.PathsBetween(src, dst);
        Inner walked;
        for (const auto& path : paths) walked.insert({path.begin() + 1, path.end() - 1});
        const auto known = classes.Between(routing.LeafOf(src), routing.LeafIndexOf(dst));
        const auto& channels = classes.ChannelsOf(known);
        EXPECT_EQ(Inner(channels.begin(), channels.end()), walked);
        EXPECT_EQ(channels.size(), walked.size()) << "one of each";
        EXPECT_EQ(classes.HasSeveral(known), paths.size() > 1);
      }
    }
  }
}

TEST(PathClassesTest, AreFewHoweverLargeTheFabric) {
  const Graph graph = GraphFrom("{kind: fat_tree, k: 12}");
  const Routing routing(graph);
  PathClasses classes(routing);
  std::set<PathClasses::Class> different;
  for (SwitchId from = 0; from < routing.leaves(); ++from) {
    for (size_t to = 0; to < routing.leaves(); ++to) different.insert(classes.Between(from, to));
  }
  EXPECT_EQ(different.size(), 3u) << "on one edge, in one pod, between pods";
}

TEST(PathClassesTest, AddUpPathsThatShareAnId) {
  const std::string parallel = "{leaves: 2, spines: 2, hosts_per_leaf: 1, links_per_pair: 2";
  EXPECT_EQ(Choices(LeafSpineFrom(parallel + "}"), 0, 1), (Pairs{{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
  // Over spine0, 10 and 5 Gbps; over spine1, 10 and 10.
  EXPECT_EQ(Choices(LeafSpineFrom(parallel + ", asymmetry: [{links: [leaf1-spine0#1], rate: 5Gbps, "
                                             "direction: down}]}"),
                    0, 1),
            (Pairs{{0, 3}, {1, 3}, {2, 4}, {3, 4}}));
}

// Both ways round a ring of four are as short, and no switch is above another.
TEST(PathClassesTest, KnowNoChoiceWithoutUplinks) {
  Graph ring{.hosts = 4, .switches = {{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}}, .links = {}};
  const Channel channel{10_Gbps, 1_us};
  for (size_t i = 0; i < 4; ++i) {
    ring.Connect(ring.VertexOfHost(i), ring.VertexOfSwitch(i), channel);
  }
  for (size_t s = 0; s < 4; ++s) {
    ring.Connect(ring.VertexOfSwitch(s), ring.VertexOfSwitch((s + 1) % 4), channel);
  }
  EXPECT_EQ(Routing(ring).PathsBetween(0, 2).size(), 2u);
  EXPECT_EQ(Choices(ring, 0, 2), (Pairs{{0, 1}}));
  EXPECT_EQ(Choices(ring, 0, 1), (Pairs{{0, 1}}));
}

// A grid of n x n switches has (2n choose n) paths from corner to corner, all alike.
TEST(PathClassesTest, AreNotSlowedByManyPathsThatAreAlike) {
  constexpr uint32_t kSide = 31;
  Graph grid{.hosts = 2, .switches = {}, .links = {}};
  const Channel channel{10_Gbps, 1_us};
  for (uint32_t s = 0; s < kSide * kSide; ++s) grid.switches.push_back({std::to_string(s), 0});
  const auto at = [&](size_t s) { return grid.VertexOfSwitch(s); };
  grid.Connect(grid.VertexOfHost(0), at(0), channel);
  grid.Connect(grid.VertexOfHost(1), at(kSide * kSide - 1), channel);
  for (size_t s = 0; s < kSide * kSide; ++s) {
    if (s % kSide + 1 < kSide) grid.Connect(at(s), at(s + 1), channel);
    if (s + kSide < kSide * kSide) grid.Connect(at(s), at(s + kSide), channel);
  }
  const Routing routing(grid);
  PathClasses classes(routing);
  const auto corner_to_corner = classes.Between(0, 1);
  ASSERT_EQ(classes.ChannelsOf(corner_to_corner).size(), 1u);
  EXPECT_EQ(classes.ChannelsOf(corner_to_corner).front().size(), 2 * (kSide - 1));
  EXPECT_EQ(routing.MostSwitches(), 2 * kSide - 1);
  EXPECT_EQ(Choices(grid, 0, 1), (Pairs{{0, 1}}));
}

// Weights have 16 bits: their unit is 100 Gbps / 65,535 + 1, which is 1,525,903 bps.
TEST(PathClassesTest, WeightsAreRoundedIfRatesHaveNoLargeDivisor) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 3, hosts_per_leaf: 1, host_link: {rate: 100Gbps, delay: 1us}, "
      "fabric_link: {rate: 100Gbps, delay: 1us}, asymmetry: [{spines: [1], rate: 3000001Kbps}, "
      "{spines: [2], rate: 4680Kbps}]}");
  // 65,534.97, 1966.05 and 3.07 units.
  EXPECT_EQ(Choices(graph, 0, 1), (Pairs{{0, 65'535}, {1, 1'966}, {2, 3}}));
  const Graph rounds_up = LeafSpineFrom(
      "{leaves: 2, spines: 2, hosts_per_leaf: 1, host_link: {rate: 100Gbps, delay: 1us}, "
      "fabric_link: {rate: 100Gbps, delay: 1us}, asymmetry: [{spines: [1], rate: 3967Kbps}]}");
  EXPECT_EQ(Choices(rounds_up, 0, 1), (Pairs{{0, 65'535}, {1, 3}}));  // 2.60.
}

}  // namespace heddle::path_classes_test
