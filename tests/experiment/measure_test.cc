// SPDX-License-Identifier: Apache-2.0
// `measure` decides which flows count and when a run ends.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiment/run.h"
#include "experiment/run_folder.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/status.h"

namespace heddle::measure_test {

using testing::_;
using testing::HasSubstr;

std::string Yaml(const std::string& workload, const std::string& measure = "{}") {
  return "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\nlb: ecmp\n"
         "workload: " +
         workload + "\nmeasure: " + measure + "\n";
}

const std::string kLoad = "[{kind: poisson, sizes: small, load: 0.4, duration: 4ms, start: 1ms}]";

// The rows whose flows count must be those that start in [from, until).
void ExpectMeasured(const FinishedRun& run, Time from, Time until) {
  const CsvTable flows(run.files.flows);
  int64_t measured = 0;
  for (size_t f = 0; f < flows.rows.size(); ++f) {
    const Time start{flows.Integer(f, "start_ps")};
    const bool counts = start >= from && start < until;
    EXPECT_EQ(flows.Integer(f, "measured"), counts ? 1 : 0) << start.ps;
    measured += counts ? 1 : 0;
  }
  EXPECT_EQ(run.result.measured, measured);
  EXPECT_GT(measured, 0);
  EXPECT_EQ(CsvTable(run.files.summary).Integer(0, "n"), measured);
}

TEST(MeasureTest, WarmUpIsATwentiethOfALoadUnlessSet) {
  const FinishedRun run = RunExperiment(ExperimentFrom(Yaml(kLoad)));
  ExpectMeasured(run, Time{} + 1200_us, kNever);
}

TEST(MeasureTest, WarmUpAndCoolDownCutBothEnds) {
  const FinishedRun run =
      RunExperiment(ExperimentFrom(Yaml(kLoad, "{warm_up: 1ms, cool_down: 500us}")));
  ExpectMeasured(run, Time{} + 2_ms, Time{} + 4500_us);
}

TEST(MeasureTest, TheMeasuredTimeIncludesItsStartButNotItsEnd) {
  const FinishedRun run = RunExperiment(
      ExperimentFrom(Yaml("[{kind: incast, fan_in: 3, bytes_each: 1MB, queries: 4, period: 1ms}]",
                          "{warm_up: 1ms, cool_down: 1ms}")));
  ExpectMeasured(run, Time{} + 1_ms, Time{} + 2_ms);
  EXPECT_EQ(run.result.measured, 3);
  EXPECT_GT(run.result.flows_started, 6);  // The run is still going at the end of that time.
}

TEST(MeasureTest, SetsOfFlowsCountWhole) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      Yaml("[{kind: incast, fan_in: 3, bytes_each: 5KB, queries: 4, period: 1ms}]")));
  ExpectMeasured(run, Time{}, kNever);
}

TEST(MeasureTest, WorkloadsMayBeLeftOut) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      Yaml("[{kind: permutation, size: 2KB}, {kind: poisson, sizes: small, load: 0.3, flows: 400, "
           "measured: false}]")));
  EXPECT_EQ(run.result.measured, 8);
  EXPECT_EQ(run.result.unfinished, 0);
  // It ends when the measured ones are done, long before the last of the others.
  EXPECT_LT(run.result.flows_started, 100);
  EXPECT_LT(run.result.end, Time{} + 200_us);
}

TEST(MeasureTest, EndsAtTheLatestAtTMax) {
  const FinishedRun run =
      RunExperiment(ExperimentFrom(Yaml(kLoad, "{t_max: 2ms, unfinished: inf}")));
  EXPECT_EQ(run.result.end, Time{} + 2_ms);
  EXPECT_TRUE(run.result.reached_t_max);
  const CsvTable flows(run.files.flows);
  for (size_t f = 0; f < flows.rows.size(); ++f) EXPECT_LT(flows.Integer(f, "start_ps"), 2e9);
  int64_t unfinished = 0;
  for (size_t f = 0; f < flows.rows.size(); ++f) {
    if (flows.At(f, "measured") == "1" && flows.At(f, "finished") == "0") ++unfinished;
  }
  EXPECT_EQ(run.result.unfinished, unfinished);
}

RunOutcome RunTo(const std::filesystem::path& path, const std::string& yaml) {
  return RunToFolder(ExperimentFrom(yaml), {}, path, false).value();
}

TEST(RunToFolderTest, IsIncompleteIfMeasuredFlowsAreUnfinishedUnlessToldOtherwise) {
  const TemporaryFolder folder;
  for (const std::string unfinished : {"error", "inf", "drop"}) {
    const RunOutcome outcome = RunTo(
        folder / unfinished, Yaml("[{kind: permutation, size: 1MB}]",
                                  fmt::format("{{t_max: 300us, unfinished: {}}}", unfinished)));
    EXPECT_EQ(outcome.complete, unfinished != "error");
    EXPECT_THAT(testing::PrintToString(outcome.warnings),
                HasSubstr("flows are unfinished at 300us"));
    EXPECT_TRUE(std::filesystem::exists(folder / unfinished / "summary.json"));
  }
}

TEST(RunToFolderTest, WarnsIfTheRunEndsBeforeAllFlowsHaveStarted) {
  const TemporaryFolder folder;
  const RunOutcome outcome = RunTo(
      folder / "run", Yaml("[{kind: incast, fan_in: 2, bytes_each: 1KB, queries: 10, period: 1ms}]",
                           "{t_max: 4500us}"));
  EXPECT_THAT(testing::PrintToString(outcome.warnings), HasSubstr("before all flows have started"));
}

