// SPDX-License-Identifier: Apache-2.0

#include "topo/rail.h"

#include <gtest/gtest.h>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "topo/routing.h"

namespace heddle::rail_test {

const char* const kRails =
    "{kind: rail, pods: 2, servers: 3, rails: 4, spines: 2, host_link: {rate: 25Gbps, delay: "
    "500ns}, fabric_link: {rate: 100Gbps, delay: 2us}";

TEST(RailTest, PutsHostIOfEveryServerOnLeafIOfItsPod) {
  const Graph graph = GraphFrom(std::string(kRails) + "}");
  EXPECT_EQ(graph.hosts, 24u);
  EXPECT_EQ(graph.switches.size(), 8u + 2u);
  EXPECT_EQ(graph.links.size(), 24u + 8u * 2);
  const auto links = LinksByName(graph);
  for (size_t host = 0; host < 24; ++host) {
    const size_t leaf = host / 12 * 4 + host % 4;
    const std::string name = "host" + std::to_string(host) + "-leaf" + std::to_string(leaf);
    ASSERT_TRUE(links.contains(name)) << name;
    EXPECT_EQ(links.at(name).a_to_b.rate, 25_Gbps);
    EXPECT_EQ(links.at(name).a_to_b.delay, 500_ns);
  }
  EXPECT_EQ(links.at("leaf7-spine1").b_to_a.rate, 100_Gbps);
  EXPECT_EQ(graph.switches[7].tier, 0);
  EXPECT_EQ(graph.switches[8].tier, 1);
}

TEST(RailTest, HostsOfOneRailAreOneSwitchApart) {
  const Graph graph = GraphFrom(std::string(kRails) + "}");
  const Routing routing(graph);
  EXPECT_EQ(routing.PathsBetween(1, 5).size(), 1u);   // Rail 1 of two servers.
  EXPECT_EQ(routing.PathsBetween(1, 2).size(), 2u);   // Two rails of one server: over spines.
  EXPECT_EQ(routing.PathsBetween(1, 13).size(), 2u);  // Rail 1 of two pods.
}

TEST(RailTest, ChangesLinksByNameAndSpine) {
  const auto links =
      LinksByName(GraphFrom(std::string(kRails) + ", asymmetry: [{spines: [1], rate: 10Gbps}]}"));
  EXPECT_EQ(links.at("leaf3-spine1").a_to_b.rate, 10_Gbps);
  EXPECT_EQ(links.at("leaf3-spine0").a_to_b.rate, 100_Gbps);
}

TEST(RailTest, RefusesWhatIsTooLarge) {
  const auto errors = [](const std::string& shape) {
    return ErrorsOf("topology: {kind: rail, " + shape +
                    "}\nlb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n");
  };
  EXPECT_NE(errors("servers: 9000, rails: 8, spines: 2").find("more than 65536 hosts"),
            std::string::npos);
  EXPECT_NE(errors("servers: 1, rails: 1, spines: 2").find("at least two hosts"),
            std::string::npos);
  EXPECT_NE(errors("servers: 60000, rails: 1, spines: 6000").find("more than 65535 ports"),
            std::string::npos);
}

}  // namespace heddle::rail_test
