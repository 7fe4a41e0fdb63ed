// SPDX-License-Identifier: Apache-2.0
// Values of metrics at points, and how points are selected.

#include "study/papers/paper_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "experiment/version.h"
#include "settings/yaml.h"
#include "tests/support/toy_paper.h"

namespace heddle::paper_results_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class PaperResultsTest : public ToyPaper {
 protected:
  PaperResultsTest() {
    Write("e", kToySweep,
          [](const At& at, double seed) { return (at.at("lb") == "rps" ? 10 : 20) + seed; });
  }
  static Metrics MetricsFrom(const std::string& yaml) {
    Diagnostics diagnostics;
    const auto document = ParseYaml(yaml, "claims.yaml", diagnostics).value();
    Metrics metrics = ReadMetrics(document.entries, "metrics", {}, diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
    return metrics;
  }
  // The number of points that a selection in YAML picks.
  static size_t CountPicked(const PaperResults& results, const std::string& selection) {
    Diagnostics diagnostics;
    const auto document = ParseYaml(selection, "s.yaml", diagnostics).value();
    size_t count = 0;
    for (size_t i = 0; i < results.points().size(); ++i) {
      count += results.Picks(document.entries, i) ? 1 : 0;
    }
    return count;
  }
};

TEST_F(PaperResultsTest, HavePointsInTheOrderOfTheSweep) {
  const ExperimentPoints points = PointsOf("e");
  const PaperResults results({&points}, false, false);
  EXPECT_THAT(results.points(), SizeIs(36));
  EXPECT_EQ(results.CountResults(), 36u);
  EXPECT_THAT(results.LabelsOf("lb"),
              ElementsAre("ecmp", "rps", "letflow.gap=50us", "letflow.gap=1ms"));
  EXPECT_THAT(results.LabelsOf("workload[0].load"), ElementsAre("0.2", "0.4", "0.6"));
  EXPECT_THAT(results.LabelsOf("seed"), IsEmpty());  // Seeds are no choice.
  EXPECT_THAT(results.LabelsOf("none"), IsEmpty());
  EXPECT_THAT(results.Versions(), ElementsAre(testing::StartsWith(std::string(Version()))));
}

TEST_F(PaperResultsTest, TheExperimentMayBeAnAxis) {
  const ExperimentPoints points = PointsOf("e");
  const PaperResults results({&points, &points}, true, false);
  EXPECT_THAT(results.points(), SizeIs(72));
  EXPECT_THAT(results.LabelsOf("experiment"), ElementsAre("e"));
  EXPECT_EQ(results.points()[0].choices.front().first, "experiment");
  EXPECT_EQ(CountPicked(results, "{experiment: e}"), 72u);
  EXPECT_EQ(CountPicked(results, "{experiment: f}"), 0u);
}

// A name that is a label is that value, any other name all of its kind.
TEST_F(PaperResultsTest, SelectionsPickByLabelKindAndPattern) {
  const ExperimentPoints points = PointsOf("e");
  const PaperResults results({&points}, false, false);
  EXPECT_EQ(CountPicked(results, "{}"), 36u);
  EXPECT_EQ(CountPicked(results, "{lb: ecmp}"), 9u);
  EXPECT_EQ(CountPicked(results, "{lb: letflow}"), 18u);
  EXPECT_EQ(CountPicked(results, "{lb: letflow.gap=1ms}"), 9u);
  EXPECT_EQ(CountPicked(results, "{lb: {kind: letflow, gap: 1ms}}"), 9u);
  EXPECT_EQ(CountPicked(results, "{lb: [ecmp, letflow]}"), 27u);
  EXPECT_EQ(CountPicked(results, "{lb: []}"), 0u);
  EXPECT_EQ(CountPicked(results, "{lb: ecmp, \"workload[0].load\": [0.2, 0.6]}"), 6u);
  EXPECT_EQ(CountPicked(results, "{\"workload[0].load\": 0.20}"), 12u);
  // A setting that is not swept has its value at all points.
  EXPECT_EQ(CountPicked(results, "{topology.spines: 2}"), 36u);
  EXPECT_EQ(CountPicked(results, "{topology.spines: 3}"), 0u);
}

TEST_F(PaperResultsTest, KindsAreWithoutSettings) {
  const ExperimentPoints points = PointsOf("e");
  const PaperResults results({&points}, false, false);
  EXPECT_THAT(results.KindsAt({"lb", "workload[0].load", "none"}, 0),
              ElementsAre("ecmp", "0.2", ""));
  EXPECT_THAT(results.KindsAt({"lb"}, 35), ElementsAre("letflow"));
}

TEST_F(PaperResultsTest, OtherVersionsCountOnRequest) {
  WriteResult(RunOf("e", "2", "rps"), 1, "0.0.1");
  const ExperimentPoints points = PointsOf("e");
  const PaperResults strict({&points}, false, /*with_stale=*/false);
  EXPECT_EQ(strict.CountResults(), 35u);
  EXPECT_THAT(strict.Versions(), SizeIs(1));
  const PaperResults lenient({&points}, false, /*with_stale=*/true);
  EXPECT_EQ(lenient.CountResults(), 36u);
  EXPECT_THAT(lenient.Versions(), SizeIs(2));
}

TEST_F(PaperResultsTest, AMetricWithAValueSomewhereHasNoMistake) {
  folder_.Write(
      std::filesystem::relative(RunOf("e", "2", "rps"), folder_.path()).string() + "/m.csv",
      "v,twice\nnone,4\n");
  const ExperimentPoints points = PointsOf("e");
  PaperResults results({&points}, false, false);
  Diagnostics diagnostics;
  const Metrics metrics = MetricsFrom("v: {file: m.csv, column: v}\nw: {file: m.csv, column: w}\n");
  results.Read(metrics, {"v"}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  size_t without = 0;
  for (const Reading& reading : results.ValuesOf("v")) {
    EXPECT_TRUE(reading.has_result);
    EXPECT_NE(reading.value.has_value(), !reading.error.empty());
    without += reading.value ? 0 : 1;
  }
  EXPECT_EQ(without, 1u);
  // One that has none anywhere has, and says so once.
  results.Read(metrics, {"w", "w"}, diagnostics);
  results.Read(metrics, {"w"}, diagnostics);
  EXPECT_THAT(diagnostics.Report(), HasSubstr("claims.yaml:2:4: metrics.w: "));
  EXPECT_THAT(diagnostics.Report(), HasSubstr("m.csv has no column \"w\""));
  EXPECT_THAT(diagnostics.errors(), SizeIs(1));
}

TEST_F(PaperResultsTest, WithoutResultsAMetricIsNotSaidToBeWrong) {
  std::filesystem::remove_all(folder_ / "out");
  const ExperimentPoints points = PointsOf("e");
  PaperResults results({&points}, false, false);
  Diagnostics diagnostics;
  results.Read(MetricsFrom("w: {file: m.csv, column: w}\n"), {"w"}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  for (const Reading& reading : results.ValuesOf("w")) {
    EXPECT_FALSE(reading.has_result);
    EXPECT_FALSE(reading.value);
  }
  EXPECT_EQ(results.CountResults(), 0u);
  EXPECT_THAT(results.Versions(), IsEmpty());
}

// A prediction needs no result, even where there is none.
TEST_F(PaperResultsTest, ModelsPredictWithoutResults) {
  std::filesystem::remove_all(folder_ / "out");
  const ExperimentPoints points = PointsOf("e");
  PaperResults results({&points}, false, false);
  Diagnostics diagnostics;
  results.Read(MetricsFrom("p: {model: tr, column: p_fr}\n"), {"p"}, diagnostics);
  for (const Reading& reading : results.ValuesOf("p")) EXPECT_TRUE(reading.value);
}

TEST_F(PaperResultsTest, ADamagedPointIsLeftOutWholly) {
  const std::filesystem::path run = RunOf("e", "1", "ecmp");
  const std::string name = std::filesystem::relative(run, folder_.path()).string();
  std::string summary = ReadFile(run / "summary.json");
  summary.replace(summary.find('{'), 1, "{\"manifest\": \"manifest.csv\", ");
  folder_.Write(name + "/summary.json", summary);
  MakeManifest(run);
  folder_.Write(name + "/m.csv", "v,twice\n99,4\n");
  const ExperimentPoints points = PointsOf("e");
  PaperResults results({&points}, false, false);
  Diagnostics diagnostics;
  results.Read(MetricsFrom("v: {file: m.csv, column: v}\n"), {"v"}, diagnostics);
  EXPECT_EQ(results.CountResults(), 35u);
  EXPECT_THAT(results.Damaged(), ElementsAre(run));
  for (size_t i = 0; i < results.points().size(); ++i) {
    EXPECT_EQ(results.ValuesOf("v")[i].value.has_value(), results.HasResult(results.points()[i]));
  }
}

TEST_F(PaperResultsTest, AxesThatMoveTogetherComeTogether) {
  Write("m",
        "sweep: {lb: [ecmp, rps], together: [{topology.spines: [2, 3], \"workload[0].load\": "
        "[0.2, 0.3]}]}\n",
        [](const At&, double) { return 1.0; });
  const ExperimentPoints points = PointsOf("m");
  const PaperResults results({&points}, false, false);
  EXPECT_THAT(results.WithThoseThatMove({"topology.spines"}),
              ElementsAre("topology.spines", "workload[0].load"));
  EXPECT_THAT(results.WithThoseThatMove({"lb"}), ElementsAre("lb"));
  EXPECT_THAT(results.WithThoseThatMove({}), IsEmpty());
}

TEST(ShownNameTest, NamesReplaceLabels) {
  const std::map<std::string, std::string> names = {{"rps", "RPS"}};
  EXPECT_EQ(ShownName("rps", names), "RPS");
  EXPECT_EQ(ShownName("rps2", names), "rps2");
  EXPECT_EQ(TextOf(AxisLabels{{"lb", "rps"}, {"workload[0].load", "0.5"}}, names),
            "lb=RPS, load=0.5");
  EXPECT_EQ(TextOf(AxisLabels{}, names), "");
}

}  // namespace heddle::paper_results_test
