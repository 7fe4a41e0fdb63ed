// SPDX-License-Identifier: Apache-2.0
// How large topologies may be, and what is wrong with a custom one.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "settings/files_read.h"
#include "tests/support/command.h"
#include "tests/support/lab.h"
#include "tests/support/limits.h"
#include "tests/support/settings_from.h"
#include "topo/custom.h"
#include "topo/fat_tree.h"
#include "topo/graph_maker.h"
#include "topo/leaf_spine.h"
#include "topo/link_file.h"
#include "topo/planes.h"
#include "topo/rail.h"

namespace heddle::topology_limits_test {

const std::string kHosts = "more than 65536 hosts in all";
const std::string kSwitches = "more than 65535 switches in all";
const std::string kPorts = "a switch would have more than 65535 ports";
const std::string kLinks = "more than 4000000 links in all";

// A shape that is as large as it may be, and one that is too large: the setting to blame, and why.
struct Size {
  std::string fits;
  std::string larger;
  std::string path;
  std::string reason;
};

template <class Topology>
void ExpectSizes(const std::vector<Size>& sizes) {
  for (const Size& size : sizes) {
    EXPECT_EQ(MistakesIn<Topology>("{" + size.fits + "}").find(size.reason), std::string::npos)
        << size.fits;
    ExpectClashes<Topology>({{"{" + size.larger + "}", size.path, size.reason}});
  }
}

TEST(FatTreeLimitsTest, EachSettingHasItsLimits) {
  ExpectLimits<FatTree>({
      {"{k: %}", "2", "1"},
      {"{hosts_per_edge: 1, core_links_per_agg: 1, k: %}", "250", "255"},
      {"{k: 2, hosts_per_edge: %}", "1", "0"},
      {"{k: 2, hosts_per_edge: %}", "32768", "65536"},
      {"{k: 2, core_links_per_agg: %}", "1", "0"},
      {"{k: 2, core_links_per_agg: %}", "65531", "65537"},
  });
  ExpectClashes<FatTree>({{"{k: 5}", "k", "is 5, which is odd"}});
  ExpectSizes<FatTree>({
      {"k: 64", "k: 66", "k", kHosts},  // k^3/4.
      {"k: 2, hosts_per_edge: 32768", "k: 2, hosts_per_edge: 32769", "hosts_per_edge", kHosts},
      // 2 edge, 2 aggregation switches and the cores; k^2/2 twice, and (k/2)^2.
      {"k: 2, core_links_per_agg: 65531", "k: 2, core_links_per_agg: 65532", "core_links_per_agg",
       kSwitches},
      {"k: 228, hosts_per_edge: 1", "k: 230, hosts_per_edge: 1", "k", kSwitches},
      {"k: 2, hosts_per_edge: 65534", "k: 2, hosts_per_edge: 65535", "k", kPorts},
      {"k: 2, core_links_per_agg: 65534", "k: 2, core_links_per_agg: 65535", "k", kPorts},
      // Each of k^2/2 edge and as many aggregation switches has k/2 links up.
      {"k: 200, hosts_per_edge: 1", "k: 200, hosts_per_edge: 1, core_links_per_agg: 101", "k",
       kLinks},
  });
  EXPECT_EQ(MistakesIn<FatTree>("{k: 200, hosts_per_edge: 1}"), "");
  EXPECT_EQ(MistakesIn<FatTree>("{k: 2, hosts_per_edge: 1}"), "") << "two hosts";
}

TEST(LeafSpineLimitsTest, EachSettingHasItsLimits) {
  ExpectLimits<LeafSpine>({
      {"{spines: 1, hosts_per_leaf: 2, leaves: %}", "1", "0"},
      {"{spines: 1, hosts_per_leaf: 2, leaves: %}", "32768", "32769"},
      {"{leaves: 1, hosts_per_leaf: 2, spines: %}", "1", "0"},
      {"{leaves: 1, hosts_per_leaf: 2, spines: %}", "32768", "32769"},
      {"{leaves: 2, spines: 1, hosts_per_leaf: %}", "1", "0"},
      {"{leaves: 1, spines: 1, hosts_per_leaf: %}", "65534", "65536"},
      {"{leaves: 2, spines: 2, hosts_per_leaf: 2, links_per_pair: %}", "1", "0"},
      {"{leaves: 2, spines: 2, hosts_per_leaf: 2, links_per_pair: %}", "64", "65"},
  });
  const std::string pair = "leaves: 2, hosts_per_leaf: 32768, spines: ";
  const std::string one = "leaves: 1, hosts_per_leaf: ";
  ExpectSizes<LeafSpine>({
      {pair + "1", "leaves: 2, hosts_per_leaf: 32769, spines: 1", "hosts_per_leaf", kHosts},
      {one + "2, spines: 1", one + "1, spines: 1", "hosts_per_leaf", "at least two hosts"},
      {one + "65534, spines: 1", one + "65534, spines: 2", "links_per_pair", kPorts},
      {one + "63, spines: 1023, links_per_pair: 64", one + "64, spines: 1023, links_per_pair: 64",
       "links_per_pair", kPorts},
      {"leaves: 32767, spines: 1, hosts_per_leaf: 1, links_per_pair: 2",
       "leaves: 32768, spines: 1, hosts_per_leaf: 1, links_per_pair: 2", "links_per_pair", kPorts},
      {"leaves: 1000, spines: 1000, hosts_per_leaf: 1, links_per_pair: 4",
       "leaves: 1001, spines: 1000, hosts_per_leaf: 1, links_per_pair: 4", "spines", kLinks},
      {"leaves: 2000, spines: 2000, hosts_per_leaf: 1",
       "leaves: 2000, spines: 2001, hosts_per_leaf: 1", "spines", kLinks},
  });
  for (const char* missing : {"{leaves: 2, spines: 2}", "{leaves: 2, hosts_per_leaf: 2}",
                              "{spines: 2, hosts_per_leaf: 2}"}) {
    EXPECT_NE(MistakesIn<LeafSpine>(missing), "") << missing;
  }
}

TEST(LeafSpineLimitsTest, ChangesOfLinksHaveTheirs) {
  const std::string start = "{leaves: 2, spines: 2, hosts_per_leaf: 2, asymmetry: [{";
  ExpectLimits<LeafSpine>({
      {start + "rate: 1Gbps, spines: [%]}]}", "0", "-1"},
      {start + "rate: 1Gbps, links: [x], random_spines: %}]}", "0", "-1"},
      {start + "rate: 1Gbps, links: [x], random_links: %}]}", "0", "-1"},
      {start + "links: [x], rate: %}]}", "1Mbps", "999999bps"},
      {start + "links: [x], rate: %}]}", "10Tbps", "10000000000001bps"},
      {start + "links: [x], delay: %}]}", "1ps", "0ps"},
      {start + "links: [x], delay: %}]}", "1s", "1000000000001ps"},
      {"{leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: %}}", "1Mbps", "999999bps"},
      {"{leaves: 2, spines: 2, hosts_per_leaf: 2, fabric_link: {delay: %}}", "1s",
       "1000000000001ps"},
  });
  ExpectClashes<LeafSpine>({
      {start + "rate: 1Gbps}]}", "asymmetry[0].links", "set one of links, spines, random_spines"},
      {start + "rate: 1Gbps, random_spines: 0, random_links: 0}]}", "asymmetry[0].links", "names"},
      {start + "links: [x]}]}", "asymmetry[0].rate", "nothing differs"},
  });
  for (const char* fine : {"rate: 1Gbps, links: [x]", "delay: 1us, spines: [0]",
                           "rate: 1Gbps, random_spines: 1", "delay: 9us, random_links: 1"}) {
    EXPECT_EQ(MistakesIn<LeafSpine>(start + fine + "}]}"), "") << fine;
  }
}

TEST(RailLimitsTest, EachSettingHasItsLimits) {
  ExpectLimits<Rail>({
      {"{servers: 2, rails: 1, spines: 1, pods: %}", "1", "0"},
      {"{servers: 1, rails: 1, spines: 1, pods: %}", "32768", "32769"},
      {"{spines: 1, servers: %}", "1", "0"},
      {"{rails: 1, spines: 1, servers: %}", "65534", "65536"},
      {"{servers: 2, spines: 1, rails: %}", "1", "0"},
      {"{servers: 1, spines: 1, rails: %}", "32768", "32769"},
      {"{servers: 2, rails: 1, spines: %}", "1", "0"},
      {"{servers: 2, rails: 1, spines: %}", "32768", "32769"},
  });
  const std::string many = "pods: 32767, rails: 2, servers: 1, spines: ";
  const std::string flat = "rails: 1, servers: 1, ";
  ExpectSizes<Rail>({
      {"pods: 2, servers: 8192, rails: 4, spines: 1", "pods: 2, servers: 8193, rails: 4, spines: 1",
       "servers", kHosts},
      {"servers: 2, rails: 1, spines: 1", "servers: 1, rails: 1, spines: 1", "servers",
       "at least two hosts"},
      {many + "1", many + "2", "pods", kSwitches},
      {"rails: 1, servers: 65533, spines: 2", "rails: 1, servers: 65533, spines: 3", "servers",
       kPorts},
      {"pods: 13107, rails: 5, servers: 1, spines: 1",
       "pods: 32768, rails: 2, servers: 1, spines: 1", "servers", kPorts},
      {flat + "pods: 2000, spines: 2000", flat + "pods: 2000, spines: 2001", "spines", kLinks},
      {"rails: 4, servers: 1, pods: 500, spines: 2000",
       "rails: 4, servers: 1, pods: 501, spines: 2000", "spines", kLinks},
  });
  EXPECT_EQ(MistakesIn<Rail>("{" + many + "1}"), "");
}

TEST(PlanesLimitsTest, EachSettingHasItsLimits) {
  const std::string one = "leaves: 1, spines: 1, hosts_per_leaf: ";
  ExpectLimits<Planes>({
      {"{" + one + "2, planes: %}", "2", "1"},
      {"{" + one + "2, planes: %}", "64", "65"},
      {"{planes: 2, spines: 1, hosts_per_leaf: 2, leaves: %}", "1", "0"},
      {"{planes: 2, spines: 1, hosts_per_leaf: 2, leaves: %}", "32766", "32769"},
      {"{planes: 2, leaves: 1, hosts_per_leaf: 2, spines: %}", "1", "0"},
      {"{planes: 2, leaves: 1, hosts_per_leaf: 2, spines: %}", "32766", "32769"},
      {"{planes: 2, leaves: 2, spines: 1, hosts_per_leaf: %}", "1", "0"},
      {"{planes: 2, leaves: 1, spines: 1, hosts_per_leaf: %}", "65534", "65536"},
  });
  ExpectSizes<Planes>({
      {"planes: 2, leaves: 2, spines: 1, hosts_per_leaf: 32768",
       "planes: 2, leaves: 2, spines: 1, hosts_per_leaf: 32769", "hosts_per_leaf", kHosts},
      {"planes: 2, " + one + "2", "planes: 2, " + one + "1", "hosts_per_leaf",
       "at least two hosts"},
      {"planes: 2, leaves: 32766, spines: 1, hosts_per_leaf: 1",
       "planes: 2, leaves: 32766, spines: 2, hosts_per_leaf: 1", "planes", kSwitches},
      {"planes: 2, " + one + "65534", "planes: 2, " + one + "65535", "spines", kPorts},
      {"planes: 4, leaves: 500, spines: 2000, hosts_per_leaf: 1",
       "planes: 4, leaves: 500, spines: 2001, hosts_per_leaf: 1", "planes", kLinks},
  });
}

// --- Custom ---

const std::string kEnds = "switches: [{name: s}], links: [{a: host0, b: s}, {a: host1, b: s}]";

TEST(CustomLimitsTest, EachSettingHasItsLimits) {
  ExpectLimits<Custom>({
      {"{" + kEnds + ", hosts: %}", "2", "1"},
      {"{" + kEnds + ", hosts: %}", "65536", "65537"},
      {"{hosts: 2, switches: [{name: s, tier: %}], links: [{a: x, b: y}]}", "0", "-1"},
      {"{hosts: 2, switches: [{name: s, tier: %}], links: [{a: x, b: y}]}", "15", "16"},
      {"{hosts: 2, switches: [{name: s}], links: [{a: x, b: y, rate: %}]}", "1Mbps", "999999bps"},
      {"{hosts: 2, switches: [{name: s}], links: [{a: x, b: y, delay: %}]}", "1s",
       "1000000000001ps"},
  });
  const std::string file = "describes the whole network";
  const std::string parts = "set hosts, switches and links, or file";
  ExpectClashes<Custom>({
      {"{file: x, hosts: 2}", "file", file},
      {"{file: x, switches: [{name: s}]}", "file", file},
      {"{file: x, links: [{a: x, b: y}]}", "file", file},
      {"{}", "links", parts},
      {"{switches: [{name: s}], links: [{a: x, b: y}]}", "links", parts},
      {"{hosts: 2, links: [{a: x, b: y}]}", "links", parts},
      {"{hosts: 2, switches: [{name: s}]}", "links", parts},
      {"{hosts: 2, switches: [{tier: 1}], links: [{a: x, b: y}]}", "switches[0].name", ""},
      {"{hosts: 2, switches: [{name: s}], links: [{b: y}]}", "links[0].a", ""},
      {"{hosts: 2, switches: [{name: s}], links: [{a: x}]}", "links[0].b", ""},
  });
  EXPECT_EQ(MistakesIn<Custom>("{file: x}"), "");
  EXPECT_EQ(MistakesIn<Custom>("{hosts: 2, " + kEnds + "}"), "");
}

std::vector<std::string> BuildErrors(const std::string& yaml) {
  Custom custom;
  ReadTestSettings(yaml, [&](Fields& fields) { custom.Declare(fields); });
  Diagnostics diagnostics;
  FilesRead files;
  custom.Build(1, "topology", files, diagnostics);
  return diagnostics.errors();
}

void ExpectOneError(const std::string& yaml, const std::string& message) {
  const std::vector<std::string> errors = BuildErrors(yaml);
  ASSERT_EQ(errors.size(), 1u) << yaml << (errors.empty() ? "" : ": " + errors.back());
  EXPECT_NE(errors[0].find("topology." + message), std::string::npos) << errors[0];
}

// Nothing that follows from a mistake is reported beside it.
TEST(CustomTest, ReportsEachMistakeOnce) {
  const auto named = [](const std::string& name) {
    return "{hosts: 2, switches: [{name: \"" + name + "\"}, {name: t}], links: [{a: host0, b: t}]}";
  };
  for (const std::string wrong : {"", "a b", "a/b", "a#1", "a,b", "a:b"}) {
    ExpectOneError(named(wrong), "switches[0].name: \"" + wrong + "\" is no name; use letters");
  }
  for (const std::string taken : {"host0", "host1"}) {
    ExpectOneError(named(taken), "switches[0].name: something else is called \"" + taken + "\"");
  }
  ExpectOneError("{hosts: 2, switches: [{name: t}, {name: t}], links: [{a: host0, b: t}]}",
                 "switches[1].name: something else is called \"t\"");
  const auto linked = [](const std::string& link, const std::string& switches = "") {
    return "{hosts: 2, switches: [{name: leaf}, {name: top}" + switches +
           "], links: [{a: host0, b: leaf}, {a: host1, b: leaf}, " + link + "]}";
  };
  ExpectOneError(linked("{a: leaf, b: lea}"),
                 "links[2].b: no switch is called \"lea\", and hosts are host0 to host1");
  ExpectOneError(linked("{a: host2, b: top}"),
                 "links[2].a: no switch is called \"host2\", and hosts are host0 to host1");
  ExpectOneError(linked("{a: top, b: top}"), "links[2]: links top to itself");
  ExpectOneError(linked("{a: host1, b: host0}"),
                 "links[2]: links host1 to host0; a host must be linked to a switch");
  ExpectOneError(linked("{a: host1, b: top, rate: 1Gbps}"),
                 "links[2]: has another rate or delay than the first link of host1");
  ExpectOneError(linked("{a: top, b: host0, delay: 9us}"),
                 "links[2]: has another rate or delay than the first link of host0");
  ExpectOneError(linked("{a: leaf, b: leaf2}, {a: top, b: top2}", ", {name: leaf2}, {name: top2}"),
                 "links: top has no path to any host");
  ExpectOneError("{hosts: 5, switches: [{name: s}], links: [{a: host1, b: s}]}",
                 "links: host0 has no link, nor have 3 more");
  ExpectOneError("{hosts: 2, switches: [{name: s}], links: [{a: host0, b: s}]}",
                 "links: host1 has no link");
  EXPECT_EQ(BuildErrors("{hosts: 2, switches: [{name: s}], links: [{a: host0, b: s}]}")[0].find(
                "nor have"),
            std::string::npos);
  for (const std::string fine : {"a.b", "a_b", "a-b", "9", "hosts", "host2"}) {
    EXPECT_TRUE(BuildErrors("{hosts: 2, switches: [{name: \"" + fine +
                            "\"}], links: [{a: host0, b: \"" + fine + "\"}, {a: host1, b: \"" +
                            fine + "\"}]}")
                    .empty())
        << fine;
  }
}

// With few switches, one that is called nearly so is suggested.
TEST(CustomTest, SuggestsANameAmongFewSwitches) {
  for (const int switches : {32, 33}) {
    std::string names = "{name: spine}";
    for (int s = 1; s < switches; ++s) names += ", {name: x" + std::to_string(100 + s) + "}";
    const std::vector<std::string> errors =
        BuildErrors("{hosts: 2, switches: [" + names + "], links: [{a: host0, b: spin}]}");
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].find("spine") != std::string::npos, switches == 32) << errors[0];
  }
}

