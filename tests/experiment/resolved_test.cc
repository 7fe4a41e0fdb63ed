// SPDX-License-Identifier: Apache-2.0

#include "experiment/resolved.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "experiment/run.h"
#include "settings/yaml.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"

namespace heddle::resolved_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Hosts of 10 Gbps and uplinks of 40 Gbps.
std::string Fabric(const std::string& port = "{}") {
  return "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, "
         "host_link: {rate: 10Gbps, delay: 1us}, fabric_link: {rate: 40Gbps, delay: 1us}, "
         "port: " +
         port + "}\nlb: ecmp\n";
}

const std::string kWorkload =
    "workload: [{kind: poisson, sizes: 'fixed:60KB', load: 0.6, flows: 200}, "
    "{kind: incast, fan_in: 7, bytes_each: 150KB, queries: 4, period: 400us}]\n"
    "measure: {unfinished: inf, t_max: 30ms}\n";

std::vector<std::string> PortsOf(const std::string& yaml) {
  std::vector<std::string> ports;
  for (const auto& [topic, text] : ResolvedLines(ResolvedOf(ExperimentFrom(yaml)))) {
    if (topic == "ports") ports.push_back(text);
  }
  return ports;
}

// 250 frames of 1518 bytes and DCTCP's 65 packets at 10 Gbps, as its paper has them; 30 KB for each
// 10 Gbps above.
TEST(ResolvedTest, PortsHaveTheDefaultsOfTheirRate) {
  EXPECT_THAT(
      PortsOf(Fabric() + kWorkload),
      ElementsAre("8 leaf_down of 10Gbps: buffer 379.5KB, ECN marks above 97.5KB at enqueue",
                  "4 leaf_up of 40Gbps: buffer 1.518MB, ECN marks above 120KB at enqueue",
                  "4 spine_down of 40Gbps: buffer 1.518MB, ECN marks above 120KB at "
                  "enqueue"));
}

TEST(ResolvedTest, PortsOfOtherRatesAndInPacketsAreOtherKinds) {
  const std::string slow =
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, "
      "asymmetry: [{spines: [1], rate: 1Gbps}], port: {buffer: 100pkts, ecn_above: unlimited}}\n"
      "lb: ecmp\n";
  EXPECT_THAT(PortsOf(slow + "workload: [{kind: permutation, size: 1MB}]\n"),
              ElementsAre("8 leaf_down of 10Gbps: buffer 100pkts, no ECN marks",
                          "2 leaf_up of 10Gbps: buffer 100pkts, no ECN marks",
                          "2 leaf_up of 1Gbps: buffer 100pkts, no ECN marks",
                          "2 spine_down of 10Gbps: buffer 100pkts, no ECN marks",
                          "2 spine_down of 1Gbps: buffer 100pkts, no ECN marks"));
}

