// SPDX-License-Identifier: Apache-2.0
// Reducing the rows of a file to one number or a series, by numbers worked out by hand.

#include "study/papers/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/random.h"
#include "settings/yaml.h"
#include "tests/support/command.h"
#include "tests/support/status.h"

namespace heddle::evaluate_test {

using testing::ElementsAre;
using testing::HasSubstr;

// --- TakeOf ---

TEST(TakeOfTest, ReducesEightNumbers) {
  // Mean 5; squares of distances 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32, by 8 are 4.
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_EQ(TakeOf(Take::kSum, values), 40);
  EXPECT_EQ(TakeOf(Take::kMean, values), 5);
  EXPECT_EQ(TakeOf(Take::kStd, values), 2);  // Of a population: by 8, not by 7.
  EXPECT_EQ(TakeOf(Take::kMin, values), 2);
  EXPECT_EQ(TakeOf(Take::kMax, values), 9);
  EXPECT_EQ(TakeOf(Take::kCount, values), 8);
  EXPECT_EQ(TakeOf(Take::kP50, values), 4);  // The fourth of eight.
  EXPECT_EQ(TakeOf(Take::kP95, values), 9);
  EXPECT_EQ(TakeOf(Take::kValue, {3}), 3);
}

TEST(TakeOfTest, PercentilesAreNearestRanksOfTheSortedValues) {
  std::vector<double> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(i);
  EXPECT_EQ(TakeOf(Take::kP50, hundred), 50);
  EXPECT_EQ(TakeOf(Take::kP95, hundred), 95);
  EXPECT_EQ(TakeOf(Take::kP99, hundred), 99);
  hundred.push_back(101);  // 0.95 * 101 = 95.95: the 96th.
  EXPECT_EQ(TakeOf(Take::kP95, hundred), 96);
  EXPECT_EQ(TakeOf(Take::kP99, hundred), 100);
  EXPECT_EQ(TakeOf(Take::kP50, hundred), 51);
}

TEST(TakeOfTest, OneNumberIsItsOwnEverything) {
  for (const Take take : {Take::kValue, Take::kSum, Take::kMean, Take::kMin, Take::kMax, Take::kP50,
                          Take::kP95, Take::kP99}) {
    EXPECT_EQ(TakeOf(take, {-7}), -7);
  }
  EXPECT_EQ(TakeOf(Take::kStd, {-7}), 0);
  EXPECT_EQ(TakeOf(Take::kCount, {-7}), 1);
}

TEST(TakeOfTest, RandomNumbersKeepTheirOrder) {
  Rng rng = Rng::Stream(/*seed=*/1, "take", 0);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values;
    const uint64_t count = 1 + rng.Below(50);
    for (uint64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(rng.Below(1'000)));
    const double least = TakeOf(Take::kMin, values);
    const double most = TakeOf(Take::kMax, values);
    const double p50 = TakeOf(Take::kP50, values);
    const double p95 = TakeOf(Take::kP95, values);
    const double p99 = TakeOf(Take::kP99, values);
    EXPECT_TRUE(std::ranges::is_sorted(std::vector{least, p50, p95, p99, most}));
    for (const double p : {p50, p95, p99})
      EXPECT_TRUE(std::ranges::find(values, p) != values.end());
    const auto up_to_p50 = std::ranges::count_if(values, [&](double v) { return v <= p50; });
    EXPECT_GE(2 * static_cast<uint64_t>(up_to_p50), count);
    EXPECT_NEAR(TakeOf(Take::kMean, values) * static_cast<double>(count),
                TakeOf(Take::kSum, values), 1e-6);
    EXPECT_LE(TakeOf(Take::kStd, values), most - least);
  }
}

// --- Files ---

class EvaluateTest : public testing::Test {
 protected:
  EvaluateTest() {
    folder_.Write("t.csv", "k,x,y\na,1,10\na,2,20\nb,1,5\nb,2,\nc,3,zero\n");
    folder_.Write("none.csv", "k,x,y\n");
    folder_.Write("summary.json", "{\"a\": 4, \"ab\": 6, \"b\": {\"c\": 2, \"d\": \"text\"}}\n");
  }

  Metrics Read(const std::string& yaml) {
    Diagnostics diagnostics;
    const auto document = ParseYaml("metrics:\n  m: " + yaml + "\n", "claims.yaml", diagnostics);
    document_ = document.value();
    const Metrics metrics =
        ReadMetrics(document_.entries[0].value.entries, "metrics", {}, diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
    return metrics;
  }
  absl::StatusOr<double> Value(const std::string& yaml) {
    return PointReader(folder_.path(), point_).Read(*Read(yaml).at("m"));
  }
  double Number(const std::string& yaml) {
    const auto value = Value(yaml);
    EXPECT_THAT(value, IsOk()) << yaml;
    return value.ok() ? *value : std::nan("");
  }
  absl::StatusOr<std::vector<SeriesPoint>> Series(const std::string& yaml) {
    return PointReader(folder_.path(), point_).ReadSeries(*Read(yaml).at("m"));
  }

  TemporaryFolder folder_;
  heddle::Value document_;
  heddle::Value point_;
};

TEST_F(EvaluateTest, AColumnThatIsMissingIsNamed) {
  const auto error = [](const std::string& text) {
    return Fails(absl::StatusCode::kNotFound, HasSubstr(text));
  };
  EXPECT_THAT(Value("{file: t.csv, column: z}"), error("t.csv has no column \"z\""));
  EXPECT_THAT(Value("{file: t.csv, column: y, group: kk, take: sum}"),
              error("t.csv has no column \"kk\"; did you mean \"k\"?"));
  EXPECT_THAT(Value("{file: t.csv, column: y, where: {xx: 1}}"), error("has no column \"xx\""));
  EXPECT_THAT(Series("{file: t.csv, column: y, x: w}"), error("has no column \"w\""));
  EXPECT_THAT(Value("{file: absent.csv, column: y}"), error("absent.csv"));
}

TEST_F(EvaluateTest, CellsThatAreNoNumbersAreErrorsWithTheirRow) {
  EXPECT_THAT(Value("{file: t.csv, column: y, take: sum, where: {k: b}}"),
              Fails(absl::StatusCode::kFailedPrecondition,
                    HasSubstr("t.csv: row 4: y is \"\", which is no number")));
  EXPECT_THAT(Value("{file: t.csv, column: y, where: {k: c}}"),
              Fails(absl::StatusCode::kFailedPrecondition,
                    HasSubstr("t.csv: row 5: y is \"zero\", which is no number")));
  EXPECT_THAT(Series("{file: t.csv, column: x, x: k}"),
              Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("row 1: k is \"a\"")));
}

// Rows are counted whatever their cells hold, unless a column is named.
TEST_F(EvaluateTest, CountsRowsAndGroups) {
  EXPECT_EQ(Number("{file: t.csv, take: count}"), 5);
  EXPECT_EQ(Number("{file: t.csv, take: count, where: {k: b}}"), 2);
  EXPECT_EQ(Number("{file: t.csv, take: count, group: k}"), 3);
  EXPECT_EQ(Number("{file: none.csv, take: count}"), 0);
  EXPECT_EQ(Number("{file: none.csv, take: count, empty: 9}"), 0);
}

TEST_F(EvaluateTest, AFileWithoutRowsHasNoValueUnlessEmptySaysOne) {
  EXPECT_THAT(Value("{file: none.csv, column: y, take: max}"),
              Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("no row matches `where`")));
  EXPECT_EQ(Number("{file: none.csv, column: y, take: max, empty: -1}"), -1);
  const auto series = Series("{file: none.csv, column: y, x: x}");
  ASSERT_THAT(series, IsOk());
  EXPECT_TRUE(series->empty());
}

// Groups by x: 1 has a and b, 10 + 5; of 2 only a counts here.
TEST_F(EvaluateTest, GroupsAreSummedBeforeTheyAreReduced) {
  EXPECT_EQ(Number("{file: t.csv, column: y, take: max, group: k, where: {k: a}}"), 30);
  EXPECT_EQ(Number("{file: t.csv, column: y, take: min, group: [k, x], where: {k: a}}"), 10);
  EXPECT_EQ(Number("{file: t.csv, column: y, group: x, where: {x: 1}}"), 15);  // One group is one.
}

TEST_F(EvaluateTest, JsonPathsAreWholeUnlessTheyEndWithAStar) {
  EXPECT_EQ(Number("{file: summary.json, column: a}"), 4);
  EXPECT_EQ(Number("{file: summary.json, column: \"a*\", take: sum}"), 10);
  EXPECT_EQ(Number("{file: summary.json, column: b.c}"), 2);
  EXPECT_EQ(Number("{file: summary.json, column: \"b.*\"}"), 2);  // Texts are no numbers.
  EXPECT_EQ(Number("{file: summary.json, column: \"*\", take: count}"), 3);
  EXPECT_EQ(Number("{file: summary.json, column: z, empty: 0}"), 0);
  EXPECT_THAT(Value("{file: summary.json, column: z}"),
              Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("has 0 numbers at \"z\"")));
  EXPECT_THAT(Value("{file: summary.json, column: \"a*\"}"),
              Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("has 2 numbers at \"a*\"")));
}

