// SPDX-License-Identifier: Apache-2.0

#include "topo/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "fabric/ecmp_routes.h"
#include "tests/support/lab.h"
#include "tests/support/random_graph.h"

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

// --- Networks of any shape, beside a plain search ---

constexpr uint32_t kFar = std::numeric_limits<uint32_t>::max();

class PlainRouting {
 public:
  explicit PlainRouting(const Graph& graph) : graph_(graph), adjacency_(graph) {
    const size_t n = graph.switches.size();
    hops_.assign(n, std::vector<uint32_t>(n, kFar));
    for (SwitchId s = 0; s < n; ++s) {
      hops_[s][s] = 0;
      for (const Adjacency::Port& port : PortsOf(s)) {
        if (port.up && !graph.IsHost(port.peer))
          hops_[s][graph.SwitchAt(port.peer)] = s == graph.SwitchAt(port.peer) ? 0 : 1;
      }
    }
    for (size_t k = 0; k < n; ++k) {  // Floyd and Warshall.
      for (size_t i = 0; i < n; ++i) {
        if (hops_[i][k] == kFar) continue;
        for (size_t j = 0; j < n; ++j) {
          if (hops_[k][j] != kFar) hops_[i][j] = std::min(hops_[i][j], hops_[i][k] + hops_[k][j]);
        }
      }
    }
  }

  const std::vector<Adjacency::Port>& PortsOf(SwitchId s) const {
    return adjacency_.Of(graph_.VertexOfSwitch(s));
  }
  const std::vector<Adjacency::Port>& NicsOf(HostId h) const {
    return adjacency_.Of(graph_.VertexOfHost(h));
  }
  std::set<SwitchId> AllOf(HostId h) const {
    std::set<SwitchId> all;
    for (const Adjacency::Port& nic : NicsOf(h)) all.insert(graph_.SwitchAt(nic.peer));
    return all;
  }
  // The links that a host can use: those that are up, or all if none is.
  std::vector<PortIndex> NicsInUse(HostId h) const {
    std::vector<PortIndex> up, all;
    for (size_t i = 0; i < NicsOf(h).size(); ++i) {
      all.push_back(static_cast<PortIndex>(i));
      if (NicsOf(h)[i].up) up.push_back(static_cast<PortIndex>(i));
    }
    return up.empty() ? all : up;
  }
  std::set<SwitchId> Behind(HostId h) const {
    std::set<SwitchId> reached;
    for (const PortIndex nic : NicsInUse(h)) reached.insert(graph_.SwitchAt(NicsOf(h)[nic].peer));
    return reached;
  }
  uint32_t Distance(SwitchId s, const std::set<SwitchId>& to) const {
    uint32_t least = kFar;
    for (const SwitchId t : to) least = std::min(least, hops_[s][t]);
    return least;
  }
  Ports Towards(SwitchId s, HostId dst) const {
    Ports ports;
    const uint32_t here = Distance(s, Behind(dst));
    for (size_t p = 0; p < PortsOf(s).size(); ++p) {
      const Adjacency::Port& port = PortsOf(s)[p];
      if (!port.up) continue;
      const bool leads = here == 0 ? port.peer == graph_.VertexOfHost(dst)
                                   : !graph_.IsHost(port.peer) &&
                                         Distance(graph_.SwitchAt(port.peer), Behind(dst)) < here;
      if (leads) ports.push_back(static_cast<PortIndex>(p));
    }
    return ports;
  }
  Ports FirstHops(HostId src, HostId dst) const {
    uint32_t least = kFar;
    const auto from = [&](PortIndex nic) {
      return Distance(graph_.SwitchAt(NicsOf(src)[nic].peer), Behind(dst));
    };
    for (const PortIndex nic : NicsInUse(src)) least = std::min(least, from(nic));
    Ports nearest;
    for (const PortIndex nic : NicsInUse(src)) {
      if (from(nic) == least) nearest.push_back(nic);
    }
    return nearest;
  }
  uint32_t Between(HostId src, HostId dst) const {
    uint32_t least = kFar;
    for (const SwitchId s : Behind(src)) least = std::min(least, Distance(s, Behind(dst)));
    return least;
  }
  Ports UplinksOf(SwitchId s) const {
    Ports uplinks;
    for (size_t p = 0; p < PortsOf(s).size(); ++p) {
      const VertexId peer = PortsOf(s)[p].peer;
      if (graph_.IsHost(peer)) continue;
      const int tier = graph_.switches[graph_.SwitchAt(peer)].tier;
      if (tier > graph_.switches[s].tier) uplinks.push_back(static_cast<PortIndex>(p));
    }
    return uplinks;
  }
  // The product, over all tiers below `tier`, of the most uplinks that a switch has there.
  uint32_t PathsBelow(int tier) const {
    uint32_t product = 1;
    for (int below = 0; below < tier; ++below) {
      size_t most = 1;
      for (SwitchId s = 0; s < graph_.switches.size(); ++s) {
        if (graph_.switches[s].tier == below) most = std::max(most, UplinksOf(s).size());
      }
      product *= static_cast<uint32_t>(most);
    }
    return product;
  }

