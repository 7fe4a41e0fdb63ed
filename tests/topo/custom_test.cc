// SPDX-License-Identifier: Apache-2.0

#include "topo/custom.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "topo/routing.h"

namespace heddle::custom_test {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> NamesOfLinks(const Graph& graph) {
  std::vector<std::string> names;
  for (const Graph::Link& link : graph.links) names.push_back(link.name);
  return names;
}

std::vector<int> Tiers(const Graph& graph) {
  std::vector<int> tiers;
  for (const Graph::SwitchVertex& s : graph.switches) tiers.push_back(s.tier);
  return tiers;
}

const std::string kTriangle =
    "{kind: custom, hosts: 3, link: {rate: 25Gbps, delay: 2us}, switches: [{name: a}, {name: b}, "
    "{name: top}], links: [{a: host0, b: a}, {a: b, b: host2, rate: 1Gbps}, {a: host1, b: a}, "
    "{a: a, b: top, delay: 5us}, {a: top, b: b}, {a: b, b: top}]}";

TEST(CustomTest, HasTheLinksThatAreListed) {
  const Graph graph = GraphFrom(kTriangle);
  EXPECT_EQ(graph.hosts, 3u);
  EXPECT_THAT(NamesOfLinks(graph),
              ElementsAre("host0-a", "b-host2", "host1-a", "a-top", "top-b#0", "top-b#1"));
  EXPECT_EQ(graph.links[0].a_to_b, (Channel{25_Gbps, 2_us}));
  EXPECT_EQ(graph.links[1].a_to_b, (Channel{1_Gbps, 2_us}));
  EXPECT_EQ(graph.links[1].b_to_a, (Channel{1_Gbps, 2_us}));
  EXPECT_EQ(graph.links[3].b_to_a, (Channel{25_Gbps, 5_us}));
}

TEST(CustomTest, RaisesSwitchesByTheirDistanceFromHosts) {
  EXPECT_THAT(Tiers(GraphFrom(kTriangle)), ElementsAre(0, 0, 1));
  // Hosts at both ends of a chain of five.
  const std::string chain =
      "{kind: custom, hosts: 2, links: [{a: host0, b: s0}, {a: s0, b: s1}, {a: s1, b: s2}, {a: s2, "
      "b: s3}, {a: s3, b: s4}, {a: s4, b: host1}], switches: [{name: s0}, {name: s1}, ";
  EXPECT_THAT(Tiers(GraphFrom(chain + "{name: s2}, {name: s3}, {name: s4}]}")),
              ElementsAre(0, 1, 2, 1, 0));
  EXPECT_THAT(Tiers(GraphFrom(chain + "{name: s2, tier: 7}, {name: s3}, {name: s4, tier: 2}]}")),
              ElementsAre(0, 1, 7, 1, 2));
}

TEST(CustomTest, OffersPathsOverTheUplinksOfItsTiers) {
  const Graph graph = GraphFrom(kTriangle);
  const Routing routing(graph);
  EXPECT_EQ(routing.PathsBetween(2, 0).size(), 2u);
  EXPECT_EQ(routing.MakePathTable()->Between(2, 0).size(), 2u);
  EXPECT_EQ(routing.MakePathTable()->Between(0, 2).size(), 1u) << "the switch above chooses";
}

// --- Files ---

// The numbers of a link list need not be those of a graph: here, switches come first.
std::string LinkFileOf(const Graph& graph) {
  const size_t switches = graph.switches.size();
  const auto node = [&](VertexId vertex) {
    return graph.IsHost(vertex) ? switches + graph.HostAt(vertex) : graph.SwitchAt(vertex);
  };
  std::string text = fmt::format("{} {} {}\n", graph.vertices(), switches, graph.links.size());
  for (size_t s = 0; s < switches; ++s) text += fmt::format("{} ", s);
  text += "\n";
  for (const Graph::Link& link : graph.links) {
    text += fmt::format("{} {} {} {} 0.000000\n", node(link.a), node(link.b),
                        FormatQuantity(link.a_to_b.rate), FormatQuantity(link.a_to_b.delay));
  }
  return text;
}

std::string OnFile(const std::string& file) { return "{kind: custom, file: '" + file + "'}"; }

TEST(LinkFileTest, IsReadAsSimulatorsWithNs3WriteIt) {
  const TemporaryFolder folder;
  const std::string file = folder
                               .Write("net.txt",
                                      "6 3 6\r\n"
                                      "2 5 0\n"
                                      "1 2 100Gbps 1000ns 0.000000\n"
                                      "3 5  40Gbps 0.001ms\t0\n"
                                      "4 5 10Gbps 1us 0\n\n"
                                      "0 2 400Gbps 2us 0\n5 0 100Gbps 1us 0.0\n0 5 100Gbps 1us 0")
                               .string();
  const Graph graph = GraphFrom(OnFile(file));
  EXPECT_EQ(graph.hosts, 3u);
  EXPECT_THAT(NamesOfLinks(graph),
              ElementsAre("host0-switch2", "host1-switch5", "host2-switch5", "switch0-switch2",
                          "switch5-switch0#0", "switch5-switch0#1"));
  EXPECT_EQ(graph.switches[0].name, "switch0");
  EXPECT_THAT(Tiers(graph), ElementsAre(1, 0, 0));
  EXPECT_EQ(graph.links[0].a_to_b, (Channel{100_Gbps, 1_us}));
  EXPECT_EQ(graph.links[1].b_to_a, (Channel{40_Gbps, 1_us}));
}

// A fat-tree that is described link by link behaves as the fat-tree.
TEST(LinkFileTest, OfAFatTreeGivesTheSameResults) {
  const TemporaryFolder folder;
  const std::string fat_tree =
      "{kind: fat_tree, k: 4, core_link: {rate: 40Gbps, delay: 3us}, asymmetry: [{cores: [1], "
      "rate: "
      "5Gbps}]}";
  const std::string file = folder.Write("net.txt", LinkFileOf(GraphFrom(fat_tree))).string();
  for (const std::string lb : {"ecmp", "presto"}) {
    const std::string rest = "\nlb: " + lb +
                             "\nworkload: [{kind: poisson, sizes: small, load: 0.5, load_ref: "
                             "fabric, flows: 200}]\n";
    const RunFiles listed = RunExperiment(ExperimentFrom("topology: " + OnFile(file) + rest)).files;
    const RunFiles shaped = RunExperiment(ExperimentFrom("topology: " + fat_tree + rest)).files;
    EXPECT_EQ(listed.flows, shaped.flows);
    EXPECT_EQ(listed.summary, shaped.summary);
    EXPECT_EQ(listed.reorder, shaped.reorder);
  }
}

TEST(LinkFileTest, IsFoundFromTheResolvedExperiment) {
  const TemporaryFolder folder;
  folder.Write("net.txt", LinkFileOf(GraphFrom(kTriangle)));
  Diagnostics diagnostics;
  const auto read = LoadExperimentsFromText(
      "topology: " + OnFile("net.txt") + "\nlb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n",
      "x.yaml", folder.path().string(), {}, diagnostics);
  ASSERT_EQ(read.size(), 1u) << diagnostics.Report();
  const Experiment again = ExperimentFrom(read.front().Resolved());
  EXPECT_EQ(RunExperiment(read.front()).files, RunExperiment(again).files);
}

// --- What only the whole network shows ---

std::string ErrorsOn(const std::string& topology) {
  return ErrorsOf("topology: " + topology +
                  "\nlb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n");
}

TEST(LinkFileTest, SaysInWhichLineAndColumnItIsWrong) {
  const TemporaryFolder folder;
  const std::string four = "4 2 3\n0 1\n0 1 10Gbps 1us 0\n0 2 10Gbps 1us 0\n";
  std::string many = "4 2 30\n0 1\n";
  for (int i = 0; i < 30; ++i) many += "0 1\n";
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", ":1:1: topology.file: expected the numbers of nodes, switches and links"},
      {"\n\n4 2\n", ":3:1: topology.file: expected the numbers of nodes, switches and links"},
      {"4 two 3\n", ":1:3: topology.file: "},
      {"2 1 2\n", ":1:1: topology.file: "},
      {"3 2 2\n", ":1:1: topology.file: leaves 1 hosts; at least two are needed"},
      {"65538 1 2\n0\n", ":1:1: topology.file: more than 65536 hosts in all"},
      {"4 2 3\n", ":1:1: topology.file: lists 0 switches; the first line says 2"},
      {"4 2 3\n0\n", ":2:1: topology.file: lists 1 switches; the first line says 2"},
      {"4 2 3\n0 0\n", ":2:3: topology.file: lists switch 0 twice"},
      {"4 2 3\n0 4\n", ":2:3: topology.file: "},
      {four, ":4:1: topology.file: ends after 2 links; the first line says 3"},
      {four + "1 3 10Gbps 1us 0\n1 3 10Gbps 1us 0\n",
       ":6:1: topology.file: goes on after the 3 links that the first line says"},
      {four + "1 3 10Gbps 1us\n", ":5:1: topology.file: has 4 columns; expected two nodes, rate"},
      {four + "1 4 10Gbps 1us 0\n", ":5:3: topology.file: "},
      {four + "1 3 10Gbps 0us 0\n", ":5:12: topology.file: "},
      {four + "1 3 10Gbps 1us 0.01\n", ":5:16: topology.file: the error rate must be 0"},
      {four + "2 3 10Gbps 1us 0\n", ":5:1: topology.file: 2 3 "},
      {four + "0 1 10Gbps 1us 0\n", ":5:1: topology.file: host1 has no link"},
      {many, ":23:1: topology.file: and perhaps more; reading stopped here"}};
  for (const auto& [text, message] : wrong) {
    const std::string file = folder.Write("net.txt", text).string();
    EXPECT_THAT(ErrorsOn(OnFile(file)), HasSubstr("net.txt" + message)) << text;
  }
  EXPECT_THAT(ErrorsOn(OnFile("nowhere.txt")), HasSubstr("nowhere.txt cannot be read"));
  const std::string file = folder.Write("net.txt", four + "1 3 10Gbps 1us 0\n").string();
  EXPECT_EQ(ErrorsOn(OnFile(file)), "");
}

