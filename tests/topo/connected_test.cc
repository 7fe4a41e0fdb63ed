// SPDX-License-Identifier: Apache-2.0
// Draws shares of the links of a network, and checks what is left of it.

#include "topo/connected.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/random_graph.h"
#include "topo/routing.h"

namespace heddle::connected_test {

Graph Small() { return LeafSpineFrom("{leaves: 8, spines: 8, hosts_per_leaf: 1}"); }

Graph Without(Graph graph, const std::set<size_t>& links) {
  for (const size_t link : links) graph.links[link].up = false;
  return graph;
}

TEST(DrawShareTest, RoundsToTheNearestNumberOfLinksBetweenSwitches) {
  Graph graph = Small();
  std::swap(graph.links[1].a, graph.links[1].b);  // A custom topology may name the host last.
  for (const auto& [share, links] : {std::pair{0.0, 0u}, {0.1, 6u}, {0.5, 32u}, {1.0, 64u}}) {
    Rng rng = Rng::Stream(1, "test", 0);
    const std::set<size_t> drawn = DrawShare(graph, share, false, rng);
    EXPECT_EQ(drawn.size(), links);
    for (const size_t link : drawn) {
      EXPECT_FALSE(graph.IsHost(graph.links[link].a) || graph.IsHost(graph.links[link].b));
    }
  }
}

// With 90 % of its links a leaf pair is all but surely cut off.
TEST(DrawShareTest, KeepsAShortestPathBetweenAllLeaves) {
  const Graph graph = Small();
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Rng rng = Rng::Stream(seed, "test", 0);
    const std::set<size_t> drawn = DrawShare(graph, 0.9, true, rng);
    const Graph rest = Without(graph, drawn);
    const Routing routing(rest);
    EXPECT_TRUE(routing.Unreachable().empty());
    for (size_t leaf = 0; leaf < 8; ++leaf) {
      for (SwitchId s = 0; s < 8; ++s) {
        if (routing.HasHosts(s)) {
          EXPECT_LE(routing.DistanceTo(s, leaf), 2u);
        }
      }
    }
    EXPECT_GT(drawn.size(), 30u);
    Rng same = Rng::Stream(seed, "test", 0);
    const Graph torn = Without(graph, DrawShare(graph, 0.9, false, same));
    EXPECT_FALSE(Routing(torn).Unreachable().empty());
  }
}

TEST(DrawShareTest, DependsOnTheSeed) {
  const Graph graph = Small();
  Rng one = Rng::Stream(1, "test", 0);
  Rng same = Rng::Stream(1, "test", 0);
  Rng other = Rng::Stream(2, "test", 0);
  const std::set<size_t> drawn = DrawShare(graph, 0.25, true, one);
  EXPECT_EQ(DrawShare(graph, 0.25, true, same), drawn);
  EXPECT_NE(DrawShare(graph, 0.25, true, other), drawn);
}

// The distances between switches with hosts, without some links.
std::vector<uint32_t> Distances(const Graph& graph, const std::set<size_t>& without) {
  const Graph rest = Without(graph, without);
  const Routing routing(rest);
  std::vector<uint32_t> distances;
  for (SwitchId s = 0; s < graph.switches.size(); ++s) {
    for (size_t leaf = 0; leaf < routing.leaves(); ++leaf) {
      if (routing.HasHosts(s)) distances.push_back(routing.DistanceTo(s, leaf));
    }
  }
  return distances;
}

// No further link of those drawn could fail without making some way longer.
TEST(DrawShareTest, LeavesOutNoMoreLinksThanItMust) {
  Rng shapes = Rng::Stream(1, "connected test", 0);
  size_t left_out = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Graph graph = DrawGraph({.hosts = 3 + shapes.Below(5),
                                   .switches = 3 + shapes.Below(4),
                                   .links = 3 + shapes.Below(12),
                                   .nics = 1,
                                   .broken = 0},
                                  shapes);
    Rng rng = Rng::Stream(seed, "test", 0);
    Rng same = Rng::Stream(seed, "test", 0);
    const std::set<size_t> all = DrawShare(graph, 0.6, false, rng);
    const std::set<size_t> kept = DrawShare(graph, 0.6, true, same);
    const std::vector<uint32_t> whole = Distances(graph, {});
    EXPECT_EQ(Distances(graph, kept), whole) << seed;
    EXPECT_TRUE(std::ranges::includes(all, kept));
    for (const size_t link : all) {
      if (kept.contains(link)) continue;
      ++left_out;
      std::set<size_t> more = kept;
      more.insert(link);
      EXPECT_NE(Distances(graph, more), whole) << seed;
    }
  }
  EXPECT_GT(left_out, 100u);
}

}  // namespace heddle::connected_test