TEST(GraphMakerTest, ASwitchHasUpTo65535Links) {
  for (const int more : {0, 1}) {
    GraphMaker maker(2);
    maker.AddSwitch("a", std::nullopt);
    maker.AddSwitch("b", std::nullopt);
    const Graph& graph = maker.graph();
    const Channel channel{10_Gbps, 1_us};
    for (size_t h = 0; h < 2; ++h) {
      EXPECT_FALSE(maker.AddLink(graph.VertexOfHost(h), graph.VertexOfSwitch(h), channel));
    }
    for (int l = 1; l < 65'535 + more; ++l) {
      maker.AddLink(graph.VertexOfSwitch(0), graph.VertexOfSwitch(1), channel);
    }
    EXPECT_EQ(maker.Finish().value_or(""), more == 0 ? "" : "a has more than 65535 links");
  }
}

// --- Link files ---

std::vector<std::string> FileErrors(const std::string& text) {
  const TemporaryFolder folder;
  Diagnostics diagnostics;
  FilesRead files;
  const Graph graph =
      ReadLinkFile(folder.Write("net.txt", text).string(), "topology.file", files, diagnostics);
  EXPECT_EQ(graph.hosts > 0, diagnostics.ok());
  return diagnostics.errors();
}

void ExpectOneErrorIn(const std::string& text, const std::string& message) {
  const std::vector<std::string> errors = FileErrors(text);
  ASSERT_EQ(errors.size(), 1u) << text << (errors.empty() ? "" : ": " + errors.back());
  EXPECT_NE(errors[0].find("net.txt:" + message), std::string::npos) << errors[0];
}

