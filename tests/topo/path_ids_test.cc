// SPDX-License-Identifier: Apache-2.0

#include "topo/path_ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/lab.h"
#include "tests/support/random_graph.h"

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

// --- Ids from uplinks ---

using Uplinks = std::vector<int64_t>;

// A shortest path, as the switches that it passes, the ports that it leaves them by, and its
// uplinks, each counted among those of its switch.
struct Walk {
  std::vector<SwitchId> switches;
  std::vector<PortIndex> ports;
  Uplinks uplinks;
  uint32_t id = 0;
};

void WalkAll(const Routing& routing, SwitchId s, HostId dst, Walk walk, std::vector<Walk>& walks) {
  walk.switches.push_back(s);
  if (routing.IsAttached(s, dst)) return walks.push_back(walk);
  for (const PortIndex port : routing.TableOf(s).Towards(dst)) {
    Walk longer = walk;
    longer.ports.push_back(port);
    const std::vector<PortIndex>& uplinks = routing.TableOf(s).uplinks;
    const auto uplink = std::ranges::find(uplinks, port);
    if (uplink != uplinks.end()) longer.uplinks.push_back(uplink - uplinks.begin());
    longer.id += routing.PathPart(s, port);
    WalkAll(routing, routing.SwitchAt(routing.PortsOf(s)[port].peer), dst, longer, walks);
  }
}

std::vector<Walk> WalksBetween(const Routing& routing, HostId src, HostId dst) {
  std::vector<Walk> walks;
  WalkAll(routing, routing.LeafOf(src), dst, {}, walks);
  return walks;
}

// Where a switch sends a packet that follows a path's id: through the uplink that the id's digit
// names, if it leads to the destination; else it chooses.
std::vector<PortIndex> PortsOf(const Routing& routing, SwitchId s, HostId dst, uint32_t id) {
  const RoutingTable& table = routing.TableOf(s);
  const std::span<const PortIndex> all = table.Towards(dst);
  if (!table.uplinks.empty()) {
    const PortIndex named = table.uplinks[id / table.path_divisor % table.uplinks.size()];
    if (std::ranges::find(all, named) != all.end()) return {named};
  }
  return {all.begin(), all.end()};
}

// Leaf-spines with single and with parallel links; fat-trees, the second of which has two links
// down.
std::vector<Graph> Fabrics() {
  std::vector<Graph> graphs = {
      GraphFrom("{kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 2}"),
      GraphFrom("{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 1, links_per_pair: 3}"),
      GraphFrom("{kind: fat_tree, k: 4}"), GraphFrom("{kind: fat_tree, k: 4}"),
      GraphFrom("{kind: fat_tree, k: 6, core_links_per_agg: 2, hosts_per_edge: 1}")};
  for (Graph::Link& link : graphs[3].links) {
    if (link.name == "edge0-agg0" || link.name == "agg3-core2") link.up = false;
  }
  return graphs;
}

TEST(PathIdOfTest, APacketWithTheIdTakesTheUplinksThatWereNamed) {
  for (const Graph& graph : Fabrics()) {
    const Routing routing(graph);
    for (HostId dst = 1; dst < graph.hosts; ++dst) {
      std::set<Uplinks> ways;
      for (const Walk& walk : WalksBetween(routing, 0, dst)) ways.insert(walk.uplinks);
      const size_t length = ways.begin()->size();
      // All choices of uplinks, one too low and one too high included.
      const auto most = static_cast<int64_t>(routing.TableOf(routing.LeafOf(0)).uplinks.size());
      std::vector<Uplinks> choices = {{}};
      for (size_t i = 0; i < length; ++i) {
        std::vector<Uplinks> longer;
        for (const Uplinks& choice : choices) {
          for (int64_t uplink = -1; uplink <= most; ++uplink) {
            longer.push_back(choice);
            longer.back().push_back(uplink);
          }
        }
        choices = longer;
      }
      for (const Uplinks& choice : choices) {
        std::string refused;
        const uint16_t id = PathIdOf(routing, 0, dst, choice,
                                     [&](std::string_view message) { refused += message; });
        if (!ways.contains(choice)) {
          EXPECT_EQ(id, kNoPath);
          EXPECT_NE(refused.find("no shortest path from host 0 to host " + std::to_string(dst) +
                                 " takes uplink "),
                    std::string::npos)
              << refused;
          continue;
        }
        EXPECT_EQ(refused, "");
        SwitchId s = routing.LeafOf(0);
        for (const int64_t uplink : choice) {
          const PortIndex port = routing.TableOf(s).uplinks[static_cast<size_t>(uplink)];
          EXPECT_EQ(PortsOf(routing, s, dst, id), std::vector<PortIndex>{port});
          s = routing.SwitchAt(routing.PortsOf(s)[port].peer);
        }
      }
    }
  }
}

