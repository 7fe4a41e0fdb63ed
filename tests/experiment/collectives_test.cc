// SPDX-License-Identifier: Apache-2.0
// Whole runs of collectives, against worked numbers, closed forms and an independent model, and on
// several threads.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "experiment/resolved.h"
#include "experiment/results.h"
#include "experiment/warnings.h"
#include "measure/delivery_tap.h"
#include "measure/rank_times.h"
#include "measure/table.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/halved_windows.h"
#include "tests/support/thread_counts.h"
#include "workload/jobs/traffic_matrix.h"

namespace heddle::collectives_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

std::string CollectiveOn(int ranks, const std::string& job) {
  return OnAStar(ranks, fmt::format("kind: collective, ranks: {}, {}", ranks, job));
}

// When the last message arrives, in picoseconds.
int64_t LastArrival(const CsvTable& flows) {
  int64_t last = 0;
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    last = std::max(last, flows.Integer(row, "rx_done_ps"));
  }
  return last;
}

int64_t TimeOf(int ranks, const std::string& job) {
  const FinishedRun run = RunExperiment(ExperimentFrom(CollectiveOn(ranks, job)));
  EXPECT_FALSE(run.result.cut_short);
  EXPECT_EQ(run.result.unfinished, 0);
  return LastArrival(CsvTable(run.files.flows));
}

// A message of p full packets takes X(p) = 2083.84 + 83.84 p ns to arrive, alone; its ACK 4.8 ns on
// each link, and A = 2009.6 ns to get back.
constexpr int64_t X(int64_t packets) { return 2'083'840 + 83'840 * packets; }
constexpr int64_t kAck = 4'800;
constexpr int64_t kAckBack = 2'009'600;

TEST(CollectiveTimesTest, AreThoseOfClosedForms) {
  // A chain of messages, each of which leaves behind the ACK of the one before.
  EXPECT_EQ(TimeOf(4, "op: all_reduce, size: 400000B"), 6 * X(100) + 5 * kAck);
  EXPECT_EQ(TimeOf(8, "op: all_reduce, size: 800000B"), 14 * X(100) + 13 * kAck);
  EXPECT_EQ(TimeOf(8, "op: all_reduce, size: 800000B, algorithm: halving_doubling"),
            2 * (X(400) + X(200) + X(100)) + 5 * kAck);
  EXPECT_EQ(TimeOf(8, "op: all_to_all, size: 800000B, algorithm: pairwise, wait: recv"),
            7 * X(100) + 6 * kAck);
  EXPECT_EQ(TimeOf(6, "op: all_gather, size: 600000B, algorithm: pat"),
            2 * X(100) + X(300) + 2 * kAck);
  // If a step also waits for the ACK of the one before.
  for (const char* algorithm :
       {"algorithm: pairwise", "algorithm: shift", "algorithm: direct, window: 1"}) {
    EXPECT_EQ(TimeOf(8, fmt::format("op: all_to_all, size: 800000B, {}", algorithm)),
              7 * X(100) + 6 * kAckBack)
        << algorithm;
  }
  // All messages at once keep each NIC busy without a queue at the switch.
  EXPECT_EQ(TimeOf(8, "op: all_to_all, size: 800000B"), X(700));
}

// Several flows share a NIC or a queue. An event-driven model, written apart from the simulator,
// gives these times. (For six ranks, messages that a rank releases before it has its neighbour's
// buffer would give 249'308'160.)
TEST(CollectiveTimesTest, AreThoseOfAnIndependentModel) {
  EXPECT_EQ(TimeOf(4, "op: all_reduce, size: 400001B"), 62'854'560);
  EXPECT_EQ(TimeOf(8, "op: all_to_all, size: 800000B, window: 2"), 72'800'640);
  EXPECT_EQ(TimeOf(6, "op: all_reduce, size: 600000B, algorithm: halving_doubling"), 259'872'000);
  EXPECT_EQ(TimeOf(8, "op: all_reduce, size: 800000B, algorithm: double_tree, chunk: 100000B"),
            182'327'680);
  EXPECT_EQ(TimeOf(8, "op: all_reduce, size: 2000B, algorithm: double_tree, chunk: 1000B"),
            13'365'440);
  EXPECT_EQ(TimeOf(8, "op: broadcast, size: 100000B"), 56'313'600);
}

// The root sends to its three children one after the other: each message takes 10'467'840 ps, and
// the next one begins when the ACK has come back, 2'009'600 ps later.
TEST(CollectiveTimesTest, ARankOfABinomialTreeMayWaitForItsSends) {
  EXPECT_EQ(TimeOf(8, "op: broadcast, size: 100000B, wait: both"), 3 * 10'467'840 + 2 * 2'009'600);
}

TEST(CollectiveTimesTest, RingsNeverWaitForSends) {
  EXPECT_EQ(TimeOf(4, "op: all_reduce, size: 400001B, wait: both"), 62'854'560);
}

// A message that is finished when the NIC has its last packet lets the next one follow without a
// pause. One that is finished at once holds nothing up. Either way the NIC is never idle.
TEST(CollectiveTimesTest, AWindowEndsWithTheMomentThatFinishesAMessage) {
  const auto time_of = [](const char* moment) {
    return TimeOf(8,
                  fmt::format("op: all_to_all, size: 800000B, window: 1, send_done: {}", moment));
  };
  // All seven messages begin at once and end together, so no ACK is sent before their last packets.
  EXPECT_EQ(time_of("posted"), X(700));
  // One message follows the other, and the ACKs of the six that have arrived go in between.
  EXPECT_EQ(time_of("handed"), X(700) + 6 * kAck);
  // A step that waits for its own message only until that has been handed over waits for the other
  // rank's message alone.
  EXPECT_EQ(TimeOf(8, "op: all_to_all, size: 800000B, algorithm: shift, send_done: handed"),
            7 * X(100) + 6 * kAck);
}

TEST(CollectiveTest, FlowsTellJobIterationAndStep) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      CollectiveOn(4, "op: all_reduce, size: 400000B, iterations: 3, warm_up: 1, gap: 10us")));
  const CsvTable flows(run.files.flows);
  ASSERT_EQ(flows.rows.size(), 3u * 6 * 4);
  int64_t measured = 0;
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    const int64_t id = flows.Integer(row, "flow_id");
    EXPECT_EQ(flows.Integer(row, "job"), 1);
    EXPECT_EQ(flows.Integer(row, "iter"), id / 24);
    EXPECT_EQ(flows.Integer(row, "step"), id % 24 / 4);
    EXPECT_EQ(flows.Integer(row, "src"), id % 4);
    EXPECT_EQ(flows.Integer(row, "measured"), id < 24 ? 0 : 1);
    measured += flows.Integer(row, "measured");
    // A rank's first message of an iteration leaves 10 us after the last one to it has arrived.
    if (flows.Integer(row, "step") == 0) {
      const int64_t length = 6 * X(100) + 5 * kAck;
      EXPECT_EQ(flows.Integer(row, "start_ps"), flows.Integer(row, "iter") * length +
                                                    (1 + flows.Integer(row, "iter")) * 10'000'000);
    }
  }
  EXPECT_EQ(measured, 48);
  EXPECT_EQ(run.result.measured, 48);
  EXPECT_EQ(run.result.flows_started, 72);
}

// --- Results ---

