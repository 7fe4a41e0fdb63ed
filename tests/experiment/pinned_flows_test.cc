// SPDX-License-Identifier: Apache-2.0
// Flow lists that name their flows and pin them to paths.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "experiment/results.h"
#include "lb/parts/load_balancer.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"

namespace heddle::pinned_flows_test {

using testing::HasSubstr;

// Two leaves with four hosts each: 0 to 3 and 4 to 7.
constexpr const char* kLeafSpine =
    "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 4}\n";
constexpr const char* kFatTree = "topology: {kind: fat_tree, k: 4}\n";

class PinnedFlowsTest : public testing::Test {
 protected:
  std::string With(const std::string& network, const std::string& lb, const std::string& csv,
                   const std::string& more = "") {
    folder_.Write("flows.csv", csv);
    return network + "lb: " + lb + "\n" + more + "workload: [{kind: flows, file: " + file() +
           "}]\n";
  }
  std::string file() const { return (folder_ / "flows.csv").string(); }

  TemporaryFolder folder_;
};

// Expects the data and the ACKs of one flow from leaf0 to leaf1 on these spines.
void ExpectOn(const FinishedRun& run, const std::string& data, const std::string& acks) {
  EXPECT_EQ(ShareOfUplink(run, "leaf0", data), 1.0) << run.files.links;
  EXPECT_EQ(ShareOfUplink(run, "leaf1", acks, "wire_bytes"), 1.0) << run.files.links;
}

TEST_F(PinnedFlowsTest, EveryPolicyLetsThemTakeTheirPath) {
  for (const auto& lb : LoadBalancers().Names()) {
    SCOPED_TRACE(lb);
    for (const std::string transport : {"dctcp", "rocev2"}) {
      const std::string yaml = With(kLeafSpine, std::string(lb),
                                    "id,src,dst,bytes,start_ns,path,ack_path\n0,0,4,300000,0,2,1\n",
                                    "transport: " + transport + "\n");
      if (!ErrorsOf(yaml).empty()) continue;  // Not with this transport.
      const FinishedRun run = RunExperiment(ExperimentFrom(yaml));
      ASSERT_EQ(run.result.unfinished, 0);
      EXPECT_EQ(ShareOfUplink(run, "leaf0", "spine2"), 1.0) << run.files.links;
      const CsvTable flows(run.files.flows);
      EXPECT_EQ(flows.Integer(0, "paths_used"), 1);
    }
  }
}

TEST_F(PinnedFlowsTest, AcksTakeTheirOwnPathWhateverAckPathSays) {
  for (const std::string way : {"policy", "ecmp", "symmetric", "spray"}) {
    ExpectOn(RunExperiment(ExperimentFrom(
                 With(kLeafSpine, "rps", "src,dst,bytes,start_ns,path,ack_path\n0,4,300000,0,3,0\n",
                      "ack_path: " + way + "\n"))),
             "spine3", "spine0");
  }
}

TEST_F(PinnedFlowsTest, OthersAreBalancedAsEver) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      With(kLeafSpine, "rr_pkt", "src,dst,bytes,start_ns,path\n0,4,300000,0,\n1,5,1460,0,2\n")));
  EXPECT_NEAR(ShareOfUplink(run, "leaf0", "spine1"), 0.25, 0.01);
}

TEST_F(PinnedFlowsTest, NameAnUplinkForEachTier) {
  // Pods have edges of two hosts: 0, 1 and 2, 3; the next pod begins with host 4. The second uplink
  // of the second aggregation switch is the last core switch.
  const FinishedRun run =
      RunExperiment(ExperimentFrom(With(kFatTree, "rps",
                                        "src,dst,bytes,start_ns,path,ack_path\n"
                                        "0,4,300000,0,1/1,0/0\n0,2,3000,0,0,\n")));
  const CsvTable links(run.files.links);
  const CsvTable flows(run.files.flows);
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    EXPECT_EQ(flows.Integer(row, "paths_used"), 1);
  }
  int64_t across = 0;
  for (size_t row = 0; row < links.rows.size(); ++row) {
    if (links.At(row, "tier") != "spine_up") continue;
    const int64_t payload = links.Integer(row, "payload_bytes");
    across += payload;
    if (payload > 0) {
      EXPECT_EQ(links.At(row, "peer"), "core3");
    }
  }
  EXPECT_EQ(across, 300'000);
}

