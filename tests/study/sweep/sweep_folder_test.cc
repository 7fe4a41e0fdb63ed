// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/sweep_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "experiment/manifest.h"
#include "experiment/version.h"
#include "tests/support/command.h"
#include "tests/support/status.h"

namespace heddle::sweep_folder_test {

using testing::EndsWith;

// The members of summary.json that name the Heddle that made the result.
std::string MadeBy(const std::string& version, const std::string& commit) {
  return fmt::format("\"version\": \"{}\", \"commit\": \"{}\"", version, commit);
}
const std::string kOther = MadeBy("0.0.9", "");

class SweepFolderTest : public testing::Test {
 protected:
  SweepFolderTest() { EXPECT_THAT(sweep_.Make(), IsOk()); }

  // Writes point "p" as a run does.
  void WriteRun(const std::string& summary) {
    std::filesystem::create_directories(sweep_.PointPath("p"));
    folder_.Write("points/p/summary.json", "{" + summary + "}\n");
    std::filesystem::remove(sweep_.PointPath("p") / kManifestFile);
    MakeManifest(sweep_.PointPath("p"));
  }
  PointState StateOf(const std::string& summary) {
    WriteRun(summary);
    return sweep_.Inspect("p").state;
  }
  PointState StateOfFailure(const std::string& failure) {
    folder_.Write("points/p.failed", failure);
    return sweep_.Inspect("p").state;
  }

  TemporaryFolder folder_;
  const SweepFolder sweep_{folder_.path()};
  const std::string ours_ = MadeBy(Version(), Commit());
};

TEST_F(SweepFolderTest, APointIsDoneIfItsMeasuredFlowsHaveFinished) {
  EXPECT_EQ(sweep_.Inspect("p").state, PointState::kMissing);
  EXPECT_EQ(StateOf(ours_ + ", \"complete\": true"), PointState::kDone);
  EXPECT_EQ(StateOf(ours_ + ", \"complete\": false"), PointState::kIncomplete);
  EXPECT_EQ(StateOf(ours_), PointState::kIncomplete);
}

TEST_F(SweepFolderTest, ReadsTheLabelsOfSweepYaml) {
  EXPECT_TRUE(sweep_.ReadLabels().empty());
  folder_.Write("sweep.yaml",
                "sweep: {lb: [ecmp, rps], labels: {lb: {ecmp: E, letflow.gap=1us: L}}}");
  const ChoiceLabels labels = sweep_.ReadLabels();
  EXPECT_EQ(labels.Shown("lb", "letflow.gap=1us"), "L");
  EXPECT_EQ(labels.Shown("lb", "rps"), "rps");
  EXPECT_EQ(labels.Find("load", "ecmp"), nullptr);
  folder_.Write("sweep.yaml", "sweep: {labels: [a, {b: c}]}");
  EXPECT_TRUE(sweep_.ReadLabels().empty());
  folder_.Write("sweep.yaml", "sweep: {labels: ");
  EXPECT_TRUE(sweep_.ReadLabels().empty());
}

TEST_F(SweepFolderTest, ResultsOfAnotherVersionAreStaleWhetherTheyAreCompleteOrNot) {
  EXPECT_EQ(StateOf(kOther + ", \"complete\": true"), PointState::kStale);
  EXPECT_EQ(sweep_.Inspect("p").version, "0.0.9");
  EXPECT_EQ(StateOf(kOther + ", \"complete\": false"), PointState::kStale);
  const std::string other_commit = MadeBy(Version(), "0123abc");
  EXPECT_EQ(StateOf(other_commit + ", \"complete\": true"), PointState::kStale);
  EXPECT_EQ(sweep_.Inspect("p").version, Version() + " (0123abc)");
}

TEST_F(SweepFolderTest, TellsWhatAPointCost) {
  WriteRun(ours_ +
           ", \"complete\": true, \"performance\": {\"run_seconds\": 2.5, \"threads\": 3, "
           "\"peak_memory_bytes\": 4096}");
  EXPECT_EQ(sweep_.Inspect("p").run_seconds, 7.5);
  EXPECT_EQ(sweep_.Inspect("p").memory_bytes, 4096);
}

TEST_F(SweepFolderTest, AFileThatHasChangedIsDamageInAnyVersion) {
  for (const std::string& version : {ours_, kOther}) {
    WriteRun(version + ", \"complete\": true");
    folder_.Write("points/p/summary.json", "{" + version + ", \"complete\": maybe}\n");
    EXPECT_EQ(sweep_.Inspect("p").state, PointState::kDamaged);
  }
}

TEST_F(SweepFolderTest, APointThatFailedSaysHow) {
  const PlannedPoint point{.id = "p", .label = "lb=ecmp", .seed = "1", .choices = {}};
  ASSERT_THAT(sweep_.WriteFailure(point, "exit code 3", "it broke"), IsOk());
  const PointReport report = sweep_.Inspect("p");
  EXPECT_EQ(report.state, PointState::kFailed);
  EXPECT_EQ(report.status, "exit code 3");
  EXPECT_EQ(report.message, "it broke");
  sweep_.RemoveFailure("p");
  EXPECT_EQ(sweep_.Inspect("p").state, PointState::kMissing);
}

TEST_F(SweepFolderTest, AFailureOfAnotherVersionDoesNotCount) {
  EXPECT_EQ(StateOfFailure("{" + ours_ + "}"), PointState::kFailed);
  EXPECT_EQ(StateOfFailure("{" + kOther + "}"), PointState::kMissing);
  EXPECT_EQ(StateOfFailure("{" + MadeBy(Version(), "0123abc") + "}"), PointState::kMissing);
  EXPECT_EQ(StateOfFailure("{" + ours_), PointState::kMissing);  // Cut short.
}

TEST_F(SweepFolderTest, AResultCountsMoreThanAnEarlierFailure) {
  ASSERT_EQ(StateOfFailure("{" + ours_ + "}"), PointState::kFailed);
  EXPECT_EQ(StateOf(ours_ + ", \"complete\": true"), PointState::kDone);
}

TEST_F(SweepFolderTest, SaysWhyThereIsNoPlan) {
  EXPECT_THAT(SweepFolder(folder_ / "none").ReadPlan(),
              Fails(absl::StatusCode::kNotFound, EndsWith("none: there is no such folder")));
  EXPECT_THAT(sweep_.ReadPlan(), Fails(absl::StatusCode::kNotFound,
                                       EndsWith("plan.csv: no sweep has been started here")));
  folder_.Write("plan.csv", "a,b\n");
  EXPECT_THAT(sweep_.ReadPlan(), Fails(absl::StatusCode::kInvalidArgument,
                                       EndsWith("plan.csv: is not the plan of a sweep")));
}

TEST(PointStateTest, HasResultsIfItsRunHasEnded) {
  for (const PointState state : {PointState::kDone, PointState::kIncomplete}) {
    EXPECT_TRUE(HasResult(state, false));
    EXPECT_TRUE(HasResult(state, true));
  }
  EXPECT_FALSE(HasResult(PointState::kStale, false));
  EXPECT_TRUE(HasResult(PointState::kStale, true));
  for (const PointState state :
       {PointState::kMissing, PointState::kRunning, PointState::kFailed, PointState::kDamaged}) {
    EXPECT_FALSE(HasResult(state, true));
  }
}

}  // namespace heddle::sweep_folder_test