TEST(JobResultsTest, AreTheTimesOfIterations) {
  const FinishedRun run = RunExperiment(ExperimentFrom(CollectiveOn(
      4, "op: all_reduce, size: 400000B, iterations: 3, warm_up: 1, gap: 10us, label: mine")));
  const int64_t length = 6 * X(100) + 5 * kAck;
  const CsvTable jobs(run.files.series.at("jobs.csv"));
  ASSERT_EQ(jobs.rows.size(), 1u);
  EXPECT_EQ(jobs.At(0, "label"), "mine");
  EXPECT_EQ(jobs.At(0, "kind"), "collective");
  EXPECT_EQ(jobs.Integer(0, "ranks"), 4);
  EXPECT_EQ(jobs.Integer(0, "iterations"), 3);
  EXPECT_EQ(jobs.Integer(0, "measured"), 2);
  EXPECT_DOUBLE_EQ(jobs.Real(0, "mean_iter_us"), static_cast<double>(length) * 1e-6);
  // The ACKs are not in the ideal time: each message leaves with the last packet's arrival.
  EXPECT_DOUBLE_EQ(jobs.Real(0, "ideal_iter_us"), static_cast<double>(6 * X(100)) * 1e-6);
  EXPECT_NEAR(jobs.Real(0, "algbw_gbs"), 400'000 / (static_cast<double>(length) * 1e-3), 1e-9);
  EXPECT_NEAR(jobs.Real(0, "busbw_gbs"), 1.5 * jobs.Real(0, "algbw_gbs"), 1e-9);
  EXPECT_EQ(jobs.Integer(0, "messages"), 24);
  EXPECT_EQ(jobs.Integer(0, "bytes_network"), 24 * 100'000);

  const CsvTable iterations(run.files.series.at("iterations.csv"));
  ASSERT_EQ(iterations.rows.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const int64_t begin =
        static_cast<int64_t>(i) * length + static_cast<int64_t>(i + 1) * 10'000'000;
    EXPECT_EQ(iterations.Integer(i, "start_ps"), begin);
    EXPECT_EQ(iterations.Integer(i, "end_ps"), begin + length);
    EXPECT_EQ(iterations.Real(i, "straggler_us"), 0);
  }
  const CsvTable collectives(run.files.series.at("collectives.csv"));
  ASSERT_EQ(collectives.rows.size(), 3u);
  EXPECT_EQ(collectives.Integer(2, "iter"), 2);
  EXPECT_EQ(collectives.Integer(2, "seq"), 0);
  EXPECT_EQ(collectives.At(2, "group"), "");
  EXPECT_EQ(collectives.At(2, "op"), "all_reduce");
  EXPECT_EQ(collectives.Integer(2, "end_ps"), iterations.Integer(2, "end_ps"));
  EXPECT_EQ(collectives.Integer(2, "messages"), 24);
  EXPECT_EQ(collectives.Integer(2, "retx"), 0);
}

// Times are exact to the picosecond, without trailing zeros; means are those of whole picoseconds.
TEST(JobResultsTest, TimesAreExactDecimals) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      CollectiveOn(7,
                   "op: all_reduce, size: 70001B, algorithm: double_tree, reduce_rate: 37Gbps, "
                   "iterations: 4, warm_up: 1, jitter: 3us")));
  for (const char* file : {"jobs.csv", "iterations.csv", "collectives.csv"}) {
    const CsvTable table(run.files.series.at(file));
    ASSERT_GE(table.rows.size(), 1u);
    for (const std::string& column : table.header) {
      if (!column.ends_with("_us")) continue;
      for (size_t row = 0; row < table.rows.size(); ++row) {
        EXPECT_THAT(table.At(row, column), MatchesRegex("([0-9]+(\\.[0-9]{0,5}[1-9])?)?"))
            << file << " " << column;
      }
    }
  }
  const CsvTable iterations(run.files.series.at("iterations.csv"));
  ASSERT_EQ(iterations.rows.size(), 4u);
  std::vector<int64_t> times;
  int64_t sum = 0;
  for (size_t i = 1; i < 4; ++i) {
    times.push_back(iterations.Integer(i, "end_ps") - iterations.Integer(i, "start_ps"));
    sum += times.back();
  }
  std::ranges::sort(times);
  const auto text = [](int64_t ps) {
    std::string exact;
    AppendExact(exact, ps, 6);
    return exact;
  };
  const CsvTable jobs(run.files.series.at("jobs.csv"));
  EXPECT_NE(sum % 3, 0) << "the mean is no whole number, so that rounding is tested";
  EXPECT_EQ(jobs.At(0, "mean_iter_us"), text((2 * sum + 3) / 6));
  EXPECT_EQ(jobs.At(0, "p50_iter_us"), text(times[1]));
  EXPECT_EQ(jobs.At(0, "min_iter_us"), text(times[0]));
  EXPECT_EQ(jobs.At(0, "max_iter_us"), text(times[2]));
  // 0.98 of the way from the second to the third.
  EXPECT_EQ(jobs.At(0, "p99_iter_us"), text(times[1] + (98 * (times[2] - times[1]) + 50) / 100));
}

TEST(MeanTimeTest, RoundsToThePicosecond) {
  EXPECT_EQ(MeanTime(10, 4), Duration{3});
  EXPECT_EQ(MeanTime(9, 4), Duration{2});
  EXPECT_EQ(MeanTime(11, 4), Duration{3});
  EXPECT_EQ(MeanTime(10, 3), Duration{3});
  EXPECT_EQ(MeanTime(11, 3), Duration{4});
  EXPECT_EQ(MeanTime(0, 3), Duration{0});
  EXPECT_EQ(MeanTime(9'000'000'000'000'000'001, 2), Duration{4'500'000'000'000'000'001});
}

// A job without a finished iteration has no times, so their cells are empty. The figures of its
// schedule are there.
TEST(JobResultsTest, AJobThatFinishesNoIterationHasEmptyCells) {
  const FinishedRun run = RunExperiment(
      ExperimentFrom(CollectiveOn(4, "op: all_reduce, size: 400000B, start: 1us, iterations: 2") +
                     "measure: {t_max: 30us}\n"));
  const CsvTable jobs(run.files.series.at("jobs.csv"));
  EXPECT_EQ(jobs.At(0, "start_ps"), "1000000");
  EXPECT_EQ(jobs.At(0, "measured"), "0");
  for (const char* column : {"end_ps", "mean_iter_us", "p50_iter_us", "p99_iter_us", "max_iter_us",
                             "min_iter_us", "slowdown", "compute_us", "exposed_comm_us",
                             "max_exposed_comm_us", "algbw_gbs", "busbw_gbs"}) {
    EXPECT_EQ(jobs.At(0, column), "") << column;
  }
  EXPECT_DOUBLE_EQ(jobs.Real(0, "ideal_iter_us"), static_cast<double>(6 * X(100)) * 1e-6);
  EXPECT_EQ(jobs.Integer(0, "messages"), 24);
  const FinishedRun never = RunExperiment(ExperimentFrom(
      CollectiveOn(4, "op: all_reduce, size: 400000B, gap: 1ms") + "measure: {t_max: 30us}\n"));
  EXPECT_EQ(CsvTable(never.files.series.at("jobs.csv")).At(0, "start_ps"), "");
  EXPECT_THAT(never.result.notes.warnings, ElementsAre(HasSubstr("rank 0 has not begun")));
}

// The first of several iterations counts for the end, if the second one was cut off.
TEST(JobResultsTest, AJobEndsWithItsLastFinishedIteration) {
  const int64_t length = 6 * X(100) + 5 * kAck;
  const FinishedRun run = RunExperiment(
      ExperimentFrom(CollectiveOn(4, "op: all_reduce, size: 400000B, iterations: 2, gap: 1us") +
                     "measure: {t_max: 100us}\n"));
  const CsvTable jobs(run.files.series.at("jobs.csv"));
  EXPECT_EQ(jobs.Integer(0, "measured"), 1);
  EXPECT_EQ(jobs.Integer(0, "end_ps"), 1'000'000 + length);
}

// --- Links that fail ---

