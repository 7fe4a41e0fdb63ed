// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/flow_txt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/support/printers.h"
#include "tests/support/trace_kit.h"

namespace heddle::flow_txt_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

ReadTrace Read(std::string_view text, const FlowTxtSettings& settings = {}) {
  return ReadTraceWith([&](TraceErrors& errors) { return ReadFlowTxt(text, settings, errors); });
}

// The instants at which messages start, in their order.
std::vector<Time> Starts(const ReadTrace& read) {
  const auto schedule = MakeGraphSchedule(std::make_shared<const OperationGraph>(*read.graph));
  const TimedPlay play(*schedule, StarTimes);
  std::vector<Time> starts;
  for (const auto& sent : play.sent()) starts.push_back(sent.at);
  return starts;
}

TEST(FlowTxtTest, ReadsTheListOfHpcc) {
  const ReadTrace read = Read("1\n2 1 3 100 200000000 2\n");
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_EQ(read.graph->ranks(), 3u);
  EXPECT_EQ(read.graph->At(2, 1).bytes, 200'000'000);
  EXPECT_EQ(read.graph->At(2, 1).peer, 1u);
  EXPECT_THAT(Starts(read), ElementsAre(Time{}));  // Its generator begins at 2 s.
}

// Without the port; starts are exact, and need no order.
TEST(FlowTxtTest, ReadsTheListOfConWeave) {
  const ReadTrace read = Read("3\n0 1 3 1000 2.000000301\n\n1 0 3 0 2.000000001\n1 0 3 5 2.1\n");
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_THAT(Starts(read), ElementsAre(Time{1'000}, Time{301'000}, Time{} + 100_ms));
  EXPECT_THAT(read.warnings, IsEmpty());
}

TEST(FlowTxtTest, CountsFromZeroIfAFlowStartsBeforeTwoSeconds) {
  EXPECT_THAT(Starts(Read("2\n0 1 3 10 0.5\n0 1 3 10 2\n")),
              ElementsAre(Time{} + 500_ms, Time{} + 2_s));
  EXPECT_THAT(Starts(Read("2\n0 1 3 10 0.5\n0 1 3 10 2\n", {.t0 = 1_s, .ranks = {}})),
              ElementsAre(Time{}, Time{} + 1_s));
}

TEST(FlowTxtTest, WarnsOfPriorityGroupsOnce) {
  EXPECT_THAT(Read("3\n0 1 3 10 2\n0 1 4 10 2\n0 1 5 10 2\n").warnings, SizeIs(1));
}

TEST(FlowTxtTest, TellsWhatIsWrong) {
  const auto errors = [](std::string_view text) { return Read(text).errors; };
  EXPECT_THAT(errors(""),
              ElementsAre("1: expected the number of flows, found the end of the file"));
  EXPECT_THAT(errors("2\n0 1 3 10 2\n"), ElementsAre("1: 2 flows announced, 1 found"));
  EXPECT_THAT(errors("1\n0 1 3\n"),
              ElementsAre("2: has 3 words; expected src dst pg dport bytes seconds, or the same "
                          "without dport"));
  EXPECT_THAT(errors("1\n\n1 1 3 10 2\n"), ElementsAre("3: host 1 sends to itself"));
  EXPECT_THAT(errors("1\n0 1 3 10 soon\n"),
              ElementsAre("2: start: \"soon\" is not a number of seconds up to 1000"));
  EXPECT_THAT(errors("1\n0 1 3 10 -1\n"), SizeIs(1));
  EXPECT_THAT(Read("1\n0 4 3 10 2\n", {.t0 = {}, .ranks = 4}).errors,
              ElementsAre("2: dst: 4 is out of range; expected 0 to 3"));
  EXPECT_THAT(errors("1\n0 1 3 -5 2\n"),
              ElementsAre("2: bytes: -5 is out of range; expected 0 to 9223372036854775807"));
}

TEST(FlowTxtTest, BeginsWithTheNumberOfFlows) {
  const auto errors = [](std::string_view text) { return Read(text).errors; };
  EXPECT_THAT(errors("2 flows\n0 1 3 10 2\n"),
              ElementsAre("1: expected the number of flows alone, found 2 words"));
  EXPECT_THAT(errors("0\n"), ElementsAre("1: the number of flows: 0 is out of range; expected 1 to "
                                         "1073741824"));
  EXPECT_THAT(errors("two\n0 1 3 10 2\n"), SizeIs(1));
  EXPECT_THAT(errors("1\n0 1 3 ten 2\n"), ElementsAre(StartsWith("2: bytes: \"ten\"")));
}

TEST(FlowTxtTest, StopsAfterTwentyMistakes) {
  std::string text = "100\n";
  for (int i = 0; i < 100; ++i) text += "0 0 3 10 2\n";
  EXPECT_THAT(Read(text).errors, SizeIs(21));
}

}  // namespace heddle::flow_txt_test
