// SPDX-License-Identifier: Apache-2.0
// Iterations of a collective that overlap: how long each takes, and the bandwidth of all.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/support/experiment_kit.h"

namespace heddle::iterations_test {

struct Times {
  double mean_us;
  double algbw_gbs;
};

// Compares the bandwidth with that of the iterations: their bytes over the time that they cover.
Times TimesOf(const std::string& job, int64_t bytes, int iterations) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      OnAStar(8, fmt::format("kind: collective, ranks: 8, size: {}B, iterations: {}, {}", bytes,
                             iterations, job))));
  EXPECT_EQ(run.result.unfinished, 0);
  const CsvTable jobs(run.files.series.at("jobs.csv"));
  const CsvTable its(run.files.series.at("iterations.csv"));
  int64_t measured = 0;
  int64_t covered = 0;
  int64_t until = 0;
  for (size_t row = 0; row < its.rows.size(); ++row) {
    if (its.At(row, "measured") == "0") continue;
    ++measured;
    covered += its.Integer(row, "end_ps") - std::max(until, its.Integer(row, "start_ps"));
    until = its.Integer(row, "end_ps");
  }
  const double algbw = jobs.Real(0, "algbw_gbs");
  EXPECT_NEAR(algbw, 1e3 * static_cast<double>(bytes * measured) / static_cast<double>(covered),
              1e-6 * algbw);
  return {jobs.Real(0, "mean_iter_us"), algbw};
}

// The roots of broadcasts and trees need nothing of the others, or need it first, and the ranks
// that pass it on need nothing of those below them. (In a broadcast over a binary tree they fall
// behind the root: it sends to one rank, and they to two.)
TEST(IterationsTest, NoRankRunsAheadInATree) {
  for (const char* job :
       {"op: broadcast, algorithm: chain, chunk: 100KB", "op: broadcast, algorithm: binomial",
        "op: broadcast, algorithm: binomial, wait: both",
        "op: all_reduce, algorithm: tree, chunk: 100KB",
        "op: all_reduce, algorithm: double_tree, chunk: 100KB"}) {
    SCOPED_TRACE(job);
    const Times one = TimesOf(job, 800'000, 1);
    const Times few = TimesOf(job, 800'000, 5);
    const Times many = TimesOf(job, 800'000, 20);
    // The tail of one iteration meets the begin of the next, but no more of it the longer it goes.
    EXPECT_LT(few.mean_us, 1.5 * one.mean_us);
    EXPECT_NEAR(many.mean_us, few.mean_us, 0.1 * few.mean_us);
    EXPECT_GT(many.algbw_gbs, 0.98 * one.algbw_gbs);
  }
}

// As nccl-tests, which divides the time of all iterations by their number: the root of a chain can
// send all the time, so it broadcasts at the rate of its link, 12.5 GB/s less headers.
TEST(IterationsTest, AChainIsAsFastAsItsLink) {
  const std::string chain = "op: broadcast, algorithm: chain, chunk: 100KB, warm_up: 2";
  EXPECT_GT(TimesOf(chain, 8'000'000, 12).algbw_gbs, 10.5);
  EXPECT_LT(TimesOf(chain, 8'000'000, 12).algbw_gbs, 12.5 * 1000 / 1048);
}

// Ranks of a ring need each other, so its iterations hardly overlap.
TEST(IterationsTest, ARingTakesTheSameTimeEachTime) {
  const Times one = TimesOf("op: all_reduce, algorithm: ring", 800'000, 1);
  const Times many = TimesOf("op: all_reduce, algorithm: ring, warm_up: 1", 800'000, 10);
  EXPECT_NEAR(many.mean_us, one.mean_us, 0.05 * one.mean_us);
  EXPECT_NEAR(many.algbw_gbs, one.algbw_gbs, 0.05 * one.algbw_gbs);
}

}  // namespace heddle::iterations_test
