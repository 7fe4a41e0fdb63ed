// SPDX-License-Identifier: Apache-2.0

#include "settings/progression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "settings/yaml.h"

namespace heddle::progression_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<std::string> Values(const std::string& range) {
  Diagnostics diagnostics;
  const Value map = ParseYaml(range, "x.yaml", diagnostics).value();
  std::vector<std::string> texts;
  for (const Value& value : Progression(map, "sweep.x", diagnostics)) texts.push_back(value.text);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  return texts;
}

std::string ErrorsIn(const std::string& range) {
  Diagnostics diagnostics;
  const Value map = ParseYaml(range, "x.yaml", diagnostics).value();
  EXPECT_THAT(Progression(map, "sweep.x", diagnostics), SizeIs(0));
  return diagnostics.Report();
}

TEST(ProgressionTest, StepsAreExactInDecimal) {
  EXPECT_THAT(Values("{from: 0.1, to: 0.9, step: 0.1}"),
              ElementsAre("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"));
  EXPECT_THAT(Values("{from: 0, to: 0.001, step: 0.0005}"), ElementsAre("0", "0.0005", "0.001"));
  EXPECT_THAT(Values("{from: -1, to: 1, step: 0.50}"), ElementsAre("-1", "-0.5", "0", "0.5", "1"));
  EXPECT_THAT(Values("{from: 2, to: 8, step: 2}"), ElementsAre("2", "4", "6", "8"));
}

TEST(ProgressionTest, NumbersMayHaveExponents) {
  EXPECT_THAT(Values("{from: 1e-4, to: 1e-2, points: 3, scale: log}"),
              ElementsAre("0.0001", "0.001", "0.01"));
  EXPECT_THAT(Values("{from: 0, to: 2E+3, step: 1.0e3}"), ElementsAre("0", "1000", "2000"));
  EXPECT_THAT(Values("{from: -25e-1, to: 2.5, step: 2.5}"), ElementsAre("-2.5", "0", "2.5"));
  EXPECT_THAT(ErrorsIn("{from: 1e-13, to: 1, points: 3}"), HasSubstr("is not a decimal number"));
  EXPECT_THAT(ErrorsIn("{from: 1e13, to: 2e13, points: 3}"), HasSubstr("is not a decimal number"));
  EXPECT_THAT(ErrorsIn("{from: 1e, to: 2, points: 3}"), HasSubstr("need units of one kind"));
  EXPECT_THAT(ErrorsIn("{from: 1e+-1, to: 2, points: 3}"), HasSubstr("is not a decimal number"));
}

TEST(ProgressionTest, KeepsUnitsAndConvertsThemIfTheyDiffer) {
  EXPECT_THAT(Values("{from: 10us, to: 100us, points: 4}"),
              ElementsAre("10us", "40us", "70us", "100us"));
  EXPECT_THAT(Values("{from: 500us, to: 2ms, step: 500us}"),
              ElementsAre("500us", "1ms", "1500us", "2ms"));
  EXPECT_THAT(Values("{from: 10Gbps, to: 0.1Tbps, step: 45Gbps}"),
              ElementsAre("10Gbps", "55Gbps", "100Gbps"));
  EXPECT_THAT(Values("{from: 64KiB, to: 128KiB, points: 2}"), ElementsAre("64KiB", "128KiB"));
  EXPECT_THAT(Values("{from: 50pkts, to: 250pkts, step: 100pkts}"),
              ElementsAre("50pkts", "150pkts", "250pkts"));
}

TEST(ProgressionTest, LogarithmicScalesHitRoundNumbersAndBothEnds) {
  EXPECT_THAT(Values("{from: 4, to: 64, points: 5, scale: log}"),
              ElementsAre("4", "8", "16", "32", "64"));
  EXPECT_THAT(Values("{from: 1us, to: 1ms, points: 4, scale: log}"),
              ElementsAre("1us", "10us", "100us", "1ms"));
  EXPECT_THAT(Values("{from: 0.001, to: 0.1, points: 5, scale: log}"),
              ElementsAre("0.001", "0.003162", "0.01", "0.03162", "0.1"));
}

TEST(ProgressionTest, RoundsToFourDigitsOnlyWhatNoDecimalIsExactFor) {
  EXPECT_THAT(Values("{from: 0, to: 1, points: 4}"), ElementsAre("0", "0.3333", "0.6667", "1"));
  EXPECT_THAT(Values("{from: 0, to: 1, points: 9}"),
              ElementsAre("0", "0.125", "0.25", "0.375", "0.5", "0.625", "0.75", "0.875", "1"));
  EXPECT_THAT(Values("{from: 100000, to: 200000, points: 4}"),
              ElementsAre("100000", "133300", "166700", "200000"));
}

TEST(ProgressionTest, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorsIn("{from: 0.1, to: 0.95, step: 0.1}"),
              HasSubstr("x.yaml:1:29: sweep.x.step: does not lead to 0.95; the last value would be "
                        "0.9"));
  EXPECT_THAT(ErrorsIn("{from: 1, to: 2}"), HasSubstr("either a step or a number of points"));
  EXPECT_THAT(ErrorsIn("{from: 1, to: 2, step: 1, points: 2}"), HasSubstr("either a step"));
  EXPECT_THAT(ErrorsIn("{from: 1, step: 1}"), HasSubstr("sweep.x.to: is missing"));
  EXPECT_THAT(ErrorsIn("{from: 1, too: 2, step: 1}"), HasSubstr("did you mean \"to\"?"));
  EXPECT_THAT(ErrorsIn("{from: 2, to: 1, step: 1}"), HasSubstr("sweep.x.to: must be larger"));
  EXPECT_THAT(ErrorsIn("{from: 1, to: 2, step: 0}"), HasSubstr("must be larger than zero"));
  EXPECT_THAT(ErrorsIn("{from: 1us, to: 2, step: 1}"), HasSubstr("units of one kind"));
  EXPECT_THAT(ErrorsIn("{from: 1us, to: 2KB, step: 1us}"), HasSubstr("units of one kind"));
  EXPECT_THAT(ErrorsIn("{from: ecmp, to: 2, step: 1}"), HasSubstr("\"ecmp\" is not a decimal"));
  EXPECT_THAT(ErrorsIn("{from: 1/4, to: 2, step: 1}"), HasSubstr("\"1/4\" is not a decimal"));
  EXPECT_THAT(ErrorsIn("{from: [1], to: 2, step: 1}"), HasSubstr("a list is not a decimal"));
  EXPECT_THAT(ErrorsIn("{from: 1, to: 2, points: 1}"), HasSubstr("at least 2"));
  EXPECT_THAT(ErrorsIn("{from: 1, to: 2, points: 3, scale: cubic}"), HasSubstr("linear nor log"));
  EXPECT_THAT(ErrorsIn("{from: 0, to: 2, points: 3, scale: log}"), HasSubstr("logarithmic"));
  EXPECT_THAT(ErrorsIn("{from: 0, to: 1, step: 0.000001}"), HasSubstr("more than 10000 values"));
  EXPECT_THAT(ErrorsIn("{from: 1234567890123, to: 2e30, step: 1}"), HasSubstr("is not a decimal"));
}

}  // namespace heddle::progression_test
