// SPDX-License-Identifier: Apache-2.0
// Tests Hedera's demand estimates and its placement of flows.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/random.h"
#include "lb/hedera/annealing.h"
#include "lb/hedera/demand.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"

namespace heddle::hedera_test {

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

// --- Annealing ---

// Eight hosts, eight paths, and a price for each host on each path. Hosts h and path (3 h) mod 8
// cost nothing, all else a half: one of 40,320 states has no energy.
TEST(HederaAnnealingTest, FindsTheStateOfTheLeastEnergy) {
  const auto price = [](HostId host, uint16_t path) { return path == 3 * host % 8 ? 0 : 0.5; };
  HederaAnnealing annealing(Rng::Stream(1, "hedera", 0));
  annealing.AddPod(std::vector<HostId>{0, 1, 2, 3, 4, 5, 6, 7}, 8);
  const auto energy = [&] {
    double sum = 0;
    annealing.ForEach([&](HostId host, uint16_t path) { sum += price(host, path); });
    return sum;
  };
  double before = energy();
  EXPECT_EQ(before, 3);  // 0 and 4 are right to begin with.
  for (int period = 0; period < 3; ++period) {
    annealing.Search([&](HostId host, uint16_t from, uint16_t to) {
      return price(host, to) - price(host, from);
    });
    EXPECT_LE(energy(), before);  // Never worse than what it began with.
    before = energy();
  }
  EXPECT_EQ(before, 0);
}

TEST(HederaAnnealingTest, ReachesPathsThatNoHostBeganWith) {
  HederaAnnealing annealing(Rng::Stream(1, "hedera", 0));
  annealing.AddPod(std::vector<HostId>{5}, 4);
  annealing.Search([](HostId host, uint16_t from, uint16_t to) {
    EXPECT_EQ(host, 5);
    return (to == 3 ? 0.0 : 1.0) - (from == 3 ? 0.0 : 1.0);
  });
  annealing.ForEach([](HostId, uint16_t path) { EXPECT_EQ(path, 3); });
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

const std::string kFirstFit = "{kind: hedera, period: 1ms}";
const std::string kAnnealing = "{kind: hedera, period: 1ms, scheduler: annealing}";

// 20 MB at 10 Gbps last for 17 ms. Two on one link would need twice as long; put apart after the
// first millisecond they don't.
TEST(HederaTest, ElephantsOnOneLinkAreSeparatedAfterAPeriod) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 4, hosts_per_leaf: 4, host_link: {rate: 10Gbps, delay: 1us}, "
      "fabric_link: {rate: 10Gbps, delay: 1us}}");
  int collided = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    collided += Elephants(graph, "ecmp", 4, 20'000'000, seed).last > 30_ms ? 1 : 0;
    const Outcome outcome = Elephants(graph, kFirstFit, 4, 20'000'000, seed);
    EXPECT_LT(outcome.last, 22_ms) << seed;
    EXPECT_EQ(outcome.placed, 4) << seed;
    EXPECT_LT(Elephants(graph, kAnnealing, 4, 20'000'000, seed).last, 22_ms) << seed;
  }
  EXPECT_GT(collided, 0);
}

TEST(HederaTest, KnowsTheLinksOfAFatTree) {
  const Graph graph = GraphFrom("{kind: fat_tree, k: 4, host_link: {rate: 10Gbps, delay: 1us}}");
  Duration hashed{0};
  Duration placed{0};
  Duration annealed{0};
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    hashed += Elephants(graph, "ecmp", 8, 10'000'000, seed).last;
    placed += Elephants(graph, kFirstFit, 8, 10'000'000, seed).last;
    annealed += Elephants(graph, kAnnealing, 8, 10'000'000, seed).last;
  }
  EXPECT_LT(placed, hashed * 3 / 4);
  EXPECT_LT(annealed, hashed * 3 / 4);
}

// Hosts 0 to `sources` - 1 send 20 MB each to one host over two spines, of which the links of one
// are of 5 Gbps. Returns the share of the bytes that take it.
double ShareOfSlowSpine(const std::string& balancer, SwitchId slow, HostId sources) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: 10Gbps, delay: 1us}, "
      "fabric_link: {rate: 10Gbps, delay: 1us}, asymmetry: [{spines: [" +
      std::to_string(slow) + "], rate: 5Gbps}]}");
  const Chosen<LoadBalancer> chosen = BalancerFrom(balancer);
  Lab lab({.graph = graph,
           .transport = "{kind: dctcp}",
           .balancer = balancer,
           .port = "{buffer: 1MB, ecn_above: 97500B}",
           .controller = [&](const FabricView& fabric) {
             return chosen.settings->ForFabric(fabric, 1);
           }});
  for (HostId h = 0; h < sources; ++h) lab.AddFlow(h, 2, 20'000'000);
  lab.Run();
  const auto sent_to = [&](SwitchId spine) {
    FifoPort& port = lab.PortTo(lab.SwitchVertex(0), lab.SwitchVertex(2 + spine));
    return static_cast<double>(port.SentBy(lab.end()).wire_bytes);
  };
  return sent_to(slow) / (sent_to(0) + sent_to(1));
}

// It would fill the link of its host, 10 Gbps. In the first of 17 periods it is hashed.
TEST(HederaTest, AFlowIsNotPlacedOnASlowPathThatItsDemandDoesNotFit) {
  for (const SwitchId slow : {SwitchId{0}, SwitchId{1}}) {
    EXPECT_LT(ShareOfSlowSpine(kFirstFit, slow, 1), 1. / 17) << slow;
    EXPECT_LT(ShareOfSlowSpine(kAnnealing, slow, 1), 1. / 17) << slow;
  }
}

// Two that share the link of their destination would send at 5 Gbps each: one fills the slow path,
// which comes first, and the other has no room there.
TEST(HederaTest, AFlowWhoseDemandFitsIsPlacedOnASlowPath) {
  const double share = ShareOfSlowSpine(kFirstFit, 0, 2);
  EXPECT_GT(share, 0.45);
  EXPECT_LT(share, 0.55);
}

// A flow each way takes the first path, the other two the second. When spine 0 loses leaf 0, the
// first two are placed once more.
TEST(HederaTest, FlowsOnAPathThatFailsArePlacedAnew) {
  const auto placed = [](const std::string& schedule, const std::string& lb) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 2, host_link: {rate: "
        "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}\n"
        "transport: {kind: dctcp, min_rto: 1ms}\n"
        "workload: [{kind: permutation, size: 20MB, cross_rack: true}]\n" +
        schedule + "lb: " + lb + "\n"));
    EXPECT_EQ(run.result.unfinished, 0);
    return Counted(run, "reroutes");
  };
  const std::string failure = "schedule: [{at: 5ms, links: [leaf0-spine0], state: down}]\n";
  EXPECT_EQ(placed("", kFirstFit), 4);
  EXPECT_EQ(placed(failure, kFirstFit), 6);
  EXPECT_EQ(placed("", kAnnealing), 4);
  EXPECT_GE(placed(failure, kAnnealing), 5);
}

TEST(HederaTest, MiceAreHashed) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 4, hosts_per_leaf: 4, host_link: {rate: 10Gbps, delay: 1us}, "
      "fabric_link: {rate: 10Gbps, delay: 1us}}");
  EXPECT_EQ(Elephants(graph, kFirstFit, 4, 100'000, 1).placed, 0);
}

}  // namespace heddle::hedera_test
