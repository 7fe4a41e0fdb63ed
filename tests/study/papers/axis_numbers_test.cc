// SPDX-License-Identifier: Apache-2.0
// The numbers behind the labels of an axis, on which trends and figures are built.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "study/papers/judge.h"

namespace heddle::axis_numbers_test {

void ExpectNumbers(const std::vector<std::string>& labels, const std::vector<double>& numbers) {
  bool are_ranks = true;
  EXPECT_EQ(AxisNumbers(labels, are_ranks), numbers) << testing::PrintToString(labels);
  EXPECT_FALSE(are_ranks) << testing::PrintToString(labels);
}

void ExpectRanks(const std::vector<std::string>& labels) {
  std::vector<double> ranks;
  for (size_t i = 1; i <= labels.size(); ++i) ranks.push_back(static_cast<double>(i));
  bool are_ranks = false;
  EXPECT_EQ(AxisNumbers(labels, are_ranks), ranks) << testing::PrintToString(labels);
  EXPECT_TRUE(are_ranks) << testing::PrintToString(labels);
}

TEST(AxisNumbersTest, AreWhatLabelsSay) {
  ExpectNumbers({"0.2", "1/2", "3"}, {0.2, 0.5, 3});
  ExpectNumbers({"3", "0.2"}, {3, 0.2});  // In the order of the labels, not of the numbers.
  ExpectNumbers({"-1", "1e3"}, {-1, 1000});
  ExpectNumbers({}, {});
}

TEST(AxisNumbersTest, UnitsAreThoseOfTheSimulator) {
  ExpectNumbers({"50us", "1ms"}, {5e7, 1e9});       // Picoseconds.
  ExpectNumbers({"10Gbps", "1Mbps"}, {1e10, 1e6});  // Bits per second.
  ExpectNumbers({"2KB", "100B"}, {2000, 100});      // Bytes.
}

TEST(AxisNumbersTest, AreRanksIfUnitsDiffer) {
  ExpectRanks({"10Gbps", "2KB"});
  ExpectRanks({"1", "1us"});
  ExpectRanks({"1us", "1B"});
  ExpectRanks({"1us", "1Gbps"});
  ExpectRanks({"1us", "2us", "7"});  // Also when the first ones agree.
}

TEST(AxisNumbersTest, AreRanksIfALabelHasNone) {
  ExpectRanks({"ecmp", "rps"});
  ExpectRanks({"1", "rps"});
  ExpectRanks({"rps", "1"});
  ExpectRanks({"letflow.gap=", "letflow.gap=1us"});
}

TEST(AxisNumbersTest, AnEmptyListIsNothingInTheUnitOfTheOthers) {
  ExpectNumbers({"", "9us"}, {0, 9e6});
  ExpectNumbers({"9us", "", "10us"}, {9e6, 0, 1e7});
  ExpectNumbers({"", "delay=9us.spines=1", "delay=9us.spines=4"}, {0, 1, 4});
  ExpectRanks({"", "9us", "9B"});
}

TEST(AxisNumbersTest, OneSettingsNumberIsThatOfItsLabel) {
  ExpectNumbers({"pdlb.granularity=8", "pdlb.granularity=44"}, {8, 44});
  ExpectNumbers({"letflow.gap=50us", "letflow.gap=1ms"}, {5e7, 1e9});
}

// The last setting alone has moved: it says where a point stands.
TEST(AxisNumbersTest, OfSeveralSettingsTheLastCountsIfTheOthersStay) {
  ExpectNumbers({"delay=9us.spines=1", "delay=9us.spines=4"}, {1, 4});
}

// Otherwise the last number would say that two labels are the same, or compare what is not alike.
TEST(AxisNumbersTest, AreRanksIfOtherSettingsThanTheLastMove) {
  ExpectRanks({"delay=9us.spines=1", "delay=12us.spines=1"});
  ExpectRanks({"delay=9us.spines=1", "delay=12us.spines=4"});
  ExpectRanks({"letflow.gap=50us", "conga.flowlet_gap=100us"});
  ExpectRanks({"5", "spines=4"});
  ExpectRanks({"", "delay=9us.spines=1", "delay=12us.spines=1"});
}

// A number in the middle of a label is none of its own.
TEST(AxisNumbersTest, TextAroundANumberMakesItNone) {
  ExpectRanks({"slow2", "slow3"});
  ExpectRanks({"1 2", "3 4"});
  ExpectRanks({"gap=1us,2us", "gap=2us,3us"});
}

}  // namespace heddle::axis_numbers_test
