// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/flow_txt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/printers.h"
#include "tests/support/trace_kit.h"

namespace heddle::flow_txt_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

ReadTrace Read(std::string_view text, const FlowTxtSettings& settings = {}) {
  return ReadTraceWith([&](FileErrors& errors) { return ReadFlowTxt(text, settings, errors); });
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

TEST(FlowTxtTest, EveryNumberHasLimits) {
  const auto errors = [](const std::string& flow) { return Read("1\n" + flow + "\n").errors; };
  struct Limit {
    std::string name;
    std::string most;
    std::string above;
  };
  const std::vector<Limit> limits = {{"src", "65535", "65536"},
                                     {"dst", "65535", "65536"},
                                     {"pg", "255", "256"},
                                     {"dport", "65535", "65536"}};
  for (size_t column = 0; column < limits.size(); ++column) {
    const auto with = [&](const std::string& value) {
      std::vector<std::string> words = {"1", "2", "3", "4", "5", "6"};
      words[column] = value;
      std::string flow;
      for (const std::string& word : words) flow += word + " ";
      return errors(flow);
    };
    const auto& [name, most, above] = limits[column];
    EXPECT_THAT(with("0"), IsEmpty()) << name;
    EXPECT_THAT(with(most), IsEmpty()) << name;
    for (const std::string& value : {std::string("-1"), above}) {
      EXPECT_THAT(with(value), ElementsAre("2: " + name + ": " + value +
                                           " is out of range; expected 0 to " + most));
    }
  }
  EXPECT_THAT(errors("0 1 3 0 0"), IsEmpty());
  EXPECT_THAT(errors("0 1 3 1000000000000000000 1000"), IsEmpty());
  EXPECT_THAT(errors("0 1 3 5 1000.000000000001"),
              ElementsAre("2: start: \"1000.000000000001\" is not a number of seconds up to 1000"));
  EXPECT_THAT(errors("0 1 3 5 -0.000000000001"), SizeIs(1));
  EXPECT_THAT(errors("0 1 3 5 6 7 8"), ElementsAre(StartsWith("2: has 7 words")));
  EXPECT_THAT(errors("0 1 3 5"), ElementsAre(StartsWith("2: has 4 words")));
  EXPECT_THAT(Read("1073741825\n").errors, ElementsAre(StartsWith("1: the number of flows: ")));
  EXPECT_THAT(Read("1073741824\n").errors, ElementsAre("1: 1073741824 flows announced, 0 found"));
  EXPECT_THAT(Read("1\n0 1 3 5 0\n0 1 3 5 0\n").errors,
              ElementsAre("1: 1 flows announced, 2 found"));
  EXPECT_THAT(Read("# two\n\n x\n").errors, ElementsAre(StartsWith("3: the number of flows: ")));
}

// There are as many ranks as the largest host needs, or more if told so.
TEST(FlowTxtTest, RanksAreThoseOfTheHosts) {
  EXPECT_EQ(Read("1\n3 6 3 5 0\n").graph->ranks(), 7u);
  EXPECT_EQ(Read("1\n6 3 3 5 0\n").graph->ranks(), 7u);
  EXPECT_EQ(Read("1\n6 3 3 5 0\n", {.t0 = {}, .ranks = 9}).graph->ranks(), 9u);
}

// Flows are messages of their own, in the order of their starts.
TEST(FlowTxtTest, FlowsAreNumberedByTheirStart) {
  const ReadTrace read = Read("3\n0 1 3 10 2.5\n0 2 3 11 2.2\n\n0 1 3 12 2.2\n");
  ASSERT_THAT(read.errors, IsEmpty());
  ASSERT_EQ(read.graph->OpsOf(0).size(), 6u);  // A wait and a send for each.
  const int64_t bytes[] = {11, 12, 10};
  const int lines[] = {3, 5, 2};
  const Duration waits[] = {200_ms, 200_ms, 500_ms};
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read.graph->At(0, 2 * i).time, waits[i]);
    EXPECT_EQ(read.graph->At(0, 2 * i).stream, kNoStream);
    const Operation& send = read.graph->At(0, 2 * i + 1);
    EXPECT_EQ(send.bytes, bytes[i]);
    EXPECT_EQ(send.line, lines[i]);
    EXPECT_EQ(send.channel, i);
    EXPECT_EQ(send.tag, i);
  }
}

TEST(FlowTxtTest, WarnsOfPriorityGroupsWhereTheyDiffer) {
  EXPECT_THAT(Read("3\n0 1 3 10 2\n0 1 3 10 2\n0 1 4 10 2\n").warnings,
              ElementsAre("file:4:1: priority groups (pg) differ; they are ignored"));
  EXPECT_THAT(Read("2\n0 1 0 10 2\n0 1 1 10 2\n").warnings, SizeIs(1));
  EXPECT_THAT(Read("2\n0 1 1 10 2\n0 1 1 10 2\n").warnings, IsEmpty());
}

// The generators' flows begin at 2 s; none may begin a picosecond before.
TEST(FlowTxtTest, TheGeneratorsStartIsTwoSeconds) {
  EXPECT_THAT(Starts(Read("1\n0 1 3 10 2\n")), ElementsAre(Time{}));
  EXPECT_THAT(Starts(Read("1\n0 1 3 10 1.999999999999\n")),
              ElementsAre(Time{} + 2_s - Duration{1}));
  EXPECT_THAT(Starts(Read("2\n0 1 3 10 3\n0 1 3 10 1\n")), ElementsAre(Time{} + 1_s, Time{} + 3_s));
}

// The first mistake of a line; what would follow from it is none.
TEST(FlowTxtTest, EachLineHasOneMistake) {
  for (const char* flow : {"x y 3 10 2", "65536 65537 3 10 2", "x 0 3 10 2", "1 1 3",
                           "1 1 3 10 soon", "1 1 3 x 2", "0 1 x y z soon"}) {
    EXPECT_THAT(Read(std::string("1\n") + flow + "\n").errors, SizeIs(1)) << flow;
  }
  EXPECT_THAT(Read("two\n0 0 3 10 2\n").errors, SizeIs(1));
  EXPECT_THAT(Read("0\n0 0 3 10 2\n").errors, SizeIs(1));
}

}  // namespace heddle::flow_txt_test