// The link of host 2 is down for 1 ms, while rank 1's and rank 2's messages of step 1 are on their
// way and none of their packets has arrived. A timeout comes 400 us after the last packet was sent.
// The third one is the first after the link's return; the rest of the ring then follows as usual.
// So the failure costs three timeouts, each behind 99 packets.
TEST(CollectiveTest, ALinkThatReturnsCostsTimeouts) {
  const FinishedRun run =
      RunExperiment(ExperimentFrom(CollectiveOn(4, "op: all_reduce, size: 400000B") +
                                       "schedule:\n"
                                       "  - {at: 11500ns, links: [host2-leaf0], state: down}\n"
                                       "  - {at: 1011500ns, links: [host2-leaf0], state: up}\n",
                                   {"transport.rto=400us"}));
  EXPECT_FALSE(run.result.cut_short);
  EXPECT_EQ(run.result.unfinished, 0);
  EXPECT_EQ(CsvTable(run.files.flows).rows.size(), 24u);
  EXPECT_EQ(LastArrival(CsvTable(run.files.flows)),
            6 * X(100) + 5 * kAck + 3 * (400'000'000 + 99 * 83'840));
  EXPECT_TRUE(run.result.notes.warnings.empty());
  const CsvTable collectives(run.files.series.at("collectives.csv"));
  ASSERT_EQ(collectives.rows.size(), 1u);
  EXPECT_EQ(collectives.At(0, "cct_us"), "1287.73152");
  // Failures do not count in the ideal time. Where messages may take other paths, each bound is one
  // of floating-point numbers, and a picosecond lower for safety.
  EXPECT_EQ(collectives.At(0, "ideal_us"), "62.807034");
  // Steps 1, 2 and 3 to rank 2 and step 1 from it are sent four times.
  EXPECT_GE(collectives.Integer(0, "retx"), 4 * 3 * 100);
}

// --- Jobs that do not finish ---

std::vector<std::string> WarningsOf(const Experiment& experiment, const FinishedRun& run) {
  return heddle::WarningsOf(experiment, run.result, Summarise(experiment, run.result));
}

// The link of host 2 fails in step 1 and stays down. Rank 0's and rank 1's messages of that step
// still arrive; rank 2 misses its own, and so on round the ring.
TEST(StuckJobTest, TellsWhatEachRankWaitsFor) {
  const Experiment experiment =
      ExperimentFrom(CollectiveOn(4, "op: all_reduce, size: 400000B") +
                     "schedule: [{at: 15us, links: [host2-leaf0], state: down}]\n"
                     "measure: {t_max: 5ms}\n");
  const FinishedRun run = RunExperiment(experiment);
  EXPECT_THAT(
      run.result.notes.warnings,
      ElementsAre(
          "job 1: 4 of 4 ranks have not finished; the job stands still: no message has arrived "
          "since 31.413us; "
          "rank 2 waits for the message of step 1 from rank 1 (100000 bytes), sent at 10.468us "
          "as flow 5, which has not arrived; "
          "rank 3 waits for the message of step 1 from rank 2 (100000 bytes), sent at 10.468us "
          "as flow 6, which has not arrived; "
          "rank 0 waits for the message of step 2 from rank 3 (100000 bytes), which has not been "
          "sent; "
          "rank 1 waits for the message of step 3 from rank 0 (100000 bytes), which has not been "
          "sent"));
  const std::vector<std::string> warnings = WarningsOf(experiment, run);
  EXPECT_THAT(warnings, Contains("t_max ends the run at 5ms, before all jobs have finished"));
  EXPECT_THAT(warnings, Not(Contains(HasSubstr("all flows have started"))));
}

// A job that t_max cuts off while its messages still arrive does not stand still.
TEST(StuckJobTest, TellsAJobThatIsCutOffFromOneThatStandsStill) {
  const FinishedRun run =
      RunExperiment(ExperimentFrom(CollectiveOn(4, "op: all_reduce, size: 400000B, iterations: 2") +
                                   "measure: {t_max: 90us}\n"));
  EXPECT_THAT(run.result.notes.warnings,
              ElementsAre(AllOf(HasSubstr("; its last message arrived at "),
                                HasSubstr("rank 0 in iteration 1 waits for the message of step 2 "
                                          "from rank 3 (100000 bytes), sent at "))));
}

// All kinds of collectives name the messages that the dead host does not get or send. The ranks of
// other hosts that need none of them finish.
TEST(StuckJobTest, NamesTheMessagesOfEveryAlgorithm) {
  const auto warning = [](const std::string& job) {
    const FinishedRun run =
        RunExperiment(ExperimentFrom(CollectiveOn(8, job) +
                                     "schedule: [{at: 0ps, links: [host3-leaf0], state: down}]\n"
                                     "measure: {t_max: 5ms}\n"));
    EXPECT_EQ(run.result.notes.warnings.size(), 1u);
    return run.result.notes.warnings.empty() ? "" : run.result.notes.warnings.front();
  };
  EXPECT_THAT(warning("op: broadcast, size: 100000B"),
              AllOf(HasSubstr("2 of 8 ranks have not finished"),
                    HasSubstr("rank 3 waits for the message of step 1 from rank 1 (100000 bytes), "
                              "sent at "),
                    HasSubstr("rank 7 waits for the message of step 2 from rank 3 (100000 bytes), "
                              "which has not been sent")));
  // 7, 3, {5, 1}: the mirrored tree; in the first one, 3 is a leaf below 2.
  EXPECT_THAT(warning("op: all_reduce, size: 200000B, algorithm: tree"),
              AllOf(HasSubstr("8 of 8 ranks"),
                    HasSubstr("rank 2 waits for the message of step 0 from rank 3 (200000 bytes), "
                              "sent at 0ps as flow 3, which has not arrived"),
                    HasSubstr("rank 3 waits for the message of step 1 from rank 2 (200000 bytes), "
                              "which has not been sent"),
                    HasSubstr("rank 4 waits for the message of step 0 from rank 2 (200000 bytes), "
                              "which has not been sent")));
  EXPECT_THAT(warning("op: all_to_all, size: 800000B"),
              AllOf(HasSubstr("rank 0 waits for the message of step 4 from rank 3 (100000 bytes), "
                              "sent at 0ps as flow 25, which has not arrived; "),
                    HasSubstr("rank 3 waits for the message of step 2 from rank 0 (100000 bytes), "
                              "sent at 0ps as flow 2, which has not arrived, and for 6 more; ")));
  EXPECT_THAT(warning("op: all_to_all, size: 800000B, algorithm: rail, group_size: 2"),
              AllOf(HasSubstr("rank 3 waits for the message of step 0 from rank 2 (100000 bytes), "
                              "sent at "),
                    HasSubstr("rank 1 waits for the message of step 1 from rank 3 (")));
  EXPECT_THAT(warning("op: all_to_all, size: 800000B, window: 1"),
              HasSubstr("rank 2 waits for the message of step 6 from rank 3 (100000 bytes), which "
                        "has not been sent"));
  // A graph: its operations are parts in rings.
  EXPECT_THAT(warning("op: all_reduce, size: 800000B, algorithm: hierarchical, group_size: 2"),
              AllOf(HasSubstr("2:op0 waits for the message of step 0 from rank 3 (400000 bytes), "
                              "sent at 0ps as flow "),
                    HasSubstr("2:op1 waits for 2:op0")));
}

// Host 1 receives, but nothing that it sends arrives. Its message has come, so it has finished;
// rank 0 never learns of that, and so never sends to rank 2.
TEST(StuckJobTest, NamesAMessageOfARanksOwnThatIsNotAcknowledged) {
  const std::string file = ::testing::TempDir() + "heddle_stuck_matrix.csv";
  std::ofstream(file) << "0,1000,1000\n0,0,0\n0,0,0\n";
  const FinishedRun run = RunExperiment(ExperimentFrom(
      CollectiveOn(3, "op: all_to_all, window: 1, matrix: " + file) +
      "schedule: [{at: 0ps, links: [host1-leaf0], direction: up, state: down, silent: true}]\n"
      "measure: {t_max: 5ms}\n"));
  std::filesystem::remove(file);
  EXPECT_THAT(run.result.notes.warnings,
              ElementsAre(AllOf(
                  HasSubstr("job 1: 2 of 3 ranks have not finished; the job stands still"),
                  HasSubstr("; rank 0 waits until its message of step 0 to rank 1 (1000 bytes) is "
                            "finished, sent at 0ps as flow 0; "),
                  HasSubstr("; rank 2 waits for the message of step 1 from rank 0 (1000 bytes), "
                            "which has not been sent"))));
}

// The warning lists first those operations of a training step that wait for a message under way.
TEST(StuckJobTest, NamesWhatATrainingStepWaitsFor) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      OnAStar(4,
              "kind: training, ranks: 4, model: {layers: 4, hidden: 256, ffn: 512, kv_hidden: 256, "
              "vocab: 1000, seq: 128, micro_batches: 2}, parallel: {data: 2, pipeline: 2}") +
      "schedule: [{at: 0ps, links: [host2-leaf0], state: down}]\n"
      "measure: {t_max: 20ms}\n"));
  EXPECT_THAT(
      run.result.notes.warnings,
      ElementsAre(AllOf(HasSubstr("; 22 of their operations are unfinished: 2:op0 waits for "
                                  "the message of step 1 from rank 0 (65536 bytes), sent "
                                  "at "),
                        HasSubstr("; 2:forward waits for 2:op0; "))));
}