TEST(RunToFolderTest, WritesEveryFile) {
  const TemporaryFolder folder;
  const RunOutcome outcome = RunTo(folder / "run", Yaml("[{kind: permutation, size: 2KB}]"));
  EXPECT_TRUE(outcome.complete);
  const auto files = ReadResults(folder / "run");
  for (const char* name : {"flows.csv", "summary.csv", "reorder.csv", "links.csv", "lb.csv",
                           "run.yaml", "manifest.csv"}) {
    EXPECT_TRUE(files.contains(name)) << name;
  }
  EXPECT_EQ(files.size(), 7u);
}

TEST(RunToFolderTest, LeavesNothingIfItIsStopped) {
  const TemporaryFolder folder;
  std::atomic<bool> stop{true};
  SimulationOptions options;
  options.stop = &stop;
  EXPECT_THAT(RunToFolder(ExperimentFrom(Yaml("[{kind: permutation, size: 2KB}]")), options,
                          folder / "run", false),
              Fails(absl::StatusCode::kCancelled, _));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(RunToFolderTest, LeavesNothingOnAFullDisk) {
  const TemporaryFolder folder;
  const FileSizeLimit limit(500);
  EXPECT_THAT(RunToFolder(ExperimentFrom(Yaml("[{kind: permutation, size: 2KB}]")), {},
                          folder / "run", false),
              Fails(absl::StatusCode::kResourceExhausted, HasSubstr("run/flows.csv: ")));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(RunToFolderTest, LeavesResultsAloneThatAreThereOrBeingWritten) {
  const TemporaryFolder folder;
  const Experiment experiment = ExperimentFrom(Yaml("[{kind: permutation, size: 2KB}]"));
  RunFolder other(folder / "busy");
  ASSERT_THAT(other.Open(false), IsOk());
  EXPECT_THAT(RunToFolder(experiment, {}, folder / "busy", false),
              Fails(absl::StatusCode::kAborted, HasSubstr("another process is writing")));
  ASSERT_THAT(RunToFolder(experiment, {}, folder / "run", false), IsOk());
  EXPECT_THAT(RunToFolder(experiment, {}, folder / "run", false),
              Fails(absl::StatusCode::kAlreadyExists, HasSubstr("--force")));
}

// --- Loads ---

TEST(LoadTest, SaysWhenHeadersOrQueriesAskForMoreThanLinksCarry) {
  const std::string fabric =
      "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 4, host_link: {rate: "
      "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}\nlb: ecmp\n";
  const auto warnings = [&](const std::string& workload) {
    return testing::PrintToString(
        ExperimentFrom(fabric + "workload: [{" + workload + "}]\n").warnings);
  };
  const std::string poisson = "kind: poisson, duration: 1ms, sizes: \"fixed:100B\", load: ";
  EXPECT_THAT(warnings(poisson + "0.5"), Not(HasSubstr("with headers")));
  EXPECT_THAT(warnings(poisson + "0.7"),
              HasSubstr("with headers the hosts' links are loaded to 1.2"));
  EXPECT_THAT(warnings(poisson + "0.7, overload: true"), Not(HasSubstr("with headers")));
  // 400 KB in 50 us are 64 Gbps.
  const std::string incast =
      "kind: incast, fan_in: 4, bytes_each: 100KB, queries: 9, receiver: 1, ";
  EXPECT_THAT(warnings(incast + "period: 50us"), HasSubstr("is 6.4 times its capacity"));
  EXPECT_THAT(warnings(incast + "period: 1ms"), Not(HasSubstr("times its capacity")));
}

// Retransmissions carry nothing.
TEST(LoadTest, CarriedCountsEachByteOnce) {
  const Experiment experiment = ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 4, host_link: {rate: "
      "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}, asymmetry: [{spines: [0], "
      "delay: 30us}], port: {ecn_above: 30KB}}\n"
      "transport: {kind: dctcp, recovery: newreno}\nlb: rps\n"
      "workload: [{kind: poisson, sizes: \"fixed:50KB\", load: 0.5, duration: 10ms, pairs: "
      "inter_rack}]\n");
  const FinishedRun run = RunExperiment(experiment);
  int64_t on_links = 0;
  for (const LinkUse& link : run.result.load.links) {
    if (experiment.graph.IsHost(link.peer)) on_links += link.sent.payload_bytes;
  }
  EXPECT_GT(on_links, run.result.load.payload_offered * 105 / 100);
  EXPECT_NEAR(static_cast<double>(run.result.load.payload_carried),
              static_cast<double>(run.result.load.payload_offered),
              0.03 * static_cast<double>(run.result.load.payload_offered));
}

// A mark is counted where it is made, so marks made are marks that arrive, if nothing is lost.
TEST(MarksTest, AreCountedOnce) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 4, port: {ecn_above: "
      "5pkts, buffer: unlimited}}\nlb: ecmp\n"
      "workload: [{kind: incast, fan_in: 7, bytes_each: 300KB, receiver: 0}]\n"));
  const CsvTable flows(run.files.flows);
  int64_t arrived = 0;
  for (size_t row = 0; row < flows.rows.size(); ++row) arrived += flows.Integer(row, "ecn_marked");
  EXPECT_GT(arrived, 0);
  EXPECT_EQ(arrived, run.result.packets.marked);
}

}  // namespace heddle::measure_test
