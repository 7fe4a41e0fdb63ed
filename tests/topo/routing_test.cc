// SPDX-License-Identifier: Apache-2.0

#include "topo/routing.h"

#include <gtest/gtest.h>
#include <span>

#include <set>
#include <vector>

#include "tests/support/lab.h"

namespace heddle::routing_test {

std::vector<PortIndex> PortsTo(const RoutingTable& table, HostId host) {
  const std::span<const PortIndex> ports = table.Towards(host);
  return {ports.begin(), ports.end()};
}

std::vector<std::pair<int, int>> Choices(const PathTable& table, HostId src, HostId dst) {
  std::vector<std::pair<int, int>> choices;
  for (const PathChoice& path : table.Between(src, dst)) choices.emplace_back(path.id, path.weight);
  return choices;
}

using Pairs = std::vector<std::pair<int, int>>;
using Ports = std::vector<PortIndex>;

// Hosts 0-2 on leaf0, 3-5 on leaf1, 6-8 on leaf2. Ports of a leaf: its hosts, then the spines in
// turn; of a spine: the leaves in turn.
const char* const kThreeByTwo = "{leaves: 3, spines: 2, hosts_per_leaf: 3}";
const char* const kParallel = "{leaves: 3, spines: 2, hosts_per_leaf: 3, links_per_pair: 2}";

TEST(RoutingTest, SendsUpOverAllSpinesAndDownOverOneLink) {
  const Graph graph = LeafSpineFrom(kThreeByTwo);
  const Routing routing(graph);
  const RoutingTable leaf = routing.TableOf(1);
  EXPECT_EQ(leaf.uplinks, (Ports{3, 4}));
  for (HostId h = 0; h < 9; ++h) {
    const bool local = h / 3 == 1;
    EXPECT_EQ(PortsTo(leaf, h), local ? Ports{static_cast<PortIndex>(h % 3)} : (Ports{3, 4})) << h;
  }
  const RoutingTable spine = routing.TableOf(3);
  EXPECT_TRUE(spine.uplinks.empty());
  for (HostId h = 0; h < 9; ++h) {
    EXPECT_EQ(PortsTo(spine, h), Ports{static_cast<PortIndex>(h / 3)}) << h;
  }
  EXPECT_EQ(spine.sets.size(), 3u) << "hosts with the same next hops share a set";
}

TEST(RoutingTest, UsesParallelLinksBothWays) {
  const Graph graph = LeafSpineFrom(kParallel);
  const Routing routing(graph);
  EXPECT_EQ(PortsTo(routing.TableOf(0), 4), (Ports{3, 4, 5, 6}));
  EXPECT_EQ(PortsTo(routing.TableOf(4), 4), (Ports{2, 3}));  // spine1, to leaf1.
}

TEST(RoutingTest, KnowsTheLeafOfEachHost) {
  const Graph graph = LeafSpineFrom(kThreeByTwo);
  const Routing routing(graph);
  for (HostId h = 0; h < 9; ++h) EXPECT_EQ(routing.LeafOf(h), h / 3);
  EXPECT_EQ(routing.leaves(), 3u);
}

TEST(RoutingTest, ListsEveryShortestPathAsItsChannels) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 2, hosts_per_leaf: 2, asymmetry: [{links: [leaf1-spine0], direction: "
      "down, rate: 2Gbps}]}");
  const Routing routing(graph);
  const auto paths = routing.PathsBetween(0, 2);
  ASSERT_EQ(paths.size(), 2u);
  for (const std::vector<Channel>& path : paths) EXPECT_EQ(path.size(), 4u);
  EXPECT_EQ(paths[0][2].rate, 2_Gbps);
  EXPECT_EQ(paths[1][2].rate, 10_Gbps);
  const auto back = routing.PathsBetween(2, 0);
  for (const Channel& channel : back[0]) EXPECT_EQ(channel.rate, 10_Gbps);
  EXPECT_EQ(routing.PathsBetween(0, 1).size(), 1u);
  EXPECT_EQ(routing.PathsBetween(0, 1)[0].size(), 2u);
}

TEST(RoutingTest, MeasuresTheFabric) {
  const Graph two_tiers = LeafSpineFrom("{leaves: 4, spines: 5, hosts_per_leaf: 2}");
  EXPECT_EQ(Routing(two_tiers).MostSwitches(), 3u);
  EXPECT_EQ(Routing(two_tiers).path_ids(), 5u);
  EXPECT_DOUBLE_EQ(Routing(two_tiers).MeanLinks(), 4);
  const Graph three_tiers = GraphFrom("{kind: fat_tree, k: 4, core_links_per_agg: 3}");
  EXPECT_EQ(Routing(three_tiers).MostSwitches(), 5u);
  EXPECT_EQ(Routing(three_tiers).path_ids(), 6u);
  EXPECT_DOUBLE_EQ(Routing(three_tiers).MeanLinks(), (4 + 6 * 6) / 7.0);
}

// --- Paths that hosts choose from ---

TEST(PathTableTest, OffersOnePathPerSpineWithEqualWeights) {
  const Graph graph = LeafSpineFrom(kThreeByTwo);
  const auto table = Routing(graph).MakePathTable();
  EXPECT_EQ(Choices(*table, 0, 3), (Pairs{{0, 1}, {1, 1}}));
  EXPECT_EQ(Choices(*table, 8, 1), (Pairs{{0, 1}, {1, 1}}));
  EXPECT_TRUE(table->Between(0, 2).empty()) << "nothing to choose within a leaf";
  EXPECT_EQ(table->LeafOf(7), 2);
}

TEST(PathTableTest, WeighsPathsByTheirSlowestLink) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 3, spines: 4, hosts_per_leaf: 1, fabric_link: {rate: 40Gbps}, asymmetry: [{links: "
      "[leaf0-spine1], rate: 10Gbps}, {links: [leaf1-spine2], rate: 20Gbps}]}");
  const auto table = Routing(graph).MakePathTable();
  EXPECT_EQ(Choices(*table, 0, 1), (Pairs{{0, 4}, {1, 1}, {2, 2}, {3, 4}}));
  EXPECT_EQ(Choices(*table, 0, 2), (Pairs{{0, 4}, {1, 1}, {2, 4}, {3, 4}}));
  EXPECT_EQ(Choices(*table, 1, 2), (Pairs{{0, 2}, {1, 2}, {2, 1}, {3, 2}}));
}

// A packet that follows path id p leaves its leaf through uplink p, and its record says so.
TEST(PathTableTest, NamesUplinksAsSwitchesDo) {
  for (uint16_t path = 0; path < 3; ++path) {
    Lab lab(FollowingPath(LeafSpineFrom("{leaves: 2, spines: 3, hosts_per_leaf: 1}"), path));
    lab.AddFlow(0, 1, 100'000);
    lab.Run();
    EXPECT_EQ(lab.Record(0).receiver.paths_used, 1);
    for (uint16_t spine = 0; spine < 3; ++spine) {
      FifoPort& uplink = lab.PortTo(lab.SwitchVertex(0), lab.SwitchVertex(2 + spine));
      EXPECT_EQ(uplink.Committed().packets, spine == path ? 69 : 0);
    }
  }
}

TEST(PathTableTest, CountsThePathsThatWereUsed) {
  Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 3, hosts_per_leaf: 1, links_per_pair: 2}"),
           .transport = "{kind: tcp, dupthresh: inf}",
           .balancer = "{kind: rps}"});
  lab.AddFlow(0, 1, 1'000'000);
  lab.Run();
  EXPECT_EQ(lab.Record(0).receiver.paths_used, 6);
  EXPECT_EQ(lab.Record(0).receiver.hops, 4);
}