// The barrier of an iteration has messages of its own.
TEST(StuckJobTest, NamesTheMessagesOfABarrier) {
  const int64_t length = 6 * X(100) + 5 * kAck;
  const FinishedRun run = RunExperiment(ExperimentFrom(
      CollectiveOn(4, "op: all_reduce, size: 400000B, iterations: 2, between: barrier") +
      fmt::format("schedule: [{{at: {}ps, links: [host2-leaf0], state: down}}]\n"
                  "measure: {{t_max: 5ms}}\n",
                  length + 100'000)));
  EXPECT_THAT(run.result.notes.warnings,
              ElementsAre(AllOf(HasSubstr("rank 3 in iteration 0 waits for the message of step 0 "
                                          "of the barrier from rank 2 (1 byte), sent at "),
                                HasSubstr("stands still"))));
}

// --- The table ---

TEST(JobTableTest, FollowsThatOfFlows) {
  const Experiment experiment = ExperimentFrom(CollectiveOn(
      4, "op: all_reduce, size: 400000B, iterations: 3, warm_up: 1, gap: 10us, label: mine"));
  const FinishedRun run = RunExperiment(experiment);
  const std::vector<ClassSummary> summary = Summarise(experiment, run.result);
  const std::string table = FormatTable({RowOf("ecmp", summary, run.result)});
  EXPECT_THAT(table, HasSubstr("Slowdown (FCT over ideal FCT)"));
  EXPECT_THAT(
      table,
      HasSubstr("\n"
                "Jobs: iterations in us, bandwidth in GB/s; spread: from the first rank's end to "
                "the last's\n"
                "     job    iterations |     mean      p99 |  algbw  busbw |   spread\n"
                "ecmp 1 mine          2 |     62.8     62.8 |   6.37   9.55 |     0.00\n"));
  const Experiment flows = ExperimentFrom(OnAStar(4, "kind: permutation, size: 10KB"));
  const FinishedRun without = RunExperiment(flows);
  EXPECT_THAT(FormatTable({RowOf("ecmp", Summarise(flows, without.result), without.result)}),
              Not(HasSubstr("Jobs")));
}

TEST(JobTableTest, HasDashesForWhatIsNotThere) {
  const Experiment experiment = ExperimentFrom(CollectiveOn(4, "op: barrier"));
  const FinishedRun run = RunExperiment(experiment);
  const std::string table =
      FormatTable({RowOf("x", Summarise(experiment, run.result), run.result)});
  EXPECT_THAT(table, HasSubstr(" |      -      - |     0.00\n"));
}

TEST(JobResultsTest, AnIdealTimeIsNeverLongerThanTheRun) {
  // All-to-all keeps the NICs busy, so the bytes of a host bound it: 700 packets and the rest of
  // the last one's way. Broadcast is bound by its chain.
  const auto slowdown = [](int ranks, const std::string& job) {
    const FinishedRun run = RunExperiment(ExperimentFrom(CollectiveOn(ranks, job)));
    return CsvTable(run.files.series.at("jobs.csv")).Real(0, "slowdown");
  };
  EXPECT_NEAR(slowdown(8, "op: all_to_all, size: 800000B"), 1, 0.01);
  for (const char* job :
       {"op: broadcast, size: 100000B", "op: all_reduce, size: 99999B, algorithm: double_tree",
        "op: all_reduce, size: 123456B, algorithm: halving_doubling, channels: 3",
        "op: all_gather, size: 50001B, algorithm: bruck", "op: barrier",
        "op: reduce_scatter, size: 70000B, algorithm: pat, reduce_rate: 50Gbps"}) {
    EXPECT_GE(slowdown(7, job), 1) << job;
    EXPECT_LT(slowdown(7, job), 4) << job;
  }
}

// Two jobs and open-loop flows share hosts and fabric.
constexpr const char* kMixed =
    "topology: {kind: leaf_spine, leaves: 4, spines: 2, hosts_per_leaf: 4,\n"
    "  host_link: {rate: 100Gbps, delay: 100ns}, fabric_link: {rate: 100Gbps, delay: 500ns}}\n"
    "transport: {kind: rocev2, cc: dcqcn}\n"
    "lb: letflow\n"
    "workload:\n"
    "  - {kind: collective, op: all_reduce, size: 300KB, ranks: 16, placement: spread,\n"
    "     channels: 2, ring_order: stride, iterations: 3, warm_up: 1, jitter: 2us,\n"
    "     share_hosts: true}\n"
    "  - {kind: collective, op: all_to_all, size: 200KB, ranks: 8, hosts: [\"4-11\"], window: 3,\n"
    "     iterations: 2, measured: false, start: 3us, share_hosts: true}\n"
    "  - {kind: poisson, sizes: small, load: 0.2, flows: 30}\n"
    "measure: {queueing: true, link_classes: true, record: {queues: 20us}}\n";

// Neither threads nor shorter windows nor taps on all hosts change results, and run.yaml repeats
// them.
void ExpectTheSameHowever(const Experiment& experiment, const RunFiles& files) {
  for (const int threads : ThreadCounts({2, 3, 8})) {
    EXPECT_TRUE(RunExperiment(experiment, threads).files == files) << threads;
  }
  Fingerprint before;
  for (const int threads : ThreadCounts({1, 3})) {
    SCOPED_TRACE(threads);
    HalvedWindows halved;
    SimulationOptions options;
    options.threads = threads;
    options.instruments = {&halved};
    EXPECT_TRUE(RunExperiment(experiment, options).files == files) << "halved windows";
    DeliveryTaps taps;
    options.instruments = {&taps};
    EXPECT_TRUE(RunExperiment(experiment, options).files == files) << "taps";
    EXPECT_GT(taps.Sum().deliveries, 0);
    if (before == Fingerprint()) before = taps.Sum();
    EXPECT_TRUE(taps.Sum() == before);
  }
  const std::string run_yaml = experiment.Resolved() + ResolvedYaml(ResolvedOf(experiment));
  EXPECT_TRUE(RunExperiment(ExperimentFrom(run_yaml)).files == files) << "run.yaml";
}

TEST(CollectiveTest, ThreadsWindowsAndTapsDoNotChangeResults) {
  const Experiment experiment = ExperimentFrom(kMixed);
  const FinishedRun one = RunExperiment(experiment);
  EXPECT_GT(CsvTable(one.files.flows).rows.size(), 16u * 30 * 2 * 3);
  ExpectTheSameHowever(experiment, one.files);
}

TEST(CollectiveTest, RanksOfOneHostUseTheirOwnLink) {
  const std::string job = "op: all_to_all, size: 200000B, ranks_per_host: 2, local_rate: 800Gbps";
  const std::string yaml = CollectiveOn(4, job);
  const FinishedRun run = RunExperiment(ExperimentFrom(yaml));
  const CsvTable flows(run.files.flows);
  // Four ranks on two hosts send 12 messages, four of which are local.
  EXPECT_EQ(flows.rows.size(), 8u);
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    EXPECT_NE(flows.At(row, "src"), flows.At(row, "dst"));
    EXPECT_LT(flows.Integer(row, "src"), 2);
  }
}

// --- operations.csv ---

CsvTable OperationsOf(const FinishedRun& run) {
  return CsvTable(run.files.series.at("operations.csv"));
}

// A ring of four: each rank sends a step's block when it has the one before, so all times follow
// from those of a message. The pause between iterations lets the last ACKs leave.
TEST(CollectiveOperationsTest, HaveTheTimesOfTheirMessages) {
  const FinishedRun run = RunExperiment(
      ExperimentFrom(CollectiveOn(4, "op: all_reduce, size: 400000B, iterations: 2, gap: 10us") +
                     "measure: {operations: true}\n"));
  const CsvTable ops = OperationsOf(run);
  const CsvTable flows(run.files.flows);
  const int64_t length = 6 * X(100) + 5 * kAck;
  ASSERT_EQ(ops.rows.size(), 2u * 4 * 12);
  for (size_t row = 0; row < ops.rows.size(); ++row) {
    const int64_t rank = ops.Integer(row, "rank");
    const int64_t step = ops.Integer(row, "step");
    const int64_t begin =
        ops.Integer(row, "iter") * length + (ops.Integer(row, "iter") + 1) * 10'000'000;
    EXPECT_EQ(ops.Integer(row, "op"), static_cast<int64_t>(row % 12));
    EXPECT_EQ(ops.Integer(row, "host"), rank);
    EXPECT_EQ(ops.Integer(row, "bytes"), 100'000);
    EXPECT_EQ(step, static_cast<int64_t>(row % 6));
    const int64_t arrival = begin + (step + 1) * X(100) + step * kAck;
    if (ops.At(row, "kind") == "recv") {
      EXPECT_EQ(ops.Integer(row, "peer"), (rank + 3) % 4);
      EXPECT_EQ(ops.Integer(row, "ready_ps"), begin);
      EXPECT_EQ(ops.Integer(row, "start_ps"), begin);
      EXPECT_EQ(ops.Integer(row, "end_ps"), arrival);
      EXPECT_EQ(ops.At(row, "flow_id"), "");
      continue;
    }
    EXPECT_EQ(ops.At(row, "kind"), "send");
    EXPECT_EQ(ops.Integer(row, "peer"), (rank + 1) % 4);
    const int64_t ready = begin + step * X(100) + std::max<int64_t>(step - 1, 0) * kAck;
    EXPECT_EQ(ops.Integer(row, "ready_ps"), ready);
    EXPECT_EQ(ops.Integer(row, "start_ps"), ready);
    const size_t flow = flows.Find("flow_id", ops.At(row, "flow_id"));
    EXPECT_EQ(flows.Integer(flow, "src"), rank);
    EXPECT_EQ(flows.Integer(flow, "start_ps"), ready);
    EXPECT_EQ(flows.Integer(flow, "rx_done_ps"), arrival);
    EXPECT_EQ(flows.Integer(flow, "tx_done_ps"), ops.Integer(row, "end_ps"));
  }
}

// Two ranks of one host, 100,000 bytes each way: 1 us at 800 Gbps, and 1 us of latency.
TEST(CollectiveOperationsTest, ShowLocalMessagesAndComputations) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      CollectiveOn(2,
                   "op: reduce_scatter, size: 200000B, ranks_per_host: 2, local_rate: "
                   "800Gbps, reduce_rate: 100Gbps") +
      "measure: {operations: true}\n"));
  const CsvTable ops = OperationsOf(run);
  ASSERT_EQ(ops.rows.size(), 6u);
  for (const size_t row : {0u, 3u}) {
    EXPECT_EQ(ops.At(row, "kind"), "send");
    EXPECT_EQ(ops.At(row, "flow_id"), "");
    EXPECT_EQ(ops.Integer(row, "start_ps"), 0);
    EXPECT_EQ(ops.Integer(row, "end_ps"), 1'000'000);
    EXPECT_EQ(ops.At(row + 1, "kind"), "recv");
    EXPECT_EQ(ops.Integer(row + 1, "end_ps"), 2'000'000);
    EXPECT_EQ(ops.At(row + 2, "kind"), "compute");
    EXPECT_EQ(ops.At(row + 2, "peer"), "");
    EXPECT_EQ(ops.Integer(row + 2, "start_ps"), 2'000'000);
    EXPECT_EQ(ops.Integer(row + 2, "end_ps"), 10'000'000);
  }
  EXPECT_EQ(CsvTable(run.files.series.at("iterations.csv")).Integer(0, "end_ps"), 10'000'000);
}

