// SPDX-License-Identifier: Apache-2.0
// Metrics that a model predicts, against the models themselves.

#include "study/papers/model_metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "settings/yaml.h"
#include "study/papers/model_inputs.h"
#include "tests/support/status.h"

namespace heddle::model_metric_test {

using testing::ElementsAre;
using testing::HasSubstr;

class ModelMetricTest : public testing::Test {
 protected:
  ModelMetricTest() {
    Diagnostics diagnostics;
    point_ = ParseYaml("lb: {kind: pdlb, granularity: 8, period: 62.5us}\nlist: [1]\n", "p.yaml",
                       diagnostics)
                 .value();
  }
  std::shared_ptr<const Metric> Read(const std::string& yaml, Diagnostics& diagnostics) {
    const auto document =
        ParseYaml("metrics:\n  m: {" + yaml + "}\n", "claims.yaml", diagnostics).value();
    return ReadMetrics(document.entries[0].value.entries, "metrics", {}, diagnostics).at("m");
  }
  std::string ErrorsOf(const std::string& yaml) {
    Diagnostics diagnostics;
    Read(yaml, diagnostics);
    return diagnostics.Report();
  }
  absl::StatusOr<double> PredictionOf(const std::string& yaml) {
    Diagnostics diagnostics;
    const auto metric = Read(yaml, diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
    return Predict(*metric, point_);
  }
  double NumberOf(const std::string& yaml) {
    const auto value = PredictionOf(yaml);
    EXPECT_THAT(value, IsOk()) << yaml;
    return value.value_or(-1);
  }

  Value point_;
};

TEST_F(ModelMetricTest, ModelsAreThoseOfTheCommand) {
  EXPECT_THAT(ModelNames(), ElementsAre("pdlb", "tr"));
  EXPECT_THAT(ErrorsOf("model: pdbl, column: fct_ms"),
              HasSubstr("metrics.m.model: \"pdbl\" is not known; did you mean \"pdlb\"?"));
}

TEST_F(ModelMetricTest, ColumnsOfPdlbAreWhatItPredicts) {
  PdlbInputs inputs;
  inputs.slow = 1;
  const PdlbPrediction found = PredictPdlb(inputs.Case(), 8, PdlbForm::kCorrected);
  const std::string set = ", set: {slow: 1, granularity: 8}";
  EXPECT_DOUBLE_EQ(NumberOf("model: pdlb, column: fct_ms" + set), Seconds(found.fct) * 1e3);
  EXPECT_EQ(NumberOf("model: pdlb, column: mean_window" + set), found.mean_window);
  EXPECT_EQ(NumberOf("model: pdlb, column: mean_cells" + set), found.mean_cells);
  const PdlbPrediction literal = PredictPdlb(inputs.Case(), 8, PdlbForm::kLiteral);
  EXPECT_DOUBLE_EQ(
      NumberOf("model: pdlb, column: fct_ms, set: {slow: 1, granularity: 8, form: literal}"),
      Seconds(literal.fct) * 1e3);
  EXPECT_NE(literal.fct, found.fct);
}

TEST_F(ModelMetricTest, ColumnsOfTrAreWhatItPredicts) {
  TrInputs inputs;
  inputs.ratio = 2;
  const TrPrediction found = PredictTr(inputs.Case());
  const auto column = [&](const std::string& name) {
    return NumberOf("model: tr, set: {ratio: 2}, column: " + name);
  };
  EXPECT_EQ(column("p_fr"), found.disorder);
  EXPECT_EQ(column("window"), found.window);
  EXPECT_DOUBLE_EQ(column("round_us"), Seconds(found.round) * 1e6);
  EXPECT_DOUBLE_EQ(column("f_rps_ms"), Seconds(found.f_rps) * 1e3);
  EXPECT_DOUBLE_EQ(column("f_tr_ms"), Seconds(found.f_tr) * 1e3);
  EXPECT_DOUBLE_EQ(column("f_tr_consistent_ms"), Seconds(found.f_tr_consistent) * 1e3);
}

TEST_F(ModelMetricTest, InputsMayBeThePointsSettings) {
  const double eight = NumberOf("model: pdlb, column: fct_ms, set: {granularity: 8}");
  EXPECT_EQ(NumberOf("model: pdlb, column: fct_ms, set: {granularity: {setting: lb.granularity}}"),
            eight);
  EXPECT_EQ(NumberOf("model: pdlb, column: fct_ms, set: {granularity: {setting: lb.period, "
                     "values: {50us: 3, 62.5us: 8}}}"),
            eight);
  EXPECT_NE(NumberOf("model: pdlb, column: fct_ms, set: {granularity: 44}"), eight);
}

TEST_F(ModelMetricTest, SettingsThatAPointLacksAreNotFound) {
  const auto with = [&](const std::string& input) {
    return PredictionOf("model: pdlb, column: fct_ms, set: {granularity: {" + input + "}}");
  };
  EXPECT_THAT(with("setting: lb.none"),
              Fails(absl::StatusCode::kNotFound, "the point's document has no value at lb.none"));
  // A list and a map are no values.
  EXPECT_THAT(with("setting: list"), Fails(absl::StatusCode::kNotFound, HasSubstr("at list")));
  EXPECT_THAT(with("setting: lb"), Fails(absl::StatusCode::kNotFound, HasSubstr("at lb")));
  EXPECT_THAT(with("setting: lb.period, values: {50us: 3}"),
              Fails(absl::StatusCode::kNotFound, "values: has no entry for lb.period = 62.5us"));
  EXPECT_THAT(with("setting: lb.period"),
              Fails(absl::StatusCode::kInvalidArgument, HasSubstr("granularity: ")));
}

// A constant of the model is checked when the paper is read, as no point changes it.
TEST_F(ModelMetricTest, ConstantsAreCheckedAtOnce) {
  EXPECT_THAT(ErrorsOf("model: pdlb, column: fct_ms, set: {granularity: 0}"),
              HasSubstr("claims.yaml:2:"));
  EXPECT_THAT(ErrorsOf("model: tr, column: p_rf"),
              HasSubstr("metrics.m.column: the model predicts no \"p_rf\"; did you mean \"p_fr\""));
  EXPECT_THAT(ErrorsOf("model: tr, column: p_fr, set: {good: 0, bad: 0}"),
              HasSubstr("good: there is no path"));
  EXPECT_THAT(ErrorsOf("model: tr, set: {ratio: 2}"),
              HasSubstr("column is missing; expected: a column of heddle model's output"));
  EXPECT_THAT(ErrorsOf("model: tr, column: p_fr, set: {ratio: {values: {a: 1}}}"),
              HasSubstr("metrics.m.set.ratio: setting is missing"));
}

}  // namespace heddle::model_metric_test