TEST_F(EvaluateTest, DividingByZeroIsInfiniteOrNoNumber) {
  const std::string zero = ", divide_by: {file: none.csv, take: count}}";
  EXPECT_TRUE(std::isinf(Number("{file: summary.json, column: a" + zero)));
  EXPECT_TRUE(std::isnan(Number("{file: none.csv, take: count" + zero)));
}

// ((4 + 6 - 2) / 2), not less than 5, not more than 3, by ten.
TEST_F(EvaluateTest, TermsApplyInTheirOrder) {
  const std::string json = "{file: summary.json, column: ";
  EXPECT_EQ(Number(json + "a, scale: 10, minus: " + json + "b.c}, plus: " + json +
                   "ab}, divide_by: " + json + "b.c}}"),
            40);
  EXPECT_EQ(Number(json + "ab, or_less: " + json + "a}}"), 4);
  EXPECT_EQ(Number(json + "a, or_less: " + json + "ab}}"), 4);
  EXPECT_EQ(Number(json + "a, or_more: " + json + "ab}}"), 6);
  EXPECT_EQ(Number(json + "ab, or_more: " + json + "a}}"), 6);
}

TEST_F(EvaluateTest, SeriesAreSortedAndCombinedAtEachX) {
  folder_.Write("s.csv", "t,v\n20,2\n3,7\n100,1\n");
  folder_.Write("u.csv", "t,v\n3,1\n20,2\n100,4\n");
  folder_.Write("gap.csv", "t,v\n3,1\n100,4\n");
  const auto series = Series("{file: s.csv, column: v, x: t, scale: 2}");
  ASSERT_THAT(series, IsOk());
  EXPECT_THAT(*series, ElementsAre(SeriesPoint{3, 14}, SeriesPoint{20, 4}, SeriesPoint{100, 2}));
  const auto quotient =
      Series("{file: s.csv, column: v, x: t, divide_by: {file: u.csv, column: v, x: t}}");
  ASSERT_THAT(quotient, IsOk());
  EXPECT_THAT(*quotient,
              ElementsAre(SeriesPoint{3, 7}, SeriesPoint{20, 1}, SeriesPoint{100, 0.25}));
  const auto sum = Series("{file: s.csv, column: v, x: t, plus: {file: summary.json, column: a}}");
  ASSERT_THAT(sum, IsOk());
  EXPECT_THAT(*sum, ElementsAre(SeriesPoint{3, 11}, SeriesPoint{20, 6}, SeriesPoint{100, 5}));
  EXPECT_THAT(
      Series("{file: s.csv, column: v, x: t, plus: {file: gap.csv, column: v, x: t}}"),
      Fails(absl::StatusCode::kNotFound, HasSubstr("one of its terms has no value at x = 20")));
}

TEST_F(EvaluateTest, ASeriesIsNoNumberAndANumberNoSeries) {
  EXPECT_THAT(Value("{file: t.csv, column: y, x: x}"),
              Fails(absl::StatusCode::kInvalidArgument, HasSubstr("is a series over `x`")));
  EXPECT_THAT(Series("{file: t.csv, column: x, take: sum}"),
              Fails(absl::StatusCode::kInvalidArgument, HasSubstr("has no `x`")));
  const auto of_series = Series("{of: {file: t.csv, column: x, x: x, take: count}, scale: 3}");
  ASSERT_THAT(of_series, IsOk());
  EXPECT_THAT(*of_series, ElementsAre(SeriesPoint{1, 6}, SeriesPoint{2, 6}, SeriesPoint{3, 3}));
  EXPECT_THAT(Value("{of: {file: t.csv, column: x, x: x, take: count}}"),
              Fails(absl::StatusCode::kInvalidArgument, HasSubstr("is a series")));
}

}  // namespace heddle::evaluate_test
