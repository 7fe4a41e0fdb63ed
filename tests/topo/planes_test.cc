// SPDX-License-Identifier: Apache-2.0

#include "topo/planes.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "topo/routing.h"

namespace heddle::planes_test {

const char* const kPlanes =
    "{kind: planes, planes: 3, leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: 25Gbps, "
    "delay: 500ns}, fabric_link: {rate: 100Gbps, delay: 2us}";

TEST(PlanesTest, ShareNothingButHosts) {
  const Graph graph = GraphFrom(std::string(kPlanes) + "}");
  EXPECT_EQ(graph.hosts, 4u);
  EXPECT_EQ(graph.switches.size(), 3u * 4);
  EXPECT_EQ(graph.links.size(), 3u * (4 + 4));
  for (const Graph::Link& link : graph.links) {
    const size_t top = graph.SwitchAt(link.b);
    if (graph.IsHost(link.a)) {
      EXPECT_EQ(top % 2, link.a.index() / 2) << link.name;  // The host's leaf of the plane.
    } else {
      EXPECT_EQ(graph.SwitchAt(link.a) / 2, (top - 6) / 2) << link.name;
    }
  }
  // Port p of a host leads to plane p.
  const Adjacency adjacency(graph);
  const auto& ports = adjacency.Of(graph.VertexOfHost(3));
  ASSERT_EQ(ports.size(), 3u);
  for (size_t plane = 0; plane < 3; ++plane) {
    EXPECT_EQ(graph.NameOf(ports[plane].peer), "leaf" + std::to_string(2 * plane + 1));
  }
  const Routing routing(graph);
  EXPECT_EQ(routing.PathsBetween(0, 1).size(), 3u);      // A leaf of each plane.
  EXPECT_EQ(routing.PathsBetween(0, 2).size(), 3u * 2);  // Two spines of each plane.
}

TEST(PlanesTest, ChangesTheLinksOfOnePlane) {
  const auto links =
      LinksByName(GraphFrom(std::string(kPlanes) + ", asymmetry: [{spines: [4], rate: 10Gbps}]}"));
  EXPECT_EQ(links.at("leaf4-spine4").a_to_b.rate, 10_Gbps);
  EXPECT_EQ(links.at("leaf4-spine5").a_to_b.rate, 100_Gbps);
  EXPECT_FALSE(links.contains("leaf0-spine4"));
}

TEST(PlanesTest, RefusesWhatIsTooLarge) {
  const auto errors = [](const std::string& shape) {
    return ErrorsOf("topology: {kind: planes, " + shape +
                    "}\nlb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n");
  };
  EXPECT_NE(errors("planes: 1, leaves: 2, spines: 2, hosts_per_leaf: 2").find("planes"),
            std::string::npos);
  EXPECT_NE(errors("planes: 4, leaves: 30000, spines: 2, hosts_per_leaf: 1")
                .find("more than 65535 switches"),
            std::string::npos);
}

// The ideal FCT and the load of a host are those of its first link.
TEST(PlanesTest, RefusesLinksOfAHostThatDiffer) {
  const auto errors = [](const std::string& links) {
    return ErrorsOf(
        "topology: {kind: planes, planes: 2, leaves: 2, spines: 2, hosts_per_leaf: 2, asymmetry: "
        "[{links: [" +
        links + "], rate: 1Gbps}]}\nlb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n");
  };
  for (const char* link : {"host0-leaf0", "host0-leaf2"}) {
    EXPECT_NE(
        errors(link).find("topology.asymmetry: host0-leaf2 differs from another link of host0"),
        std::string::npos)
        << link << errors(link);
  }
  EXPECT_EQ(errors("host0-leaf0, host0-leaf2"), "");
}

}  // namespace heddle::planes_test