TEST(LinkFileTest, ReportsEachMistakeOnce) {
  const std::string range = " is out of range";
  const std::string links = "\n0\n0 1 1Gbps 1us 0\n0 2 1Gbps 1us 0\n";
  const std::string three = "3 1 2" + links;
  EXPECT_TRUE(FileErrors(three).empty());
  EXPECT_TRUE(FileErrors("\n \t\r\n" + three + "\n  \n").empty()) << "empty lines do not count";
  ExpectOneErrorIn("2 1 2" + links, "1:1: topology.file: \"2\"" + range);
  ExpectOneErrorIn("131072 1 2" + links, "1:1: topology.file: \"131072\"" + range);
  ExpectOneErrorIn("131071 1 2" + links, "1:1: topology.file: more than 65536 hosts in all");
  ExpectOneErrorIn("65538 1 2" + links, "1:1: topology.file: more than 65536 hosts in all");
  ExpectOneErrorIn("65537 1 2" + links, "4:1: topology.file: host2 has no link, nor have 65533");
  ExpectOneErrorIn("3 0 2" + links, "1:3: topology.file: \"0\"" + range);
  ExpectOneErrorIn("131071 65536 2" + links, "1:8: topology.file: \"65536\"" + range);
  ExpectOneErrorIn("3 1 1" + links, "1:5: topology.file: \"1\"" + range);
  ExpectOneErrorIn("3 1 4000001" + links, "1:5: topology.file: \"4000001\"" + range);
  ExpectOneErrorIn("3 1 4000000" + links, "4:1: topology.file: ends after 2 links; the first line");
  ExpectOneErrorIn("3 1" + links, "1:1: topology.file: expected the numbers");
  ExpectOneErrorIn("3 1 2 2" + links, "1:1: topology.file: expected the numbers");
  ExpectOneErrorIn("3 2 2\n0 1\n", "1:1: topology.file: leaves 1 hosts; at least two");
  ExpectOneErrorIn("3 3 2\n0 1\n", "1:1: topology.file: leaves 0 hosts; at least two");
  EXPECT_TRUE(
      FileErrors("4 2 3\n0 1\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n0 1 1Gbps 1us 0\n").empty());
  ExpectOneErrorIn("4 2 3\n0 1 2\n", "2:1: topology.file: lists 3 switches; the first line says 2");
  ExpectOneErrorIn("4 2 3\n1 1\n", "2:3: topology.file: lists switch 1 twice");
  ExpectOneErrorIn("4 2 3\n1 4\n", "2:3: topology.file: \"4\"" + range);
  ExpectOneErrorIn("4 2 3\n-1 3\n", "2:1: topology.file: \"-1\"" + range);
  const auto second = [](const std::string& line) {
    return "3 1 2\n0\n0 1 1Gbps 1us 0\n" + line + "\n";
  };
  EXPECT_TRUE(FileErrors(second("2 0 1Mbps 1s 0.0")).size() == 0);
  EXPECT_TRUE(FileErrors(second("\t2\t0  10Tbps 1ps 0 \r")).empty());
  ExpectOneErrorIn(second("3 0 1Gbps 1us 0"), "4:1: topology.file: \"3\"" + range);
  ExpectOneErrorIn(second("2 3 1Gbps 1us 0"), "4:3: topology.file: \"3\"" + range);
  ExpectOneErrorIn(second("0 3 1Gbps 1us 0"), "4:3: topology.file: \"3\"" + range);
  ExpectOneErrorIn(second("2 0 999999bps 1us 0"), "4:5: topology.file: \"999999bps\"" + range);
  ExpectOneErrorIn(second("2 0 1Gbps 0us 0"), "4:11: topology.file: \"0us\"" + range);
  ExpectOneErrorIn(second("2 0 1Gbps 1us -0.1"), "4:15: topology.file: \"-0.1\"" + range);
  ExpectOneErrorIn(second("2 0 1Gbps 1us 1.1"), "4:15: topology.file: \"1.1\"" + range);
  ExpectOneErrorIn(second("2 0 1Gbps 1us 1"), "4:15: topology.file: the error rate must be 0");
  ExpectOneErrorIn(second("2 0 1Gbps 1us"), "4:1: topology.file: has 4 columns; expected two");
  ExpectOneErrorIn(second("2 0 1Gbps 1us 0 0"), "4:1: topology.file: has 6 columns; expected two");
  ExpectOneErrorIn(second("2 1 1Gbps 1us 0"), "4:1: topology.file: 2 1 links host1 to host0");
  ExpectOneErrorIn(second("0 0 1Gbps 1us 0"), "4:1: topology.file: 0 0 links switch0 to itself");
  ExpectOneErrorIn(second("1 0 1Gbps 1us 0"), "4:1: topology.file: host1 has no link");
  ExpectOneErrorIn(second("2 0 1Gbps 1us 0\n2 0 1Gbps 1us 0"),
                   "5:1: topology.file: goes on after the 2 links that the first line says");
  ExpectOneErrorIn(second(""), "4:1: topology.file: ends after 1 links; the first line says 2");
}

// After twenty mistakes the rest is not read.
TEST(LinkFileTest, StopsAfterTwentyMistakes) {
  for (const size_t wrong : {19u, 20u, 21u, 40u}) {
    std::string text = "3 1 60\n0\n";
    for (size_t i = 0; i < wrong; ++i) text += "0 1 1Gbps 1us\n";
    const std::vector<std::string> errors = FileErrors(text);
    const bool stops = wrong >= 20;
    ASSERT_EQ(errors.size(), stops ? 21u : wrong + 1);
    EXPECT_NE(errors.back().find(stops ? "and perhaps more; reading stopped here"
                                       : "ends after 19 links; the first line says 60"),
              std::string::npos)
        << errors.back();
  }
}

}  // namespace heddle::topology_limits_test
