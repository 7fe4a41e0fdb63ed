// SPDX-License-Identifier: Apache-2.0
// Figures of an invented paper, drawn from results that are written by hand.

#include "study/papers/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/support/toy_paper.h"

namespace heddle::draw_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using Choices = ToyPaper::At;

class DrawTest : public ToyPaper {
 protected:
  DrawnFigure One(const std::string& figure, const std::string& more = "") {
    return Judge("    figures: {a: {" + figure + "}}\n" + more).figures.front();
  }
  static std::vector<std::string> NamesOf(const DrawnFigure& figure) {
    std::vector<std::string> names;
    for (const DrawnLine& line : figure.lines) names.push_back(line.name);
    return names;
  }
  static std::vector<double> XsOf(const DrawnLine& line) {
    std::vector<double> xs;
    for (const DrawnPoint& point : line.points) xs.push_back(point.x);
    return xs;
  }
  static std::vector<double> MeansOf(const DrawnLine& line) {
    std::vector<double> means;
    for (const DrawnPoint& point : line.points) means.push_back(Over(point.values).mean());
    return means;
  }
};

TEST_F(DrawTest, FiguresAreMeansOverSeedsByXAndLine) {
  Write("e", kToySweep, Ordered);
  const JudgedExperiment& judged = Judge(
      "    figures:\n"
      "      a: {metric: v, x: \"workload[0].load\", x_values: [1, 2, 3], at: {lb: [rps, ecmp]}}\n"
      "      b: {metric: [twice, v], x: \"workload[0].load\", at: {lb: letflow.gap=1ms}}\n"
      "      c: {metric: v, kind: bars, at: {\"workload[0].load\": 0.2}, normalise_to: ecmp}\n");
  const DrawnFigure& a = judged.figures[0];
  ASSERT_THAT(a.lines, SizeIs(2));
  EXPECT_EQ(a.lines[1].name, "rps");
  ASSERT_THAT(a.lines[1].points, SizeIs(3));
  EXPECT_EQ(a.lines[1].points[2].x, 3);
  EXPECT_EQ(a.lines[1].points[2].x_text, "0.6");
  EXPECT_NEAR(Over(a.lines[1].points[2].values).mean(), 43.2, 1e-9);
  EXPECT_EQ(judged.figures[1].lines[0].name, "Slow (twice)");
  EXPECT_EQ(judged.figures[1].lines[1].points[0].x, 0.2);
  const DrawnFigure& c = judged.figures[2];
  ASSERT_THAT(c.lines, SizeIs(4));
  for (const auto& [seed, value] : c.lines[0].points[0].values) EXPECT_EQ(value, 1);
  EXPECT_NEAR(c.lines[1].points[0].values.at("1"), 41.1 / 21.1, 1e-12);
}

// Two loads with two spine numbers each; lines that the figure does not name say which they are.
TEST_F(DrawTest, FurtherAxesThatDifferNameTheLines) {
  Write("e",
        "sweep:\n  lb: [ecmp, rps]\n  workload[0].load: [0.2, 0.4]\n  topology.spines: [2, 3]\n"
        "  seeds: 1\n",
        [](const At& at, double) {
          return NumberIn(at.at("topology.spines")) + 10 * NumberIn(at.at("workload[0].load"));
        });
  const std::string x = "metric: v, x: \"workload[0].load\"";
  EXPECT_THAT(NamesOf(One(x + ", at: {lb: ecmp}")),
              ElementsAre("ecmp, spines=2", "ecmp, spines=3"));
  EXPECT_THAT(NamesOf(One(x + ", at: {topology.spines: 3}")), ElementsAre("ecmp", "rps"));
  EXPECT_THAT(NamesOf(One(x + ", lines: topology.spines, at: {lb: ecmp}")), ElementsAre("2", "3"));
  // Without axes to tell it from others a line has the name of its metric.
  EXPECT_THAT(NamesOf(One(x + ", lines: [], at: {lb: ecmp, topology.spines: 3}")),
              ElementsAre("v"));
  EXPECT_THAT(MeansOf(One(x + ", at: {lb: ecmp}").lines[1]), ElementsAre(5, 7));
}

TEST_F(DrawTest, PointsAreSortedByX) {
  Write("e", "sweep: {lb: [ecmp], \"workload[0].load\": [0.6, 0.2, 0.4], seeds: 2}\n",
        [](const At& at, double seed) { return 10 * NumberIn(at.at("workload[0].load")) + seed; });
  const DrawnFigure figure = One("metric: v, x: \"workload[0].load\", x_scale: 100");
  ASSERT_THAT(figure.lines, SizeIs(1));
  EXPECT_THAT(XsOf(figure.lines[0]), ElementsAre(20, 40, 60));
  EXPECT_THAT(MeansOf(figure.lines[0]), ElementsAre(3.5, 5.5, 7.5));
  EXPECT_TRUE(figure.x_is_number);
  EXPECT_EQ(figure.normalised_to, "");
}

