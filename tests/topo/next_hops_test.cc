// SPDX-License-Identifier: Apache-2.0
// Tests of next hops: the capacity behind them, and which of them are alike.

#include "topo/next_hops.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/lab.h"

namespace heddle::next_hops_test {

// Returns the next hops of switch `name` towards leaf `leaf`.
std::vector<NextHop> Of(const Graph& graph, const std::string& name, size_t leaf) {
  const Routing routing(graph);
  NextHops next_hops(routing);
  SwitchId s = 0;
  while (graph.switches[s].name != name) ++s;
  const NextHopTable table = next_hops.TableOf(s);
  return table.sets[table.set_of_leaf[leaf]];
}

std::vector<int64_t> CapacitiesOf(const std::vector<NextHop>& hops) {
  std::vector<int64_t> gbps;
  for (const NextHop& hop : hops) gbps.push_back(hop.capacity / 1'000'000'000);
  return gbps;
}
std::vector<int64_t> KindsOf(const std::vector<NextHop>& hops) {
  std::vector<int64_t> kinds;
  for (const NextHop& hop : hops) kinds.push_back(hop.kind);
  return kinds;
}

Graph Without(Graph graph, const std::string& link) {
  for (Graph::Link& its : graph.links) {
    if (its.name == link) its.up = false;
  }
  return graph;
}

using Numbers = std::vector<int64_t>;

TEST(NextHopsTest, ADownlinkCountsTowardsItsLeafAlone) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 3, spines: 4, hosts_per_leaf: 1, asymmetry: [{links: [leaf2-spine1], rate: "
      "5Gbps}]}");
  EXPECT_EQ(CapacitiesOf(Of(graph, "leaf0", 2)), (Numbers{10, 5, 10, 10}));
  EXPECT_EQ(CapacitiesOf(Of(graph, "leaf0", 1)), (Numbers{10, 10, 10, 10}));
  EXPECT_EQ(KindsOf(Of(graph, "leaf0", 2)), (Numbers{0, 1, 0, 0}));
  EXPECT_EQ(CapacitiesOf(Of(graph, "spine1", 2)), (Numbers{5}));
  EXPECT_TRUE(Of(graph, "leaf2", 2).empty());
}

TEST(NextHopsTest, ParallelLinksAddUp) {
  const Graph graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 1, links_per_pair: 2}");
  // Each uplink leads to a spine with two links down.
  EXPECT_EQ(CapacitiesOf(Of(graph, "leaf0", 1)), (Numbers{20, 20, 20, 20}));
  EXPECT_EQ(KindsOf(Of(graph, "leaf0", 1)), (Numbers{0, 0, 0, 0}));
}

// Leaf 1 cannot reach leaf 2 over spine 0, so traffic there meets less of others.
TEST(NextHopsTest, SpinesThatAreFedByOthersAreOfAnotherKind) {
  const Graph graph =
      Without(LeafSpineFrom("{leaves: 4, spines: 4, hosts_per_leaf: 1}"), "leaf1-spine0");
  EXPECT_EQ(KindsOf(Of(graph, "leaf0", 2)), (Numbers{0, 1, 1, 1}));
  EXPECT_EQ(KindsOf(Of(graph, "leaf3", 2)), (Numbers{0, 1, 1, 1}));
  EXPECT_EQ(KindsOf(Of(graph, "leaf1", 2)), (Numbers{0, 0, 0}));
  EXPECT_EQ(CapacitiesOf(Of(graph, "leaf0", 2)), (Numbers{10, 10, 10, 10}));
}

TEST(NextHopsTest, ASymmetricFatTreeHasOneKindEverywhere) {
  const Graph graph = GraphFrom("{kind: fat_tree, k: 6}");
  for (size_t leaf = 0; leaf < 18; ++leaf) {
    for (const char* name : {"edge0", "agg0", "core0", "edge17"}) {
      for (const int64_t kind : KindsOf(Of(graph, name, leaf))) EXPECT_EQ(kind, 0) << name;
    }
  }
  EXPECT_EQ(CapacitiesOf(Of(graph, "edge0", 17)), (Numbers{30, 30, 30}));
  EXPECT_EQ(CapacitiesOf(Of(graph, "edge0", 1)), (Numbers{10, 10, 10}));
}

TEST(NextHopsTest, AFailureAboveShowsBelow) {
  const Graph graph = Without(GraphFrom("{kind: fat_tree, k: 4}"), "agg0-core0");
  // The first aggregation switch of edge 0 has one of its two uplinks left.
  EXPECT_EQ(CapacitiesOf(Of(graph, "edge0", 7)), (Numbers{10, 20}));
  EXPECT_EQ(KindsOf(Of(graph, "edge0", 7)), (Numbers{0, 1}));
  // Cores 0 and 1 are fed by different pods now: from another pod they are told apart.
  EXPECT_EQ(KindsOf(Of(graph, "agg2", 7)), (Numbers{0, 1}));
}

TEST(NextHopsTest, AFailureAboveShowsOnTheWayDownToo) {
  const Graph graph = Without(GraphFrom("{kind: fat_tree, k: 4}"), "agg0-core0");
  // One core feeds the first aggregation switch of the pod, two the second.
  EXPECT_EQ(CapacitiesOf(Of(graph, "edge1", 0)), (Numbers{10, 10}));
  EXPECT_EQ(KindsOf(Of(graph, "edge1", 0)), (Numbers{0, 1}));
}

// Of each two links to cores one is slow: the first of one switch, and the second of the other.
TEST(NextHopsTest, TheOrderOfLinksMakesNoKind) {
  const Graph graph = GraphFrom(
      "{kind: fat_tree, k: 4, asymmetry: [{links: [agg0-core0, agg1-core3], rate: 5Gbps}]}");
  EXPECT_EQ(CapacitiesOf(Of(graph, "edge0", 2)), (Numbers{15, 15}));
  EXPECT_EQ(KindsOf(Of(graph, "edge0", 2)), (Numbers{0, 0}));
  EXPECT_EQ(KindsOf(Of(graph, "agg0", 2)), (Numbers{0, 1}));
}

// Hosts 0 and 1 have links to A and B. Host 1 has lost both, and host 0 the one to A: it is a group
// of its own, and must not stand for the leaf, which host 1 alone belongs to.
TEST(NextHopsTest, AreAsManyAsTheCandidatesHoweverHostsAreCut) {
  const std::vector<std::pair<std::string, std::string>> ends = {
      {"host0", "A"}, {"host0", "B"}, {"host1", "A"}, {"host1", "B"}, {"host2", "C"},
      {"C", "S1"},    {"C", "S2"},    {"C", "S3"},    {"C", "S4"},    {"S1", "A"},
      {"S2", "A"},    {"S3", "A"},    {"S4", "B"}};
  std::string links;
  for (const auto& [a, b] : ends) links += fmt::format("{{a: {}, b: {}}}, ", a, b);
  Graph graph = GraphFrom(
      "{kind: custom, hosts: 3, switches: [{name: A}, {name: B}, {name: C}, {name: S1}, {name: "
      "S2}, {name: S3}, {name: S4}], links: [" +
      links + "]}");
  for (const char* link : {"host0-A", "host1-A", "host1-B"}) graph = Without(graph, link);
  const Routing routing(graph);
  NextHops next_hops(routing);
  for (SwitchId s = 0; s < routing.switches(); ++s) {
    const NextHopTable table = next_hops.TableOf(s);
    for (HostId host = 0; host < 3; ++host) {
      const size_t candidates =
          routing.IsAttached(s, host) ? 0 : routing.TableOf(s).Towards(host).size();
      EXPECT_EQ(table.Towards(host, routing.LeafIndexOf(host)).size(), candidates)
          << graph.switches[s].name << " to host " << host;
    }
  }
}

}  // namespace heddle::next_hops_test