TEST(CustomTest, MustLetAllHostsReachEachOther) {
  EXPECT_THAT(
      ErrorsOn("{kind: custom, hosts: 3, switches: [{name: a}, {name: b}], links: [{a: host0, b: "
               "a}, {a: host1, b: b}, {a: host2, b: b}]}"),
      HasSubstr("test.yaml:1:11: topology: b cannot reach a, and 1 more pair"));
}

TEST(CustomTest, SaysWhichEndOfALinkDoesNotExist) {
  const std::string errors = ErrorsOn(
      "{kind: custom, hosts: 2, switches: [{name: a}], links: [{a: host0, b: a}, {a: host1, b: "
      "b}, {a: host2, b: a}]}");
  EXPECT_THAT(errors, HasSubstr("topology.links[1].b: "));
  EXPECT_THAT(errors, HasSubstr("topology.links[2].a: "));
}

TEST(CustomTest, MayNotBeLongerThanPacketsLast) {
  const auto chain = [](int switches) {
    std::string names = "{name: s0}";
    std::string links = "{a: host0, b: s0}";
    for (int s = 1; s < switches; ++s) {
      names += fmt::format(", {{name: s{}}}", s);
      links += fmt::format(", {{a: s{}, b: s{}}}", s - 1, s);
    }
    return fmt::format(
        "{{kind: custom, hosts: 2, switches: [{}], links: [{}, {{a: s{}, b: host1}}]}}", names,
        links, switches - 1);
  };
  EXPECT_EQ(ErrorsOn(chain(64)), "");
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: " + chain(64) + "\nlb: ecmp\nworkload: [{kind: permutation, size: 100KB}]\n"));
  EXPECT_EQ(run.result.unfinished, 0);
  EXPECT_EQ(run.result.late_packets, 0);
  EXPECT_THAT(ErrorsOn(chain(65)),
              HasSubstr("hosts are 65 switches apart; packets may pass at most 64"));
}