TEST(PathIdOfTest, SaysWhichUplinkLeadsNowhere) {
  const Graph graph = Fabrics()[3];
  const Routing routing(graph);
  const auto refusal = [&](HostId src, HostId dst, const Uplinks& uplinks) {
    std::string refused;
    EXPECT_EQ(
        PathIdOf(routing, src, dst, uplinks, [&](std::string_view message) { refused += message; }),
        kNoPath);
    return refused;
  };
  EXPECT_EQ(refusal(0, 15, {1}), "names 1 uplinks, but a path from host 0 to host 15 has 2");
  EXPECT_EQ(refusal(0, 15, {1, 0, 0}), "names 3 uplinks, but a path from host 0 to host 15 has 2");
  EXPECT_EQ(refusal(0, 1, {0}),
            "names 1 uplinks, but a path from host 0 to host 1 has 0; there is nothing to choose, "
            "leave it empty");
  EXPECT_EQ(refusal(0, 15, {0, 1}),
            "no shortest path from host 0 to host 15 takes uplink 0; that switch has 2, numbered "
            "from 0");
  EXPECT_EQ(refusal(0, 15, {1, 2}),
            "no shortest path from host 0 to host 15 takes uplink 2; that switch has 2, numbered "
            "from 0");
  EXPECT_EQ(PathIdOf(routing, 0, 1, {}, [](std::string_view) { ADD_FAILURE(); }), 0);
}

// --- Paths there and back ---

// The messages about all paths that an id does not lead back, the first one first.
std::vector<std::string> Unmirrored(const Graph& graph) {
  const Routing routing(graph);
  std::vector<std::string> all;
  for (const HostId src : routing.first_hosts()) {
    for (const HostId dst : routing.first_hosts()) {
      for (const Walk& walk : WalksBetween(routing, src, dst)) {
        for (size_t i = walk.switches.size() - 1; i > 0; --i) {
          const SwitchId s = walk.switches[i];
          const auto strays = [&](PortIndex port) {
            return routing.PortsOf(s)[port].peer != graph.VertexOfSwitch(walk.switches[i - 1]);
          };
          if (!std::ranges::any_of(PortsOf(routing, s, src, walk.id), strays)) continue;
          all.push_back("host" + std::to_string(src) + " to host" + std::to_string(dst) +
                        " cannot go back through " + graph.switches[s].name);
          break;
        }
      }
    }
  }
  return all;
}

TEST(UnmirroredPathTest, RegularFabricsHaveNone) {
  for (const Graph& graph : Fabrics()) {
    if (!std::ranges::all_of(graph.links, &Graph::Link::up)) continue;
    EXPECT_EQ(FindUnmirroredPath(Routing(graph), graph), "");
    EXPECT_TRUE(Unmirrored(graph).empty());
  }
}

// The second leaf has its spines in another order than the first.
TEST(UnmirroredPathTest, IsOneThatTheOtherEndNumbersOtherwise) {
  const std::string start =
      "{kind: custom, hosts: 2, switches: [{name: a}, {name: b}, {name: x}, {name: y}], links: "
      "[{a: host0, b: a}, {a: host1, b: b}, {a: a, b: x}, {a: a, b: y}, ";
  const Graph mirrored = GraphFrom(start + "{a: b, b: x}, {a: b, b: y}]}");
  EXPECT_EQ(FindUnmirroredPath(Routing(mirrored), mirrored), "");
  const Graph crossed = GraphFrom(start + "{a: b, b: y}, {a: b, b: x}]}");
  EXPECT_EQ(FindUnmirroredPath(Routing(crossed), crossed),
            "host0 to host1 cannot go back through b");
}

TEST(UnmirroredPathTest, IsTheFirstInNetworksOfAnyShape) {
  Rng rng = Rng::Stream(1, "path ids test", 0);
  size_t without = 0;
  size_t with = 0;
  for (int n = 0; n < 400; ++n) {
    Graph graph = DrawGraph({.hosts = 2 + rng.Below(3),
                             .switches = 2 + rng.Below(4),
                             .links = 2 + rng.Below(8),
                             .nics = n % 2 == 0 ? 1u : 3u,
                             .tiers = 1 + rng.Below(3),
                             .broken = n % 3 == 0 ? 0.1 : 0},
                            rng);
    const Routing routing(graph);
    if (!routing.Unreachable().empty()) continue;
    const std::vector<std::string> all = Unmirrored(graph);
    EXPECT_EQ(FindUnmirroredPath(routing, graph), all.empty() ? "" : all.front()) << n;
    ++(all.empty() ? without : with);
  }
  EXPECT_GT(without, 50u);
  EXPECT_GT(with, 50u);
}

// Ids of paths through a switch, as all walks have them.
TEST(PathIdsTest, AgreeWithAllWalksInNetworksOfAnyShape) {
  Rng rng = Rng::Stream(1, "path ids test", 1);
  for (int n = 0; n < 200; ++n) {
    const Graph graph = DrawGraph({.hosts = 4, .switches = 6, .links = 10, .broken = 0.1}, rng);
    const Routing routing(graph);
    for (HostId dst = 0; dst < graph.hosts; ++dst) {
      const bool is_near = routing.IsAttached(routing.LeafOf(0), dst);
      std::set<uint32_t> all;
      std::map<SwitchId, std::set<uint32_t>> past;
      for (const Walk& walk : WalksBetween(routing, 0, dst)) {
        if (is_near) break;
        all.insert(walk.id);
        for (SwitchId s = 0; s < graph.switches.size(); ++s) {
          if (!std::ranges::count(walk.switches, s)) past[s].insert(walk.id);
        }
      }
      EXPECT_EQ(PathIds(routing, 0, dst, std::nullopt), Ids(all.begin(), all.end()));
      for (SwitchId s = 0; s < graph.switches.size(); ++s) {
        Ids through;
        std::ranges::set_difference(all, past[s], std::back_inserter(through));
        EXPECT_EQ(PathIds(routing, 0, dst, s), through);
      }
    }
  }
}

}  // namespace heddle::path_ids_test
