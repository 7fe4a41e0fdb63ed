// SPDX-License-Identifier: Apache-2.0
// The points of experiments: of a file, of a file at another scale, and of a benchmark.

#include "study/papers/experiment_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/toy_paper.h"

namespace heddle::experiment_points_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class ExperimentPointsTest : public ToyPaper {
 protected:
  ExperimentPointsTest() {
    toy_.id = "toy";
    experiment_.id = "e";
    experiment_.path = "experiments.e";
    experiment_.file = folder_ / "toy/e.yaml";
  }
  void WriteExperiment(const std::string& sweep) {
    folder_.Write("toy/e.yaml", std::string(kToyBase) + sweep);
  }
  std::optional<ExperimentPoints> Load(const LoadOptions& options, Diagnostics& diagnostics) const {
    return ExperimentPoints::Load(toy_, experiment_, options, folder_ / "out", diagnostics);
  }
  ExperimentPoints Load(const LoadOptions& options = {}) const {
    Diagnostics diagnostics;
    auto points = Load(options, diagnostics);
    EXPECT_TRUE(points) << diagnostics.Report();
    return *points;
  }

  Paper toy_;
  PaperExperiment experiment_;
};

TEST_F(ExperimentPointsTest, AreThoseOfTheSweep) {
  WriteExperiment(kToySweep);
  const ExperimentPoints points = Load();
  EXPECT_EQ(points.experiment(), "e");
  EXPECT_EQ(points.points().size(), 36u);
  EXPECT_THAT(points.plan().points, SizeIs(36));
  EXPECT_THAT(points.plan().axes, ElementsAre("lb", "workload[0].load"));
  EXPECT_NE(points.file(), nullptr);
  EXPECT_EQ(points.folder().path(), folder_ / "out/toy/e");
}

TEST_F(ExperimentPointsTest, AScaleHasItsOwn) {
  WriteExperiment(std::string(kToySweep) + "scales: {ci: {sweep.seeds: 1}}\n");
  LoadOptions options;
  options.scale = "ci";
  EXPECT_THAT(Load(options).plan().points, SizeIs(12));
}

// Experiments of one file share their results.
TEST_F(ExperimentPointsTest, TheFolderIsThatOfTheFile) {
  EXPECT_EQ(FolderOf(toy_, experiment_, "out").path(), "out/toy/e");
  experiment_.id = "other";
  EXPECT_EQ(FolderOf(toy_, experiment_, "out").path(), "out/toy/e");
  experiment_.file.clear();
  EXPECT_EQ(FolderOf(toy_, experiment_, "out").path(), "out/toy/other");
}

TEST_F(ExperimentPointsTest, MistakesOfTheFileAreItsOwn) {
  WriteExperiment("sweep: {lb: [ecpm], seeds: 1}\n");
  Diagnostics diagnostics;
  EXPECT_FALSE(Load({}, diagnostics));
  EXPECT_THAT(diagnostics.Report(), HasSubstr("e.yaml:3:"));
  EXPECT_THAT(diagnostics.Report(), Not(HasSubstr("with what --set says")));
}

TEST_F(ExperimentPointsTest, WithSetTheExperimentIsNamed) {
  WriteExperiment("sweep: {lb: [ecmp], seeds: 1}\n");
  Diagnostics diagnostics;
  LoadOptions options;
  options.sets = {"topology.spinse=3"};
  EXPECT_FALSE(Load(options, diagnostics));
  EXPECT_THAT(diagnostics.Report(),
              HasSubstr("e.yaml: is no valid experiment with the settings of --set"));
  options.sets = {"topology.spines=3"};
  Diagnostics good;
  EXPECT_TRUE(Load(options, good)) << good.Report();
}

// Problems of an earlier experiment are not those of this one.
TEST_F(ExperimentPointsTest, MistakesElsewhereDoNotMatter) {
  WriteExperiment("sweep: {lb: [ecmp], seeds: 1}\n");
  Diagnostics diagnostics;
  diagnostics.Error({"other.yaml", 1, 1}, "a", "is wrong");
  EXPECT_TRUE(Load({}, diagnostics));
  EXPECT_THAT(diagnostics.errors(), SizeIs(1));
}

TEST_F(ExperimentPointsTest, ABenchmarksAreItsProduct) {
  experiment_.file.clear();
  experiment_.bench = BenchPlan{{"ecmp", "rps"}, {4, 8}, {100}, 3};
  const ExperimentPoints points = Load();
  EXPECT_EQ(points.file(), nullptr);
  EXPECT_THAT(points.plan().axes, ElementsAre("lb", "candidates", "flows"));
  ASSERT_THAT(points.plan().points, SizeIs(12));
  const PlannedPoint& last = points.plan().points.back();
  EXPECT_THAT(last.choices, ElementsAre("rps", "8", "100"));
  EXPECT_EQ(last.seed, "3");
  EXPECT_EQ(last.id, "rps-8-100-3");
  EXPECT_EQ(last.label, last.id);
  EXPECT_EQ(points.folder().PointPath(last.id), folder_ / "out/toy/e/points/rps-8-100-3");
}

TEST_F(ExperimentPointsTest, AxesAreKnownWithoutAPlan) {
  WriteExperiment(kToySweep);
  Diagnostics diagnostics;
  const auto axes = AxesOf(experiment_, diagnostics);
  ASSERT_TRUE(axes);
  EXPECT_EQ(axes->size(), 36u);
  experiment_.file = folder_ / "toy/none.yaml";
  EXPECT_FALSE(AxesOf(experiment_, diagnostics));
  EXPECT_THAT(diagnostics.Report(), HasSubstr("none.yaml"));
}

}  // namespace heddle::experiment_points_test