TEST(CustomTest, MayNotHaveMorePathsThanPacketsCanName) {
  // Two hosts, and a ladder of switches: 300 uplinks in each of two tiers.
  std::string links = "{a: host0, b: low}, {a: host1, b: end}, {a: high, b: end}";
  for (int n = 0; n < 300; ++n) links += ", {a: low, b: middle}, {a: middle, b: high}";
  EXPECT_THAT(ErrorsOn("{kind: custom, hosts: 2, switches: [{name: low}, {name: middle, tier: 1}, "
                       "{name: high, tier: 2}, {name: end}], links: [" +
                       links + "]}"),
              HasSubstr("has too many paths to number"));
}

// Round trips are bounded by the longest way, not by the number of tiers: all switches are in one.
TEST(CustomTest, MayBeARing) {
  std::string names;
  std::string links;
  for (int s = 0; s < 12; ++s) {
    names += fmt::format("{}{{name: s{}}}", s == 0 ? "" : ", ", s);
    links += fmt::format("{}{{a: host{}, b: s{}}}, {{a: s{}, b: s{}}}", s == 0 ? "" : ", ", s, s, s,
                         (s + 1) % 12);
  }
  for (const std::string lb : {"ecmp", "rps", "presto", "letflow"}) {
    const Experiment experiment = ExperimentFrom(
        "topology: {kind: custom, hosts: 12, switches: [" + names + "], links: [" + links +
        "], port: {buffer: 20pkts}}\nlb: " + lb +
        "\ntransport: {kind: dctcp, min_rto: 500us}\nworkload: [{kind: permutation, size: 200KB}, "
        "{kind: incast, fan_in: 9, bytes_each: 60KB}]\n");
    const FinishedRun run = RunExperiment(experiment, 1);
    EXPECT_EQ(run.result.unfinished, 0);
    EXPECT_GT(run.result.packets.dropped_total(), 0);
    EXPECT_EQ(run.files, RunExperiment(experiment, 2).files);
    EXPECT_EQ(run.files, RunExperiment(experiment, 3).files);
  }
}

TEST(CustomTest, ParallelLinksHaveOneNameWhicheverEndIsFirst) {
  const std::string topology =
      "{kind: custom, hosts: 2, switches: [{name: s0}, {name: s1}], links: [{a: host0, b: s0}, {a: "
      "host1, b: s1}, {a: s0, b: s1}, {a: s1, b: s0}]}";
  const Experiment experiment = ExperimentFrom(
      "topology: " + topology + "\nlb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n");
  EXPECT_EQ(experiment.graph.links[2].name, "s0-s1#0");
  EXPECT_EQ(experiment.graph.links[3].name, "s0-s1#1");
}

TEST(CustomTest, RefusesTwoLinksOfOneName) {
  EXPECT_THAT(
      ErrorsOn("{kind: custom, hosts: 2, switches: [{name: a}, {name: b-c}, {name: a-b}, "
               "{name: c}], links: [{a: host0, b: a}, {a: host1, b: c}, {a: a, b: b-c}, {a: "
               "a-b, b: c}, {a: b-c, b: c}]}"),
      HasSubstr("two links that would both be called a-b-c"));
}

}  // namespace heddle::custom_test