TEST(CollectiveOperationsTest, DoNotDependOnThreadsNorChangeResults) {
  std::string yaml(kMixed);
  const FinishedRun plain = RunExperiment(ExperimentFrom(yaml));
  yaml.replace(yaml.find("measure: {"), 10, "measure: {operations: true, flow_links: true, ");
  const Experiment experiment = ExperimentFrom(yaml);
  const FinishedRun one = RunExperiment(experiment);
  EXPECT_EQ(one.files.flows, plain.files.flows);
  EXPECT_EQ(one.files.series.at("jobs.csv"), plain.files.series.at("jobs.csv"));
  EXPECT_GT(OperationsOf(one).rows.size(), 2 * 16u * 30 * 2 * 3);
  for (const int threads : ThreadCounts({2, 3})) {
    EXPECT_TRUE(RunExperiment(experiment, threads).files == one.files) << threads;
  }
}

// --- In servers, with NCCL's parameters, between iterations ---

TEST(CollectiveTimesTest, HierarchicalIsAChainOfItsPhases) {
  EXPECT_EQ(TimeOf(8, "op: all_reduce, size: 800000B, algorithm: hierarchical, group_size: 2"),
            2 * X(400) + 6 * X(100) + 7 * kAck);
}

TEST(CollectiveTimesTest, OverheadDelaysEachMessage) {
  // The ACK of the message before has left long ago.
  EXPECT_EQ(TimeOf(4, "op: all_reduce, size: 400000B, overhead: 3us"), 6 * (X(100) + 3'000'000));
  EXPECT_EQ(TimeOf(4, "op: all_reduce, size: 400000B, step_latency: nccl"),
            6 * (X(100) + 14'000'000));
}

TEST(CollectiveTimesTest, AConnectionCanWaitForItsAcks) {
  const std::string chain = "op: broadcast, size: 80000B, algorithm: chain, chunk: 10000B";
  EXPECT_EQ(TimeOf(2, chain), X(80));
  EXPECT_EQ(TimeOf(2, chain + ", unfinished: 1"), 8 * X(10) + 7 * kAckBack);
  EXPECT_EQ(TimeOf(2, chain + ", unfinished: 8"), X(80));
}

// Two chunks of 512 KiB: 524 packets of 1048 bytes on the wire and one of 336. Alone, a chunk takes
// X; the second one arrives at rank 1 a chunk's transmission later. There, its ACK waits for the
// last packet of the first chunk, which left behind an ACK, too, and goes before the second chunk.
TEST(CollectiveTimesTest, NcclBroadcastsChunksAlongAChain) {
  constexpr int64_t kPacket = 83'840;
  constexpr int64_t kRest = 26'880;
  constexpr int64_t kChunk = 524 * kPacket + kRest;
  constexpr int64_t kAlone = 2'000'000 + kPacket + kChunk;
  const std::string job = "op: broadcast, preset: nccl, channels: 1, size: ";
  EXPECT_EQ(TimeOf(3, job + "512KiB"), 2 * kAlone + kAck);
  EXPECT_EQ(TimeOf(3, job + "1MiB"), 2 * kAlone + kChunk + 2 * kAck);
  EXPECT_EQ(TimeOf(3, job + "1MiB"), 136'054'400);
  EXPECT_EQ(TimeOf(4, job + "512KiB"), 3 * kAlone + 2 * kAck);
}

