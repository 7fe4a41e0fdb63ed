// SPDX-License-Identifier: Apache-2.0
// Tests the sentences that say what a claim expects and what was measured.

#include "study/papers/claim_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "settings/yaml.h"
#include "study/papers/claim_part.h"

namespace heddle::claim_text_test {

using testing::HasSubstr;
using testing::Not;

std::string Expected(const std::string& yaml) {
  Diagnostics diagnostics;
  const auto document = ParseYaml("{" + yaml + "}", "f.yaml", diagnostics);
  const Metrics metrics = {{"fct", std::make_shared<Metric>()},
                           {"util", std::make_shared<Metric>()}};
  const ClaimPart part = ReadClaimPart(document.value(), "C1", metrics, {}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  PaperExperiment experiment;
  experiment.names = {{"letflow.gap=1ms", "Slow"}};
  return ExpectedText(part, experiment);
}

TEST(ExpectedTextTest, SaysWhatEachKindClaims) {
  EXPECT_EQ(Expected("kind: none, because: x"), "");
  EXPECT_EQ(Expected("kind: zero, metric: fct"), "fct is 0");
  EXPECT_EQ(Expected("kind: nonzero, metric: fct"), "fct is not 0");
  EXPECT_EQ(Expected("kind: model, metric: fct, than_metric: util, along: a.b"),
            "fct as util along b");
}

TEST(ExpectedTextTest, Trends) {
  const auto trend = [](const std::string& goes) {
    return Expected("kind: trend, metric: fct, along: \"workload[0].load\", goes: " + goes);
  };
  EXPECT_EQ(trend("up"), "fct: up along load");
  EXPECT_EQ(trend("down"), "fct: down along load");
  EXPECT_EQ(trend("flat"), "fct: flat along load");
  EXPECT_EQ(trend("down_up"), "fct: down, then up along load");
  EXPECT_EQ(trend("up_down"), "fct: up, then down along load");
  EXPECT_EQ(trend("up, quantity: gain, of: rps, over: ecmp"),
            "fct (gain of rps over ecmp): up along load");
}

TEST(ExpectedTextTest, Orderings) {
  const std::string ordering = "kind: ordering, metric: fct, ";
  EXPECT_EQ(Expected(ordering + "lower: rps, than: others"), "fct: rps < others");
  EXPECT_EQ(Expected(ordering + "higher: [rps, letflow.gap=1ms], than: [ecmp, drb]"),
            "fct: rps, Slow > ecmp, drb");
  EXPECT_EQ(Expected(ordering + "higher: rps, than: ecmp, or_equal: true"), "fct: rps >= ecmp");
  EXPECT_EQ(Expected(ordering + "lower: rps, than: ecmp, or_equal: true"), "fct: rps <= ecmp");
  EXPECT_EQ(Expected(ordering + "ascending: [rps, ecmp, drb]"), "fct: rps < ecmp < drb");
  EXPECT_EQ(Expected(ordering + "is: lower, than_metric: util"), "fct: each point < util");
  EXPECT_EQ(Expected(ordering + "is: lower, than_experiment: f"), "fct: each point < in f");
  EXPECT_EQ(Expected(ordering + "lower: rps, than: ecmp, than_metric: util, than_experiment: f"),
            "fct: rps < ecmp, util in f");
  EXPECT_EQ(Expected(ordering + "lower: {lb: rps, load: 0.5}, than: {lb: ecmp, load: 0.6}"),
            "fct: rps/0.5 < ecmp/0.6");
}

TEST(ExpectedTextTest, Numbers) {
  const std::string number = "kind: number, metric: fct, ";
  EXPECT_EQ(Expected(number + "value: 0.5"), "fct: value 0.5");
  EXPECT_EQ(Expected(number + "at_least: 0.5"), "fct: value >= 0.5");
  EXPECT_EQ(Expected(number + "at_most: 2"), "fct: value <= 2");
  EXPECT_EQ(Expected(number + "at_least: 0.5, at_most: 2"), "fct: value >= 0.5, <= 2");
  EXPECT_EQ(Expected(number + "take: max, of: rps, over: ecmp, value: 0.4"),
            "fct: greatest improvement of rps over ecmp 0.4");
  EXPECT_EQ(Expected(number + "take: min, quantity: ratio, of: rps, over: ecmp, value: 3"),
            "fct: least ratio of rps over ecmp 3");
  EXPECT_EQ(Expected(number + "take: mean, quantity: difference, of: a, over: b, value: 3"),
            "fct: mean difference of a over b 3");
  EXPECT_EQ(Expected(number + "quantity: gain, of: a, over: b, value: [0.1, 0.4]"),
            "fct: gain of a over b 0.1 to 0.4");
}

// --- Measured ---

JudgedCell Cell(const std::string& where, double mean, double half_width, double relative,
                Outcome outcome = Outcome::kFor) {
  return {where, {outcome, mean, half_width, 3, ""}, relative};
}
const double kNone = std::nan("");

TEST(MeasuredTextTest, OneComparisonIsWithItsInterval) {
  const auto one = [](const JudgedCell& cell) {
    JudgedPart part;
    part.cells = {cell};
    return MeasuredText(part);
  };
  // 3 +- 0.6 of 25: 12 % +- 2.4 %.
  EXPECT_EQ(one(Cell("load=1", 3, 0.6, 0.12)), "+12 % +- 2.4 % (load=1)");
  EXPECT_EQ(one(Cell("load=1", -3, 0.6, -0.12)), "-12 % +- 2.4 % (load=1)");
  EXPECT_EQ(one(Cell("", 3, 0.6, 0.12)), "+12 % +- 2.4 %");
  EXPECT_EQ(one(Cell("", 3, kNone, 0.12)), "+12 %");  // One seed.
  EXPECT_EQ(one(Cell("", 3.14159, 0.234, kNone)), "3.14 +- 0.23");
  EXPECT_EQ(one(Cell("", 3.14159, kNone, kNone)), "3.14");
  EXPECT_EQ(one(Cell("", kNone, kNone, kNone)), "no number");
}

// Ten times more is eleven times as much. A thousand times says only that the other is tiny.
TEST(MeasuredTextTest, ManyTimesAreNoPercentages) {
  const auto one = [](double relative) {
    JudgedPart part;
    part.cells = {Cell("", 2, 0.2, relative)};
    return MeasuredText(part);
  };
  EXPECT_THAT(one(9.99), testing::StartsWith("+999 % +- "));
  EXPECT_EQ(one(10), "11 times +- 1");
  EXPECT_EQ(one(14), "15 times +- 1.4");
  EXPECT_THAT(one(999), HasSubstr(" times +- "));
  EXPECT_EQ(one(1000), "2 +- 0.2");
  EXPECT_EQ(one(std::numeric_limits<double>::infinity()), "2 +- 0.2");
  EXPECT_EQ(one(-10), "2 +- 0.2");
}

TEST(MeasuredTextTest, SeveralAreTheLeastAndTheGreatest) {
  JudgedPart part;
  part.cells = {Cell("b", 2, 0.2, 0.2), Cell("a", 1, 0.1, 0.1), Cell("c", 4, 0.4, 0.4)};
  EXPECT_EQ(MeasuredText(part), "+10 % +- 1 % (a) to +40 % +- 4 % (c)");
  EXPECT_EQ(RangeText(part), "+10 % to +40 %");
  part.cells.push_back(Cell("d", kNone, kNone, kNone));  // Cannot be ordered.
  EXPECT_EQ(RangeText(part), "+10 % to +40 %");
  part.cells = {Cell("a", 1, 0.1, 0.1), Cell("b", 1, 0.1, 0.1)};
  EXPECT_EQ(MeasuredText(part), "+10 % +- 1 % everywhere");
  EXPECT_EQ(RangeText(part), "+10 % +- 1 %");
  part.cells = {Cell("a", kNone, kNone, kNone), Cell("b", kNone, kNone, kNone)};
  EXPECT_EQ(MeasuredText(part), "no number");
  EXPECT_EQ(RangeText(part), "no number");
}

TEST(MeasuredTextTest, NamesThreeOfTheExceptions) {
  JudgedPart part;
  for (int i = 1; i <= 3; ++i) {
    part.cells.push_back(Cell(fmt::format("a{}", i), -1, 0.1, -0.1, Outcome::kAgainst));
  }
  part.cells.push_back(Cell("f", 3, 0.1, 0.3));
  EXPECT_THAT(MeasuredText(part),
              HasSubstr("; 3 against it: a1 (-10 % +- 1 %), a2 (-10 % +- 1 %), a3 (-10 % +- 1 %)"));
  EXPECT_THAT(MeasuredText(part), Not(HasSubstr("and others")));
  part.cells.push_back(Cell("a4", -1, 0.1, -0.1, Outcome::kAgainst));
  EXPECT_THAT(MeasuredText(part), HasSubstr("; 4 against it: a1 (-10 % +- 1 %), a2"));
  EXPECT_THAT(MeasuredText(part), HasSubstr("a3 (-10 % +- 1 %) and others"));
  EXPECT_THAT(MeasuredText(part), Not(HasSubstr("a4")));
}

TEST(MeasuredTextTest, ExceptionsAreByOutcome) {
  JudgedPart part;
  part.cells = {Cell("a", 1, 0.1, 0.1, Outcome::kUndecided),
                Cell("b", 2, 0.2, 0.2, Outcome::kInDirection)};
  EXPECT_THAT(MeasuredText(part),
              testing::EndsWith("; 1 undecided: a (+10 % +- 1 %); 1 less than claimed: b (+20 % +- "
                                "2 %)"));
  // A finding about all cells needs no list of them.
  part.cells = {Cell("a", 1, 0.1, 0.1, Outcome::kAgainst),
                Cell("b", 2, 0.2, 0.2, Outcome::kAgainst)};
  EXPECT_THAT(MeasuredText(part), Not(HasSubstr("against it")));
}

TEST(ShortNumberTest, HasThreeDigits) {
  EXPECT_EQ(ShortNumber(3.14159), "3.14");
  EXPECT_EQ(ShortNumber(0), "0");
  EXPECT_EQ(ShortNumber(120), "120");
}

}  // namespace heddle::claim_text_test