 private:
  const Graph& graph_;
  const Adjacency adjacency_;
  std::vector<std::vector<uint32_t>> hops_;
};

void ExpectSwitchesAgree(const Graph& graph, const Routing& routing, const PlainRouting& plain) {
  for (SwitchId s = 0; s < graph.switches.size(); ++s) {
    SCOPED_TRACE("switch " + std::to_string(s));
    for (HostId dst = 0; dst < graph.hosts; ++dst) {
      EXPECT_EQ(PortsTo(routing.TableOf(s), dst), plain.Towards(s, dst)) << dst;
      EXPECT_EQ(routing.IsAttached(s, dst), plain.Behind(dst).contains(s)) << dst;
      // How far the leaf is does not depend on the host's own links.
      EXPECT_EQ(routing.DistanceTo(s, size_t{routing.LeafIndexOf(dst)}),
                plain.Distance(s, plain.AllOf(dst)));
    }
    const Ports uplinks = plain.UplinksOf(s);
    EXPECT_EQ(routing.TableOf(s).uplinks, uplinks);
    const uint32_t divisor = plain.PathsBelow(graph.switches[s].tier);
    EXPECT_EQ(routing.TableOf(s).path_divisor, divisor);
    for (size_t p = 0; p < plain.PortsOf(s).size(); ++p) {
      const auto uplink = std::ranges::find(uplinks, static_cast<PortIndex>(p));
      const auto digit = static_cast<uint32_t>(uplink - uplinks.begin());
      EXPECT_EQ(routing.PathPart(s, static_cast<PortIndex>(p)),
                uplink == uplinks.end() ? 0 : digit * divisor);
    }
    const auto has_link_to_s = [&](HostId h) { return plain.AllOf(h).contains(s); };
    bool has_hosts = false;
    for (HostId h = 0; h < graph.hosts; ++h) has_hosts = has_hosts || has_link_to_s(h);
    EXPECT_EQ(routing.HasHosts(s), has_hosts);
  }
  int top = 0;
  for (const Graph::SwitchVertex& s : graph.switches) top = std::max(top, s.tier);
  EXPECT_EQ(routing.path_ids(), plain.PathsBelow(top + 1));
}

void ExpectHostsAgree(const Graph& graph, const Routing& routing, const PlainRouting& plain) {
  std::vector<std::set<SwitchId>> leaves;  // In the order of their first hosts.
  std::vector<HostId> first_hosts;
  const auto is_whole = [&](HostId h) {
    return plain.Behind(h) == plain.AllOf(h) &&
           std::ranges::any_of(plain.NicsOf(h), &Adjacency::Port::up);
  };
  for (HostId h = 0; h < graph.hosts; ++h) {
    SCOPED_TRACE("host " + std::to_string(h));
    const auto leaf = std::ranges::find(leaves, plain.AllOf(h));
    const auto index = static_cast<size_t>(leaf - leaves.begin());
    if (leaf == leaves.end()) {
      leaves.push_back(plain.AllOf(h));
      first_hosts.push_back(h);
    } else if (is_whole(h) && !is_whole(first_hosts[index])) {
      first_hosts[index] = h;
    }
    EXPECT_EQ(routing.LeafIndexOf(h), index);
    EXPECT_EQ(routing.LinksOf(h), plain.NicsOf(h).size());
    const SwitchId at = graph.SwitchAt(plain.NicsOf(h)[plain.NicsInUse(h).front()].peer);
    EXPECT_EQ(routing.LeafOf(h), at);
    EXPECT_EQ(routing.leaf_of_host()[h], at);
    const Host::FirstHops hops = routing.FirstHopsOf(h);
    for (HostId dst = 0; dst < graph.hosts; ++dst) {
      EXPECT_EQ(routing.FirstHops(h, dst), plain.FirstHops(h, dst)) << dst;
      EXPECT_EQ(hops.sets[hops.set_of_host[dst]], plain.FirstHops(h, dst)) << dst;
    }
  }
  ASSERT_EQ(routing.leaves(), leaves.size());
  EXPECT_EQ(routing.first_hosts(), first_hosts);
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    const std::vector<SwitchId> switches = routing.SwitchesOf(leaf);
    EXPECT_EQ(std::set<SwitchId>(switches.begin(), switches.end()), leaves[leaf]);
    EXPECT_EQ(switches.size(), leaves[leaf].size());
  }
  std::vector<std::string> unreachable;
  uint32_t most = 0;
  double sum = 0;
  for (const HostId dst : first_hosts) {
    for (const HostId src : first_hosts) {
      const uint32_t distance = plain.Between(src, dst);
      if (distance != kFar) {
        most = std::max(most, distance + 1);
        sum += distance;
      } else {
        unreachable.push_back(graph.switches[routing.LeafOf(src)].name + " cannot reach " +
                              graph.switches[routing.LeafOf(dst)].name);
      }
    }
  }
  EXPECT_EQ(routing.Unreachable(), unreachable);
  EXPECT_EQ(routing.MostSwitches(), most);
  const auto n = static_cast<double>(leaves.size());
  if (unreachable.empty()) {
    EXPECT_DOUBLE_EQ(routing.MeanLinks(), leaves.size() == 1 ? 2 : 2 + sum / (n * (n - 1)));
  }
}

