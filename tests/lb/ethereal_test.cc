// SPDX-License-Identifier: Apache-2.0
// Ethereal: where flows of planned and unplanned lanes go, and what a plan does in a network.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"

namespace heddle::ethereal_test {

HostFlow Planned(LbHost& host, uint16_t lane) {
  HostFlow flow;
  flow.dst = 1;
  flow.tuple_hash = 77;
  flow.lane = lane;
  host.At({}, [&](HostView& view, HostPolicy& policy) { policy.OnFlowStart(view, flow); });
  return flow;
}

TEST(EtherealTest, AFlowTakesThePathOfItsLane) {
  const PathTable paths = PathsOfWeights({1, 1, 1, 1});
  LbHost host("ethereal", paths);
  for (uint16_t lane = 0; lane < 4; ++lane) {
    HostFlow flow = Planned(host, lane);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(host.Send(flow).path, lane);
  }
  EXPECT_EQ(host.Count("planned_flows"), 4);
}

TEST(EtherealTest, AFlowThatNobodyHasPlannedIsHashed) {
  const PathTable paths = PathsOfWeights({1, 1, 1, 1});
  LbHost host("ethereal", paths);
  std::set<uint16_t> used;
  for (FlowId id = 0; id < 100; ++id) {
    HostFlow flow = host.Start(1, id);
    used.insert(host.Send(flow).path);
  }
  EXPECT_EQ(used, (std::set<uint16_t>{0, 1, 2, 3}));
  EXPECT_EQ(host.Count("planned_flows"), 0);
}

TEST(EtherealTest, ATimeoutTakesTheNextPathAndDuplicateAcksDoNot) {
  const PathTable paths = PathsOfWeights({1, 1, 1, 1});
  LbHost host("ethereal", paths);
  HostFlow flow = Planned(host, 3);
  const auto lose = [&](LossSign sign) {
    host.At({}, [&](HostView& view, HostPolicy& policy) { policy.OnLoss(view, flow, sign); });
    return host.Send(flow).path;
  };
  EXPECT_EQ(lose(LossSign::kDuplicateAcks), 3);
  EXPECT_EQ(lose(LossSign::kTimeout), 0);
  EXPECT_EQ(lose(LossSign::kTimeout), 1);
  EXPECT_EQ(host.Count("reroutes"), 2);
}

// --- Networks: 4 leaves of 3 hosts, and an all-to-all of 12 ranks ---

std::string AllToAll(const std::string& lb, const std::string& more = "", int64_t size = 1'200'000,
                     const std::string& transport = "{kind: rocev2, cc: none, recovery: irn}") {
  return fmt::format(
      "topology: {{kind: leaf_spine, leaves: 4, spines: 4, hosts_per_leaf: 3, host_link: {{rate: "
      "10Gbps, delay: 1us}}, fabric_link: {{rate: 10Gbps, delay: 1us}}, port: {{buffer: 4MB}}}}\n"
      "transport: {}\nlb: {}\n"
      "workload: [{{kind: collective, ranks: 12, op: all_to_all, size: {}B{}}}]\n"
      "measure: {{warm_up: 0s, t_max: 1s}}\n",
      transport, lb, size, more);
}

// The payload that each leaf sends through each uplink.
std::map<std::string, std::vector<int64_t>> Uplinks(const FinishedRun& run) {
  const CsvTable links(run.files.links);
  std::map<std::string, std::vector<int64_t>> bytes;
  for (size_t row = 0; row < links.rows.size(); ++row) {
    if (links.At(row, "tier") != "leaf_up") continue;
    bytes[links.At(row, "node")].push_back(links.Integer(row, "payload_bytes"));
  }
  return bytes;
}

// k = 9 messages go from a leaf to each of three others.
TEST(EtherealTest, EveryUplinkCarriesAsMuch) {
  const FinishedRun run = RunExperiment(ExperimentFrom(AllToAll("ethereal", ", split: leaf")));
  EXPECT_EQ(run.result.unfinished, 0);
  for (const auto& [leaf, bytes] : Uplinks(run)) {
    ASSERT_EQ(bytes.size(), 4u);
    const auto [least, most] = std::ranges::minmax(bytes);
    EXPECT_LE(most - least, 3 * 9 * 1'024) << leaf;
    EXPECT_GE(least, 3 * 9 * 100'000 / 4 - 3 * 9 * 1'024) << leaf;
  }
  // 8 of 9 messages stay whole, one is split into four: 12 flows instead of 9 for each of 12 pairs
  // of leaves; and 2 x 3 x 4 messages stay within a leaf.
  EXPECT_EQ(CsvTable(run.files.flows).rows.size(), 12u * 12 + 24);
  EXPECT_EQ(Counted(run, "planned_flows"), 12 * 12);
}

// Hashed flows leave some uplinks with more than others.
TEST(EtherealTest, IsMoreEvenThanHashing) {
  const FinishedRun run = RunExperiment(ExperimentFrom(AllToAll("ecmp")));
  int64_t worst = 0;
  for (const auto& [leaf, bytes] : Uplinks(run)) {
    const auto [least, most] = std::ranges::minmax(bytes);
    worst = std::max(worst, most - least);
  }
  EXPECT_GT(worst, 300'000);
}

// A link that is down from the start is no path of the plan: 9 messages on three paths stay whole.
TEST(EtherealTest, APlanLeavesOutADeadPath) {
  const std::string down = "schedule: [{at: 0s, links: [leaf0-spine1], state: down}]\n";
  const FinishedRun run =
      RunExperiment(ExperimentFrom(AllToAll("ethereal", ", split: leaf") + down));
  EXPECT_EQ(run.result.unfinished, 0);
  const std::vector<int64_t> bytes = Uplinks(run).at("leaf0");
  EXPECT_EQ(bytes, (std::vector<int64_t>{900'000, 0, 900'000, 900'000}));
}

// A path that dies during the run, which routing never learns: its parts time out and move on, and
// their ACKs with them.
TEST(EtherealTest, PartsLeaveASilentlyDeadPath) {
  const std::string down =
      "ack_path: symmetric\n"
      "schedule: [{at: 50us, links: [leaf0-spine1], state: down, silent: true}]\n";
  const FinishedRun run =
      RunExperiment(ExperimentFrom(AllToAll("ethereal", ", split: leaf") + down));
  EXPECT_EQ(run.result.unfinished, 0);
  EXPECT_GT(Counted(run, "reroutes"), 0);
}

TEST(EtherealTest, ThreadsAndIterationsDoNotMatter) {
  for (const std::string transport :
       {"{kind: rocev2, recovery: irn}", "{kind: dctcp, min_rto: 1ms}", "{kind: uet}"}) {
    const Experiment experiment = ExperimentFrom(
        AllToAll("ethereal", ", split: host, iterations: 3, window: 2, between: barrier", 600'000,
                 transport));
    const FinishedRun one = RunExperiment(experiment, 1);
    EXPECT_EQ(one.result.unfinished, 0);
    EXPECT_EQ(one.files, RunExperiment(experiment, 3).files);
  }
}

// A ring's step has one message between two leaves: it goes over all four paths.
TEST(EtherealTest, ALoneMessageOfAStepIsSplitOverAllPaths) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 2, host_link: {rate: "
      "40Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}\n"
      "transport: {kind: rocev2, recovery: irn}\nlb: ethereal\n"
      "workload: [{kind: collective, ranks: 4, op: all_reduce, size: 1638400B, split: leaf}]\n"
      "measure: {warm_up: 0s, t_max: 1s}\n"));
  for (const auto& [leaf, bytes] : Uplinks(run)) {
    // Six steps of 409,600 bytes.
    EXPECT_EQ(bytes, (std::vector<int64_t>(4, 6 * 409'600 / 4))) << leaf;
  }
}

TEST(EtherealTest, TreesAreNotSplit) {
  EXPECT_NE(ErrorsOf("topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
                     "transport: rocev2\nlb: ethereal\nworkload: [{kind: collective, ranks: 4, op: "
                     "all_reduce, algorithm: tree, size: 1MB, split: leaf}]\n")
                .find("split: does not go with tree"),
            std::string::npos);
}

}  // namespace heddle::ethereal_test