// Messages of free connections are not counted, so NCCL's limit is left out: both chunks leave at
// once, packet by packet.
TEST(CollectiveTimesTest, NcclHasNoLimitOnFreeConnections) {
  constexpr int64_t kChunk = 524 * 83'840 + 26'880;
  EXPECT_EQ(TimeOf(2, "op: broadcast, preset: nccl, channels: 1, connections: free, size: 1MiB"),
            2'000'000 + 83'840 + 2 * kChunk);
}

TEST(CollectiveTest, RailsMergeWhatAServerSends) {
  // Sixteen ranks on four hosts: a rank sends one message of four blocks to each other host.
  const FinishedRun run = RunExperiment(ExperimentFrom(CollectiveOn(
      16, "op: all_to_all, algorithm: rail, size: 160000B, ranks_per_host: 4, iterations: 2")));
  const CsvTable flows(run.files.flows);
  ASSERT_EQ(flows.rows.size(), 2u * 16 * 3);
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    EXPECT_EQ(flows.Integer(row, "size_bytes"), 40'000);
    EXPECT_EQ(flows.Integer(row, "step"), 1);
  }
  const CsvTable jobs(run.files.series.at("jobs.csv"));
  EXPECT_GE(jobs.Real(0, "slowdown"), 1);
  // Handed over for three ranks and sent directly to one, for each of three others.
  EXPECT_EQ(jobs.Integer(0, "bytes_local"), 16 * 3 * (3 + 1) * 10'000);
}

// --- Servers of several hosts ---

int64_t IterationOf(int hosts, const std::string& job) {
  const FinishedRun run = RunExperiment(
      ExperimentFrom(OnAStar(hosts, "kind: collective, local_rate: 800Gbps, " + job)));
  EXPECT_EQ(run.result.unfinished, 0);
  EXPECT_GE(CsvTable(run.files.series.at("jobs.csv")).Real(0, "slowdown"), 1);
  return CsvTable(run.files.series.at("iterations.csv")).Integer(0, "end_ps");
}

// 100 kB take 1 us to leave and to arrive over the link of a server, and 1 us on the way.
TEST(ServersTest, HaveTheirLinkBetweenTheirHosts) {
  const std::string alone = "ranks: 4, domain_hosts: 4, ";
  EXPECT_EQ(IterationOf(4, alone + "op: all_reduce, size: 400000B"), 6 * 2'000'000);
  // A rank sends to three others one after the other, which receive from each in turn.
  EXPECT_EQ(IterationOf(4, alone + "op: all_to_all, size: 400000B"), 4'000'000);
  // Ranks 0 and 1 are one server, 2 and 3 another. Rank 1 has the message after 2 us.
  EXPECT_EQ(IterationOf(4, "ranks: 4, domain_hosts: 2, op: broadcast, size: 100000B"),
            2'000'000 + X(100));
}

TEST(ServersTest, AreTheGroupsOfHierarchicalAlgorithms) {
  // Within servers of two: half of the buffer each way. Between them: six steps of a ring of four.
  EXPECT_EQ(IterationOf(8,
                        "ranks: 8, domain_hosts: 2, op: all_reduce, algorithm: hierarchical, "
                        "size: 800000B"),
            2 * 5'000'000 + 6 * X(100) + 5 * kAck);
  // Two hosts with two ranks each are a server of four: a rank sends one message of four blocks to
  // each of the other servers.
  const FinishedRun run =
      RunExperiment(ExperimentFrom(CollectiveOn(16,
                                                "op: all_to_all, algorithm: rail, size: 160000B, "
                                                "ranks_per_host: 2, domain_hosts: 2")));
  EXPECT_EQ(CsvTable(run.files.flows).rows.size(), 16u * 3);
  EXPECT_EQ(CsvTable(run.files.series.at("jobs.csv")).Integer(0, "bytes_local"),
            16 * 3 * (3 + 1) * 10'000);
}

TEST(ServersTest, NeitherThreadsNorWindowsNorTapsChangeResults) {
  const Experiment experiment = ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 4, spines: 2, hosts_per_leaf: 8,\n"
      "  host_link: {rate: 100Gbps, delay: 500ns}, fabric_link: {rate: 100Gbps, delay: 500ns}}\n"
      "transport: {kind: rocev2, cc: dcqcn}\n"
      "lb: letflow\n"
      "workload:\n"
      "  - {kind: collective, op: all_to_all, algorithm: rail, size: 200KB, ranks: 32,\n"
      "     domain_hosts: 8, placement: spread, iterations: 3, jitter: 1us, share_hosts: true}\n"
      "  - {kind: collective, op: all_reduce, algorithm: hierarchical, size: 300KB, ranks: 32,\n"
      "     domain_hosts: 8, local_latency: 100ns, iterations: 2, start: 2us, share_hosts: true}\n"
      "  - {kind: poisson, sizes: small, load: 0.2, flows: 30}\n");
  const FinishedRun one = RunExperiment(experiment);
  EXPECT_EQ(one.result.unfinished, 0);
  EXPECT_GT(CsvTable(one.files.flows).rows.size(), 3u * 32 * 3 + 30);
  ExpectTheSameHowever(experiment, one.files);
}

struct Iterations {
  std::vector<int64_t> start;
  std::vector<int64_t> end;
};
Iterations IterationsOf(const std::string& job) {
  const FinishedRun run = RunExperiment(ExperimentFrom(CollectiveOn(4, job)));
  EXPECT_EQ(run.result.unfinished, 0);
  const CsvTable table(run.files.series.at("iterations.csv"));
  Iterations its;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    its.start.push_back(table.Integer(row, "start_ps"));
    its.end.push_back(table.Integer(row, "end_ps"));
  }
  return its;
}

TEST(IterationsTest, ABarrierSeparatesThem) {
  const Iterations its =
      IterationsOf("op: all_reduce, size: 400000B, iterations: 3, between: barrier");
  ASSERT_EQ(its.start.size(), 3u);
  // Two steps of one byte: packets of 49 bytes, each behind the ACK of the message before at the
  // host, and behind another rank's ACK at the switch.
  constexpr int64_t kStep = 2 * 1'000'000 + 3'920 + 2 * kAck;
  for (size_t i = 1; i < 3; ++i) EXPECT_EQ(its.start[i], its.end[i - 1] + 2 * kStep);
  EXPECT_EQ(its.end[0], 6 * X(100) + 5 * kAck);
  EXPECT_EQ(its.end[1] - its.start[1], 6 * X(100) + 6 * kAck);
}

TEST(IterationsTest, AnIdealBarrierTakesTheNewsThereAndBack) {
  const std::string job = "op: broadcast, size: 100000B, iterations: 3, between: ideal";
  const Iterations near = IterationsOf(job);
  ASSERT_EQ(near.start.size(), 3u);
  for (size_t i = 1; i < 3; ++i) EXPECT_EQ(near.start[i], near.end[i - 1] + 2 * 2'000'000);
  const Iterations far = IterationsOf(job + ", release_delay: 100ns, gap: 5us");
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(far.start[i], far.end[i - 1] + 2 * 100'000 + 5'000'000);
  }
}

TEST(IterationsTest, ThreadsDoNotChangeBarriers) {
  const std::string yaml =
      "topology: {kind: leaf_spine, leaves: 4, spines: 2, hosts_per_leaf: 4,\n"
      "  host_link: {rate: 100Gbps, delay: 100ns}, fabric_link: {rate: 100Gbps, delay: 500ns}}\n"
      "transport: {kind: rocev2, cc: dcqcn}\n"
      "lb: letflow\n"
      "workload:\n"
      "  - {kind: collective, op: all_reduce, size: 200KB, ranks: 8, algorithm: hierarchical,\n"
      "     group_size: 2, hosts: [\"0-7\"], iterations: 3, between: ideal, jitter: 1us}\n"
      "  - {kind: collective, op: all_to_all, ranks: 16, ranks_per_host: 4, algorithm: rail,\n"
      "     size: 100KB, hosts: [\"8-11\"], iterations: 3, between: barrier}\n"
      "  - {kind: collective, op: all_to_all, ranks: 4, hosts: [\"12-15\"], iterations: 2,\n"
      "     moe: {tokens: 64, skew: 1, routing: sampled}, preset: nccl, peers: random}\n"
      "  - {kind: collective, op: all_reduce, size: 300KB, ranks: 2, hosts: [\"2\", \"13\"],\n"
      "     preset: nccl, step_latency: nccl, iterations: 2, measured: false, share_hosts: true}\n";
  EXPECT_NE(ErrorsOf(yaml).find("host 2 has ranks of workload[0]; give the jobs other hosts"),
            std::string::npos);
  std::string shared = yaml;
  for (size_t at = 0; (at = shared.find("iterations: 3,", at)) != std::string::npos; at += 14) {
    shared.insert(at, "share_hosts: true, ");
    at += 19;
  }
  shared.insert(shared.find("peers: random"), "share_hosts: true, ");
  const Experiment experiment = ExperimentFrom(shared);
  const FinishedRun one = RunExperiment(experiment);
  EXPECT_EQ(one.result.unfinished, 0);
  EXPECT_GT(one.result.measured, 3 * 8 * 4);
  for (const int threads : ThreadCounts({2, 3})) {
    EXPECT_TRUE(RunExperiment(experiment, threads).files == one.files) << threads;
  }
}

// 99,990,000 messages an iteration. What they take beyond an idle network grows with ranks and with
// messages under way: at most 4 KiB a rank, and two halves for each message of a window.
TEST(CollectiveTest, TenThousandRanksTakeMemoryByRanksNotByMessages) {
  const auto bytes = [](const std::string& workload) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 100, spines: 10, hosts_per_leaf: 100,\n"
        "  host_link: {rate: 100Gbps, delay: 1us}, fabric_link: {rate: 400Gbps, delay: 1us}}\n"
        "transport: {kind: rocev2, framing: ns3_rdma, cc: none}\n"
        "lb: ecmp\n"
        "measure: {unfinished: drop, t_max: 30us}\n"
        "workload: [" +
        workload + "]\n"));
    return run.result.node_bytes;
  };
  const int64_t idle = bytes("{kind: permutation, size: 1000B}");
  const int64_t busy = bytes(
      "{kind: collective, op: all_to_all, size: 10MB, ranks: 10000, window: 2, peers: random}");
  EXPECT_GT(busy, idle);
  EXPECT_LT(busy - idle, int64_t{10'000} * (4096 + 2 * 2 * 1024));
}

// --- Neighbours ---

std::string TwoJobs(const std::string& second) {
  return "topology: {kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 4,\n"
         "  host_link: {rate: 100Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: 1us},\n"
         "  port: {buffer: unlimited, ecn_above: unlimited}}\n"
         "transport: {kind: rocev2, cc: none}\n"
         "lb: ecmp\n"
         "measure: {neighbours: true}\n"
         "workload:\n"
         "  - {kind: collective, op: all_reduce, size: 1MB, ranks: 4, hosts: [\"0-1\", \"4-5\"],\n"
         "     placement: spread, iterations: 4, warm_up: 1, jitter: 1us}\n" +
         second;
}

TEST(NeighboursTest, CostAJobTime) {
  const FinishedRun run = RunExperiment(ExperimentFrom(TwoJobs(
      "  - {kind: collective, op: all_reduce, size: 4MB, ranks: 4, hosts: [\"2-3\", \"6-7\"],\n"
      "     placement: spread, iterations: 8, measured: false}\n"
      "  - {kind: permutation, size: 100KB}\n")));
  const CsvTable jobs(run.files.series.at("jobs.csv"));
  // Both jobs use the only spine: this one gets about half of what it has alone.
  EXPECT_GT(jobs.Real(0, "neighbour_cost"), 0.5);
  EXPECT_NEAR(jobs.Real(0, "mean_iter_us"),
              jobs.Real(0, "alone_iter_us") * (1 + jobs.Real(0, "neighbour_cost")), 1e-6);
  EXPECT_GE(jobs.Real(0, "alone_iter_us"), jobs.Real(0, "ideal_iter_us"));
  EXPECT_EQ(jobs.At(1, "alone_iter_us"), "");  // It is not measured.
  ASSERT_EQ(run.result.jobs.size(), 1u);
  EXPECT_EQ(run.result.jobs[0].neighbour_cost, jobs.Real(0, "neighbour_cost"));
}

TEST(NeighboursTest, AJobWithoutThemCostsNothing) {
  const FinishedRun run = RunExperiment(ExperimentFrom(TwoJobs("")));
  const CsvTable jobs(run.files.series.at("jobs.csv"));
  EXPECT_EQ(jobs.Real(0, "neighbour_cost"), 0);
  EXPECT_EQ(jobs.At(0, "alone_iter_us"), jobs.At(0, "mean_iter_us"));
}

std::string WarningsOf(const std::string& topology, const std::string& job) {
  const Experiment experiment = ExperimentFrom(
      "topology: " + topology + "\ntransport: {kind: rocev2, cc: none}\nlb: ecmp\nworkload: [{" +
      job + "}]\n");
  return fmt::format("{}", fmt::join(experiment.warnings, "\n"));
}

TEST(CollectiveTest, WarnsOfRanksWhoseLinkIsNotTheirOwn) {
  const std::string job = "kind: collective, op: all_reduce, size: 1MB, ranks: 4, nic: ";
  const std::string planes = "{kind: planes, planes: 2, leaves: 2, spines: 2, hosts_per_leaf: 2}";
  const std::string one_link = "{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}";
  EXPECT_NE(WarningsOf(planes, job + "by_rank").find("lead to different leaves"),
            std::string::npos);
  EXPECT_EQ(WarningsOf(planes, job + "hash").find("nic"), std::string::npos);
  EXPECT_NE(WarningsOf(one_link, job + "by_rank").find("changes nothing: each host of the job"),
            std::string::npos);
}

TEST(CollectiveTest, RefusesWhatCannotBe) {
  const auto errors = [](const std::string& job) { return ErrorsOf(CollectiveOn(4, job)); };
  EXPECT_NE(errors("op: broadcast, size: 1MB, algorithm: ring").find("is no algorithm for"),
            std::string::npos);
  EXPECT_NE(errors("op: all_reduce").find("size"), std::string::npos);
  EXPECT_NE(errors("op: all_reduce, size: 1MB, hosts: [\"0-2\"]")
                .find("4 ranks at 1 a host need 4 hosts, there are 3"),
            std::string::npos);
  EXPECT_NE(errors("op: all_reduce, size: 1MB, hosts: [\"7\"]").find("there is no host 7"),
            std::string::npos);
  EXPECT_NE(errors("op: all_reduce, size: 1MB, warm_up: 1").find("leaves no iteration"),
            std::string::npos);
  EXPECT_NE(errors("op: all_reduce, size: 1MB, algorithm: hierarchical, group_size: 3")
                .find("4 ranks cannot be in several servers of 3 ranks each"),
            std::string::npos);
  EXPECT_NE(errors("op: all_reduce, size: 1MB, algorithm: hierarchical")
                .find("group_size: each server has one rank; set group_size"),
            std::string::npos);
  EXPECT_NE(errors("op: all_to_all, algorithm: shift, moe: {tokens: 4}")
                .find("moe: goes with algorithm: direct"),
            std::string::npos);
  EXPECT_NE(errors("op: all_to_all, moe: {tokens: 4, top_k: 9}").find("more than there are"),
            std::string::npos);
  EXPECT_NE(errors("op: all_to_all, matrix: nowhere.csv").find("nowhere.csv"), std::string::npos);
  EXPECT_NE(errors("op: all_reduce, size: 1MB, algorithm: bidirectional, preset: nccl")
                .find("nccl goes with"),
            std::string::npos);
  EXPECT_NE(errors("op: all_reduce, size: 1MB, connections: free, unfinished: 2")
                .find("goes with connections: ordered"),
            std::string::npos);
  EXPECT_NE(errors("op: all_reduce, size: 1MB, domain_hosts: 2, local_latency: 99ns")
                .find("must be at least 100ns if servers have several hosts"),
            std::string::npos);
  EXPECT_NE(errors("op: all_to_all, size: 1MB, channels: 2")
                .find("channels: direct sends one message to each rank; use channels: 1"),
            std::string::npos);
  EXPECT_NE(errors("op: all_to_all, size: 1MB, chunk: 1KB")
                .find("chunk: goes with rings, trees, chains and pat"),
            std::string::npos);
  for (const std::string aggregate : {"3", "4"}) {
    EXPECT_NE(errors("op: all_gather, algorithm: pat, size: 1MB, aggregate: " + aggregate)
                  .find("aggregate: must be a power of two of at most 2"),
              std::string::npos);
  }
  EXPECT_EQ(errors("op: all_gather, algorithm: pat, size: 1MB, aggregate: 2"), "");
  EXPECT_NE(
      errors("op: broadcast, size: 1MB, root: 4").find("root: there is no rank 4; there are 4"),
      std::string::npos);
  EXPECT_EQ(errors("op: broadcast, size: 1MB, root: 3"), "");
  for (const std::string hosts : {"x", "1-x", "1-", "-1"}) {
    EXPECT_NE(errors("op: all_reduce, size: 1MB, hosts: [\"" + hosts + "\"]"), "") << hosts;
  }
  EXPECT_NE(ErrorsOf(CollectiveOn(6, "op: all_to_all, size: 1MB, algorithm: pairwise"))
                .find("pairwise needs a power of two"),
            std::string::npos);
}

TEST(CollectiveTest, RefusesSettingsThatItDoesNotUse) {
  const auto errors = [](const std::string& job) { return ErrorsOf(CollectiveOn(4, job)); };
  const std::string sum = "op: all_reduce, size: 1MB, ";
  const std::string exchange = "op: all_to_all, size: 1MB, ";
  for (const auto& [job, message] : std::vector<std::pair<std::string, std::string>>{
           {"op: barrier, size: 1MB",
            "size: has no effect on barrier with algorithm dissemination; it goes with operations "
            "that carry data"},
           {sum + "window: 2",
            "window: has no effect on all_reduce with algorithm ring; it goes with direct"},
           {sum + "root: 1", "root: has no effect on all_reduce with algorithm ring"},
           {sum + "peers: random", "peers: has no effect"},
           {sum + "wait: recv", "wait: has no effect"},
           {sum + "aggregate: 2", "aggregate: has no effect"},
           {sum + "group_size: 2", "group_size: has no effect"},
           {sum + "merge: false", "merge: has no effect"},
           {sum + "protocol: ll", "it goes with preset: nccl and step_latency"},
           {sum + "algorithm: tree, ring_order: stride", "it goes with rings and hierarchical"},
           {exchange + "algorithm: shift, window: 2", "on all_to_all with algorithm shift"},
           {exchange + "reduce_rate: 1Tbps", "it goes with all_reduce and reduce_scatter"}}) {
    EXPECT_THAT(errors(job), HasSubstr(message)) << job;
  }
  for (const std::string& job :
       {sum + "ring_order: stride, channels: 2", sum + "protocol: ll, preset: nccl",
        sum + "protocol: ll128, step_latency: nccl", exchange + "window: 2, peers: nccl",
        exchange + "algorithm: shift, wait: recv", std::string("op: broadcast, size: 1MB, root: 1"),
        sum + "window: auto, root: 0, wait: both"}) {
    EXPECT_EQ(errors(job), "") << job;
  }
}

TEST(CollectiveTest, RefusesAMatrixWithAMistakeAtItsLine) {
  const std::string file = ::testing::TempDir() + "heddle_matrix_mistake.csv";
  for (const char* matrix : {"0,1\n1\n", "0,1\n", "0,1\n1,0\n1,1\n", "0,-1\n1,0\n", "0,x\n1,0\n",
                             "0,1.5\n1,0\n", "to,from\n0,1\n1,0\n",
                             // Otherwise the bytes of LL, twice as many, would overflow to less
                             // than nothing, and the message would be left out.
                             "0,4611686018427387905\n1,0\n", "0,1000000000000001\n1,0\n",
                             "1,9223372036854775808\n1,0\n"}) {
    std::ofstream(file) << matrix;
    const std::string errors =
        ErrorsOf(OnAStar(2, "kind: collective, op: all_to_all, ranks: 2, matrix: " + file));
    EXPECT_THAT(errors, HasSubstr("heddle_matrix_mistake.csv")) << matrix;
    EXPECT_THAT(errors, HasSubstr(" error")) << matrix;
  }
  std::ofstream(file) << "0,1\n1,0\n";
  EXPECT_THAT(ErrorsOf(OnAStar(2,
                               "kind: collective, op: all_to_all, ranks: 2, moe: {tokens: 4}, "
                               "matrix: " +
                                   file)),
              HasSubstr("matrix: does not go with moe"));
  std::filesystem::remove(file);
}

// 10^15 in a cell and 10^18 in all are allowed: here 1,000 rows of one such cell, and one byte
// more.
TEST(TrafficMatrixTest, AddsUpToOneExabyteAtMost) {
  const std::string file = ::testing::TempDir() + "heddle_matrix_sum.csv";
  const auto errors_with = [&](const std::string& last_cell) {
    constexpr size_t kRanks = 1'000;
    std::string row;
    for (size_t i = 0; i + 2 < kRanks; ++i) row += "0,";
    std::string matrix;
    for (size_t i = 0; i < kRanks; ++i) {
      matrix += row + (i + 1 < kRanks ? "0" : last_cell) + ",1000000000000000\n";
    }
    std::ofstream(file) << matrix;
    FilesRead files;
    Diagnostics diagnostics;
    const auto read = ReadTrafficMatrix(file, "matrix", files, diagnostics);
    EXPECT_EQ(read == nullptr, !diagnostics.ok());
    return diagnostics.ok() ? "" : diagnostics.Report();
  };
  EXPECT_EQ(errors_with("0"), "");
  EXPECT_THAT(errors_with("1"), HasSubstr(":1000:1: with this row, the cells add up to more"));
  std::filesystem::remove(file);
}

// A file of 1 GiB with such a row would take 17 GiB.
TEST(TrafficMatrixTest, RefusesARowThatNoSquareHas) {
  const std::string file = ::testing::TempDir() + "heddle_matrix_wide.csv";
  std::string row = "0";
  for (int i = 1; i < 32'768; ++i) row += ",0";
  const auto errors_of = [&](const std::string& text) {
    std::ofstream(file) << text;
    FilesRead files;
    Diagnostics diagnostics;
    EXPECT_EQ(ReadTrafficMatrix(file, "matrix", files, diagnostics), nullptr);
    return diagnostics.Report();
  };
  EXPECT_THAT(errors_of("0\n" + row + ",0\n"), HasSubstr(":2:1: has more than 32768 cells"));
  EXPECT_THAT(errors_of(row + "\n"), HasSubstr("has 1 rows of 32768 cells"));
  std::filesystem::remove(file);
}

TEST(TrafficMatrixTest, ReportsAFewMistakesOfALongRow) {
  const std::string file = ::testing::TempDir() + "heddle_matrix_row.csv";
  std::string row = "x";
  for (int i = 0; i < 1'000; ++i) row += ",x";
  std::ofstream(file) << row << "\n";
  FilesRead files;
  Diagnostics diagnostics;
  EXPECT_EQ(ReadTrafficMatrix(file, "matrix", files, diagnostics), nullptr);
  EXPECT_EQ(diagnostics.errors().size(), 21u);  // And that reading stopped.
  std::filesystem::remove(file);
}

TEST(CollectiveTest, NamesRanksAndHostsThatDoNotGoTogether) {
  const auto errors = [](const std::string& job) {
    return ErrorsOf(OnAStar(4, "kind: collective, op: all_reduce, size: 1MB, " + job));
  };
  EXPECT_THAT(errors("ranks: 1"), HasSubstr("ranks: \"1\" is out of range"));
  EXPECT_THAT(errors("ranks: 9, ranks_per_host: 2"),
              HasSubstr("ranks: 9 ranks at 2 a host need 5 hosts, there are 4"));
  EXPECT_THAT(errors("ranks: 3, placement: list, placement_list: [0, 1]"),
              HasSubstr("placement_list: names 2 hosts for 3 ranks"));
  EXPECT_THAT(errors("ranks: 2, placement: list, placement_list: [0, 4]"),
              HasSubstr("placement_list[1]: host 4 is not among the job's hosts"));
  EXPECT_THAT(
      errors("ranks: 2, placement: list, placement_list: [3, 3]"),
      HasSubstr("placement_list[1]: gives host 3 more than 1 rank; ranks_per_host allows no more"));
  EXPECT_THAT(errors("ranks: 2, placement_list: [0, 1]"),
              HasSubstr("placement_list: goes with placement: list"));
  EXPECT_THAT(errors("ranks: 2, hosts: [\"3-1\"]"),
              HasSubstr("hosts[0]: \"3-1\" is neither a host's number nor a range"));
  const std::string two = "ranks: 2, share_hosts: true}, {kind: collective, op: barrier, ranks: 3";
  EXPECT_THAT(errors(two), HasSubstr("host 0 has ranks of workload[0]; give the jobs other hosts, "
                                     "or share_hosts: true to both"));
  EXPECT_EQ(errors(two + ", share_hosts: true"), "");
}

TEST(CollectiveTest, NamesSizesThatAreNone) {
  const auto errors = [](const std::string& job) {
    return ErrorsOf(CollectiveOn(4, "op: all_reduce, " + job));
  };
  EXPECT_THAT(errors("size: -1B"), HasSubstr("size: "));
  EXPECT_THAT(errors("size: 0B"), HasSubstr("size: is missing"));
  EXPECT_THAT(errors("size: 1MB, chunk: 0B"), HasSubstr("chunk: \"0B\" is out of range"));
  EXPECT_THAT(errors("size: 1MB, channels: 0"), HasSubstr("channels: "));
  EXPECT_THAT(errors("size: 1MB, reduce_rate: 0bps"), HasSubstr("reduce_rate: \"0bps\" is out"));
  EXPECT_THAT(errors("size: 1MB, local_rate: 0bps"), HasSubstr("local_rate: \"0bps\" is out"));
}

// Ten thousand ranks have 99,990,000 messages in an iteration. Without a window, all of them would
// be sent at once.
TEST(CollectiveTest, NumbersItsFlowsIn32Bits) {
  const auto errors = [](const std::string& more) {
    return ErrorsOf(OnAStar(
        4, "kind: collective, op: all_to_all, size: 10MB, ranks: 10000, ranks_per_host: 2500, " +
               more));
  };
  EXPECT_THAT(errors("iterations: 1"), HasSubstr("window: must be set for more than 256 ranks"));
  EXPECT_EQ(errors("window: 2, iterations: 42"), "");
  EXPECT_THAT(errors("window: 2, iterations: 43"),
              HasSubstr("workload[0]: all messages of jobs and flows are 4299570000, more than the "
                        "4294967295 that can be numbered; have fewer iterations"));
}

}  // namespace heddle::collectives_test