void ExpectAgreement(const Graph& graph) {
  const Routing routing(graph);
  const PlainRouting plain(graph);
  ExpectSwitchesAgree(graph, routing, plain);
  ExpectHostsAgree(graph, routing, plain);
}

TEST(RoutingTest, FindsTheShortestPathsOfAnyNetwork) {
  Rng rng = Rng::Stream(1, "routing test", 0);
  for (int n = 0; n < 300 && !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE("network " + std::to_string(n));
    ExpectAgreement(DrawGraph({.hosts = 1 + rng.Below(7),
                               .switches = 1 + rng.Below(7),
                               .links = rng.Below(14),
                               .nics = 1 + rng.Below(3),
                               .tiers = 1 + rng.Below(3),
                               .broken = n % 3 == 0 ? 0 : rng.Uniform() / 2},
                              rng));
  }
}

// More leaves than a word has bits.
TEST(RoutingTest, FindsTheShortestPathsBetweenManyLeaves) {
  Rng rng = Rng::Stream(1, "routing test", 1);
  for (const uint32_t switches : {64u, 65u}) {
    ExpectAgreement(DrawGraph({.hosts = switches,
                               .switches = switches,
                               .links = 2 * switches,
                               .nics = 1,
                               .tiers = 2,
                               .broken = 0.1},
                              rng));
  }
}

// The two directions of a host's link, whichever end is listed first.
TEST(RoutingTest, KnowsBothDirectionsOfAHostsLink) {
  Graph graph = Star(2, {10_Gbps, 1_us});
  graph.links[0].a_to_b = {3_Gbps, 3_us};
  graph.links[1].a_to_b = {4_Gbps, 4_us};
  graph.links[1].b_to_a = {5_Gbps, 5_us};
  if (graph.links[1].b != graph.VertexOfHost(1)) {
    std::swap(graph.links[1].a, graph.links[1].b);
    std::swap(graph.links[1].a_to_b, graph.links[1].b_to_a);
  }
  const Routing routing(graph);
  EXPECT_EQ(routing.HostUplink(0), (Channel{3_Gbps, 3_us}));
  EXPECT_EQ(routing.HostDownlink(0), (Channel{10_Gbps, 1_us}));
  EXPECT_EQ(routing.HostUplink(1), (Channel{4_Gbps, 4_us}));
  EXPECT_EQ(routing.HostDownlink(1), (Channel{5_Gbps, 5_us}));
}

// Returns the number of switches whose ECMP has to read tables.
int SwitchesWithTables(const Graph& graph) {
  const Routing routing(graph);
  int with_tables = 0;
  for (SwitchId s = 0; s < graph.switches.size(); ++s) {
    const RoutingTable& table = routing.TableOf(s);
    std::vector<uint16_t> path_parts(0x10000, 0);
    for (size_t i = 0; i < table.uplinks.size(); ++i) {
      path_parts[table.uplinks[i]] = static_cast<uint16_t>(i * table.path_divisor);
    }
    const std::vector<bool> none_left_out(table.sets.size(), false);
    with_tables += EcmpRoutes(table, path_parts, none_left_out).needs_tables() ? 1 : 0;
  }
  return with_tables;
}

TEST(RoutingTest, EcmpNeedsNoTablesInARegularFabric) {
  EXPECT_EQ(SwitchesWithTables(LeafSpineFrom("{leaves: 5, spines: 3, hosts_per_leaf: 6}")), 0);
  EXPECT_EQ(SwitchesWithTables(LeafSpineFrom("{leaves: 4, spines: 1, hosts_per_leaf: 2}")), 0);
  EXPECT_EQ(SwitchesWithTables(GraphFrom("{kind: fat_tree, k: 4}")), 0);
  EXPECT_EQ(SwitchesWithTables(GraphFrom("{kind: fat_tree, k: 6}")), 0);
  // Towards leaf 1, every leaf has fewer next hops than towards others, and spine 2 has none.
  Graph graph = LeafSpineFrom("{leaves: 5, spines: 3, hosts_per_leaf: 6}");
  for (Graph::Link& link : graph.links) link.up = link.up && link.name != "leaf1-spine2";
  EXPECT_EQ(SwitchesWithTables(graph), 6);
}

}  // namespace heddle::routing_test
