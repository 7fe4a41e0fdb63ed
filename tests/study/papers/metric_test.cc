// SPDX-License-Identifier: Apache-2.0
// Metrics of a run's folder that is written by hand.

#include "study/papers/metric.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>

#include "settings/yaml.h"
#include "study/papers/evaluate.h"
#include "tests/support/command.h"
#include "tests/support/status.h"

namespace heddle::metric_test {

using testing::ElementsAre;
using testing::HasSubstr;

class MetricTest : public testing::Test {
 protected:
  MetricTest() {
    folder_.Write("flows.csv",
                  "flow_id,class,size_bytes,start_ps,rx_done_ps,measured\n"
                  "1,S,100,0,50,1\n"
                  "2,M,2000,10,110,1\n"
                  "3,L,40000,20,1020,1\n"
                  "4,L,60000,30,,0\n");
    folder_.Write("links.csv",
                  "node,tier,util\nleaf0,leaf_up,0.1\nleaf0,leaf_up,0.3\nleaf1,leaf_up,0.5\n"
                  "spine0,spine_down,0.9\n");
    folder_.Write("series.csv", "time_ps,node,bytes\n0,a,1\n0,b,3\n10,a,5\n10,b,2\n");
    folder_.Write("summary.json",
                  "{\"counts\": {\"dropped_TAIL\": 3, \"dropped_LOOP\": 1, \"other\": 7}}\n");
  }

  Metrics Read(const std::string& yaml, Diagnostics& diagnostics) {
    const auto document = ParseYaml("metrics:\n" + yaml, "claims.yaml", diagnostics);
    document_ = document.value();
    return ReadMetrics(document_.entries[0].value.entries, "metrics", {}, diagnostics);
  }
  std::string Errors(const std::string& yaml) {
    Diagnostics diagnostics;
    Read(yaml, diagnostics);
    return diagnostics.Report();
  }

