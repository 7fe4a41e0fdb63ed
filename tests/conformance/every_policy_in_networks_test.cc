// SPDX-License-Identifier: Apache-2.0
// What holds for every registered load balancer in whole networks, also for those added after this
// was written. A switch stops the program if a policy chooses a port that is no live next hop.

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "experiment/results.h"
#include "tests/conformance/tested_policies.h"
#include "tests/support/experiment_kit.h"
#include "topo/graph.h"

namespace heddle {
namespace {

struct Fabric {
  std::string name;
  std::string yaml;  // Without the closing brace.
};
void PrintTo(const Fabric& fabric, std::ostream* out) { *out << fabric.name; }
const Fabric kLeafSpine{"LeafSpine",
                        "{kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 2, "
                        "fabric_link: {rate: 10Gbps, delay: 1us}"};
const Fabric kFatTree{"FatTree", "{kind: fat_tree, k: 4"};

struct Stack {
  std::string name;
  std::string transport;
  std::string port;
};
void PrintTo(const Stack& stack, std::ostream* out) { *out << stack.name; }
const Stack kDctcp{"Dctcp", "{kind: dctcp, min_rto: 500us}", ""};
const Stack kLossless{"RoceWithPfc", "{kind: rocev2, rto: 500us}",
                      ", port: {memory: {model: dt, size: 9MB}, pfc: {classes: [3]}}"};

using Case = std::tuple<std::string, Fabric, Stack>;

std::string Yaml(const Fabric& fabric, const Stack& stack, const std::string& lb,
                 const std::string& rest) {
  return "topology: " + fabric.yaml + stack.port + "}\ntransport: " + stack.transport +
         "\nlb: " + lb + "\n" + rest;
}

const std::string kFlows =
    "workload: [{kind: poisson, sizes: small, load: 0.5, flows: 60},\n"
    "           {kind: incast, fan_in: 4, bytes_each: 20KB, queries: 3, period: 200us}]\n";

class EveryPolicyInNetworksTest : public testing::TestWithParam<Case> {
 protected:
  std::string Of(const std::string& rest) {
    const auto& [lb, fabric, stack] = GetParam();
    return Yaml(fabric, stack, lb, rest);
  }
  bool IsRefused() {
    const std::string errors = ErrorsOf(Of(kFlows));
    EXPECT_TRUE(errors.empty() || errors.find(": lb") != std::string::npos) << errors;
    return !errors.empty();
  }
};

std::string NameOf(const testing::TestParamInfo<Case>& test) {
  const auto& [lb, fabric, stack] = test.param;
  return lb + "_" + fabric.name + "_" + stack.name;
}

INSTANTIATE_TEST_SUITE_P(All, EveryPolicyInNetworksTest,
                         testing::Combine(testing::ValuesIn(TestedPolicies()),
                                          testing::Values(kLeafSpine, kFatTree),
                                          testing::Values(kDctcp, kLossless)),
                         &NameOf);

TEST_P(EveryPolicyInNetworksTest, IsTheSameEveryTimeAndForEveryNumberOfThreads) {
  if (IsRefused()) GTEST_SKIP() << "refused";
  const Experiment experiment = ExperimentFrom(Of(kFlows));
  const FinishedRun first = RunExperiment(experiment, 1);
  EXPECT_EQ(first.result.unfinished, 0);
  for (const int threads : {1, 2}) {
    const FinishedRun again = RunExperiment(experiment, threads);
    EXPECT_EQ(first.files, again.files) << threads << " threads";
    EXPECT_EQ(first.result.packets.hops, again.result.packets.hops);
    EXPECT_EQ(first.result.policies, again.result.policies);
  }
}

// Each link between switches goes down for a while, one after the other, with routes that follow at
// once or, in the lossless network, late. Flows lose packets, and finish.
TEST_P(EveryPolicyInNetworksTest, SurvivesTheFailureOfEveryLink) {
  if (IsRefused()) GTEST_SKIP() << "refused";
  const Experiment network = ExperimentFrom(Of(kFlows));
  std::string schedule = "schedule:\n";
  int64_t us = 50;
  for (const Graph::Link& link : network.graph.links) {
    if (network.graph.IsHost(link.a) || network.graph.IsHost(link.b)) continue;
    schedule += "  - {at: " + std::to_string(us) + "us, links: [" + link.name + "], state: down}\n";
    us += 40;
    schedule += "  - {at: " + std::to_string(us) + "us, links: [" + link.name + "], state: up}\n";
  }
  const std::string flows =
      "workload: [{kind: poisson, sizes: small, load: 0.25, duration: " + std::to_string(us) +
      "us}]\nmeasure: {warm_up: 0us, t_max: 5s}\n";
  const bool late = std::get<Stack>(GetParam()).name == kLossless.name;
  const std::string routing = late ? "routing: {convergence: 20us}" : "";
  const FinishedRun run = RunExperiment(ExperimentFrom(Of(flows + schedule + routing)));
  EXPECT_GT(run.result.measured, 5);
  EXPECT_EQ(run.result.unfinished, 0);
  EXPECT_GT(run.result.packets.dropped[static_cast<size_t>(DropReason::kLinkDown)], 0);
}

TEST_P(EveryPolicyInNetworksTest, KeepsStateThatDoesNotGrowWithTheFlows) {
  if (IsRefused()) GTEST_SKIP() << "refused";
  const auto state_of = [&](int flows) {
    const SimulationResult result =
        RunExperiment(
            ExperimentFrom(Of("workload: [{kind: poisson, sizes: small, load: 0.3, flows: " +
                              std::to_string(flows) + "}]\n")))
            .result;
    std::vector<int64_t> bytes;
    for (const PolicyReport& report : result.policies) bytes.push_back(report.state_bytes);
    return bytes;
  };
  // Hosts may remember destinations, of which there are few; a flow more costs nothing anywhere.
  const std::vector<int64_t> few = state_of(50);
  const std::vector<int64_t> many = state_of(150);
  for (size_t i = 0; i < few.size(); ++i) EXPECT_LE(many[i], few[i] + 16'384);
}

// --- A flow alone on an idle symmetric fabric has no reason to be slower than on a fixed path ---

struct Alone {
  int64_t fct_ps;
  int64_t probes = 0;
};

Alone RunAlone(const Fabric& fabric, const std::string& lb) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      Yaml(fabric, kDctcp, lb,
           "workload: [{kind: incast, fan_in: 1, bytes_each: 999KB, queries: 1, period: 1ms}]\n")));
  Alone alone{run.result.samples.at(0).fct_ps};
  for (const auto& [name, value] : run.result.policy_counters) {
    if (name == "probes") alone.probes = value;
  }
  return alone;
}

class EveryPolicyAloneTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, EveryPolicyAloneTest, testing::ValuesIn(TestedPolicies()),
                         [](const auto& name) { return name.param; });

TEST_P(EveryPolicyAloneTest, ALoneFlowIsNoSlowerThanUnderEcmp) {
  for (const Fabric& fabric : {kLeafSpine, kFatTree}) {
    if (!ErrorsOf(Yaml(fabric, kDctcp, GetParam(), kFlows)).empty()) continue;
    const Alone alone = RunAlone(fabric, GetParam());
    const double fct = static_cast<double>(alone.fct_ps);
    // What a scheme sends of its own takes its time.
    const double tolerance = alone.probes > 0 ? 1.02 : 1;
    EXPECT_LE(fct, tolerance * static_cast<double>(RunAlone(fabric, "ecmp").fct_ps)) << fabric.name;
  }
}

}  // namespace
}  // namespace heddle
