// SPDX-License-Identifier: Apache-2.0

#include "topo/path_ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tests/support/lab.h"

namespace heddle::path_ids_test {

using Ids = std::vector<uint16_t>;

SwitchId Named(const Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.switches, name, &Graph::SwitchVertex::name);
  EXPECT_NE(found, graph.switches.end()) << name;
  return static_cast<SwitchId>(found - graph.switches.begin());
}

TEST(PathIdsTest, NameASpineEach) {
  const Graph graph = GraphFrom("{kind: leaf_spine, leaves: 2, spines: 3, hosts_per_leaf: 2}");
  const Routing routing(graph);
  EXPECT_EQ(PathIds(routing, 0, 2, std::nullopt), (Ids{0, 1, 2}));
  EXPECT_EQ(PathIds(routing, 3, 1, Named(graph, "spine1")), Ids{1});
  EXPECT_EQ(PathIds(routing, 0, 2, Named(graph, "leaf1")), (Ids{0, 1, 2}));
  EXPECT_EQ(PathIds(routing, 0, 1, std::nullopt), Ids{}) << "on one leaf";
}

TEST(PathIdsTest, AreSeveralForOneSpineWithParallelLinks) {
  const Graph graph =
      GraphFrom("{kind: leaf_spine, leaves: 2, spines: 3, hosts_per_leaf: 2, links_per_pair: 2}");
  const Routing routing(graph);
  EXPECT_EQ(PathIds(routing, 0, 2, std::nullopt), (Ids{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(PathIds(routing, 0, 2, Named(graph, "spine2")), (Ids{4, 5}));
}

// Every switch that a walk over all paths passes, by the path's id.
std::map<uint16_t, std::vector<std::set<SwitchId>>> Walks(const Routing& routing, SwitchId s,
                                                          HostId dst) {
  if (s == routing.LeafOf(dst)) return {{0, {{s}}}};
  std::map<uint16_t, std::vector<std::set<SwitchId>>> walks;
  for (const PortIndex port : routing.TableOf(s).Towards(dst)) {
    const SwitchId next = routing.SwitchAt(routing.PortsOf(s)[port].peer);
    for (const auto& [id, ways] : Walks(routing, next, dst)) {
      for (std::set<SwitchId> way : ways) {
        way.insert(s);
        walks[static_cast<uint16_t>(id + routing.PathPart(s, port))].push_back(way);
      }
    }
  }
  return walks;
}

TEST(PathIdsTest, AreThoseAllOfWhosePathsPassTheSwitch) {
  for (const char* fabric :
       {"{kind: fat_tree, k: 4}", "{kind: fat_tree, k: 6, core_links_per_agg: 1}",
        "{kind: leaf_spine, leaves: 3, spines: 2, hosts_per_leaf: 2, links_per_pair: 3}",
        "{kind: custom, hosts: 4, switches: [{name: a}, {name: b}, {name: c}, {name: d}], links: "
        "[{a: host0, b: a}, {a: host1, b: b}, {a: host2, b: c}, {a: host3, b: d}, {a: a, b: b}, "
        "{a: b, b: c}, {a: c, b: d}, {a: d, b: a}]}"}) {
    SCOPED_TRACE(fabric);
    const Graph graph = GraphFrom(fabric);
    const Routing routing(graph);
    const HostId src = 0;
    for (uint32_t h = 1; h < graph.hosts; ++h) {
      const HostId dst = static_cast<HostId>(h);
      if (routing.LeafOf(src) == routing.LeafOf(dst)) continue;
      const auto walks = Walks(routing, routing.LeafOf(src), dst);
      for (SwitchId s = 0; s < graph.switches.size(); ++s) {
        Ids expected;
        for (const auto& [id, ways] : walks) {
          const auto passes = [&](const auto& way) { return way.contains(s); };
          if (std::ranges::all_of(ways, passes)) expected.push_back(id);
        }
        EXPECT_EQ(PathIds(routing, src, dst, s), expected) << dst << " " << graph.switches[s].name;
      }
    }
  }
}

// Round a ring of leaves there are two ways, but no uplinks: nothing to pin to.
TEST(PathIdsTest, AreNoneWhereSwitchesChooseByThemselves) {
  const Graph graph = GraphFrom(
      "{kind: custom, hosts: 4, switches: [{name: a}, {name: b}, {name: c}, {name: d}], links: "
      "[{a: host0, b: a}, {a: host1, b: b}, {a: host2, b: c}, {a: host3, b: d}, {a: a, b: b}, "
      "{a: b, b: c}, {a: c, b: d}, {a: d, b: a}]}");
  EXPECT_EQ(PathIds(Routing(graph), 0, 2, Named(graph, "b")), Ids{});
  EXPECT_EQ(PathIds(Routing(graph), 0, 2, std::nullopt), Ids{0});
}

}  // namespace heddle::path_ids_test
