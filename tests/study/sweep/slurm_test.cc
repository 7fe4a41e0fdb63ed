// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace heddle::slurm_test {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Points that take these times in seconds, and 100 MB each.
Plan PlanOf(const std::vector<double>& seconds) {
  Plan plan;
  for (const double time : seconds) {
    PlannedPoint& point = plan.points.emplace_back();
    point.work = time;
    point.memory_bytes = 100e6;
  }
  return plan;
}
const CostModel kCost = {.seconds_per_work = 1};

std::vector<std::vector<size_t>> Pack(const std::vector<double>& seconds,
                                      const SlurmSettings& settings) {
  std::vector<size_t> points(seconds.size());
  std::iota(points.begin(), points.end(), size_t{0});
  return PackTasks(PlanOf(seconds), points, kCost, settings);
}

TEST(SlurmTest, ShortPointsShareATask) {
  EXPECT_THAT(Pack({10, 20, 30, 40, 50, 200, 10}, {.task_seconds = 100}),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4), ElementsAre(5), ElementsAre(6)));
}

TEST(SlurmTest, TasksThatRunSeveralAtOnceGetMore) {
  EXPECT_THAT(Pack({50, 50, 50, 50, 50}, {.task_seconds = 100, .jobs = 2}),
              ElementsAre(SizeIs(4), SizeIs(1)));
}

TEST(SlurmTest, ThereAreNoMoreTasksThanAllowed) {
  const std::vector<double> equal(1000, 7);
  EXPECT_THAT(Pack(equal, {.task_seconds = 1, .max_tasks = 10}),
              AllOf(SizeIs(10), Each(SizeIs(100))));
  // However uneven they are.
  for (size_t tasks : {1, 3, 7, 50}) {
    std::vector<double> uneven;
    for (int i = 0; i < 500; ++i) uneven.push_back(i % 17 == 0 ? 100 : 0.1 * (i % 5));
    const auto packed = Pack(uneven, {.task_seconds = 1, .max_tasks = tasks});
    EXPECT_LE(packed.size(), tasks);
    size_t points = 0;
    for (const auto& task : packed) points += task.size();
    EXPECT_EQ(points, 500u);
  }
}

TEST(SlurmTest, AsksForTimeAndMemoryWithAMargin) {
  const std::vector<std::vector<size_t>> tasks = {{0, 1}, {2}};
  const std::string script = WriteSlurmScript(
      {.name = "x", .program = "heddle sweep x.yaml", .log_path = "/log/%A_%a.log"},
      PlanOf({1200, 600, 1000}), tasks, kCost,
      {.jobs = 2, .threads = 3, .options = {"--partition=long", "--time=600"}});
  // The longest: 1200 s, as one point takes that; four times that are 80 min. Twice 100 MB and a
  // half.
  EXPECT_THAT(
      script,
      AllOf(HasSubstr("#SBATCH --array=0-1\n"), HasSubstr("#SBATCH --time=80\n"),
            HasSubstr("#SBATCH --mem=300M\n"), HasSubstr("#SBATCH --cpus-per-task=6\n"),
            HasSubstr("#SBATCH --partition=long\n#SBATCH --time=600\n"),
            HasSubstr("points=(\n  1-2\n  3\n)\n"),
            HasSubstr("exec heddle sweep x.yaml --only \"${points[SLURM_ARRAY_TASK_ID]}\"")));
}

TEST(SlurmTest, QuotesForShells) {
  EXPECT_EQ(QuoteShell("/a/b-c_d.yaml"), "/a/b-c_d.yaml");
  EXPECT_EQ(QuoteShell("my file"), "'my file'");
  EXPECT_EQ(QuoteShell("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(QuoteShell(""), "''");
}

}  // namespace heddle::slurm_test
