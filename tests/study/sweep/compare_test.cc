// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/compare.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "settings/yaml.h"
#include "study/sweep/means.h"
#include "study/sweep/setting_differences.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/status.h"

namespace heddle::compare_test {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A run's folder with this mean FCT.
fs::path WriteRun(const TemporaryFolder& folder, const std::string& name, double fct) {
  fs::create_directory(folder / name);
  folder.Write(name + "/summary.csv",
               fmt::format("class_set,class,n,avg_fct_us,low_n\nall,all,10,{},0\n", fct));
  folder.Write(name + "/reorder.csv", "scope,class,n_pkts,ratio\nall,all,100,0\n");
  folder.Write(name + "/summary.json", "{\"complete\": true}\n");
  return folder / name;
}

class CompareTest : public testing::Test {
 protected:
  // One side, by seed from 1 on; what is not a number has no point.
  ComparedSide Side(const std::string& name, const std::vector<double>& fcts) {
    ComparedSide side;
    for (size_t i = 0; i < fcts.size(); ++i) {
      if (std::isnan(fcts[i])) continue;
      const std::string seed = std::to_string(i + 1);
      side.points.push_back({{"0.5"}, seed, WriteRun(folder_, name + seed, fcts[i])});
    }
    return side;
  }
  ComparedMetric Compared(const std::vector<double>& a, const std::vector<double>& b) {
    ComparedSide side_a = Side("a", a);
    ComparedSide side_b = Side("b", b);
    const auto comparisons = Compare(side_a, side_b, {.metrics = {"avg_fct_us"}}).value();
    EXPECT_THAT(comparisons, SizeIs(1));
    return comparisons.front().metrics.front();
  }

