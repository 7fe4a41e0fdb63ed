// SPDX-License-Identifier: Apache-2.0

#include "topo/fat_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "topo/routing.h"

namespace heddle::fat_tree_test {

std::string SwitchesOfTier(const Graph& graph, int tier) {
  size_t count = 0;
  std::string last;
  for (const Graph::SwitchVertex& s : graph.switches) {
    if (s.tier != tier) continue;
    ++count;
    last = s.name;
  }
  return fmt::format("{} to {}", count, last);
}

// The paper's counts: k^3/4 hosts, k^2/2 switches in each tier of the pods, (k/2)^2 cores.
TEST(FatTreeTest, HasThePapersNumbersOfEverything) {
  for (const size_t k : {2, 4, 6, 8, 16}) {
    SCOPED_TRACE(k);
    const Graph graph = GraphFrom(fmt::format("{{kind: fat_tree, k: {}}}", k));
    const size_t half = k / 2;
    EXPECT_EQ(graph.hosts, k * k * k / 4);
    EXPECT_EQ(graph.switches.size(), k * k + half * half);
    EXPECT_EQ(graph.links.size(), 3 * graph.hosts);
    EXPECT_EQ(SwitchesOfTier(graph, 0), fmt::format("{} to edge{}", k * half, k * half - 1));
    EXPECT_EQ(SwitchesOfTier(graph, 1), fmt::format("{} to agg{}", k * half, k * half - 1));
    EXPECT_EQ(SwitchesOfTier(graph, 2), fmt::format("{} to core{}", half * half, half * half - 1));
    const Adjacency adjacency(graph);
    for (uint32_t v = 0; v < graph.vertices(); ++v) {
      const VertexId vertex(v);
      EXPECT_EQ(adjacency.Of(vertex).size(), graph.IsHost(vertex) ? 1 : k) << graph.NameOf(vertex);
    }
  }
}

// Figure 3 of the paper: the first aggregation switch of each pod has the first cores.
TEST(FatTreeTest, LinksAsInThePaper) {
  const Graph graph = GraphFrom(
      "{kind: fat_tree, k: 4, host_link: {rate: 25Gbps, delay: 500ns}, edge_link: {rate: 40Gbps, "
      "delay: 1us}, core_link: {rate: 100Gbps, delay: 2us}}");
  const auto links = LinksByName(graph);
  EXPECT_EQ(links.size(), 48u);
  for (const char* name : {"host0-edge0", "host1-edge0", "host15-edge7", "edge0-agg0", "edge0-agg1",
                           "edge1-agg0", "edge7-agg6", "agg0-core0", "agg0-core1", "agg1-core2",
                           "agg1-core3", "agg6-core0", "agg7-core3"}) {
    EXPECT_TRUE(links.contains(name)) << name;
  }
  EXPECT_EQ(links.at("host3-edge1").a_to_b.rate, 25_Gbps);
  EXPECT_EQ(links.at("host3-edge1").b_to_a.delay, 500_ns);
  EXPECT_EQ(links.at("edge3-agg2").b_to_a.rate, 40_Gbps);
  EXPECT_EQ(links.at("edge3-agg2").a_to_b.delay, 1_us);
  EXPECT_EQ(links.at("agg3-core2").a_to_b.rate, 100_Gbps);
  EXPECT_EQ(links.at("agg3-core2").b_to_a.delay, 2_us);
}

// --- Paths ---

struct Shape {
  int64_t k;
  int64_t hosts_per_edge;
  int64_t core_links_per_agg;