TEST_F(DrawTest, WordsAreRanksUnlessTheFigureGivesNumbers) {
  Write("e", "sweep: {lb: [ecmp, rps], seeds: 1}\n",
        [](const At& at, double) { return at.at("lb") == "rps" ? 2.0 : 1.0; });
  const DrawnFigure ranks = One("metric: v, x: lb");
  EXPECT_FALSE(ranks.x_is_number);
  EXPECT_THAT(XsOf(ranks.lines[0]), ElementsAre(1, 2));
  const DrawnFigure numbers = One("metric: v, x: lb, x_values: [7, 3]");
  EXPECT_TRUE(numbers.x_is_number);
  EXPECT_THAT(XsOf(numbers.lines[0]), ElementsAre(3, 7));
  EXPECT_EQ(numbers.lines[0].points[0].x_text, "rps");
}

TEST_F(DrawTest, TooFewXValuesAreAnError) {
  Write("e", kToySweep, Ordered);
  WriteClaims("    figures: {a: {metric: v, x: \"workload[0].load\", x_values: [1, 2]}}\n");
  Diagnostics diagnostics;
  const auto paper = ReadPaper(folder_ / "toy", diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.Report();
  JudgePaper(*paper, {"e"}, {{}, folder_ / "out", false}, diagnostics);
  EXPECT_THAT(diagnostics.Report(),
              HasSubstr("claims.yaml:10:15: experiments.e.figures.a.x_values: has 2 values, but "
                        "workload[0].load has 3"));
}

// Seed 2 of RPS at 0.4 has no result: its mean is that of the other two.
TEST_F(DrawTest, MissingPointsAreLeftOut) {
  Write("e", "sweep: {lb: [ecmp, rps], seeds: 3}\n", [](const At&, double seed) { return seed; });
  std::filesystem::remove_all(RunOf("e", "2", "rps"));
  const DrawnFigure figure = One("metric: v, kind: bars");
  ASSERT_THAT(figure.lines, SizeIs(2));
  EXPECT_EQ(Over(figure.lines[0].points[0].values).count(), 3);
  EXPECT_THAT(figure.lines[1].points[0].values,
              ElementsAre(testing::Pair("1", 1), testing::Pair("3", 3)));
  // By itself a seed can be normalised; without its counterpart it cannot.
  const DrawnFigure normal = One("metric: v, kind: bars, normalise_to: rps");
  EXPECT_THAT(normal.lines[0].points[0].values,
              ElementsAre(testing::Pair("1", 1), testing::Pair("3", 1)));
}

// Each load by itself at the same seed, at which ECMP has 1, 2 and 3.
TEST_F(DrawTest, NormalisesSeedBySeed) {
  Write("e", kToySweep, [](const At& at, double seed) {
    return (at.at("lb") == "rps" ? 8 * NumberIn(at.at("workload[0].load")) : 1) * seed;
  });
  const DrawnFigure figure =
      One("metric: v, x: \"workload[0].load\", at: {lb: [ecmp, rps, letflow.gap=1ms]}, "
          "normalise_to: letflow.gap=1ms");
  EXPECT_EQ(figure.normalised_to, "Slow");
  EXPECT_EQ(figure.unit, "");
  for (const auto& [seed, value] : figure.lines[1].points[1].values) EXPECT_NEAR(value, 3.2, 1e-9);
  const DrawnFigure by_load =
      One("metric: v, x: \"workload[0].load\", at: {lb: rps}, normalise_to: {\"workload[0].load\": "
          "0.2}");
  EXPECT_THAT(by_load.lines[0].points[2].values.at("2"), testing::DoubleNear(3, 1e-9));
}

TEST_F(DrawTest, NothingByNothingIsNoNumberAndOthersStay) {
  Write("e", "sweep: {lb: [ecmp, rps], seeds: 2}\n",
        [](const At& at, double seed) { return at.at("lb") == "ecmp" && seed == 2 ? 0 : 4.0; });
  const DrawnFigure figure = One("metric: v, kind: bars, normalise_to: ecmp");
  EXPECT_EQ(figure.lines[1].points[0].values.at("1"), 1);
  EXPECT_EQ(figure.lines[1].points[0].values.at("2"), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(figure.lines[0].points[0].values.at("2")));
}

// A series of two seeds: 10 and 20 at t = 0, 30 at t = 1 in one seed only.
TEST_F(DrawTest, SeriesAreMeansAtEachX) {
  Write("e", "sweep: {lb: [ecmp], seeds: 2}\n", [](const At&, double seed) { return seed; });
  const auto write = [&](const std::string& seed, const std::string& rows) {
    folder_.Write(std::filesystem::relative(RunOf("e", seed), folder_.path()).string() + "/s.csv",
                  "t,y\n" + rows);
  };
  write("1", "1,30\n0,10\n");
  write("2", "0,20\n");
  const std::string metrics = "    metrics: {s: {file: s.csv, column: y, x: t, unit: B}}\n";
  const DrawnFigure figure = One("metric: s, kind: time, x_scale: 1000", metrics);
  ASSERT_THAT(figure.lines, SizeIs(1));
  EXPECT_THAT(XsOf(figure.lines[0]), ElementsAre(0, 1000));
  EXPECT_THAT(MeansOf(figure.lines[0]), ElementsAre(15, 30));
  EXPECT_EQ(figure.unit, "B");
}

}  // namespace heddle::draw_test