  TemporaryFolder folder_;
};

// A: 100, 200, 300, 400, 500 by seed; B: 2, 3, 1, 4, 5 less. The difference is -3 on average with
// s = sqrt(10/4) = 1.58114; t for 4 degrees is 2.776445: 1.963243. Unpaired, nothing could be said.
TEST_F(CompareTest, PairsBySeed) {
  const ComparedMetric metric = Compared({100, 200, 300, 400, 500}, {98, 197, 299, 396, 495});
  EXPECT_DOUBLE_EQ(metric.a.mean(), 300);
  EXPECT_DOUBLE_EQ(metric.b.mean(), 297);
  EXPECT_NEAR(metric.difference.mean(), -3, 1e-12);
  EXPECT_NEAR(metric.difference.half_width(), 1.963243, 1e-5);
  EXPECT_GT(metric.a.half_width(), 190);
  EXPECT_EQ(Judge("avg_fct_us", metric.difference), Verdict::kBetter);
}

// The first choice is a transport, the second one a load.
TEST(AxesThatFollowTest, HaveOneValueOnEachSideAndDiffer) {
  const auto side = [](const std::vector<std::vector<std::string>>& choices) {
    ComparedSide its;
    for (const std::vector<std::string>& of_point : choices)
      its.points.push_back({of_point, "1", ""});
    return its;
  };
  const ComparedSide uet = side({{"uet", "0.3"}, {"uet", "0.5"}});
  const ComparedSide roce = side({{"rocev2", "0.3"}, {"rocev2", "0.5"}});
  const ComparedSide both = side({{"uet", "0.3"}, {"rocev2", "0.3"}});
  const auto follow = [](const ComparedSide& a, const ComparedSide& b, const ComparedSide& c) {
    return AxesThatFollow(std::vector<const ComparedSide*>{&a, &b, &c});
  };
  EXPECT_THAT(follow(uet, roce, uet), ElementsAre(0));
  EXPECT_THAT(follow(uet, uet, uet), IsEmpty());
  EXPECT_THAT(follow(uet, uet, both), IsEmpty());
  EXPECT_THAT(follow(uet, roce, side({})), IsEmpty());
  EXPECT_THAT(follow(side({{"uet", "0.3"}}), side({{"dctcp", "0.5"}}), uet), ElementsAre(0));
}

TEST_F(CompareTest, TakesOnlySeedsThatBothHave) {
  const double none = std::nan("");
  const ComparedMetric metric = Compared({10, 20, none, 40}, {11, none, 30, 43});
  EXPECT_EQ(metric.difference.count(), 2);
  EXPECT_DOUBLE_EQ(metric.a.mean(), 25);
  EXPECT_DOUBLE_EQ(metric.difference.mean(), 2);
}

TEST_F(CompareTest, JudgesByTheIntervalAndByWhatTheMetricIs) {
  const auto judge = [](std::string_view metric, const std::vector<double>& differences) {
    Replications replications;
    for (const double difference : differences) replications.Add(difference);
    return Judge(metric, replications);
  };
  EXPECT_EQ(judge("avg_fct_us", {1, 1.1, 0.9}), Verdict::kWorse);
  EXPECT_EQ(judge("goodput_gbps", {1, 1.1, 0.9}), Verdict::kBetter);
  EXPECT_EQ(judge("p99_slowdown", {-1, -1.1, -0.9}), Verdict::kBetter);
  EXPECT_EQ(judge("run_mean_iter_us", {1, 1.1, 0.9}), Verdict::kWorse);
  EXPECT_EQ(judge("run_busbw_gbs", {1, 1.1, 0.9}), Verdict::kBetter);
  EXPECT_EQ(judge("run_decisions", {1, 1.1, 0.9}), Verdict::kDifferent);
  EXPECT_EQ(judge("avg_fct_us", {1, -1, 0.5}), Verdict::kTie);
  EXPECT_EQ(judge("reordered", {0, 0, 0}), Verdict::kTie);
  EXPECT_EQ(judge("avg_fct_us", {1}), Verdict::kUnknown);
  EXPECT_EQ(judge("avg_fct_us", {1, kInfinity}), Verdict::kUnknown);
}

TEST_F(CompareTest, UnfinishedFlowsLeaveNoVerdict) {
  const ComparedMetric metric = Compared({10, 20, 30}, {9, kInfinity, 28});
  EXPECT_EQ(metric.b.mean(), kInfinity);
  EXPECT_EQ(Judge("avg_fct_us", metric.difference), Verdict::kUnknown);
}

TEST_F(CompareTest, LeavesOutWhatIsNotDoneOrDamaged) {
  ComparedSide a = Side("a", {10, 20, 30});
  ComparedSide b = Side("b", {11, 22, 33});
  a.points[0].state = PointState::kMissing;
  folder_.Write("b2/summary.csv", "");
  EXPECT_EQ(FirstPair(a, b).first, &a.points[1]);
  const auto comparisons = Compare(a, b, {.metrics = {"avg_fct_us"}}).value();
  ASSERT_THAT(comparisons, SizeIs(1));
  EXPECT_EQ(comparisons.front().planned, 3u);
  EXPECT_EQ(comparisons.front().paired, 1u);
  EXPECT_DOUBLE_EQ(comparisons.front().metrics.front().difference.mean(), 3);
  EXPECT_EQ(b.points[1].state, PointState::kDamaged);
  EXPECT_EQ(FirstPair(a, b).first, &a.points[2]);
  a.points[2].state = PointState::kFailed;
  EXPECT_THAT(Compare(a, b, {.metrics = {"avg_fct_us"}}).value(), SizeIs(0));
  EXPECT_EQ(FirstPair(a, b).first, nullptr);
}

TEST_F(CompareTest, RefusesMetricsAndClassesThatThereAreNot) {
  ComparedSide a = Side("a", {10});
  ComparedSide b = Side("b", {11});
  EXPECT_THAT(Compare(a, b, {.metrics = {"avg_fct_uss"}}),
              Fails(absl::StatusCode::kNotFound, HasSubstr("did you mean \"avg_fct_us\"?")));
  EXPECT_THAT(Compare(a, b, {.metrics = {"avg_fct_us"}, .size_class = "XL"}),
              Fails(absl::StatusCode::kNotFound, HasSubstr("no class is called \"all/XL\"")));
}

TEST_F(CompareTest, FindsTheValueThatAWordMeans) {
  Plan plan{{"lb"}, {}};
  for (const char* lb : {"letflow.gap=1us", "letflow.gap=2us", "tr.x=1", "rps"}) {
    plan.points.push_back({.id = lb, .label = lb, .seed = "1", .choices = {lb}});
  }
  EXPECT_EQ(FindValue(plan, "lb", "rps").value(), "rps");
  EXPECT_EQ(FindValue(plan, "lb", "tr").value(), "tr.x=1");
  EXPECT_THAT(FindValue(plan, "lb", "letflow"),
              Fails(absl::StatusCode::kInvalidArgument, HasSubstr("may be any of")));
  EXPECT_THAT(FindValue(plan, "lb", "rp"),
              Fails(absl::StatusCode::kNotFound, HasSubstr("lb has no value \"rp\"")));
  EXPECT_THAT(FindValue(plan, "load", "1"),
              Fails(absl::StatusCode::kNotFound, HasSubstr("no axis is called \"load\"")));
}

TEST_F(CompareTest, FindsTheValueThatALabelMeans) {
  Plan plan{{"lb"}, {}};
  for (const char* lb : {"letflow.gap=1us", "letflow.gap=2us", "rps"}) {
    plan.points.push_back({.id = lb, .label = lb, .seed = "1", .choices = {lb}});
  }
  folder_.Write("sweep.yaml", "sweep: {labels: {lb: {letflow.gap=2us: Slow, rps: Spray}}}");
  const ChoiceLabels labels = SweepFolder(folder_.path()).ReadLabels();
  EXPECT_EQ(FindValue(plan, "lb", "Slow", labels).value(), "letflow.gap=2us");
  EXPECT_EQ(FindValue(plan, "lb", "rps", labels).value(), "rps");
  EXPECT_THAT(FindValue(plan, "lb", "Spry", labels),
              Fails(absl::StatusCode::kNotFound, HasSubstr("did you mean \"Spray\"?")));
}

TEST_F(CompareTest, CountsCombinationsThatOneSideLacks) {
  ComparedSide a = Side("a", {10, 20});
  ComparedSide b = Side("b", {11, 22});
  EXPECT_EQ(CombinationsOnlyIn(a, b), 0u);
  a.points[0].choices = a.points[1].choices = {"0.7"};  // Both seeds have it: one combination.
  EXPECT_EQ(CombinationsOnlyIn(a, b), 1u);
  EXPECT_EQ(CombinationsOnlyIn(b, a), 1u);
}

// --- Differences of settings ---

std::vector<std::string> Differences(const std::string& a, const std::string& b) {
  Diagnostics diagnostics;
  const auto of_a = ParseYaml(a, "a", diagnostics);
  const auto of_b = ParseYaml(b, "b", diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  std::vector<std::string> lines;
  for (const SettingDifference& one : DifferencesOf(*of_a, *of_b)) {
    lines.push_back(fmt::format("{}: {} {}", one.key, one.a, one.b));
  }
  return lines;
}

TEST(SettingDifferencesTest, AreByPathAtAnyDepth) {
  EXPECT_THAT(Differences("{a: 1, b: {c: 2, d: [1, 2]}}", "{b: {d: [1, 2], c: 2}, a: 1}"),
              IsEmpty());
  EXPECT_THAT(Differences("{a: 1, b: {c: 2, d: [1, {e: x}]}}", "{a: 3, b: {c: 2, d: [1, {e: y}]}}"),
              ElementsAre("a: 1 3", "b.d[1].e: x y"));
  EXPECT_THAT(Differences("{a: {b: 1, c: 2}}", "{a: {c: 2, d: [3, 4]}, e: 5}"),
              ElementsAre("a.b: 1 -", "a.d[0]: - 3", "a.d[1]: - 4", "e: - 5"));
  EXPECT_THAT(Differences("{a: {b: 1}}", "{a: x}"), ElementsAre("a: b=1 x"));
}

TEST(SettingDifferencesTest, FlowsComeOfTheirWorkloadAndTheirHosts) {
  for (const char* key : {"workload[0].load", "seed", "topology.leaves", "topology.kind"}) {
    EXPECT_TRUE(DecidesFlows(key)) << key;
  }
  for (const char* key : {"lb.kind", "transport.min_rto", "topology.port.ecn_above", "seeds"}) {
    EXPECT_FALSE(DecidesFlows(key)) << key;
  }
}

// --- Means ---

// Seeds 1, 2 and 3 of one combination: mean 20, s = 10; t for 2 degrees is 4.302653: 24.8414.
TEST(MeansTest, AreOverSeedsWithTheirInterval) {
  const TemporaryFolder folder;
  Means means;
  Plan plan{{"lb"}, {}};
  for (const auto& [lb, fct] :
       {std::pair{"ecmp", 10.0}, {"rps", 5.0}, {"ecmp", 20.0}, {"ecmp", 30.0}}) {
    PlannedPoint point;
    point.choices = {lb};
    means.Add(point,
              ReadPointRows(WriteRun(folder, std::string(lb) + std::to_string(fct), fct)).value());
  }
  const CsvTable csv(means.Csv(plan));
  ASSERT_EQ(csv.rows.size(), 2u);
  EXPECT_EQ(csv.At(0, "lb"), "ecmp");
  EXPECT_EQ(csv.At(0, "seeds"), "3");
  EXPECT_EQ(csv.At(0, "avg_fct_us"), "20");
  EXPECT_EQ(csv.At(0, "avg_fct_us_ci95"), "24.8414");
  EXPECT_EQ(csv.At(0, "avg_fct_us_n"), "3");
  EXPECT_EQ(csv.At(0, "run_end_ps"), "");  // The runs do not say.
  EXPECT_EQ(csv.At(0, "run_end_ps_n"), "0");
  EXPECT_EQ(csv.At(1, "avg_fct_us"), "5");
  EXPECT_EQ(csv.At(1, "avg_fct_us_ci95"), "");
  EXPECT_EQ(std::ranges::count(csv.header, "low_n"), 0);
}

}  // namespace heddle::compare_test
