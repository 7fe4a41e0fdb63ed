// SPDX-License-Identifier: Apache-2.0
// Whole runs of traces: to the picosecond, on several threads, and beside other traffic.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/gzip.h"
#include "workload/jobs/job.h"

namespace heddle {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPingPong =
    "num_ranks 2\n"
    "rank 0 {\nl1: calc 1000\nl2: send 10000b to 1 tag 7\nl2 requires l1\n"
    "l3: recv 2000b from 1 tag 8\n}\n"
    "rank 1 {\nl1: recv 10000b from 0 tag 7\nl2: calc 500\nl2 requires l1\n"
    "l3: send 2000b to 0 tag 8\nl3 requires l2\n}\n";

class TracesTest : public testing::Test {
 protected:
  // A file in a folder of this test; returns its path.
  std::string Write(const std::string& name, const std::string& text) {
    folder_.Write(name, text);
    return (folder_.path() / name).string();
  }

  TemporaryFolder folder_;
};

std::string TraceOnAStar(const std::string& job) { return OnAStar(3, "kind: trace, " + job); }

TEST_F(TracesTest, APingPongTakesTheTimeOfItsParts) {
  const std::string file = Write("a.goal", kPingPong);
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: goal, file: " + file)));
  EXPECT_EQ(run.result.unfinished, 0);
  const CsvTable iterations(run.files.series.at("iterations.csv"));
  ASSERT_EQ(iterations.rows.size(), 1u);
  EXPECT_EQ(iterations.Integer(0, "end_ps"), 6'673'760);
  const CsvTable jobs(run.files.series.at("jobs.csv"));
  EXPECT_EQ(jobs.At(0, "kind"), "trace");
  EXPECT_EQ(jobs.Real(0, "slowdown"), 1);
  EXPECT_EQ(jobs.Integer(0, "messages"), 2);
}

TEST_F(TracesTest, AStartMayBeRequired) {
  std::string text = kPingPong;
  text.replace(text.find("l2 requires"), 11, "l2 irequires");
  const std::string file = Write("a.goal", text);
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: goal, file: " + file)));
  EXPECT_EQ(CsvTable(run.files.series.at("iterations.csv")).Integer(0, "end_ps"), 5'673'760);
}

TEST_F(TracesTest, ATriggeredConnectionStartsWhenTheFirstHasArrived) {
  const std::string file = Write("a.cm",
                                 "Nodes 3\nConnections 2\nTriggers 1\n"
                                 "0->1 id 1 start 0 size 100000 recv_done_trigger 1\n"
                                 "1->2 id 2 trigger 1 size 100000\ntrigger id 1 oneshot\n");
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: htsim_cm, file: " + file)));
  const CsvTable flows(run.files.flows);
  ASSERT_EQ(flows.rows.size(), 2u);
  EXPECT_EQ(flows.Integer(1, "start_ps"), flows.Integer(0, "rx_done_ps"));
  EXPECT_EQ(flows.Integer(0, "rx_done_ps"), 2'083'840 + 100 * 83'840);
}

TEST_F(TracesTest, FlowsOfAListMayBePlacedElsewhere) {
  const std::string file = Write("flow.txt", "2\n0 1 3 100 5000 2.000001\n1 0 3 100 700 2\n");
  const FinishedRun run = RunExperiment(ExperimentFrom(TraceOnAStar(
      "format: hpcc, placement: list, placement_list: [2, 0], connections: free, file: " + file)));
  const CsvTable flows(run.files.flows);
  ASSERT_EQ(flows.rows.size(), 2u);
  const size_t late = flows.Find("start_ps", "1000000");
  EXPECT_EQ(flows.Integer(late, "src"), 2);
  EXPECT_EQ(flows.Integer(late, "dst"), 0);
  EXPECT_EQ(flows.Integer(late, "size_bytes"), 5'000);
}

// Two ranks compute and then reduce 20 kB round a ring: two steps of ten packets, and an ACK before
// the second one.
TEST_F(TracesTest, AChakraTraceRunsItsCollectives) {
  const std::string node =
      "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 4, \"runtime\": 2, \"data_deps\": []},\n"
      "{\"Id\": 2, \"NodeType\": 7, \"data_deps\": [1], \"comm_type\": 0, \"comm_size\": 20000}]}";
  Write("app.0.json", node);
  Write("app.1.json", node);
  const std::string file = (folder_.path() / "app").string();
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: chakra_json, ranks: 2, file: " + file)));
  EXPECT_EQ(CsvTable(run.files.flows).rows.size(), 4u);
  const CsvTable jobs(run.files.series.at("jobs.csv"));
  const int64_t steps = 2 * (2'083'840 + 10 * 83'840);
  EXPECT_EQ(jobs.Integer(0, "end_ps"), 2'000'000 + steps + 4'800);
  EXPECT_EQ(jobs.Real(0, "compute_us"), 2);
  const CsvTable collectives(run.files.series.at("collectives.csv"));
  ASSERT_EQ(collectives.rows.size(), 1u);
  EXPECT_EQ(collectives.Integer(0, "seq"), 0);
  EXPECT_EQ(collectives.At(0, "group"), "0");
  EXPECT_EQ(collectives.At(0, "op"), "all_reduce");
  EXPECT_EQ(collectives.At(0, "algorithm"), "ring");
  EXPECT_EQ(collectives.Integer(0, "ranks"), 2);
  EXPECT_EQ(collectives.Integer(0, "bytes"), 20'000);
  EXPECT_EQ(collectives.Integer(0, "start_ps"), 2'000'000);
  EXPECT_EQ(collectives.Integer(0, "end_ps"), 2'000'000 + steps + 4'800);
  // The ACKs are not in the ideal time.
  EXPECT_DOUBLE_EQ(collectives.Real(0, "ideal_us"), static_cast<double>(steps) * 1e-6);
  EXPECT_EQ(collectives.Integer(0, "messages"), 4);
  EXPECT_EQ(collectives.Integer(0, "retx"), 0);
}

// One trace as it is and compressed, with its groups in a file.
TEST_F(TracesTest, TracesAndGroupsMayBeCompressed) {
  const std::string node =
      "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 7, \"comm_type\": 0, \"comm_size\": "
      "20000, \"pg_name\": \"tp\"}]}";
  const std::string empty = "{\"workload_graph\": []}";
  const auto times_of = [&](const std::string& name, auto&& pack) {
    for (const char* rank : {"0", "2"}) Write(name + "." + rank + ".json", pack(node));
    Write(name + ".1.json", pack(empty));
    const std::string groups = Write(name + ".groups", pack("{\"tp\": [2, 0]}"));
    const std::string file = (folder_.path() / name).string();
    return RunExperiment(
               ExperimentFrom(TraceOnAStar(fmt::format(
                   "format: chakra_json, ranks: 3, file: {}, comm_groups: {}", file, groups))))
        .files.series.at("collectives.csv");
  };
  const std::string plain = times_of("plain", [](const std::string& text) { return text; });
  EXPECT_EQ(CsvTable(plain).At(0, "group"), "tp");
  EXPECT_EQ(times_of("packed", Gzipped), plain);
  const std::string file = Write("cut.goal", Gzipped(kPingPong).substr(0, 30));
  EXPECT_THAT(ErrorsOf(TraceOnAStar("format: goal, file: " + file)),
              HasSubstr(file + " is compressed by gzip, and cut off"));
  const std::string goal = Write("a.goal", Gzipped(kPingPong));
  EXPECT_EQ(ErrorsOf(TraceOnAStar("format: goal, file: " + goal)), "");
}

TEST_F(TracesTest, AlgorithmsPerformTheCollectivesOfATrace) {
  const std::string node =
      "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 7, \"comm_type\": 0, \"comm_size\": "
      "20000, \"comm_priority\": 3}]}";
  for (int rank = 0; rank < 2; ++rank) Write(fmt::format("app.{}.json", rank), node);
  const std::string file = (folder_.path() / "app").string();
  const Experiment experiment = ExperimentFrom(
      TraceOnAStar("format: chakra_json, ranks: 2, algorithms: {all_reduce: recursive_doubling}, "
                   "file: " +
                   file));
  EXPECT_THAT(experiment.warnings,
              testing::Contains(HasSubstr("ignored: attributes comm_priority")));
  const CsvTable collectives(RunExperiment(experiment).files.series.at("collectives.csv"));
  EXPECT_EQ(collectives.At(0, "algorithm"), "recursive_doubling");
  EXPECT_EQ(collectives.Integer(0, "end_ps"), 2'083'840 + 20 * 83'840);
}

// A tenth of the bytes and of the computations: one packet there, and one of 200 B back.
TEST_F(TracesTest, ATraceMayBeScaled) {
  const std::string file = Write("a.goal", kPingPong);
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: goal, scale: 1/10, file: " + file)));
  const CsvTable flows(run.files.flows);
  EXPECT_EQ(flows.Integer(0, "size_bytes"), 1'000);
  EXPECT_EQ(flows.Integer(1, "size_bytes"), 200);
  const int64_t there = 2'083'840 + 83'840;
  const int64_t back = 2'000'000 + 2 * (200 + 48) * 80;
  EXPECT_EQ(CsvTable(run.files.series.at("iterations.csv")).Integer(0, "end_ps"),
            100'000 + there + 50'000 + back);
}

// The graph is made once, when the file is read; all jobs that are made of it share its schedule.
TEST_F(TracesTest, JobsShareTheScheduleOfATrace) {
  const std::string file = Write("a.goal", kPingPong);
  const auto jobs = [](const std::string& yaml) {
    const Experiment experiment = ExperimentFrom(yaml);
    const Workload& workload = *experiment.settings.workload[0].settings;
    std::vector<std::unique_ptr<Job>> made;
    for (uint32_t number : {1, 2}) made.push_back(workload.MakeJob(number));
    return &made[0]->schedule() == &made[1]->schedule();
  };
  EXPECT_TRUE(jobs(TraceOnAStar("format: goal, file: " + file)));
  EXPECT_TRUE(jobs(OnAStar(3, "kind: training, ranks: 3, model: {layers: 3}")));
  EXPECT_TRUE(jobs(OnAStar(3, "kind: collective, op: all_reduce, size: 3KB, ranks: 3")));
  // Its order depends on the job's number.
  EXPECT_FALSE(
      jobs(OnAStar(3, "kind: collective, op: all_to_all, size: 3KB, ranks: 3, peers: random")));
}

TEST_F(TracesTest, RefusesWhatItCannotRun) {
  const std::string file = Write("a.goal", "num_ranks 2\nrank 0 {\ncalc 1x\n}\nrank 1 {\n}\n");
  EXPECT_THAT(ErrorsOf(TraceOnAStar("format: goal, file: " + file)),
              HasSubstr(file + ":3:1: expected the end of the line, found \"x\""));
  EXPECT_THAT(ErrorsOf(TraceOnAStar("format: goal, file: missing.goal")),
              HasSubstr("missing.goal"));
  const std::string good = Write("b.goal", kPingPong);
  EXPECT_THAT(ErrorsOf(TraceOnAStar("format: goal, ranks: 3, file: " + good)),
              HasSubstr("ranks: is 3; " + good + " has 2"));
}

// --- Ranks that wait for ever ---

// Each rank waits for a message of any rank before it sends its own.
TEST_F(TracesTest, ADeadlockIsReportedWithItsCycle) {
  std::string text = "num_ranks 3\n";
  for (int rank = 0; rank < 3; ++rank) {
    text += fmt::format("rank {} {{\nr: recv 10b from -1\ns: send 10b to {}\ns requires r\n}}\n",
                        rank, (rank + 1) % 3);
  }
  const std::string file = Write("a.goal", text);
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: goal, file: " + file)));
  EXPECT_TRUE(run.result.cut_short);  // The exit code is 1.
  ASSERT_EQ(run.result.notes.warnings.size(), 1u);
  EXPECT_EQ(run.result.notes.warnings.front(),
            "job 1: 3 of 3 ranks have not finished; 6 of their operations are unfinished: 0:r "
            "waits for a message from any rank with tag 0; 0:s waits for 0:r; 1:r waits for a "
            "message from any rank with tag 0; 1:s waits for 1:r; 2:r waits for a message from any "
            "rank with tag 0; 2:s waits for 2:r; operations wait for each other: 0:r -> 2:s -> 2:r "
            "-> 1:s -> 1:r -> 0:s -> 0:r");
}

// A message that nobody sends is no cycle.
TEST_F(TracesTest, AReceiveThatGetsNothingIsNamed) {
  const std::string file =
      Write("a.goal", "num_ranks 2\nrank 0 {\nrecv 10b from -1 tag 4\n}\nrank 1 {\ncalc 5\n}\n");
  const FinishedRun run =
      RunExperiment(ExperimentFrom(TraceOnAStar("format: goal, file: " + file)));
  EXPECT_EQ(run.result.notes.warnings.front(),
            "job 1: 1 of 2 ranks have not finished; 1 of their operations are unfinished: 0:op0 "
            "waits for a message from any rank with tag 4");
}

// --- operations.csv ---

TEST_F(TracesTest, OperationsHaveTheirTimes) {
  const std::string file = Write("a.goal", kPingPong);
  const FinishedRun run = RunExperiment(ExperimentFrom(TraceOnAStar("format: goal, file: " + file) +
                                                       "measure: {operations: true}\n"));
  const CsvTable ops(run.files.series.at("operations.csv"));
  ASSERT_EQ(ops.rows.size(), 6u);
  EXPECT_EQ(ops.At(0, "kind"), "compute");
  EXPECT_EQ(ops.At(0, "peer"), "");
  EXPECT_EQ(ops.Integer(0, "end_ps"), 1'000'000);
  EXPECT_EQ(ops.At(1, "label"), "l2");
  EXPECT_EQ(ops.Integer(1, "ready_ps"), 1'000'000);
  EXPECT_EQ(ops.Integer(1, "start_ps"), 1'000'000);
  EXPECT_EQ(ops.Integer(1, "bytes"), 10'000);
  EXPECT_EQ(ops.Integer(1, "tag"), 7);
  EXPECT_EQ(ops.Integer(1, "flow_id"), 0);
  EXPECT_EQ(ops.Integer(2, "posted_ps"), 0);
  EXPECT_EQ(ops.Integer(2, "end_ps"), 6'673'760);
  EXPECT_EQ(ops.At(2, "flow_id"), "");
  EXPECT_EQ(ops.Integer(3, "rank"), 1);
  EXPECT_EQ(ops.Integer(3, "end_ps"), 3'922'240);
  EXPECT_EQ(ops.Integer(5, "start_ps"), 4'422'240);
}

// --- Beside other traffic ---

// Each rank computes, sends to the next one, and waits for its own message; ten times.
std::string RingOf(int ranks) {
  std::string text = fmt::format("num_ranks {}\n", ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    text += fmt::format("rank {} {{\n", rank);
    for (int i = 0; i < 10; ++i) {
      text += fmt::format(
          "c{}: calc {}\ns{}: send 30000b to {} tag {}\nr{}: recv 30000b from {} tag "
          "{}\ns{} requires c{}\n",
          i, 500 + 100 * rank, i, (rank + 1) % ranks, i, i, (rank + ranks - 1) % ranks, i, i, i);
      if (i > 0) text += fmt::format("c{} requires r{}\n", i, i - 1);
    }
    text += "}\n";
  }
  return text;
}

TEST_F(TracesTest, ThreadsDoNotChangeResults) {
  const std::string yaml = fmt::format(
      "topology: {{kind: leaf_spine, leaves: 4, spines: 2, hosts_per_leaf: 4,\n"
      "  host_link: {{rate: 100Gbps, delay: 100ns}}, fabric_link: {{rate: 100Gbps, delay: "
      "500ns}}}}\n"
      "transport: {{kind: rocev2, cc: dcqcn}}\n"
      "lb: letflow\n"
      "workload:\n"
      "  - {{kind: trace, format: goal, file: {}, placement: random, iterations: 2, warm_up: 1,\n"
      "     goal: {{o: 200ns, O: 1ps, g: 5ns}}}}\n"
      "  - {{kind: poisson, sizes: websearch, load: 0.2, flows: 30}}\n"
      "measure: {{operations: true}}\n",
      Write("ring.goal", RingOf(16)));
  const Experiment experiment = ExperimentFrom(yaml);
  const FinishedRun one = RunExperiment(experiment);
  EXPECT_EQ(one.result.unfinished, 0);
  EXPECT_EQ(CsvTable(one.files.flows).rows.size(), 2u * 160 + 30);
  EXPECT_GE(CsvTable(one.files.series.at("jobs.csv")).Real(0, "slowdown"), 1);
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(RunExperiment(experiment, threads).files == one.files) << threads;
  }
}

}  // namespace
}  // namespace heddle