TEST_F(PinnedFlowsTest, PathsThatDoNotExistAreRefusedWithTheirLine) {
  const std::string errors = ErrorsOf(With(kLeafSpine, "ecmp",
                                           "src,dst,bytes,start_ns,path,ack_path\n"
                                           "0,4,1000,0,4,\n"
                                           "0,4,1000,0,,-1\n"
                                           "0,4,1000,0,1/0,\n"
                                           "0,1,1000,0,0,\n"));
  EXPECT_THAT(errors, HasSubstr(file() + ":2:1: path: no shortest path from host 0 to host 4 takes "
                                         "uplink 4; that switch has 4, numbered from 0"));
  EXPECT_THAT(errors, HasSubstr(file() + ":3:1: ack_path: no shortest path from host 4 to host 0"));
  EXPECT_THAT(errors, HasSubstr(file() + ":4:1: path: names 2 uplinks, but a path from host 0 to "
                                         "host 4 has 1"));
  EXPECT_THAT(errors, HasSubstr(file() + ":5:1: path: names 1 uplinks, but a path from host 0 to "
                                         "host 1 has 0; there is nothing to choose"));
  EXPECT_THAT(ErrorsOf(With(kFatTree, "ecmp", "src,dst,bytes,start_ns,path\n0,8,1,0,1\n")),
              HasSubstr(":2:1: path: names 1 uplinks, but a path from host 0 to host 8 has 2"));
  EXPECT_THAT(ErrorsOf(With(kFatTree, "ecmp", "src,dst,bytes,start_ns,path\n0,8,1,0,1/x\n")),
              HasSubstr(":2:1: path: \"x\" is not a whole number"));
}

// Routes that a failure changes are followed once they are known.
TEST_F(PinnedFlowsTest, TheLoadBalancerChoosesIfThePathFails) {
  const FinishedRun run = RunExperiment(
      ExperimentFrom(With(kLeafSpine, "ecmp", "src,dst,bytes,start_ns,path\n0,4,300000,0,2\n",
                          "schedule: [{at: 0s, links: [leaf0-spine2], state: down}]\n")));
  EXPECT_EQ(run.result.unfinished, 0);
  EXPECT_EQ(ShareOfUplink(run, "leaf0", "spine2"), 0.0);
}

TEST_F(PinnedFlowsTest, IdsOfTheListComeLastInFlowsCsvAndRepeatTheRun) {
  const std::string csv = "id,src,dst,bytes,start_ns\n70,0,4,3000,20\n9,1,5,2000,10\n";
  const FinishedRun run = RunExperiment(ExperimentFrom(With(kLeafSpine, "ecmp", csv)));
  const CsvTable flows(run.files.flows);
  EXPECT_EQ(flows.header.back(), "id");
  EXPECT_EQ(flows.Integer(flows.Find("src", "0"), "id"), 70);
  EXPECT_EQ(flows.Integer(flows.Find("src", "0"), "flow_id"), 1);
  EXPECT_EQ(flows.Integer(flows.Find("src", "1"), "id"), 9);
  EXPECT_EQ(flows.Integer(flows.Find("src", "1"), "start_ps"), 10'000);
  const FinishedRun again =
      RunExperiment(ExperimentFrom(With(kLeafSpine, "ecmp", run.files.flows)));
  EXPECT_EQ(again.files.flows, run.files.flows);
}

TEST_F(PinnedFlowsTest, WithoutIdsFlowsCsvHasNoColumnOfThem) {
  const FinishedRun run = RunExperiment(
      ExperimentFrom(With(kLeafSpine, "ecmp", "src,dst,bytes,start_ns,path\n0,4,3000,20,1\n")));
  EXPECT_EQ(CsvTable(run.files.flows).header.back(), "finished");
}

// Flows of a workload beside the list have none.
TEST_F(PinnedFlowsTest, OtherWorkloadsHaveNoIdsAndNoPins) {
  folder_.Write("flows.csv", "id,src,dst,bytes,start_ns,path\n7,0,4,3000,0,1\n");
  const FinishedRun run = RunExperiment(ExperimentFrom(
      std::string(kLeafSpine) + "lb: rps\nworkload:\n  - {kind: permutation, size: 100KB}\n" +
      "  - {kind: flows, file: " + file() + "}\n"));
  const CsvTable flows(run.files.flows);
  ASSERT_EQ(flows.rows.size(), 9u);
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    EXPECT_EQ(flows.At(row, "id"), flows.At(row, "size_bytes") == "3000" ? "7" : "");
  }
}

TEST_F(PinnedFlowsTest, ThreadsMakeNoDifference) {
  std::string csv = "id,src,dst,bytes,start_ns,path,ack_path\n";
  for (int i = 0; i < 40; ++i) {
    csv += fmt::format("{},{},{},{},{},{}/{},{}/{}\n", i, i % 8, 8 + i % 8, 40'000, i * 700, i % 2,
                       i / 2 % 2, i / 4 % 2, i / 8 % 2);
  }
  const Experiment experiment = ExperimentFrom(With(kFatTree, "rps", csv));
  EXPECT_EQ(RunExperiment(experiment, 1).files, RunExperiment(experiment, 3).files);
}

}  // namespace heddle::pinned_flows_test
