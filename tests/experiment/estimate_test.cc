// SPDX-License-Identifier: Apache-2.0

#include "experiment/estimate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "experiment/run_costs.h"
#include "tests/support/experiment_kit.h"

namespace heddle::estimate_test {

// A permutation of flows of `packets` packets; each crosses from one leaf to another, over 4 links.
std::string Permutation(int leaves, int hosts_per_leaf, const std::string& more, int packets = 10) {
  return fmt::format(
      "lb: ecmp\n"
      "topology: {{kind: leaf_spine, leaves: {}, spines: 2, hosts_per_leaf: {}}}\n"
      "workload: [{{kind: permutation, size: {}B, cross_rack: true}}]\n{}",
      leaves, hosts_per_leaf, packets * 1460, more);
}

const HopCost& Row(bool is_roce, CostedPorts ports) {
  for (const HopCost& cost : kHopCosts) {
    if (cost.is_roce == is_roce && cost.ports == ports) return cost;
  }
  ADD_FAILURE() << "no such row";
  return kHopCosts.front();
}

TEST(EstimateTest, CountsDataPacketsAndTheirAcksOnEachLink) {
  // 16 hosts, a flow each, 10 packets and 10 ACKs, 4 links.
  EXPECT_DOUBLE_EQ(ExpectedPacketHops(ExperimentFrom(Permutation(2, 8, "transport: dctcp\n"))),
                   16 * 10 * 2 * 4);
}

TEST(EstimateTest, WorkIsThatOfHopsAndOfFlows) {
  const Experiment dctcp = ExperimentFrom(Permutation(2, 8, "transport: dctcp\n"));
  EXPECT_DOUBLE_EQ(
      ExpectedWork(dctcp),
      ExpectedPacketHops(dctcp) * Row(false, CostedPorts::kFifo).by_hosts[0] + 16 * kTcpFlowCost);
  const Experiment roce = ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 8,\n"
      "  port: {pfc: {classes: [3]}}}\n"
      "lb: ecmp\n"
      "transport: {kind: rocev2, cc: dcqcn}\n"
      "workload: [{kind: permutation, size: 14600B, cross_rack: true}]\n");
  EXPECT_DOUBLE_EQ(
      ExpectedWork(roce),
      ExpectedPacketHops(roce) * Row(true, CostedPorts::kShared).by_hosts[0] + 16 * kRoceFlowCost);
}

// Between two columns of the table the cost follows the logarithm of the number of hosts.
TEST(EstimateTest, CostOfAHopGrowsWithTheNetwork) {
  const HopCost& cost = Row(false, CostedPorts::kFifo);
  const auto cost_at = [](int leaves, int hosts_per_leaf) {
    const Experiment experiment =
        ExperimentFrom(Permutation(leaves, hosts_per_leaf, "transport: dctcp\n"));
    return (ExpectedWork(experiment) - leaves * hosts_per_leaf * kTcpFlowCost) /
           ExpectedPacketHops(experiment);
  };
  EXPECT_DOUBLE_EQ(cost_at(2, 2), cost.by_hosts[0]);  // Fewer hosts than the first column has.
  EXPECT_DOUBLE_EQ(cost_at(8, 16), cost.by_hosts[1]);
  EXPECT_DOUBLE_EQ(cost_at(64, 64), cost.by_hosts[2]);  // More than the last.
  // 16 * sqrt(128 / 16) hosts are half way; 45 is the nearest number.
  EXPECT_NEAR(cost_at(5, 9), (cost.by_hosts[0] + cost.by_hosts[1]) / 2, 0.005);
}

TEST(EstimateTest, TakesTheSecondsOfThisMachine) {
  const Experiment experiment = ExperimentFrom(Permutation(2, 8, "transport: dctcp\n"));
  const double seconds = SecondsPerWork();
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(SecondsPerWork(), seconds);  // It is measured once.
  EXPECT_DOUBLE_EQ(ExpectedSeconds(experiment), ExpectedWork(experiment) * seconds);
}

}  // namespace heddle::estimate_test
