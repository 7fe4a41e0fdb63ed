// SPDX-License-Identifier: Apache-2.0
// Parts of claims as they are read, and each mistake with its place and text.

#include "study/papers/claim_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "settings/yaml.h"

namespace heddle::claim_part_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ClaimPartTest : public testing::Test {
 protected:
  ClaimPart Read(const std::string& yaml) {
    Diagnostics diagnostics;
    const ClaimPart part = Read(yaml, diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << yaml << "\n" << diagnostics.Report();
    return part;
  }
  std::string ErrorsOf(const std::string& yaml) {
    Diagnostics diagnostics;
    Read(yaml, diagnostics);
    return diagnostics.Report();
  }

 private:
  static ClaimPart Read(const std::string& yaml, Diagnostics& diagnostics) {
    const auto document = ParseYaml("{" + yaml + "}", "f.yaml", diagnostics);
    EXPECT_TRUE(document) << diagnostics.Report();
    const Metrics metrics = {{"fct", std::make_shared<Metric>()},
                             {"util", std::make_shared<Metric>()}};
    return ReadClaimPart(*document, "C1", metrics, {"says"}, diagnostics);
  }
};

TEST_F(ClaimPartTest, TrendsHaveAnAxisAndAShape) {
  const ClaimPart part = Read("says: x, kind: trend, metric: fct, along: load, goes: down_up");
  EXPECT_EQ(part.kind, ClaimKind::kTrend);
  EXPECT_EQ(part.along, "load");
  EXPECT_EQ(part.goes, Shape::kDownUp);
  EXPECT_FALSE(part.compares());
  EXPECT_EQ(Read("kind: trend, metric: fct, along: load, goes: flat").flat, 0.1);
  EXPECT_EQ(Read("kind: trend, metric: fct, along: load, goes: flat, within: 0.3").flat, 0.3);
  EXPECT_THAT(ErrorsOf("kind: trend, metric: fct, along: load, goes: up, within: 0.3"),
              HasSubstr("C1.within: unknown key"));
  EXPECT_THAT(ErrorsOf("kind: trend, metric: fct"),
              AllOf(HasSubstr("along is missing; expected: an axis of the sweep"),
                    HasSubstr("goes is missing; expected: up | down | flat | down_up | up_down")));
}

// By default an improvement; that of a sole value is an error.
TEST_F(ClaimPartTest, TrendsMayBeThoseOfAQuantity) {
  const ClaimPart part =
      Read("kind: trend, metric: fct, along: load, goes: up, of: rps, over: ecmp");
  EXPECT_EQ(part.quantity, Quantity::kImprovement);
  EXPECT_TRUE(part.compares());
  EXPECT_THAT(part.axes, ElementsAre("lb"));
  EXPECT_THAT(ErrorsOf("kind: trend, metric: fct, along: load, goes: up, of: rps, over: ecmp, "
                       "quantity: value"),
              HasSubstr("C1.quantity: a value has one side only; remove `of`"));
}

TEST_F(ClaimPartTest, OrderingsHaveTwoSides) {
  const ClaimPart part = Read(
      "kind: ordering, metric: fct, higher: [rps, drb], than: ecmp, factor: 2, or_equal: true");
  EXPECT_TRUE(part.higher);
  EXPECT_TRUE(part.or_equal);
  EXPECT_EQ(part.factor, 2);
  EXPECT_THAT(part.firsts, SizeIs(2));
  EXPECT_THAT(part.seconds, SizeIs(1));
  EXPECT_FALSE(part.against_others);
  const ClaimPart others =
      Read("kind: ordering, metric: fct, lower: rps, than: others, except: [drb, tr]");
  EXPECT_FALSE(others.higher);
  EXPECT_FALSE(others.or_equal);
  EXPECT_EQ(others.factor, 1);
  EXPECT_TRUE(others.against_others);
  EXPECT_THAT(others.except, SizeIs(2));
  EXPECT_THAT(others.seconds, IsEmpty());
}

TEST_F(ClaimPartTest, SidesNameTheirAxes) {
  EXPECT_THAT(Read("kind: ordering, metric: fct, axis: load, higher: 0.6, than: [0.2, 0.4]").axes,
              ElementsAre("load"));
  EXPECT_THAT(Read("kind: ordering, metric: fct, higher: {lb: rps, load: 0.2}, than: {lb: ecmp, "
                   "gap: 1us}")
                  .axes,
              ElementsAre("lb", "load", "gap"));
  // A map with a kind is a load balancer, not a map of axes.
  const ClaimPart part =
      Read("kind: ordering, metric: fct, higher: {kind: letflow, gap: 1us}, than: others");
  EXPECT_THAT(part.axes, ElementsAre("lb"));
  EXPECT_EQ(part.firsts.front().front().key, "lb");
}

TEST_F(ClaimPartTest, AllIsASideWithoutAnAxis) {
  const ClaimPart part = Read("kind: ordering, metric: fct, is: higher, than_metric: util");
  EXPECT_TRUE(part.higher);
  ASSERT_THAT(part.firsts, SizeIs(1));
  EXPECT_THAT(part.firsts.front(), IsEmpty());
  EXPECT_THAT(part.axes, IsEmpty());
  EXPECT_EQ(part.than_metric, "util");
  const ClaimPart named =
      Read("kind: ordering, metric: fct, lower: all, than: all, than_experiment: f");
  EXPECT_THAT(named.axes, IsEmpty());
  EXPECT_EQ(named.than_experiment, "f");
}

TEST_F(ClaimPartTest, AnOrderingIsOneOfFour) {
  const std::string expected = "expected one of: higher, lower, ascending; or is";
  const std::string ordering = "kind: ordering, metric: fct, ";
  EXPECT_THAT(ErrorsOf(ordering + "than: ecmp"), HasSubstr(expected));
  EXPECT_THAT(ErrorsOf(ordering + "higher: a, lower: b, than: c"), HasSubstr(expected));
  EXPECT_THAT(ErrorsOf(ordering + "is: lower, lower: b, than_metric: util"), HasSubstr(expected));
  EXPECT_THAT(ErrorsOf(ordering + "higher: a"),
              HasSubstr("than is missing; expected: a value of the axis lb, several, or others"));
  EXPECT_THAT(ErrorsOf(ordering + "axis: load, higher: a"), HasSubstr("a value of the axis load"));
  EXPECT_THAT(ErrorsOf(ordering + "is: big, than_metric: util"),
              HasSubstr("C1.is: \"big\" is not known"));
}

TEST_F(ClaimPartTest, AscendingNeedsTwo) {
  const ClaimPart part = Read("kind: ordering, metric: fct, ascending: [a, b, c]");
  EXPECT_TRUE(part.neighbours);
  EXPECT_THAT(part.firsts, SizeIs(3));
  EXPECT_THAT(ErrorsOf("kind: ordering, metric: fct, ascending: [a]"),
              HasSubstr("C1.ascending: expected a list of at least two"));
  EXPECT_THAT(ErrorsOf("kind: ordering, metric: fct, ascending: [a, b], than: c"),
              HasSubstr("C1.than: unknown key"));
}

TEST_F(ClaimPartTest, NumbersAreWithinPointsOrShares) {
  const ClaimPart gain =
      Read("kind: number, metric: fct, quantity: gain, of: a, over: b, value: 0.3");
  EXPECT_TRUE(gain.target.absolute);
  EXPECT_EQ(gain.target.within, 0.1);
  EXPECT_EQ(gain.target.value, 0.3);
  EXPECT_EQ(gain.take, Among::kEach);
  EXPECT_FALSE(gain.target.describes);
  const ClaimPart value = Read("kind: number, metric: fct, value: 3, within: 0.2, take: max");
  EXPECT_EQ(value.quantity, Quantity::kValue);
  EXPECT_FALSE(value.target.absolute);
  EXPECT_EQ(value.target.within, 0.2);
  EXPECT_EQ(value.take, Among::kMax);
  EXPECT_FALSE(Read("kind: number, metric: fct, quantity: ratio, of: a, over: b, value: 2")
                   .target.describes);
  const ClaimPart relation =
      Read("kind: number, metric: fct, quantity: ratio, than_metric: util, value: 2");
  EXPECT_TRUE(relation.target.describes);
  EXPECT_FALSE(relation.target.absolute);
  EXPECT_TRUE(Read("kind: number, metric: fct, of: a, over: b, at_least: 0.1").target.absolute);
}

TEST_F(ClaimPartTest, TwoNumbersAreTheEndsOfARange) {
  const ClaimPart part =
      Read("kind: number, metric: fct, of: a, over: b, within: 0.05, value: [0.1, 0.4]");
  EXPECT_EQ(part.take, Among::kRange);
  EXPECT_EQ(part.target.value, 0.1);
  EXPECT_EQ(part.high_target.value, 0.4);
  EXPECT_EQ(part.high_target.within, 0.05);
  EXPECT_TRUE(part.high_target.absolute);
  for (const std::string list : {"[1]", "[1, 2, 3]", "[]"}) {
    EXPECT_THAT(ErrorsOf("kind: number, metric: fct, value: " + list),
                HasSubstr("C1.value: expected a number, or the smallest and the greatest"));
  }
}

TEST_F(ClaimPartTest, ANumberHasAValueOrBounds) {
  const std::string expected = "expected one of: value; at_most or at_least, or both";
  EXPECT_THAT(ErrorsOf("kind: number, metric: fct"), HasSubstr(expected));
  EXPECT_THAT(ErrorsOf("kind: number, metric: fct, value: 1, at_most: 2"), HasSubstr(expected));
  const ClaimPart both = Read("kind: number, metric: fct, at_least: 1, at_most: 2");
  EXPECT_EQ(both.target.at_least, 1);
  EXPECT_EQ(both.target.at_most, 2);
  EXPECT_EQ(both.target.value, std::nullopt);
  EXPECT_THAT(ErrorsOf("kind: number, metric: fct, quantity: gain, value: 1"),
              HasSubstr("C1.quantity: needs two sides: of and over, or than_metric"));
  EXPECT_THAT(ErrorsOf("kind: number, metric: fct, value: much"), HasSubstr("f.yaml:1:"));
}

TEST_F(ClaimPartTest, ModelsAreOtherMetrics) {
  const ClaimPart part = Read("kind: model, metric: fct, than_metric: util, along: load");
  EXPECT_EQ(part.correlation_above, 0.7);
  EXPECT_FALSE(part.interior_minimum);
  EXPECT_FALSE(part.compares());
  const ClaimPart strict = Read(
      "kind: model, metric: fct, than_metric: util, along: load, correlation_above: 0.9, "
      "interior_minimum: true");
  EXPECT_EQ(strict.correlation_above, 0.9);
  EXPECT_TRUE(strict.interior_minimum);
  EXPECT_THAT(ErrorsOf("kind: model, metric: fct, along: load"),
              HasSubstr("than_metric is missing"));
}

TEST_F(ClaimPartTest, WhatCannotBeJudgedSaysWhy) {
  const ClaimPart part = Read("kind: none, because: no numbers, metric: whatever");
  EXPECT_EQ(part.kind, ClaimKind::kNone);
  EXPECT_EQ(part.because, "no numbers");
  EXPECT_EQ(part.metric, "");
  EXPECT_THAT(ErrorsOf("kind: none"), HasSubstr("because is missing; expected: why it cannot be"));
}

TEST_F(ClaimPartTest, SaysWhatIsMisspelt) {
  EXPECT_THAT(ErrorsOf("metric: fct"),
              HasSubstr("kind is missing; expected: none | trend | ordering | number | zero | "
                        "nonzero | model"));
  EXPECT_THAT(ErrorsOf("kind: order, metric: fct"), HasSubstr("C1.kind: \"order\" is not known"));
  EXPECT_THAT(ErrorsOf("kind: zero, metric: fcts"),
              HasSubstr("C1.metric: no metric is called \"fcts\"; did you mean \"fct\"?"));
  EXPECT_THAT(ErrorsOf("kind: zero"), HasSubstr("metric is missing; expected: the name of"));
  EXPECT_THAT(ErrorsOf("kind: zero, metric: fct, along: load"),
              HasSubstr("f.yaml:1:27: C1.along: unknown key; expected one of: says, kind, metric"));
  EXPECT_THAT(ErrorsOf("kind: ordering, metric: fct, lower: a, than_metric: ut"),
              HasSubstr("C1.than_metric: no metric is called \"ut\""));
}

}  // namespace heddle::claim_part_test
