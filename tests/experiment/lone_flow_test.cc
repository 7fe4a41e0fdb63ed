// SPDX-License-Identifier: Apache-2.0
// Flows that have the network for themselves.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"

namespace heddle::lone_flow_test {

// Every size between every kind of pair, a millisecond apart.
std::string LoneFlows(const std::vector<int64_t>& sizes, int hosts) {
  std::string csv = "src,dst,size_bytes,start_ps\n";
  int64_t start = 0;
  for (const int64_t size : sizes) {
    for (int src = 0; src < hosts; ++src) {
      for (const int step : {1, 3, 5}) {
        csv += fmt::format("{},{},{},{}\n", src, (src + step) % hosts, size, start);
        start += 1'000'000'000;
      }
    }
  }
  return csv;
}

FinishedRun RunFlows(const std::string& csv, const std::string& topology, const std::string& rest) {
  const TemporaryFolder folder;
  const std::string file = folder.Write("flows.csv", csv).string();
  return RunExperiment(ExperimentFrom("topology: " + topology + "\n" + rest +
                                      "\nworkload: [{kind: flows, file: " + file + "}]\n"));
}

// M1.
TEST(LoneFlowTest, HasSlowdownOneIfItFitsTheInitialWindow) {
  for (const std::string topology :
       {"{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}",
        "{kind: leaf_spine, leaves: 4, spines: 3, hosts_per_leaf: 2, host_link: {rate: 25Gbps, "
        "delay: 25ns}, fabric_link: {rate: 100Gbps, delay: 650ns}}",
        "{kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 4, host_link: {rate: 400Gbps, "
        "delay: 1us}, fabric_link: {rate: 40Gbps, delay: 2us}}"}) {
    for (const std::string transport :
         {"dctcp", "tcp", "{kind: dctcp, framing: ip1500}", "{kind: tcp, mtu: 9000}"}) {
      SCOPED_TRACE(topology + transport);
      const FinishedRun run = RunFlows(LoneFlows({1, 100, 1'460, 1'461, 14'600}, 8), topology,
                                       "lb: ecmp\ntransport: " + transport);
      const CsvTable flows(run.files.flows);
      ASSERT_EQ(flows.rows.size(), 5u * 8u * 3u);
      for (size_t f = 0; f < flows.rows.size(); ++f) {
        ASSERT_EQ(flows.At(f, "slowdown"), "1") << f;
        ASSERT_EQ(flows.At(f, "fct_rx_ns"), flows.At(f, "ideal_rx_ns"));
      }
    }
  }
}

TEST(LoneFlowTest, HasItsLastAckWhenTheIdealSaysSo) {
  const FinishedRun run =
      RunFlows(LoneFlows({1, 1'460, 14'600}, 8),
               "{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}", "lb: ecmp");
  const CsvTable flows(run.files.flows);
  for (size_t f = 0; f < flows.rows.size(); ++f) {
    ASSERT_EQ(flows.At(f, "fct_tx_ns"), flows.At(f, "ideal_tx_ns")) << f;
  }
}

// M2 and M4, on an asymmetric fabric, where one path is slower.
TEST(LoneFlowTest, IsNeverFasterThanIdealOnOnePath) {
  const FinishedRun run =
      RunFlows(LoneFlows({1, 1'461, 14'600, 200'000}, 8),
               "{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, asymmetry: "
               "[{spines: [1], rate: 3Gbps}]}",
               "lb: ecmp");
  const CsvTable flows(run.files.flows);
  size_t slower = 0;
  for (size_t f = 0; f < flows.rows.size(); ++f) {
    EXPECT_GE(flows.Real(f, "slowdown"), 1);
    EXPECT_EQ(flows.Integer(f, "reordered_net"), 0);
    EXPECT_EQ(flows.Integer(f, "retx_spurious"), 0);
    slower += flows.Real(f, "slowdown") > 1 ? 1 : 0;
  }
  EXPECT_GT(slower, 0u);
}

// W8: the table of a run is a list of flows.
TEST(FlowListRunTest, FlowsOfARunRepeatIt) {
  const std::string network =
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\nlb: rps\n"
      "measure: {warm_up: 0ps}\n";
  for (const std::string workload :
       {"{kind: poisson, sizes: small, load: 0.5, flows: 300}", "{kind: permutation, size: 100KB}",
        "{kind: incast, fan_in: 5, bytes_each: 20KB, queries: 4, period: 30us}"}) {
    SCOPED_TRACE(workload);
    const Experiment original = ExperimentFrom(network + "workload: [" + workload + "]\n");
    const RunFiles first = RunExperiment(original).files;
    const TemporaryFolder folder;
    folder.Write("flows.csv", first.flows);
    const Experiment repeated = ExperimentFrom(
        network + "workload: [{kind: flows, file: " + (folder / "flows.csv").string() + "}]\n");
    const RunFiles second = RunExperiment(repeated).files;
    // All but the column `job`, which belongs to queries.
    CsvTable a(first.flows);
    CsvTable b(second.flows);
    ASSERT_EQ(a.rows.size(), b.rows.size());
    const size_t job = static_cast<size_t>(std::ranges::find(a.header, "job") - a.header.begin());
    for (auto& row : a.rows) row[job] = "0";
    EXPECT_EQ(a.rows, b.rows);
    EXPECT_EQ(first.summary, second.summary);
    EXPECT_EQ(first.reorder, second.reorder);
  }
}

// At 3 Gbps, no byte takes a whole number of picoseconds. The last packet is late by less than one
// for each link, whoever sends at that rate.
TEST(LoneFlowTest, KeepsARateThatNoPicosecondDivides) {
  for (const char* slow : {"host0-leaf0", "leaf0-spine0", "host4-leaf1"}) {
    const FinishedRun run =
        RunFlows("src,dst,size_bytes,start_ps\n0,4,10240000,0\n",
                 fmt::format("{{kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 4, port: "
                             "{{buffer: unlimited}}, asymmetry: "
                             "[{{links: [{}], rate: 3Gbps}}]}}",
                             slow),
                 "lb: ecmp\ntransport: {kind: rocev2, cc: none}");
    const CsvTable flows(run.files.flows);
    EXPECT_NEAR(flows.Real(0, "fct_rx_ns"), flows.Real(0, "ideal_rx_ns"), 0.004) << slow;
  }
}

}  // namespace heddle::lone_flow_test
