// SPDX-License-Identifier: Apache-2.0
// These tests run every registered load balancer in whole networks, including later additions. A
// switch stops the program if a policy chooses a port that is no live next hop.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "experiment/results.h"
#include "tests/conformance/tested_policies.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "topo/graph.h"

namespace heddle::every_policy_in_networks_test {

struct Fabric {
  std::string name;
  std::string yaml;  // Without the closing brace.
  int hosts;
  int hops_across;  // The distance from the first host to the last.
};
void PrintTo(const Fabric& fabric, std::ostream* out) { *out << fabric.name; }
const Fabric kLeafSpine{"LeafSpine",
                        "{kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 2, "
                        "fabric_link: {rate: 10Gbps, delay: 1us}",
                        6, 4};
// One spine has slow links, another long ones.
const Fabric kUneven{"Uneven",
                     "{kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 2, "
                     "fabric_link: {rate: 10Gbps, delay: 1us}, "
                     "asymmetry: [{spines: [0], rate: 5Gbps}, {spines: [1], delay: 20us}]",
                     6, 4};
const Fabric kFatTree{"FatTree", "{kind: fat_tree, k: 4", 16, 6};

struct Stack {
  std::string name;
  std::string transport;
  std::string port;
  int segment_bytes;
};
void PrintTo(const Stack& stack, std::ostream* out) { *out << stack.name; }
const Stack kDctcp{"Dctcp", "{kind: dctcp, min_rto: 500us}", "", 1'460};
const Stack kLossless{"RoceWithPfc", "{kind: rocev2, rto: 500us}",
                      ", port: {memory: {model: dt, size: 9MB}, pfc: {classes: [3]}}", 1'024};
// Small queues, so that packets are trimmed.
const Stack kUet{"UetTrimming", "{kind: uet, rto: 500us}",
                 ", port: {trim: {when: port, threshold: 20KB}}", 4'096};

const Stack kRccc{"UetCredit", "{kind: uet, cc: none, receiver: rccc, rto: 500us}", kUet.port,
                  4'096};
const Stack kEqds{"Eqds", "{kind: uet, preset: eqds, rto: 500us}", kUet.port, 4'096};
const Stack kNdp{"Ndp", "{kind: uet, preset: ndp, rto: 500us}",
                 ", port: {trim: {when: port, threshold: 62550B, header_limit: 2KB, overflow: "
                 "back}}",
                 4'096};

// Transports that only some load balancers suit.
const Stack kRepeat{"RoceSelectiveRepeat", "{kind: rocev2, recovery: sr, rto: 500us}", "", 1'024};
const Stack kMpRdma{"MpRdma", "{kind: mprdma, rto: 500us}", "", 1'024};
const Stack kMpRdmaPfc{"MpRdmaWithPfc", "{kind: mprdma, rto: 500us}", kLossless.port, 1'024};
const Stack kMptcp{"Mptcp", "{kind: mptcp, subflows: 4, cc: dctcp, min_rto: 500us}", "", 1'440};
// Without marks, windows would grow for all the time of a flow, and the buffers of its subflows
// too. Two subflows have few buffers that reordering may make grow.
const Stack kMptcpLia{
    "MptcpLia", "{kind: mptcp, subflows: 2, cc: lia, ecn: rfc3168, min_rto: 500us}", "", 1'440};
const Stack kMptcpOlia{
    "MptcpOlia", "{kind: mptcp, subflows: 4, cc: olia, ecn: rfc3168, setup: join, min_rto: 500us}",
    "", 1'440};
const Stack kMmptcp{"Mmptcp",
                    "{kind: mmptcp, subflows: 4, ecn: rfc3168, switch_bytes: 30KB, min_rto: 500us}",
                    "", 1'440};

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

// Keeps only the letters and digits of the settings.
std::string NameOf(const testing::TestParamInfo<Case>& test) {
  const auto& [lb, fabric, stack] = test.param;
  std::string name;
  for (const char c : lb) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') name += c;
  }
  return name + "_" + fabric.name + "_" + stack.name;
}

// Modes in which schemes behave differently from the default, at switches, hosts or controllers.
std::vector<std::string> Variants() {
  std::vector<std::string> variants = {
      "{kind: flb, rate_control: true}",
      "{kind: flb, compare: queueing, scope: path, evict: strict}",
      "{kind: conga, mode: pod, detector: age_bit}",
      "{kind: conga, mode: path}",
      "{kind: hedera, scheduler: annealing}",
      "{kind: tr, telemetry: vclock}",
      "{kind: tr, decay: true, own_serialization: false}",
      "{kind: tdlb, detect_at: last_hop, reroute: always, probe: hula, table: minmax, place: hash}",
      "{kind: best_nexthop, direction: forward, apply_at: all, key: leaf}",
      "{kind: rps, selective_red: true}",
      "{kind: hermes, delay: one_way, use_ecn: false, move: 0.5, failures: false}",
      "{kind: pdlb, cell_route: turns, form: literal, slow_if: avg2x}",
      "{kind: pdlb, collect: probes, signal: owd, sizes: powers}",
      "{kind: drill, metric: delay, per_class: true}",
      "{kind: ag, pick: least_delay, table_bits: 4}",
      "{kind: ecmp, resilient: true}",
      "{kind: flare, shares: capacity, detector: age_bit}",
      "{kind: reps, freeze: false}",
  };
  // A plug-in is tested without them.
  if (std::ranges::find(TestedPolicies(), "ecmp") == TestedPolicies().end()) variants.clear();
  return variants;
}

// Those of `policies` that are under test.
std::vector<std::string> TestedOf(std::vector<std::string> policies) {
  std::erase_if(policies, [](const std::string& policy) {
    return std::ranges::find(TestedPolicies(), policy) == TestedPolicies().end();
  });
  return policies;
}

INSTANTIATE_TEST_SUITE_P(SelectiveRepeat, EveryPolicyInNetworksTest,
                         testing::Combine(testing::ValuesIn(TestedOf({"ecmp", "rps", "themis"})),
                                          testing::Values(kLeafSpine, kUneven, kFatTree),
                                          testing::Values(kRepeat)),
                         &NameOf);

INSTANTIATE_TEST_SUITE_P(MpRdma, EveryPolicyInNetworksTest,
                         testing::Combine(testing::ValuesIn(TestedOf({"ecmp", "wcmp"})),
                                          testing::Values(kLeafSpine, kUneven, kFatTree),
                                          testing::Values(kMpRdma, kMpRdmaPfc)),
                         &NameOf);

INSTANTIATE_TEST_SUITE_P(Mptcp, EveryPolicyInNetworksTest,
                         testing::Combine(testing::ValuesIn(TestedOf({"ecmp", "letflow", "rps"})),
                                          testing::Values(kLeafSpine, kUneven, kFatTree),
                                          testing::Values(kMptcp)),
                         &NameOf);

INSTANTIATE_TEST_SUITE_P(MptcpLia, EveryPolicyInNetworksTest,
                         testing::Combine(testing::ValuesIn(TestedPolicies()),
                                          testing::Values(kUneven), testing::Values(kMptcpLia)),
                         &NameOf);

INSTANTIATE_TEST_SUITE_P(
    MptcpOlia, EveryPolicyInNetworksTest,
    testing::Combine(testing::ValuesIn(TestedOf({"ecmp", "wcmp", "letflow", "conga", "flowbender",
                                                 "plb", "drill", "rps"})),
                     testing::Values(kLeafSpine, kFatTree), testing::Values(kMptcpOlia)),
    &NameOf);

// It sprays by source ports, which these hash.
INSTANTIATE_TEST_SUITE_P(Mmptcp, EveryPolicyInNetworksTest,
                         testing::Combine(testing::ValuesIn(TestedOf({"ecmp", "wcmp"})),
                                          testing::Values(kLeafSpine, kUneven, kFatTree),
                                          testing::Values(kMmptcp)),
                         &NameOf);

INSTANTIATE_TEST_SUITE_P(All, EveryPolicyInNetworksTest,
                         testing::Combine(testing::ValuesIn(TestedPolicies()),
                                          testing::Values(kLeafSpine, kUneven, kFatTree),
                                          testing::Values(kDctcp, kLossless, kUet)),
                         &NameOf);

INSTANTIATE_TEST_SUITE_P(Rccc, EveryPolicyInNetworksTest,
                         testing::Combine(testing::ValuesIn(TestedPolicies()),
                                          testing::Values(kUneven),
                                          testing::Values(kRccc, kEqds, kNdp)),
                         &NameOf);

INSTANTIATE_TEST_SUITE_P(Variants, EveryPolicyInNetworksTest,
                         testing::Combine(testing::ValuesIn(Variants()),
                                          testing::Values(kUneven, kFatTree),
                                          testing::Values(kDctcp, kLossless)),
                         &NameOf);

TEST_P(EveryPolicyInNetworksTest, IsTheSameEveryTimeAndForEveryNumberOfThreads) {
  if (IsRefused()) GTEST_SKIP() << "refused";
  const Experiment experiment = ExperimentFrom(Of(kFlows));
  const FinishedRun first = RunExperiment(experiment, 1);
  EXPECT_EQ(first.result.unfinished, 0);
  for (const int threads : {1, 2, 3}) {
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

// Sends flows from the first leaf or pod to the last one, while a link there is down for a
// millisecond, or not. The link is far from where flows begin; routes follow at once or, in the
// lossless network, late. Returns the share of that link in the bytes that reach the leaf or pod
// more than two milliseconds after, over several seeds: schemes that move few flows vary.
double ShareOfALinkThatIsBack(const Case& test, bool fails, int seeds) {
  const auto& [lb, fabric, stack] = test;
  const bool is_tree = fabric.name == kFatTree.name;
  const std::string link = is_tree ? "agg7-core3" : "leaf2-spine2";
  const std::string hosts = is_tree ? "[0, 1, 2, 3, 12, 13, 14, 15]" : "[0, 1, 4, 5]";
  std::string rest = fmt::format(
      "workload: [{{kind: poisson, sizes: small, load: 0.5, duration: 6ms, from: {0}, to: {0}}}]\n"
      "measure: {{warm_up: 0us, record: {{links: 100us}}}}\n",
      hosts);
  if (fails) {
    rest += fmt::format(
        "schedule: [{{at: 1ms, links: [{0}], state: down}}, {{at: 2ms, links: [{0}], state: "
        "up}}]\n",
        link);
  }
  if (stack.name == kLossless.name) rest += "routing: {convergence: 50us}\n";
  double of_link = 0;
  double of_all = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    const std::string yaml = Yaml(fabric, stack, lb, rest) + "seed: " + std::to_string(seed) + "\n";
    const FinishedRun run = RunExperiment(ExperimentFrom(yaml));
    const CsvTable series(run.files.series.at("series_link.csv"));
    for (size_t row = 0; row < series.rows.size(); ++row) {
      const double at = series.Real(row, "time_ns");
      const std::string node = series.At(row, "node");
      const bool leads_there = node.starts_with(is_tree ? "core" : "spine") &&
                               series.Integer(row, "port") == (is_tree ? 3 : 2);
      if (!leads_there || at <= 4e6 || at > 6e6) continue;
      of_all += series.Real(row, "wire_bytes");
      if (link.ends_with(node)) of_link += series.Real(row, "wire_bytes");
    }
  }
  EXPECT_GT(of_all, seeds * 1e6);
  return of_link / of_all;
}

// A quarter of an even share over three seeds, or half of what a scheme gives this link anyway.
// Twice that with one seed decides, too.
TEST_P(EveryPolicyInNetworksTest, UsesALinkThatIsBack) {
  if (IsRefused()) GTEST_SKIP() << "refused";
  const bool is_tree = std::get<Fabric>(GetParam()).name == kFatTree.name;
  const double quarter = is_tree ? 1.0 / 16 : 1.0 / 12;
  if (ShareOfALinkThatIsBack(GetParam(), true, 1) > 2 * quarter) return;
  const double share = ShareOfALinkThatIsBack(GetParam(), true, 3);
  if (share > quarter) return;
  EXPECT_GT(share, ShareOfALinkThatIsBack(GetParam(), false, 3) / 2);
}

// Runs ten times as many packets of the same number of flows. Queues may have to grow, which is
// seldom.
TEST_P(EveryPolicyInNetworksTest, AllocatesNothingForAPacket) {
  if (IsRefused()) GTEST_SKIP() << "refused";
  const auto allocations_of = [&](const std::string& size) {
    const Experiment experiment = ExperimentFrom(
        Of("workload: [{kind: permutation, size: " + size + "}]\nmeasure: {warm_up: 0us}\n"));
    const size_t before = Allocations();
    const FinishedRun run = RunExperiment(experiment, 1);
    return std::pair(Allocations() - before, run.result.packets.hops);
  };
  // About as many packets for each transport.
  const int scale = std::max(std::get<Stack>(GetParam()).segment_bytes / 1'024, 1);
  const auto [few, few_hops] = allocations_of(fmt::format("{}KB", 200 * scale));
  const auto [many, many_hops] = allocations_of(fmt::format("{}MB", 2 * scale));
  EXPECT_GT(many_hops, 5 * few_hops);
  EXPECT_LT(many, few + static_cast<size_t>(many_hops - few_hops) / 200);
}

// --- A flow alone on an idle symmetric fabric has no reason to be slower than on a fixed path ---

struct Alone {
  std::string slowdown;
  double fct_ps = 0;
  int64_t probes = 0;
};

// Sends one flow from the first host to the last, which is as far away as any. All segments are
// full: a short one would overtake others on another path.
Alone RunAlone(const Fabric& fabric, const Stack& stack, const std::string& lb, int64_t segments) {
  const TemporaryFolder folder;
  const std::filesystem::path file =
      folder.Write("flows.csv", fmt::format("src,dst,size_bytes,start_ps\n0,{},{},0\n",
                                            fabric.hosts - 1, segments * stack.segment_bytes));
  const FinishedRun run = RunExperiment(ExperimentFrom(
      Yaml(fabric, stack, lb, "workload: [{kind: flows, file: " + file.string() + "}]\n")));
  const CsvTable flows(run.files.flows);
  EXPECT_EQ(flows.Integer(0, "hops"), fabric.hops_across);
  Alone alone{flows.At(0, "slowdown"), static_cast<double>(run.result.samples.at(0).fct_ps)};
  const auto counters = SumOfCounters(run.result.policies);
  if (const auto probes = counters.find("probes"); probes != counters.end()) {
    alone.probes = probes->second;
  }
  return alone;
}

class EveryPolicyAloneTest : public EveryPolicyInNetworksTest {};
INSTANTIATE_TEST_SUITE_P(All, EveryPolicyAloneTest,
                         testing::Combine(testing::ValuesIn(TestedPolicies()),
                                          testing::Values(kLeafSpine, kFatTree),
                                          testing::Values(kDctcp, kLossless)),
                         &NameOf);

// Ten segments are DCTCP's initial window.
TEST_P(EveryPolicyAloneTest, AFlowOfOneWindowTakesAsLongAsTheClosedFormSays) {
  if (IsRefused()) GTEST_SKIP() << "refused";
  const auto& [lb, fabric, stack] = GetParam();
  const Alone alone = RunAlone(fabric, stack, lb, 10);
  if (alone.probes == 0) {
    EXPECT_EQ(alone.slowdown, "1");
  } else {  // It may meet a few of the packets that the scheme sends of its own, `probes`.
    EXPECT_LE(std::stod(alone.slowdown), 1.005) << alone.probes << " probes";
  }
}

TEST_P(EveryPolicyAloneTest, ALongFlowIsNoSlowerThanUnderEcmp) {
  if (IsRefused()) GTEST_SKIP() << "refused";
  const auto& [lb, fabric, stack] = GetParam();
  const Alone alone = RunAlone(fabric, stack, lb, 700);
  const double ecmp = RunAlone(fabric, stack, "ecmp", 700).fct_ps;
  if (alone.probes == 0) {
    EXPECT_EQ(alone.fct_ps, ecmp);
  } else {
    // A probe of 88 bytes from each host, copied to each, is 1 % of a link every 100 us, and a
    // packet waits for probes at several links.
    EXPECT_LE(alone.fct_ps, (fabric.hosts > 6 ? 1.02 : 1.003) * ecmp) << alone.probes << " probes";
  }
}

}  // namespace heddle::every_policy_in_networks_test
