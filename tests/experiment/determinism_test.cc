// SPDX-License-Identifier: Apache-2.0
// The promise: the same results for every number of threads and from run.yaml alone.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/thread_counts.h"

namespace heddle::determinism_test {

const std::vector<std::string> kBalancers = {"ecmp", "rps", "presto", "{kind: letflow, gap: 20us}"};

struct Fabric {
  std::string name;
  std::string topology;
};
const std::vector<Fabric> kFabrics = {
    {"symmetric", "{kind: leaf_spine, leaves: 3, spines: 2, hosts_per_leaf: 3}"},
    {"asymmetric",
     "{kind: leaf_spine, leaves: 2, spines: 3, hosts_per_leaf: 4, links_per_pair: 2, asymmetry: "
     "[{spines: [0], rate: 4Gbps}, {random_links: 2, delay: 7us, direction: up}]}"},
    {"short host links",
     "{kind: leaf_spine, leaves: 3, spines: 2, hosts_per_leaf: 3, host_link: {rate: 25Gbps, delay: "
     "25ns}, fabric_link: {rate: 40Gbps, delay: 2us}}"},
    {"tiny buffers",
     "{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 5, port: {buffer: 6pkts, ecn_above: "
     "4pkts}}"},
    {"fat-tree",
     "{kind: fat_tree, k: 4, hosts_per_edge: 1, core_links_per_agg: 1, host_link: {rate: 25Gbps, "
     "delay: 300ns}, asymmetry: [{cores: [0], rate: 4Gbps}]}"}};

std::string Yaml(const Fabric& fabric, const std::string& lb) {
  return "topology: " + fabric.topology + "\nlb: " + lb +
         "\ntransport: {kind: dctcp, min_rto: 500us}\nworkload:\n"
         "  - {kind: poisson, sizes: small, load: 0.4, flows: 120, overload: true}\n"
         "  - {kind: incast, fan_in: 5, bytes_each: 30KB, queries: 3, period: 150us}\n"
         "measure: {record: {queues: 40us, links: 90us, buffers: 70us, marks: 100us, flows: "
         "{size_at_least: 1KB, every: 30us}}}\n";
}

TEST(DeterminismTest, ResultsAreTheSameForEveryNumberOfThreadsAndEveryTime) {
  for (const Fabric& fabric : kFabrics) {
    for (const std::string& lb : kBalancers) {
      SCOPED_TRACE(fabric.name + ", " + lb);
      const Experiment experiment = ExperimentFrom(Yaml(fabric, lb));
      const FinishedRun first = RunExperiment(experiment, 1);
      if (fabric.name == "tiny buffers") {
        EXPECT_GT(first.result.packets.dropped_total(), 0);
      }
      for (const int threads : ThreadCounts({1, 2, 3, 8})) {
        const FinishedRun again = RunExperiment(experiment, threads);
        EXPECT_EQ(first.files, again.files) << threads << " threads";
        EXPECT_EQ(first.result.end, again.result.end);
        EXPECT_EQ(first.result.packets.hops, again.result.packets.hops);
        EXPECT_EQ(first.result.policies, again.result.policies);
        ASSERT_EQ(first.result.queries.size(), again.result.queries.size());
        EXPECT_EQ(first.result.queries[0].completion_ps, again.result.queries[0].completion_ps);
      }
    }
  }
}

// M12.
TEST(DeterminismTest, HowResultsAreSplitChangesNoTime) {
  const std::string yaml = Yaml(kFabrics.front(), "rps");
  const CsvTable one(RunExperiment(ExperimentFrom(yaml)).files.flows);
  const CsvTable two(
      RunExperiment(ExperimentFrom(yaml, {"measure.classes=[conga, all, bdp]",
                                          "measure.percentiles=hpcc", "measure.unfinished=drop"}))
          .files.flows);
  ASSERT_EQ(one.rows.size(), two.rows.size());
  for (size_t f = 0; f < one.rows.size(); ++f) {
    EXPECT_EQ(one.At(f, "flow_id"), two.At(f, "flow_id"));
    EXPECT_EQ(one.At(f, "rx_done_ps"), two.At(f, "rx_done_ps"));
    EXPECT_EQ(one.At(f, "tx_done_ps"), two.At(f, "tx_done_ps"));
    EXPECT_EQ(one.At(f, "reordered_net"), two.At(f, "reordered_net"));
  }
}

// The barrier after the last iteration takes longer than a packet's round trip. Background traffic
// goes on, so its counts show where the run ends. Records divide its windows otherwise.
TEST(DeterminismTest, TheEndOfAJobDoesNotDependOnWindows) {
  const std::string yaml =
      "topology: {kind: leaf_spine, leaves: 1, spines: 1, hosts_per_leaf: 8, host_link: {rate: "
      "7Gbps, delay: 25ns}}\n"
      "transport: {kind: rocev2, cc: none}\nlb: ecmp\n"
      "workload:\n"
      "  - {kind: collective, op: all_reduce, size: 20KB, ranks: 4, ranks_per_host: 4, "
      "local_latency: 30us, iterations: 2, between: barrier}\n"
      "background: [{hosts: 0.7, load: 0.3, overload: true}]\n";
  const FinishedRun plain = RunExperiment(ExperimentFrom(yaml));
  for (const std::string every : {"100ns", "500ns", "1us", "5us"}) {
    SCOPED_TRACE(every);
    const FinishedRun recorded =
        RunExperiment(ExperimentFrom(yaml, {"measure.record={queues: " + every + "}"}));
    EXPECT_EQ(plain.result.end, recorded.result.end);
    EXPECT_EQ(plain.files.links, recorded.files.links);
    EXPECT_EQ(plain.files.udp, recorded.files.udp);
  }
}

TEST(DeterminismTest, AnotherSeedGivesOtherResults) {
  const std::string yaml = Yaml(kFabrics.front(), "ecmp");
  const RunFiles one = RunExperiment(ExperimentFrom(yaml, {"seed=1"})).files;
  const RunFiles two = RunExperiment(ExperimentFrom(yaml, {"seed=2"})).files;
  EXPECT_NE(one.flows, two.flows);
}

TEST(ResolvedTest, ReadsBackAsItselfAndRunsTheSame) {
  for (const Fabric& fabric : kFabrics) {
    for (const std::string& lb : kBalancers) {
      SCOPED_TRACE(fabric.name + ", " + lb);
      const Experiment experiment = ExperimentFrom(Yaml(fabric, lb));
      const Experiment resolved = ExperimentFrom(experiment.Resolved());
      EXPECT_EQ(experiment.Resolved(), resolved.Resolved());
      EXPECT_EQ(RunExperiment(experiment).files, RunExperiment(resolved).files);
    }
  }
}

TEST(ResolvedTest, KeepsEverythingThatCanBeSet) {
  const TemporaryFolder folder;
  const std::string flows =
      folder.Write("a \"list\": #1.csv", "src,dst,size_bytes,start_ps\n0,1,5,7\n").string();
  const std::string cdf = folder.Write("a b.cdf", "10 0\n20 1\n").string();
  const Experiment experiment = ExperimentFrom(fmt::format(
      "name: true\nseed: 4611686018427387\n"
      "topology:\n  kind: leaf_spine\n  leaves: 2\n  spines: 2\n  hosts_per_leaf: 2\n"
      "  links_per_pair: 2\n  host_link: {{rate: 2500Mbps, delay: 1234567ps}}\n"
      "  fabric_link: {{rate: 0.04Tbps, delay: 0.5us}}\n"
      "  asymmetry:\n    - {{links: [leaf0-spine1#1, host1-leaf0], rate: 1Gbps, direction: down}}\n"
      "    - {{random_links: 1, random_spines: 1, delay: 3us}}\n"
      "  port: {{buffer: 64KiB, ecn_above: unlimited}}\n"
      "transport: {{kind: tcp, recovery: newreno, dupthresh: inf, ecn: rfc3168, rto_init: 3ms, "
      "max_cwnd: 40, setup: handshake, delack_count: 2, timestamps: true}}\n"
      "lb: {{kind: letflow, gap: 33us, slots: 17, detector: age_bit}}\n"
      "workload:\n"
      "  - {{kind: flows, file: '{}', start: 5us}}\n"
      "  - {{kind: poisson, sizes: 'mix:0.3333333333333333:fixed:1KB:file:{}', load: 1/3, "
      "duration: 10us, measured: false}}\n"
      "  - {{kind: incast, fan_in: 2, bytes_total: 1001B, receiver: 0, senders: other_racks, "
      "load: 1e-3, duration: 10us}}\n"
      "  - {{kind: permutation, size: 1MiB, cross_rack: true, jitter: 1ns}}\n"
      "measure: {{warm_up: 0ps, cool_down: 1ns, t_max: 3s, unfinished: drop, classes: [bdp, "
      "conga], "
      "percentiles: hpcc}}\n",
      flows, cdf));
  const std::string text = experiment.Resolved();
  const Experiment again = ExperimentFrom(text);
  EXPECT_EQ(text, again.Resolved());
  EXPECT_EQ(again.settings.name, "true");
  EXPECT_EQ(again.settings.workload.size(), 4u);
}

}  // namespace heddle::determinism_test
