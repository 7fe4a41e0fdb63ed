// SPDX-License-Identifier: Apache-2.0

#include "topo/leaf_spine.h"

#include <gtest/gtest.h>

#include "settings/files_read.h"
#include "settings/reader.h"
#include "settings/yaml.h"
#include "tests/support/lab.h"

namespace heddle::leaf_spine_test {

size_t CountOfRate(const Graph& graph, BitRate rate) {
  size_t count = 0;
  for (const Graph::Link& link : graph.links) count += link.a_to_b.rate == rate ? 1 : 0;
  return count;
}

TEST(LeafSpineTest, LinksEveryLeafToEverySpine) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 3, hosts_per_leaf: 4, host_link: {rate: 25Gbps, delay: 500ns}, "
      "fabric_link: {rate: 100Gbps, delay: 2us}}");
  EXPECT_EQ(graph.hosts, 8u);
  EXPECT_EQ(graph.switches.size(), 5u);
  EXPECT_EQ(graph.links.size(), 8u + 6u);
  const auto links = LinksByName(graph);
  EXPECT_EQ(links.at("host5-leaf1").a_to_b.rate, 25_Gbps);
  EXPECT_EQ(links.at("host5-leaf1").b_to_a.delay, 500_ns);
  EXPECT_EQ(links.at("leaf1-spine2").a_to_b.rate, 100_Gbps);
  EXPECT_EQ(links.at("leaf1-spine2").b_to_a.delay, 2_us);
  EXPECT_EQ(graph.NameOf(links.at("leaf1-spine2").a), "leaf1");
  EXPECT_EQ(graph.NameOf(links.at("leaf1-spine2").b), "spine2");
  EXPECT_EQ(graph.switches[1].tier, 0);
  EXPECT_EQ(graph.switches[4].tier, 1);
}

TEST(LeafSpineTest, NumbersParallelLinksAndChangesThemOneByOneOrTogether) {
  const std::string shape = "{leaves: 2, spines: 2, hosts_per_leaf: 1, links_per_pair: 2, ";
  const auto one =
      LinksByName(LeafSpineFrom(shape + "asymmetry: [{links: [leaf0-spine1#1], rate: 1Gbps}]}"));
  EXPECT_EQ(one.size(), 2u + 8u);
  EXPECT_EQ(one.at("leaf0-spine1#0").a_to_b.rate, 10_Gbps);
  EXPECT_EQ(one.at("leaf0-spine1#1").a_to_b.rate, 1_Gbps);
  const Graph both = LeafSpineFrom(shape + "asymmetry: [{links: [leaf0-spine1], rate: 1Gbps}]}");
  EXPECT_EQ(CountOfRate(both, 1_Gbps), 2u);
}

TEST(LeafSpineTest, ChangesLinksOneWayOrBoth) {
  const std::string shape = "{leaves: 2, spines: 2, hosts_per_leaf: 1, asymmetry: [{spines: [1], ";
  const auto up = LinksByName(LeafSpineFrom(shape + "direction: up, rate: 1Gbps}]}"));
  EXPECT_EQ(up.at("leaf0-spine1").a_to_b.rate, 1_Gbps);
  EXPECT_EQ(up.at("leaf0-spine1").b_to_a.rate, 10_Gbps);
  EXPECT_EQ(up.at("leaf1-spine1").a_to_b.rate, 1_Gbps);
  EXPECT_EQ(up.at("leaf0-spine0").a_to_b.rate, 10_Gbps);
  const auto down = LinksByName(LeafSpineFrom(shape + "direction: down, delay: 9us}]}"));
  EXPECT_EQ(down.at("leaf0-spine1").a_to_b.delay, 1_us);
  EXPECT_EQ(down.at("leaf0-spine1").b_to_a.delay, 9_us);
}

TEST(LeafSpineTest, LetsLaterChangesWin) {
  const auto links = LinksByName(
      LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 1, asymmetry: [{spines: [0], rate: "
                    "1Gbps, delay: 7us}, {links: [leaf1-spine0], rate: 2Gbps}]}"));
  EXPECT_EQ(links.at("leaf0-spine0").a_to_b.rate, 1_Gbps);
  EXPECT_EQ(links.at("leaf1-spine0").a_to_b.rate, 2_Gbps);
  EXPECT_EQ(links.at("leaf1-spine0").a_to_b.delay, 7_us);
}

TEST(LeafSpineTest, DrawsLinksAndSpinesFromTheSeed) {
  const std::string random_links =
      "{leaves: 4, spines: 4, hosts_per_leaf: 1, asymmetry: [{random_links: 5, rate: 1Gbps}]}";
  EXPECT_EQ(CountOfRate(LeafSpineFrom(random_links, 1), 1_Gbps), 5u);
  const auto names = [&](uint64_t seed) {
    std::string all;
    for (const Graph::Link& link : LeafSpineFrom(random_links, seed).links) {
      if (link.a_to_b.rate == 1_Gbps) all += link.name + " ";
    }
    return all;
  };
  EXPECT_EQ(names(1), names(1));
  EXPECT_NE(names(1), names(2));
  const std::string random_spines =
      "{leaves: 4, spines: 4, hosts_per_leaf: 1, asymmetry: [{random_spines: 2, rate: 1Gbps}]}";
  EXPECT_EQ(CountOfRate(LeafSpineFrom(random_spines), 1_Gbps), 8u);
}

TEST(LeafSpineTest, SaysWhichLinksAndSpinesDoNotExist) {
  LeafSpine shape;
  LinkChange& change = shape.asymmetry.emplace_back();
  change.links = {"leaf0-spine9"};
  change.tops = {7};
  change.random_tops = 5;
  Diagnostics diagnostics;
  FilesRead files;
  shape.Build(1, "topology", files, diagnostics);
  EXPECT_EQ(diagnostics.errors().size(), 3u) << diagnostics.Report();
  EXPECT_NE(diagnostics.Report().find("leaf0-spine9"), std::string::npos);
  EXPECT_NE(diagnostics.Report().find("there is no spine 7"), std::string::npos);
  EXPECT_NE(diagnostics.Report().find("there are only 2"), std::string::npos);
}

TEST(LeafSpineTest, RefusesChangesThatNameNothingOrChangeNothing) {
  for (const char* change : {"{rate: 1Gbps}", "{spines: [0]}"}) {
    LeafSpine shape;
    Diagnostics diagnostics;
    const auto yaml = ParseYaml(std::string("{leaves: 2, spines: 2, hosts_per_leaf: 1, "
                                            "asymmetry: [") +
                                    change + "]}",
                                "test", diagnostics);
    ReadSettings(
        *yaml, [&](Fields& fields) { shape.Declare(fields); }, diagnostics);
    EXPECT_FALSE(diagnostics.ok()) << change;
  }
}

}  // namespace heddle::leaf_spine_test