  Graph Build() const {
    return GraphFrom(
        fmt::format("{{kind: fat_tree, k: {}, hosts_per_edge: {}, core_links_per_agg: {}}}", k,
                    hosts_per_edge, core_links_per_agg));
  }
  int64_t EdgeOf(HostId host) const { return host / hosts_per_edge; }
  int64_t PodOf(HostId host) const { return EdgeOf(host) / (k / 2); }
  size_t Paths(HostId a, HostId b) const {
    if (EdgeOf(a) == EdgeOf(b)) return 1;
    return static_cast<size_t>(PodOf(a) == PodOf(b) ? k / 2 : k / 2 * core_links_per_agg);
  }
  size_t Links(HostId a, HostId b) const {
    return EdgeOf(a) == EdgeOf(b) ? 2 : PodOf(a) == PodOf(b) ? 4 : 6;
  }
};

// The paper's, oversubscribed at the edge, and oversubscribed at the core.
const std::vector<Shape> kShapes = {{4, 2, 2}, {6, 3, 3}, {4, 5, 2}, {6, 2, 1}};

TEST(FatTreeTest, HasAllShortestPathsBetweenEveryPair) {
  for (const Shape& shape : kShapes) {
    const Graph graph = shape.Build();
    const Routing routing(graph);
    EXPECT_TRUE(routing.Unreachable().empty());
    for (uint32_t a = 0; a < graph.hosts; ++a) {
      for (uint32_t b = 0; b < graph.hosts; ++b) {
        if (a == b) continue;
        const HostId src = static_cast<HostId>(a);
        const HostId dst = static_cast<HostId>(b);
        const auto paths = routing.PathsBetween(src, dst);
        ASSERT_EQ(paths.size(), shape.Paths(src, dst)) << src << " to " << dst;
        for (const auto& path : paths) ASSERT_EQ(path.size(), shape.Links(src, dst));
      }
    }
  }
}

// The vertices that a packet of path `id` crosses, with every switch deciding as FollowPath does.
std::vector<VertexId> Follow(const Graph& graph, const Routing& routing, HostId src, HostId dst,
                             uint16_t id) {
  std::vector<VertexId> way;
  for (VertexId at = routing.NicsOf(src).front().peer; at != graph.VertexOfHost(dst);) {
    way.push_back(at);
    const RoutingTable& table = routing.TableOf(graph.SwitchAt(at));
    const auto ports = table.Towards(dst);
    PortIndex port = ports.front();
    if (ports.size() > 1) port = table.uplinks[id / table.path_divisor % table.uplinks.size()];
    EXPECT_TRUE(std::ranges::binary_search(ports, port));
    at = routing.adjacency().Of(at)[port].peer;
  }
  return way;
}

TEST(FatTreeTest, EveryPathHasAnIdOfItsOwn) {
  for (const Shape& shape : kShapes) {
    const Graph graph = shape.Build();
    const Routing routing(graph);
    const auto table = routing.MakePathTable();
    for (uint32_t a = 0; a < graph.hosts; ++a) {
      for (uint32_t b = 0; b < graph.hosts; ++b) {
        const HostId src = static_cast<HostId>(a);
        const HostId dst = static_cast<HostId>(b);
        if (shape.EdgeOf(src) == shape.EdgeOf(dst)) continue;
        std::set<std::vector<VertexId>> ways;
        for (const PathChoice& path : table->Between(src, dst)) {
          ways.insert(Follow(graph, routing, src, dst, path.id));
          EXPECT_EQ(path.weight, 1);
        }
        ASSERT_EQ(table->Between(src, dst).size(), shape.Paths(src, dst));
        ASSERT_EQ(ways.size(), shape.Paths(src, dst)) << src << " to " << dst;
      }
    }
  }
}

// Switches follow path ids and note them as routing numbers them.
TEST(FatTreeTest, PacketsTakeThePathThatTheirIdNames) {
  const HostId far = 13;  // In another pod,
  const HostId near = 2;  // and on another edge of the same.
  for (const HostId dst : {far, near}) {
    const Graph graph = GraphFrom("{kind: fat_tree, k: 4}");
    const Routing routing(graph);
    const auto table = routing.MakePathTable();
    for (const PathChoice& choice : table->Between(0, dst)) {
      Lab lab(FollowingPath(graph, choice.id));
      lab.AddFlow(0, dst, 100'000);
      lab.Run();
      EXPECT_EQ(lab.Record(0).receiver.paths_used, 1);
      std::vector<VertexId> way = Follow(graph, routing, 0, dst, choice.id);
      way.push_back(graph.VertexOfHost(dst));
      for (size_t hop = 1; hop < way.size(); ++hop) {
        EXPECT_EQ(lab.PortTo(way[hop - 1], way[hop]).Committed().packets, 69) << choice.id;
      }
    }
  }
}

TEST(FatTreeTest, RandomPacketsUseEveryPath) {
  Lab lab({.graph = GraphFrom("{kind: fat_tree, k: 6}"),
           .transport = "{kind: tcp, dupthresh: inf}",
           .balancer = "{kind: rps}"});
  lab.AddFlow(0, 53, 1'000'000);
  lab.AddFlow(0, 3, 1'000'000);
  lab.Run();
  EXPECT_EQ(lab.Record(0).receiver.paths_used, 9);
  EXPECT_EQ(lab.Record(0).receiver.hops, 6);
  EXPECT_EQ(lab.Record(1).receiver.paths_used, 3);
  EXPECT_EQ(lab.Record(1).receiver.hops, 4);
}

// --- Load ---

// A load of the fabric is one of the links above edge switches, which flows within a pod cross too.
TEST(FatTreeTest, CarriesAFabricLoadOnTheUplinksOfEdgeSwitches) {
  const Experiment experiment = ExperimentFrom(
      "topology: {kind: fat_tree, k: 4, hosts_per_edge: 4, edge_link: {rate: 10Gbps}, core_link: "
      "{rate: 40Gbps}}\nlb: rps\ntransport: {kind: dctcp, dupthresh: inf}\n"
      "workload: [{kind: poisson, sizes: 'fixed:10KB', load: 0.4, load_ref: fabric, flows: "
      "6000}]\n");
  for (const int64_t bps : experiment.stage.uplink_bps) EXPECT_EQ(bps, 20'000'000'000);
  EXPECT_DOUBLE_EQ(experiment.forecasts[0].fabric_load, 0.4);
  // 28 of 31 other hosts are on other edges: 0.4 * 20 Gbps leave an edge, of 4 * 10 Gbps.
  EXPECT_NEAR(experiment.forecasts[0].host_load, 0.4 * 20 / 40 * 31 / 28, 1e-9);

  const FinishedRun run = RunExperiment(experiment);
  const CsvTable links(run.files.links);
  double payload_bits = 0;
  double capacity_bits = 0;
  for (size_t l = 0; l < links.rows.size(); ++l) {
    if (links.At(l, "tier") != "leaf_up") continue;
    payload_bits += 8 * links.Real(l, "payload_bytes");
    capacity_bits +=
        links.Real(l, "rate_bps") * Seconds(run.result.load.until - run.result.load.from);
  }
  EXPECT_NEAR(payload_bits / capacity_bits, 0.4, 0.4 * 0.05);
}

// --- Asymmetry ---

TEST(FatTreeTest, MeansAllLinksOfACore) {
  const auto links =
      LinksByName(GraphFrom("{kind: fat_tree, k: 4, asymmetry: [{cores: [1], rate: 1Gbps}, {links: "
                            "[edge0-agg1, host2-edge1], delay: 7us, direction: down}]}"));
  for (const auto& [name, link] : links) {
    EXPECT_EQ(link.a_to_b.rate, name.ends_with("-core1") ? 1_Gbps : 10_Gbps) << name;
    EXPECT_EQ(link.b_to_a.rate, link.a_to_b.rate);
    const bool slow = name == "edge0-agg1" || name == "host2-edge1";
    EXPECT_EQ(link.b_to_a.delay, slow ? 7_us : 1_us) << name;
    EXPECT_EQ(link.a_to_b.delay, 1_us);
  }
}

TEST(FatTreeTest, DrawsAmongLinksOfBothTiersAndCores) {
  const Graph graph = GraphFrom(
      "{kind: fat_tree, k: 4, asymmetry: [{random_links: 32, rate: 1Gbps}, {random_cores: 1, "
      "rate: 2Gbps}]}");
  std::map<int64_t, size_t> count;
  for (const Graph::Link& link : graph.links) ++count[link.a_to_b.rate.bps / 1'000'000'000];
  EXPECT_EQ(count, (std::map<int64_t, size_t>{{1, 28}, {2, 4}, {10, 16}}));
}

TEST(FatTreeTest, WeighsPathsByTheirSlowestLink) {
  const Graph graph = GraphFrom(
      "{kind: fat_tree, k: 4, asymmetry: [{cores: [2], rate: 5Gbps}, {links: [edge0-agg0], rate: "
      "1Gbps}]}");
  const auto table = Routing(graph).MakePathTable();
  const auto weights = [&](HostId src, HostId dst) {
    std::vector<int> all;
    for (const PathChoice& path : table->Between(src, dst)) all.push_back(path.weight);
    return all;
  };
  // The weights by id: agg0 core0, agg1 core2, agg0 core1, agg1 core3.
  EXPECT_EQ(weights(0, 15), (std::vector<int>{1, 5, 1, 10}));
  EXPECT_EQ(weights(2, 15), (std::vector<int>{2, 1, 2, 2}));
  EXPECT_EQ(weights(0, 2), (std::vector<int>{1, 10}));
}

}  // namespace heddle::fat_tree_test
