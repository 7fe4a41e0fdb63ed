// SPDX-License-Identifier: Apache-2.0
// Whole experiments with receivers that put packets in order, and resequencing.csv.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "experiment/run.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/thread_counts.h"

namespace heddle::resequencing_test {

// A permutation between two leaves whose paths differ by 42 us, over links with room for it.
std::string Skewed(const std::string& transport, const std::string& lb) {
  return "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 4, fabric_link: "
         "{rate: "
         "40Gbps}, asymmetry: [{spines: [0], delay: 22us}], port: {buffer: 4MB}}\n"
         "transport: " +
         transport + "\nlb: " + lb +
         "\nworkload: [{kind: permutation, size: 2MB, cross_rack: true}]\n";
}

struct Outcome {
  int64_t spurious = 0;
  int64_t resent = 0;
  int64_t reordered_net = 0;
  int64_t reordered_seq = 0;
  int64_t dupacks = 0;
  double mean_slowdown = 0;
  FinishedRun run;
};

Outcome OutcomeOf(const std::string& yaml) {
  Outcome outcome;
  outcome.run = RunExperiment(ExperimentFrom(yaml));
  const CsvTable flows(outcome.run.files.flows);
  for (size_t f = 0; f < flows.rows.size(); ++f) {
    outcome.spurious += flows.Integer(f, "retx_spurious");
    outcome.resent += flows.Integer(f, "retx");
    outcome.reordered_net += flows.Integer(f, "reordered_net");
    outcome.reordered_seq += flows.Integer(f, "reordered_seq");
    outcome.dupacks += flows.Integer(f, "dupack3_reorder");
    outcome.mean_slowdown += flows.Real(f, "slowdown") / static_cast<double>(flows.rows.size());
  }
  return outcome;
}

// Off, a spray over these paths makes TCP and RoCE send much again that has arrived.
TEST(SkewedFabricTest, IsHarmlessBehindATimeoutThatCoversTheSkew) {
  for (const std::string transport : {"kind: dctcp", "kind: rocev2, cc: none",
                                      "kind: rocev2, recovery: irn, bdp: 200KB, cc: none"}) {
    SCOPED_TRACE(transport);
    const Outcome off = OutcomeOf(Skewed("{" + transport + "}", "rps"));
    EXPECT_GT(off.spurious, 100);
    EXPECT_GT(off.reordered_seq, 0);
    EXPECT_EQ(off.run.files.resequencing, "");
    for (const std::string kind : {"timeout", "juggler"}) {
      const Outcome held =
          OutcomeOf(Skewed("{" + transport + ", resequencing: " + kind + "}", "rps"));
      EXPECT_EQ(held.run.result.packets.dropped_total(), 0);
      EXPECT_GT(held.reordered_net, 1'000);
      EXPECT_LT(held.mean_slowdown, off.mean_slowdown);
      EXPECT_LT(held.mean_slowdown, 1.5);
      if (kind == "juggler") {
        // If a flow's first packet was overtaken, the packets before it count as late.
        EXPECT_LT(20 * held.spurious, off.spurious);
        continue;
      }
      EXPECT_EQ(held.resent, 0);
      EXPECT_EQ(held.dupacks, 0);
      EXPECT_EQ(held.reordered_seq, 0);
      const CsvTable table(held.run.files.resequencing);
      EXPECT_EQ(table.Integer(0, "timeouts"), 0);
      // Packets wait for one that took the longer way, 42 us, and for its queue.
      EXPECT_GT(table.Real(0, "hold_max_ns"), 35'000);
      EXPECT_LT(table.Real(0, "hold_max_ns"), 100'000);
    }
  }
}

// A timeout below the skew gains nothing.
TEST(SkewedFabricTest, ShowsBehindATimeoutThatIsTooShort) {
  const Outcome held =
      OutcomeOf(Skewed("{kind: dctcp, resequencing: {kind: timeout, timeout: 5us}}", "rps"));
  EXPECT_GT(held.spurious, 100);
  EXPECT_GT(CsvTable(held.run.files.resequencing).Integer(0, "timeouts"), 100);
}

// Presto's own receiver sees to the boundaries of cells.
TEST(SkewedFabricTest, IsHarmlessBehindPrestosReceiver) {
  const Outcome off = OutcomeOf(Skewed("dctcp", "presto"));
  EXPECT_GT(off.spurious, 0);
  const Outcome held = OutcomeOf(Skewed("{kind: dctcp, resequencing: presto_gro}", "presto"));
  EXPECT_GT(held.reordered_net, 0);
  EXPECT_EQ(held.reordered_seq, 0);
  EXPECT_EQ(held.resent, 0);
}

// Losses, marks, several flows to a host, and slots that are used again.
std::string Busy(const std::string& transport, const std::string& lb) {
  return "seed: 5\n"
         "topology: {kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 4, host_link: {rate: "
         "25Gbps, delay: 200ns}, fabric_link: {rate: 25Gbps, delay: 1us}, asymmetry: [{spines: "
         "[0], delay: 8us}], port: {buffer: 60KB, ecn_above: 20KB}}\n"
         "transport: " +
         transport + "\nlb: " + lb +
         "\nworkload: [{kind: poisson, sizes: small, load: 0.4, flows: 300}, {kind: incast, "
         "fan_in: "
         "8, bytes_each: 40KB, queries: 3, period: 200us}]\n"
         "measure: {unfinished: inf}\n";
}

int64_t Sum(const CsvTable& table, const std::string& column) {
  int64_t sum = 0;
  for (size_t row = 1; row < table.rows.size(); ++row) sum += table.Integer(row, column);
  return sum;
}

double Most(const CsvTable& table, const std::string& column) {
  double most = 0;
  for (size_t row = 1; row < table.rows.size(); ++row) {
    most = std::max(most, table.Real(row, column));
  }
  return most;
}

TEST(ResequencingCsvTest, AgreesWithItselfAndWithTheRun) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      Busy("{kind: dctcp, min_rto: 1ms, resequencing: {kind: juggler, ofo_timeout: 20us, flows: 2, "
           "flow_packets: 10}}",
           "rps"),
      {"measure.warm_up=0ps"}));
  EXPECT_EQ(run.files.resequencing.substr(0, run.files.resequencing.find('\n')),
            "host,n_pkts,held,waiting,late,hold_mean_ns,hold_p99_ns,hold_max_ns,mean_bytes,"
            "max_bytes,max_pkts,flow_max_bytes,flow_max_pkts,timeouts,overflows,evictions");
  const CsvTable table(run.files.resequencing);
  ASSERT_EQ(table.rows.size(), 1u + 12u);
  EXPECT_EQ(table.At(0, "host"), "all");
  for (const char* column : {"n_pkts", "held", "late", "timeouts", "overflows", "evictions"}) {
    SCOPED_TRACE(column);
    EXPECT_GT(table.Integer(0, column), 0);
    EXPECT_EQ(table.Integer(0, column), Sum(table, column));
  }
  for (const char* column :
       {"hold_max_ns", "max_bytes", "max_pkts", "flow_max_bytes", "flow_max_pkts"}) {
    SCOPED_TRACE(column);
    EXPECT_GT(table.Real(0, column), 0);
    EXPECT_EQ(table.Real(0, column), Most(table, column));
  }
  EXPECT_EQ(table.Real(0, "hold_max_ns"), 20'000);
  EXPECT_EQ(table.Integer(0, "flow_max_pkts"), 10);
  double mean = 0;
  for (size_t row = 1; row < table.rows.size(); ++row) {
    EXPECT_EQ(table.Integer(row, "host"), static_cast<int64_t>(row) - 1);
    EXPECT_LE(table.Real(row, "mean_bytes"), table.Real(row, "max_bytes"));
    mean += table.Real(row, "mean_bytes") / 12;
  }
  EXPECT_NEAR(table.Real(0, "mean_bytes"), mean, 1e-6 * mean);
  // All data packets that arrived, as the flows counted them.
  EXPECT_EQ(table.Integer(0, "n_pkts"), CsvTable(run.files.reorder).Integer(0, "n_pkts"));
}

// Packets that are held when the run ends have arrived, but belong to no flow.
TEST(ResequencingCsvTest, CountsWhatStillWaits) {
  const FinishedRun run =
      RunExperiment(ExperimentFrom(Skewed("{kind: dctcp, resequencing: timeout}", "rps") +
                                   "measure: {unfinished: drop, t_max: 300us}\n"));
  const CsvTable table(run.files.resequencing);
  EXPECT_GT(table.Integer(0, "waiting"), 0);
  EXPECT_EQ(table.Integer(0, "waiting"), Sum(table, "waiting"));
  EXPECT_LE(table.Integer(0, "waiting"), table.Integer(0, "held"));
}

TEST(ResequencingCsvTest, IsAFileOnlyIfAskedFor) {
  const TemporaryFolder folder;
  for (const std::string kind : {"off", "timeout"}) {
    const std::filesystem::path path = folder.path() / kind;
    const Experiment experiment =
        ExperimentFrom(Skewed("{kind: dctcp, resequencing: " + kind + "}", "rps"));
    ASSERT_TRUE(RunToFolder(experiment, {}, path, false).value().complete);
    EXPECT_EQ(std::filesystem::exists(path / "resequencing.csv"), kind == "timeout");
  }
}

class ResequencingDeterminismTest : public testing::TestWithParam<const char*> {};

TEST_P(ResequencingDeterminismTest, HoldsForAnyNumberOfThreads) {
  const Experiment experiment = ExperimentFrom(Busy(GetParam(), "presto"));
  const FinishedRun alone = RunExperiment(experiment, 1);
  EXPECT_GT(alone.result.packets.dropped_total(), 0);
  EXPECT_GT(CsvTable(alone.files.resequencing).Integer(0, "held"), 0);
  EXPECT_EQ(ExperimentFrom(experiment.Resolved()).Resolved(), experiment.Resolved());
  for (const int threads : ThreadCounts({1, 2, 3})) {
    EXPECT_EQ(RunExperiment(experiment, threads).files, alone.files) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ResequencingDeterminismTest,
    testing::Values(
        "{kind: dctcp, min_rto: 1ms, resequencing: {kind: timeout, timeout: 40us}}",
        "{kind: dctcp, min_rto: 1ms, resequencing: {kind: presto_gro, flow_packets: 30}}",
        "{kind: tcp, min_rto: 1ms, resequencing: {kind: juggler, inseq_timeout: 5us, flows: 2}}",
        "{kind: rocev2, rto: 500us, resequencing: {kind: timeout, host_bytes: 30KB}}",
        "{kind: rocev2, recovery: irn, resequencing: {kind: juggler, ofo_timeout: 50us}}"));

TEST(OrderTest, WhatReordersOnGoBackNIsWarnedOf) {
  const auto warnings = [](const std::string& lb, const std::string& transport) {
    return testing::PrintToString(
        ExperimentFrom("topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2, "
                       "port: {pfc: {}, buffer: 200KB, ecn_above: 20KB}}\n"
                       "workload: [{kind: permutation, size: 1MB}]\ntransport: " +
                       transport + "\nlb: " + lb + "\n")
            .warnings);
  };
  const auto warns = testing::HasSubstr("go-back-N resends up to a window for each packet");
  EXPECT_THAT(warnings("rps", "{kind: rocev2}"), warns);
  EXPECT_THAT(warnings("ecmp", "{kind: rocev2}"), testing::Not(warns));
  EXPECT_THAT(warnings("rps", "{kind: rocev2, recovery: irn}"), testing::Not(warns));
  EXPECT_THAT(warnings("rps", "{kind: rocev2, resequencing: {kind: timeout, timeout: 1ms}}"),
              testing::Not(warns));
  EXPECT_THAT(warnings("rps", "{kind: dctcp}"), testing::Not(warns));
}

}  // namespace heddle::resequencing_test
