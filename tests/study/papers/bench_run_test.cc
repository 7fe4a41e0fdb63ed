// SPDX-License-Identifier: Apache-2.0
// Benchmarks as experiments of a paper. Times are this machine's, so tests look at everything else.

#include "study/papers/bench_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "experiment/version.h"
#include "study/papers/run_tables.h"
#include "tests/support/command.h"
#include "tests/support/status.h"

namespace heddle::bench_run_test {

using testing::ElementsAre;
using testing::HasSubstr;

class BenchRunTest : public testing::Test {
 protected:
  ExperimentPoints PointsFor(const BenchPlan& plan) {
    PaperExperiment experiment;
    experiment.id = "speed";
    experiment.bench = plan;
    Paper paper;
    paper.id = "toy";
    Diagnostics diagnostics;
    auto points = ExperimentPoints::Load(paper, experiment, {}, folder_ / "out", diagnostics);
    EXPECT_TRUE(points) << diagnostics.Report();
    return *points;
  }
  // Runs, and notes how many points were done of how many.
  absl::Status Run(const ExperimentPoints& points, bool replace = false, size_t stop_after = 99) {
    progress_.clear();
    BenchRunOptions options;
    options.replace = replace;
    options.progress = [&](size_t done, size_t all) {
      progress_.push_back(fmt::format("{}/{}", done, all));
    };
    options.stop = [&] { return progress_.size() > stop_after; };
    return RunBench(points, options);
  }
  // A finished point of this version, or another.
  void WriteResult(const ExperimentPoints& points, const std::string& id,
                   const std::string& version) {
    const std::filesystem::path run = points.folder().PointPath(id);
    std::filesystem::create_directories(run);
    folder_.Write(std::filesystem::relative(run, folder_.path()).string() + "/summary.json",
                  fmt::format("{{\"version\": \"{}\", \"commit\": \"{}\", \"complete\": true}}\n",
                              version, Commit()));
  }

  TemporaryFolder folder_;
  std::vector<std::string> progress_;
};

TEST_F(BenchRunTest, MeasuresEachPointOnce) {
  const ExperimentPoints points = PointsFor({{"rps"}, {4}, {50}, 2});
  ASSERT_THAT(Run(points), IsOk());
  EXPECT_THAT(progress_, ElementsAre("0/2", "1/2"));
  RunTables tables(points.folder().PointPath("rps-4-50-1"));
  const auto table = tables.Table("bench.csv");
  ASSERT_THAT(table, IsOk());
  ASSERT_EQ((*table)->rows(), 1u);
  const auto cell = [&](const std::string& column) {
    return std::string((*table)->At(0, (*table)->Column(column).value()));
  };
  const auto number = [&](const std::string& column) { return std::stod(cell(column)); };
  EXPECT_EQ(cell("lb"), "rps");
  // RPS is its own measure, and does nothing at hosts.
  EXPECT_EQ(cell("decide_ratio"), "1");
  EXPECT_EQ(cell("switch_ratio"), "1");
  EXPECT_EQ(cell("total_ratio"), "1");
  EXPECT_EQ(cell("host_ns"), "0");
  EXPECT_EQ(cell("total_ns"), cell("switch_ns"));
  EXPECT_EQ(number("state_bytes"), number("switch_bytes") + number("host_bytes"));
  EXPECT_EQ(points.folder().Inspect("rps-4-50-1").state, PointState::kDone);
  // Nothing is left to run.
  ASSERT_THAT(Run(points), IsOk());
  EXPECT_THAT(progress_, ElementsAre());
}

TEST_F(BenchRunTest, ResultsOfOtherVersionsStayUnlessReplaced) {
  const ExperimentPoints points = PointsFor({{"rps"}, {4}, {50}, 1});
  WriteResult(points, "rps-4-50-1", "0.0.1");
  ASSERT_EQ(points.folder().Inspect("rps-4-50-1").state, PointState::kStale);
  ASSERT_THAT(Run(points), IsOk());
  EXPECT_THAT(progress_, ElementsAre());
  ASSERT_THAT(Run(points, /*replace=*/true), IsOk());
  EXPECT_THAT(progress_, ElementsAre("0/1"));
  EXPECT_EQ(points.folder().Inspect("rps-4-50-1").state, PointState::kDone);
}

TEST_F(BenchRunTest, StopsBetweenPoints) {
  const ExperimentPoints points = PointsFor({{"rps"}, {4}, {50}, 3});
  ASSERT_THAT(Run(points, false, /*stop_after=*/0), IsOk());
  EXPECT_THAT(progress_, ElementsAre("0/3"));
  EXPECT_EQ(points.folder().Inspect("rps-4-50-1").state, PointState::kMissing);
}

TEST_F(BenchRunTest, UnknownLoadBalancersAreErrors) {
  PaperExperiment experiment;
  experiment.place = {"claims.yaml", 7, 3};
  experiment.path = "experiments.speed";
  experiment.bench = BenchPlan{{"ecmp", "ecpm"}, {4}, {50}, 1};
  Diagnostics diagnostics;
  CheckBench(experiment, diagnostics);
  EXPECT_THAT(diagnostics.Report(),
              HasSubstr("claims.yaml:7:3: experiments.speed.bench.policies: no load balancer is "
                        "called \"ecpm\"; did you mean \"ecmp\"?"));
  EXPECT_EQ(diagnostics.errors().size(), 1u);
}

}  // namespace heddle::bench_run_test
