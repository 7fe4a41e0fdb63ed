// SPDX-License-Identifier: Apache-2.0
// Hedera: what it thinks that flows would send, and where it puts them.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lb/hedera_demand.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"

namespace heddle {
namespace {

std::vector<double> Demands(std::vector<FlowDemand> flows) {
  EstimateDemands(flows);
  std::vector<double> demands;
  for (const FlowDemand& flow : flows) demands.push_back(flow.demand);
  return demands;
}
void ExpectDemands(const std::vector<FlowDemand>& flows, const std::vector<double>& expected) {
  const std::vector<double> demands = Demands(flows);
  for (size_t i = 0; i < flows.size(); ++i) EXPECT_NEAR(demands[i], expected[i], 1e-6) << i;
}

TEST(HederaTest, AFlowAloneWouldFillItsLink) { ExpectDemands({{0, 1}}, {1}); }

TEST(HederaTest, FlowsToOneHostShareItsLink) {
  ExpectDemands({{0, 9}, {1, 9}, {2, 9}}, {1.0 / 3, 1.0 / 3, 1.0 / 3});
}

// The paper's example of four hosts that send to each other.
TEST(HederaTest, EstimatesAsInThePapersExample) {
  ExpectDemands(
      {{0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 0}, {1, 2}, {2, 0}, {2, 3}, {3, 1}, {3, 1}},
      {1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3, 2.0 / 3, 1.0 / 3, 1.0 / 3});
}

TEST(HederaTest, WhatADestinationCannotTakeGoesToOtherFlowsOfTheSource) {
  // Three send to 9, one of them also to 8: a third there, so two thirds here.
  ExpectDemands({{0, 9}, {1, 9}, {2, 9}, {0, 8}}, {1.0 / 3, 1.0 / 3, 1.0 / 3, 2.0 / 3});
}

// --- In a network ---

struct Outcome {
  Duration last{};
  int64_t placed = 0;
};

Outcome Elephants(const Graph& graph, const std::string& balancer, HostId half, int64_t bytes,
                  uint64_t seed) {
  const Chosen<LoadBalancer> chosen = BalancerFrom(balancer);
  Lab lab({.graph = graph,
           .transport = "{kind: dctcp}",
           .balancer = balancer,
           .port = "{buffer: 1MB, ecn_above: 97500B}",
           .controller =
               [&](const FabricView& fabric) { return chosen.settings->ForFabric(fabric, seed); },
           .seed = seed});
  for (HostId h = 0; h < half; ++h) lab.AddFlow(h, static_cast<HostId>(half + h), bytes);
  lab.Run();
  Outcome outcome;
  for (const FlowRecord& record : lab.records()) {
    outcome.last = std::max(outcome.last, FctRx(record));
  }
  for (const auto& its : lab.network().switches()) {
    for (const auto& counter : its->policy().Counters()) {
      if (counter.name == "reroutes") outcome.placed += counter.value;
    }
  }
  return outcome;
}

// 20 MB at 10 Gbps last for 17 ms. Two on one link would need twice as long; put apart after the
// first millisecond they don't.
TEST(HederaTest, ElephantsOnOneLinkAreSeparatedAfterAPeriod) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 4, hosts_per_leaf: 4, host_link: {rate: 10Gbps, delay: 1us}, "
      "fabric_link: {rate: 10Gbps, delay: 1us}}");
  int collided = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    collided += Elephants(graph, "ecmp", 4, 20'000'000, seed).last > 30_ms ? 1 : 0;
    const Outcome outcome = Elephants(graph, "{kind: hedera, period: 1ms}", 4, 20'000'000, seed);
    EXPECT_LT(outcome.last, 22_ms) << seed;
    EXPECT_EQ(outcome.placed, 4) << seed;
  }
  EXPECT_GT(collided, 0);
}

TEST(HederaTest, KnowsTheLinksOfAFatTree) {
  const Graph graph = GraphFrom("{kind: fat_tree, k: 4, host_link: {rate: 10Gbps, delay: 1us}}");
  Duration hashed{0};
  Duration placed{0};
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    hashed += Elephants(graph, "ecmp", 8, 10'000'000, seed).last;
    placed += Elephants(graph, "{kind: hedera, period: 1ms}", 8, 10'000'000, seed).last;
  }
  EXPECT_LT(placed, hashed * 3 / 4);
}

// A flow each way takes the first path, the other two the second. When spine 0 loses leaf 0, the
// first two are placed once more.
TEST(HederaTest, FlowsOnAPathThatFailsArePlacedAnew) {
  const auto placed = [](const std::string& schedule) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 2, host_link: {rate: "
        "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}\n"
        "lb: {kind: hedera, period: 1ms}\ntransport: {kind: dctcp, min_rto: 1ms}\n"
        "workload: [{kind: permutation, size: 20MB, cross_rack: true}]\n" +
        schedule));
    EXPECT_EQ(run.result.unfinished, 0);
    for (const auto& [name, value] : run.result.policy_counters) {
      if (name == "reroutes") return value;
    }
    return int64_t{-1};
  };
  EXPECT_EQ(placed(""), 4);
  EXPECT_EQ(placed("schedule: [{at: 5ms, links: [leaf0-spine0], state: down}]\n"), 6);
}

TEST(HederaTest, MiceAreHashed) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 4, hosts_per_leaf: 4, host_link: {rate: 10Gbps, delay: 1us}, "
      "fabric_link: {rate: 10Gbps, delay: 1us}}");
  EXPECT_EQ(Elephants(graph, "{kind: hedera, period: 1ms}", 4, 100'000, 1).placed, 0);
}

}  // namespace
}  // namespace heddle