// The headroom is that of the table in docs/experiments.md for packets of 1086 bytes: 2 us and the
// frame and the pause frame of 84 bytes at the link's rate, and two packets.
TEST(ResolvedTest, PausesAndCongestionControlAreResolved) {
  const ResolvedValues resolved = ResolvedOf(
      ExperimentFrom(Fabric("{pfc: {classes: [3]}}") + kWorkload + "transport: rocev2\n"));
  ASSERT_EQ(resolved.ports.size(), 3u);
  const ResolvedPorts& to_host = resolved.ports.front();
  EXPECT_EQ(to_host.tier, "leaf_down");
  EXPECT_EQ(to_host.headroom, 2500 + (1086 + 20) + 84 + 2 * 1086);
  EXPECT_EQ(to_host.xoff, 379'500 - to_host.headroom);
  EXPECT_EQ(to_host.marking.above, 10'000);
  EXPECT_EQ(to_host.marking.all, 40'000);
  EXPECT_EQ(resolved.congestion_control, "dcqcn");
  EXPECT_THAT(resolved.transport,
              testing::IsSupersetOf({Pair("mtu", "1024"), Pair("cc.rai", "10Mbps"),
                                     Pair("cc.rhai", "100Mbps"), Pair("cc.min_rate", "10Mbps"),
                                     Pair("cc.cnp_interval", "50us")}));
}

// uet-htsim derives these lengths for its fat-tree of 128 hosts.
TEST(ResolvedTest, UltraEthernetMarksAndTrimsByTheBandwidthDelayProduct) {
  const auto lines = ResolvedLines(ResolvedOf(ExperimentFrom(
      "topology: {kind: fat_tree, k: 8, host_link: {rate: 100Gbps, delay: 1us}, "
      "edge_link: {rate: 100Gbps, delay: 1us}, core_link: {rate: 100Gbps, delay: 1us}, "
      "port: {trim: {when: port}}}\nlb: ecmp\ntransport: {kind: uet, framing: uet_htsim}\n" +
      std::string(kWorkload))));
  EXPECT_THAT(
      lines.back().second,
      HasSubstr("ECN marks from 37.35KB to 145.25KB (up to 100 %) at dequeue, trims packets "
                "above 178.45KB, headers up to 356.9KB"));
}

TEST(ResolvedTest, SharedBuffersAreResolved) {
  const auto lines = ResolvedLines(ResolvedOf(ExperimentFrom(
      Fabric("{memory: {model: dt}, pfc: {classes: [3]}}") + kWorkload + "transport: rocev2\n")));
  EXPECT_THAT(lines,
              testing::Contains(Pair("buffers", "9MB for all ports of a switch (dt, alpha 1)")));
  EXPECT_THAT(lines.back().second,
              HasSubstr("pauses an input above 1 times the free buffer, headroom"));
}

// All links have one rate, so that a value of one kind of port holds for all.
std::string OneRate(const std::string& port) {
  return "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, port: " + port +
         "}\nlb: ecmp\n";
}

// The resolved values as arguments for --set, all that `yaml` does not set itself.
std::vector<std::string> SetsOf(const ResolvedValues& resolved) {
  const Value document = *[&] {
    Diagnostics diagnostics;
    return ParseYaml(ResolvedYaml(resolved), "run.yaml", diagnostics);
  }();
  static const std::map<std::string, std::string> kSettings = {
      {"buffer", "buffer"},
      {"ecn_above", "ecn_above"},
      {"red_min", "red.min"},
      {"red_max", "red.max"},
      {"red_probability", "red.probability"},
      {"marking", "marking"},
      {"mark_at", "mark_at"},
      {"trim_threshold", "trim.threshold"},
      {"header_limit", "trim.header_limit"},
      {"headroom", "pfc.headroom"},
      {"xoff", "pfc.xoff"}};
  const Value& section = *document.Find("resolved");
  std::vector<std::string> sets;
  for (const Value::Entry& entry : section.Find("ports")->items.front().entries) {
    const auto found = kSettings.find(entry.key);
    if (found == kSettings.end() || entry.value.text == "unlimited") continue;
    sets.push_back(fmt::format("topology.port.{}={}", found->second, entry.value.text));
  }
  for (const auto& [name, value] : resolved.transport) {
    sets.push_back(fmt::format("transport.{}={}", name, value));
  }
  if (const Value* offset = section.Find("resume_offset")) {
    sets.push_back("topology.port.pfc.resume_offset=" + offset->text);
  }
  if (const Value* memory = section.Find("memory")) {
    sets.push_back("topology.port.memory.size=" + memory->Find("size")->text);
    sets.push_back("topology.port.memory.alpha=" + memory->Find("alpha")->text);
  }
  sets.push_back("measure.warm_up=" + section.Find("warm_up")->text);
  return sets;
}

struct UsedCase {
  std::string port;
  std::string transport;
};

class ResolvedValuesTest : public testing::TestWithParam<UsedCase> {};

// Whoever writes the shown values in place of auto gets the same run, to the byte. So they are the
// values that the network is built with.
TEST_P(ResolvedValuesTest, AreTheOnesThatTheNetworkUses) {
  const std::string yaml =
      OneRate(GetParam().port) + kWorkload + "transport: " + GetParam().transport + "\n";
  const Experiment experiment = ExperimentFrom(yaml);
  const std::vector<std::string> sets = SetsOf(ResolvedOf(experiment));
  SCOPED_TRACE(testing::PrintToString(sets));
  const Experiment written_out = ExperimentFrom(yaml, sets);
  EXPECT_NE(written_out.Resolved(), experiment.Resolved());
  EXPECT_EQ(RunExperiment(written_out).files, RunExperiment(experiment).files);
}

INSTANTIATE_TEST_SUITE_P(
    All, ResolvedValuesTest,
    testing::Values(
        UsedCase{"{}", "dctcp"}, UsedCase{"{}", "{kind: tcp, min_rto: 1ms}"},
        UsedCase{"{marking: red}", "{kind: dctcp, min_rto: 1ms}"},
        UsedCase{"{memory: {model: dt}}", "{kind: dctcp, min_rto: 1ms}"},
        UsedCase{"{pfc: {classes: [3]}}", "{kind: rocev2, cc: {kind: dcqcn}}"},
        UsedCase{"{memory: {model: hpcc_mmu}}", "{kind: rocev2, cc: {kind: dcqcn, rp: nic}}"},
        UsedCase{"{}", "{kind: rocev2, recovery: irn, bdp_scope: max, cc: {kind: timely}}"},
        UsedCase{"{}", "uet"}, UsedCase{"{trim: {when: port}}", "uet"},
        UsedCase{"{trim: {when: port}}", "{kind: rocev2, cc: {kind: dcqcn}}"},
        UsedCase{"{pfc: {classes: [3]}}", "{kind: rocev2, cc: {kind: swift}}"},
        UsedCase{"{pfc: {classes: [3]}}", "{kind: rocev2, cc: {kind: hpcc, w_ai: 80B}}"}));

// The values matter: with others the results differ.
TEST(ResolvedTest, OtherValuesGiveOtherResults) {
  const std::string yaml = OneRate("{}") + kWorkload + "transport: {kind: tcp, min_rto: 1ms}\n";
  const RunFiles files = RunExperiment(ExperimentFrom(yaml)).files;
  EXPECT_NE(RunExperiment(ExperimentFrom(yaml, {"topology.port.buffer=300KB"})).files, files);
  const std::string dctcp = OneRate("{}") + kWorkload;
  EXPECT_NE(RunExperiment(ExperimentFrom(dctcp, {"topology.port.ecn_above=90KB"})).files,
            RunExperiment(ExperimentFrom(dctcp)).files);
}

// run.yaml has the section; it gives the same experiment under the same name, and without the
// section, which would not hold after a change.
TEST(ResolvedTest, RunYamlShowsTheValuesAndReadsAsTheSameExperiment) {
  const TemporaryFolder folder;
  const Experiment experiment =
      ExperimentFrom(Fabric("{pfc: {classes: [3]}}") + kWorkload + "transport: rocev2\n");
  ASSERT_TRUE(RunToFolder(experiment, {}, folder / "run", false).ok());
  const std::string text = ReadFile(folder / "run" / "run.yaml");
  EXPECT_THAT(text, testing::StartsWith(experiment.Resolved()));
  EXPECT_THAT(text, testing::EndsWith(ResolvedYaml(ResolvedOf(experiment))));
  const Experiment again = ExperimentFrom(text);
  EXPECT_EQ(again.Resolved(), experiment.Resolved());
  EXPECT_EQ(again.Id(), experiment.Id());
}

}  // namespace heddle::resolved_test