  // Returns the value of the metric `m`.
  double ValueOf(const std::string& yaml) {
    const auto value = Evaluate(yaml);
    EXPECT_THAT(value, IsOk()) << yaml;
    return value.ok() ? *value : std::nan("");
  }
  std::string ErrorOf(const std::string& yaml) {
    const auto value = Evaluate(yaml);
    EXPECT_FALSE(value.ok());
    return MessageOf(value.status());
  }
  absl::StatusOr<double> Evaluate(const std::string& yaml) {
    Diagnostics diagnostics;
    const Metrics metrics = Read("  m: " + yaml + "\n", diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
    PointReader reader(folder_.path(), point_);
    return reader.Read(*metrics.at("m"));
  }

  TemporaryFolder folder_;
  Value document_;
  Value point_;  // The point's document.
};

TEST_F(MetricTest, TakesOneRow) {
  EXPECT_EQ(ValueOf("{file: flows.csv, where: {flow_id: 2}, column: size_bytes}"), 2000);
  EXPECT_EQ(ValueOf("{file: flows.csv, where: {flow_id: 2.0}, column: size_bytes, scale: 1/8}"),
            250);
  EXPECT_THAT(ErrorOf("{file: flows.csv, where: {class: L}, column: size_bytes}"),
              HasSubstr("flows.csv: 2 rows match `where`; set `take` to reduce them to one value"));
  EXPECT_THAT(ErrorOf("{file: flows.csv, where: {class: XL}, column: size_bytes}"),
              HasSubstr("no row matches `where`"));
  EXPECT_EQ(ValueOf("{file: flows.csv, where: {class: XL}, column: size_bytes, empty: 0}"), 0);
}

TEST_F(MetricTest, TakesSomethingOfManyRows) {
  const auto take = [&](const std::string& how) {
    return ValueOf(
        "{file: links.csv, where: {tier: [leaf_up, spine_down]}, column: util, take: " + how + "}");
  };
  EXPECT_DOUBLE_EQ(take("sum"), 1.8);
  EXPECT_DOUBLE_EQ(take("mean"), 0.45);
  EXPECT_DOUBLE_EQ(take("min"), 0.1);
  EXPECT_DOUBLE_EQ(take("max"), 0.9);
  EXPECT_EQ(take("count"), 4);
  // The deviations of 0.1, 0.3, 0.5, 0.9 from 0.45: (0.1225 + 0.0225 + 0.0025 + 0.2025) / 4 =
  // 0.0875.
  EXPECT_NEAR(take("std"), std::sqrt(0.0875), 1e-12);
  EXPECT_DOUBLE_EQ(take("p50"), 0.3);  // The second of four.
  EXPECT_DOUBLE_EQ(take("p95"), 0.9);
}

TEST_F(MetricTest, SumsGroupsFirst) {
  // leaf0 0.4, leaf1 0.5, spine0 0.9.
  EXPECT_DOUBLE_EQ(ValueOf("{file: links.csv, column: util, group: node, take: min}"), 0.4);
  EXPECT_EQ(ValueOf("{file: links.csv, column: util, group: [node, tier], take: count}"), 3);
}

TEST_F(MetricTest, SelectsByNumbersAndByWhatIsNot) {
  EXPECT_EQ(ValueOf("{file: flows.csv, where: {size_bytes: {above: 100, up_to: 40000}}, take: "
                    "count}"),
            2);
  EXPECT_EQ(ValueOf("{file: flows.csv, where: {class: {not: [S, M]}, measured: 1}, take: count}"),
            1);
}

// 42,000 bytes of M and L between 10 and 1020 ps.
TEST_F(MetricTest, CombinesMetrics) {
  EXPECT_DOUBLE_EQ(
      ValueOf("{file: flows.csv, where: {class: [M, L], measured: 1}, column: size_bytes, take: "
              "sum, divide_by: {file: flows.csv, where: {class: [M, L], measured: 1}, column: "
              "rx_done_ps, take: max, minus: {file: flows.csv, where: {class: [M, L], measured: "
              "1}, column: start_ps, take: min}}, scale: 8e3}"),
      42'000.0 / 1'010 * 8e3);
  Diagnostics diagnostics;
  const Metrics metrics = Read(
      "  both: {of: small, plus: [small, {file: flows.csv, take: count}]}\n"
      "  small: {file: flows.csv, where: {class: S}, column: size_bytes}\n",
      diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  PointReader reader(folder_.path(), point_);
  EXPECT_EQ(reader.Read(*metrics.at("both")).value(), 204);
}

TEST_F(MetricTest, TakesTheLesserOrTheGreaterOfMetrics) {
  const std::string small = "{file: flows.csv, where: {class: S}, column: size_bytes, take: sum}";
  const std::string large =
      "{file: flows.csv, where: {class: [M, L], measured: 1}, column: size_bytes, take: sum}";
  const double least = ValueOf(small);
  const double most = ValueOf(large);
  ASSERT_LT(least, most);
  EXPECT_EQ(ValueOf("{of: " + small + ", or_less: " + large + "}"), least);
  EXPECT_EQ(ValueOf("{of: " + large + ", or_less: " + small + "}"), least);
  EXPECT_EQ(ValueOf("{of: " + small + ", or_more: " + large + "}"), most);
  EXPECT_EQ(ValueOf("{of: " + large + ", or_more: [" + small + ", " + large + "]}"), most);
  // After what divides the first, before its scale.
  EXPECT_EQ(
      ValueOf("{of: " + large + ", divide_by: " + large + ", or_less: " + small + ", scale: 3}"),
      3);
}

TEST_F(MetricTest, ReadsJson) {
  EXPECT_EQ(ValueOf("{file: summary.json, column: counts.other}"), 7);
  EXPECT_EQ(ValueOf("{file: summary.json, column: \"counts.dropped_*\", take: sum}"), 4);
  EXPECT_THAT(ErrorOf("{file: summary.json, column: counts.none}"),
              HasSubstr("summary.json has 0 numbers at \"counts.none\""));
}

TEST_F(MetricTest, IsASeriesOverX) {
  Diagnostics diagnostics;
  const Metrics metrics = Read(
      "  m: {file: series.csv, x: time_ps, column: bytes, take: sum, divide_by: most}\n"
      "  most: {file: series.csv, x: time_ps, column: bytes, take: max}\n",
      diagnostics);
  PointReader reader(folder_.path(), point_);
  const auto series = reader.ReadSeries(*metrics.at("m"));
  ASSERT_THAT(series, IsOk());
  EXPECT_THAT(*series, ElementsAre(SeriesPoint{0, 4.0 / 3}, SeriesPoint{10, 7.0 / 5}));
  EXPECT_THAT(reader.Read(*metrics.at("m")),
              Fails(absl::StatusCode::kInvalidArgument, HasSubstr("is a series")));
}

TEST_F(MetricTest, AnEmptyCellIsAnError) {
  EXPECT_THAT(ErrorOf("{file: flows.csv, column: rx_done_ps, take: max}"),
              HasSubstr("flows.csv: row 4: rx_done_ps is \"\", which is no number"));
  EXPECT_THAT(ErrorOf("{file: flows.csv, column: sise_bytes, take: max}"),
              HasSubstr("has no column \"sise_bytes\"; did you mean \"size_bytes\"?"));
  EXPECT_THAT(ErrorOf("{file: none.csv, column: a}"), HasSubstr("none.csv"));
}

// PDLB's model, as heddle model pdlb --slow 2 --ratio 3 prints it in its row of 8.
TEST_F(MetricTest, AModelIsAskedForThePointsSettings) {
  Diagnostics diagnostics;
  point_ = ParseYaml("lb: {kind: pdlb, granularity: 8}\ndelay: long\n", "x", diagnostics).value();
  const double direct =
      ValueOf("{model: pdlb, column: fct_ms, set: {granularity: 8, slow: 2, ratio: 3}}");
  EXPECT_GT(direct, 0);
  EXPECT_EQ(ValueOf("{model: pdlb, column: fct_ms, set: {granularity: {setting: lb.granularity}, "
                    "ratio: {setting: delay, values: {short: 1, long: 3}}}}"),
            direct);
  EXPECT_THAT(ErrorOf("{model: pdlb, column: fct_ms, set: {ratio: {setting: lb.none}}}"),
              HasSubstr("the point's document has no value at lb.none"));
  EXPECT_THAT(ErrorOf("{model: tr, column: p_fr, set: {ratio: {setting: delay}}}"),
              HasSubstr("\"long\" is not a number"));
}

TEST_F(MetricTest, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(Errors("  m: {file: a.csv}\n"),
              HasSubstr("claims.yaml:2:6: metrics.m: column is missing"));
  EXPECT_THAT(Errors("  m: {file: a.csv, column: b, tak: sum}\n"),
              HasSubstr("claims.yaml:2:31: metrics.m.tak: unknown key; did you mean \"take\"?"));
  EXPECT_THAT(Errors("  m: {file: a.csv, column: b, take: avg}\n"),
              HasSubstr("claims.yaml:2:37: metrics.m.take: \"avg\" is not known"));
  EXPECT_THAT(Errors("  m: {file: a.csv, column: b, minus: n}\n"),
              HasSubstr("metrics.m.minus: no metric is called \"n\""));
  EXPECT_THAT(Errors("  m: {of: n}\n  n: {of: m}\n"), HasSubstr("is defined by itself"));
  EXPECT_THAT(Errors("  m: {column: b}\n"), HasSubstr("expected one of: file"));
  EXPECT_THAT(Errors("  m: {file: ../a.csv, column: b}\n"), HasSubstr("not a path"));
  EXPECT_THAT(Errors("  m: {model: pdlb, column: fct}\n"),
              HasSubstr("the model predicts no \"fct\"; expected one of: "));
  EXPECT_THAT(Errors("  m: {model: pdlb, column: fct_ms, set: {slwo: 2}}\n"),
              HasSubstr("claims.yaml:2:48: slwo: unknown key; did you mean \"slow\"?"));
  EXPECT_THAT(Errors("  m: {file: a.json, column: b, where: {a: 1}}\n"),
              HasSubstr("a JSON file has no rows"));
}

}  // namespace heddle::metric_test