// --- Islands ---

TEST(RoutingTest, NamesLeavesThatCannotReachEachOther) {
  Graph islands{.hosts = 3, .switches = {{"a", 0}, {"b", 0}, {"c", 0}}, .links = {}};
  const Channel channel{10_Gbps, 1_us};
  for (size_t i = 0; i < 3; ++i) {
    islands.Connect(islands.VertexOfHost(i), islands.VertexOfSwitch(i), channel);
  }
  islands.Connect(islands.VertexOfSwitch(0), islands.VertexOfSwitch(1), channel);
  const Routing routing(islands);
  const std::vector<std::string> pairs = routing.Unreachable();
  EXPECT_EQ(std::set<std::string>(pairs.begin(), pairs.end()),
            (std::set<std::string>{"c cannot reach a", "c cannot reach b", "a cannot reach c",
                                   "b cannot reach c"}));
  EXPECT_TRUE(PortsTo(routing.TableOf(0), 2).empty());
  EXPECT_TRUE(routing.MakePathTable()->Between(0, 2).empty());
  const Graph connected = LeafSpineFrom(kParallel);
  EXPECT_TRUE(Routing(connected).Unreachable().empty());
}

// Several links to one switch are one place, also while some of them are down.
TEST(RoutingTest, HostsOfOneSwitchAreOneRackHoweverManyLinksTheyHave) {
  Graph graph = GraphFrom(
      "{kind: custom, hosts: 2, switches: [{name: s}], link: {rate: 10Gbps, delay: 1us}, "
      "links: [{a: host0, b: s}, {a: host1, b: s}, {a: host1, b: s}]}");
  for (const bool is_up : {true, false}) {
    graph.links.back().up = is_up;
    const Routing routing(graph);
    EXPECT_EQ(routing.leaves(), 1u);
    EXPECT_EQ(routing.LeafIndexOf(0), routing.LeafIndexOf(1));
    EXPECT_EQ(routing.FirstHopsOf(0).sets.size(), 1u);
  }
}

}  // namespace heddle::routing_test
