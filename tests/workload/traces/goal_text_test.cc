// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/goal_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/support/printers.h"
#include "tests/support/trace_kit.h"

namespace heddle::goal_text_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ReadTrace Read(std::string_view text, const GoalSettings& settings = {}) {
  return ReadTraceWith([&](TraceErrors& errors) { return ReadGoalText(text, settings, errors); });
}

std::vector<std::string> ErrorsOfGoal(std::string_view text) { return Read(text).errors; }

// A rank's schedule in a file of two ranks, of which the other one does nothing. It begins in
// line 3.
std::vector<std::string> ErrorsOfRank(const std::string& statements) {
  return ErrorsOfGoal("num_ranks 2\nrank 0 {\n" + statements + "\n}\nrank 1 {\n}\n");
}

constexpr std::string_view kPingPong = R"(
// A ping, and a pong
num_ranks 2
rank 0 {
l1: calc 1000
l2: send 10000b to 1 tag 7  /* the
                               ping */
l2 requires l1
l3: recv 2000b from 1 tag 8
}
rank 1 {
l1: recv 10000b from 0 tag 7
l2: calc 500
l2 requires l1
l3: send 2000b to 0 tag 8 cpu 0 nic 0
l3 requires l2
}
)";

// 1 us, a message of ten packets, 0.5 us, and one of two.
TEST(GoalTextTest, ReadsAPingPong) {
  const ReadTrace read = Read(kPingPong);
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_THAT(read.Ends(), ElementsAre(Time{6'673'760}, Time{4'422'240}));
  EXPECT_EQ(read.graph->NameOf(1, 2), "1:l3");
  EXPECT_EQ(read.graph->At(1, 2).line, 15);
}

TEST(GoalTextTest, AStartMayBeRequired) {
  std::string text(kPingPong);
  text.replace(text.find("l2 requires"), 11, "l2 irequires");
  EXPECT_THAT(Read(text).Ends()[0], Time{5'673'760});
}

// o and O for the two ends of each message; the CPU of rank 0 is busy with l1 before.
TEST(GoalTextTest, CountsOverheads) {
  GoalSettings settings;
  settings.o = 1_us;
  settings.O = Duration{100};
  const Duration ping = 1_us + Duration{9'999 * 100};
  const Duration pong = 1_us + Duration{1'999 * 100};
  EXPECT_EQ(Read(kPingPong, settings).Ends()[0], Time{6'673'760} + 2 * ping + 2 * pong);
}

TEST(GoalTextTest, ScalesCalc) {
  GoalSettings settings;
  settings.calc_unit = 1_us;
  EXPECT_EQ(Read(kPingPong, settings).Ends()[0], Time{6'673'760} + 1'498'500_ns);
}

constexpr std::string_view kTwoSends =
    "num_ranks 2\nrank 0 {\na: send 1000b to 1\nb: send 1000b to 1\nc: calc 0\nc requires a\n}\n"
    "rank 1 {\nrecv 1000b from 0\nrecv 1000b from 0\n}\n";

TEST(GoalTextTest, KeepsAGapBetweenTheSendsOfANic) {
  GoalSettings settings;
  settings.g = 5_us;
  EXPECT_EQ(Read(kTwoSends, settings).Ends()[1],
            Time{} + 5_us + StarTimes({.bytes = 1'000}).arrives);
}

// The first gap begins after the first overhead, and the second message leaves when it is over.
TEST(GoalTextTest, TheGapBeginsAfterTheOverhead) {
  GoalSettings settings;
  settings.g = 5_us;
  settings.o = 1_us;
  EXPECT_EQ(Read(kTwoSends, settings).Ends()[1],
            Time{} + 6_us + StarTimes({.bytes = 1'000}).arrives + 1_us);
}

TEST(GoalTextTest, SmallSendsAreFinishedAtOnce) {
  GoalSettings settings;
  EXPECT_EQ(Read(kTwoSends, settings).Ends()[0], Time{} + StarTimes({.bytes = 1'000}).finished);
  settings.S = Bytes{1'000};
  EXPECT_EQ(Read(kTwoSends, settings).Ends()[0], Time{});
  settings.S = Bytes{999};
  EXPECT_EQ(Read(kTwoSends, settings).Ends()[0], Time{} + StarTimes({.bytes = 1'000}).finished);
}

TEST(GoalTextTest, ReadsWildcards) {
  const ReadTrace read = Read(
      "num_ranks 2\nrank 0 {\nsend 5b to 1 tag 3\n}\n"
      "rank 1 {\nrecv 5b from -1 tag -1\n}\n");
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_EQ(read.graph->At(1, 0).peer, kAnyRank);
  EXPECT_EQ(read.graph->At(1, 0).tag, kAnyTag);
  EXPECT_EQ(read.Ends()[1], Time{} + StarTimes({.bytes = 5}).arrives);
}

TEST(GoalTextTest, TellsWhereTheSyntaxIsWrong) {
  EXPECT_THAT(ErrorsOfRank("send 10x to 1"), ElementsAre("3: expected \"b\", found \"x\""));
  EXPECT_THAT(ErrorsOfRank("\nsend 10b from 1"), ElementsAre("4: expected \"to\", found \"from\""));
  EXPECT_THAT(ErrorsOfRank("calc"), ElementsAre("3: expected a time, found the end of the line"));
  EXPECT_THAT(ErrorsOfRank("calc 1 2"),
              ElementsAre("3: expected the end of the line, found \"2\""));
  EXPECT_THAT(ErrorsOfRank("a: wait 1"),
              ElementsAre("3: expected calc, send or recv, found \"wait\""));
  EXPECT_THAT(ErrorsOfRank("7: calc 1"), ElementsAre("3: expected an operation, found \"7\""));
  EXPECT_THAT(ErrorsOfGoal(""),
              ElementsAre("1: expected \"num_ranks\", found the end of the file"));
  EXPECT_THAT(ErrorsOfGoal("num_ranks 1\nrank 0 {\ncalc 1"),
              ElementsAre("3: expected \"}\", found the end of the file"));
}

TEST(GoalTextTest, TellsWhatIsNoRankAndNoName) {
  EXPECT_THAT(ErrorsOfGoal("num_ranks 1\nhost 0 {\n}\n"),
              ElementsAre("2: expected \"rank\", found \"host\""));
  EXPECT_THAT(ErrorsOfGoal("num_ranks 1\nrank 0\ncalc 1\n}\n"),
              ElementsAre("2: expected \"{\", found the end of the line"));
  EXPECT_THAT(ErrorsOfRank("a: 7"), ElementsAre("3: expected calc, send or recv, found \"7\""));
  EXPECT_THAT(ErrorsOfRank("a: calc 1\na requires 7"),
              ElementsAre("4: expected an operation's name, found \"7\""));
}

TEST(GoalTextTest, TellsWhichNumbersAreOutOfRange) {
  EXPECT_THAT(ErrorsOfRank("send 10b to 2"),
              ElementsAre("3: 2 is out of range; expected a rank from 0 to 1"));
  EXPECT_THAT(ErrorsOfRank("send 10b to -1"),
              ElementsAre("3: -1 is out of range; expected a rank from 0 to 1"));
  EXPECT_THAT(ErrorsOfRank("send 9223372036854775808b to 1"),
              ElementsAre("3: 9223372036854775808 is out of range; expected a size from 0 to "
                          "9223372036854775807"));
  EXPECT_THAT(ErrorsOfRank("calc 9223372036854775807"), ElementsAre("3: takes longer than 1000 s"));
  EXPECT_THAT(ErrorsOfRank("calc 1 cpu 256"),
              ElementsAre("3: 256 is out of range; expected a cpu from 0 to 255"));
}

TEST(GoalTextTest, WhatNeedsARefusedOperationIsNoFurtherMistake) {
  EXPECT_THAT(ErrorsOfRank("a: calc 9223372036854775807\nb: calc 1\nb requires a\na requires b"),
              ElementsAre("3: takes longer than 1000 s"));
  EXPECT_THAT(ErrorsOfRank("a: wait 1\nb: calc 1\nb requires a"),
              ElementsAre("3: expected calc, send or recv, found \"wait\""));
}

TEST(GoalTextTest, WantsOneScheduleForEachRank) {
  EXPECT_THAT(ErrorsOfGoal("num_ranks 2\nrank 1 {\n}\n"), ElementsAre("4: rank 0 has no schedule"));
  EXPECT_THAT(ErrorsOfGoal("num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n"),
              ElementsAre("4: rank 0 has a schedule already"));
  EXPECT_THAT(ErrorsOfGoal("num_ranks 1\nrank 1 {\n}\n"),
              ElementsAre("2: 1 is out of range; expected a rank from 0 to 0"));
}

TEST(GoalTextTest, NamesLabelsThatDoNotExistOrAreThereTwice) {
  EXPECT_THAT(ErrorsOfRank("l1: calc 1\nl1 requires l9\nl1: calc 2"),
              ElementsAre("4: no operation of rank 0 is called l9",
                          "5: rank 0 has two operations called l1"));
}

TEST(GoalTextTest, NamesWhatCannotRun) {
  EXPECT_THAT(ErrorsOfRank("l2: send 10b to 1 tag 7\nl5: send 10b to 1 tag 7"),
              ElementsAre("3: 2 sends from 0 to 1 with tag 7 have no recv: l2, l5"));
  EXPECT_THAT(ErrorsOfRank("l1: calc 1\nl2: calc 1\nl1 requires l2\nl2 requires l1"),
              ElementsAre("3: operations wait for each other: 0:l1 -> 0:l2 -> 0:l1"));
  EXPECT_THAT(ErrorsOfGoal("num_ranks 2\nrank 0 {\nl2: send 100b to 1\n}\n"
                           "rank 1 {\nl1: recv 200b from 0\n}\n"),
              ElementsAre("3: send 0:l2 has 100 bytes, recv 1:l1 200"));
}

TEST(GoalTextTest, NamesReceivesWithoutAMessageAndMessagesTooManyForWildcards) {
  EXPECT_THAT(ErrorsOfRank("recv 10b from 1 tag 3"),
              ElementsAre("3: 1 recv from 1 to 0 with tag 3 has no send: op0"));
  EXPECT_THAT(ErrorsOfGoal("num_ranks 2\nrank 0 {\nsend 1b to 1\nsend 1b to 1\n}\n"
                           "rank 1 {\nrecv 1b from -1\n}\n"),
              ElementsAre(" 2 messages are sent to rank 1, which has 1 recvs"));
  EXPECT_THAT(ErrorsOfRank("a: calc 1\na requires a"),
              ElementsAre("3: operations wait for each other: 0:a -> 0:a"));
}

// A trace that says nothing but the default does not mean that all its messages share a link.
TEST(GoalTextTest, NicsAreNamedIfOneOfThemIsNotTheDefault) {
  const auto read = [](const std::string& nic) {
    return Read("num_ranks 2\nrank 0 {\ncalc 5\nsend 5b to 1" + nic +
                "\nsend 5b to 1\n}\nrank 1 {\nrecv 5b from 0 nic 0\nrecv 5b from 0\n}\n");
  };
  const ReadTrace named = read(" nic 2");
  EXPECT_THAT(named.errors, IsEmpty());
  EXPECT_EQ(named.graph->At(0, 0).nic, kUnnamedNic);  // A computation.
  EXPECT_EQ(named.graph->At(0, 1).nic, 2);
  EXPECT_EQ(named.graph->At(0, 2).nic, 0);
  EXPECT_EQ(named.graph->At(1, 0).nic, 0);
  for (const char* nic : {"", " nic 0"}) {
    const ReadTrace unnamed = read(nic);
    for (const uint32_t op : {1u, 2u}) EXPECT_EQ(unnamed.graph->At(0, op).nic, kUnnamedNic);
    EXPECT_EQ(unnamed.graph->At(1, 0).nic, kUnnamedNic);
  }
}

TEST(GoalTextTest, MessagesHaveTheNicsOfTheirSendsAndReceives) {
  const ReadTrace read = Read(
      "num_ranks 3\nrank 0 {\nsend 5b to 1 tag 1 nic 2\nsend 5b to 1 tag 2\nsend 5b to 2 nic 3\n}\n"
      "rank 1 {\nrecv 5b from 0 tag 2 nic 7\nrecv 5b from 0 tag 1 nic 255\n}\n"
      "rank 2 {\nrecv 5b from -1 nic 4\n}\n");
  ASSERT_THAT(read.errors, IsEmpty());
  const auto schedule = MakeGraphSchedule(std::make_shared<const OperationGraph>(*read.graph));
  EXPECT_EQ(schedule->MessageOf(0).src_nic, 2);
  EXPECT_EQ(schedule->MessageOf(0).dst_nic, 255);
  EXPECT_EQ(schedule->MessageOf(1).src_nic, 0);
  EXPECT_EQ(schedule->MessageOf(1).dst_nic, 7);
  // Any receive may take it.
  EXPECT_EQ(schedule->MessageOf(2).src_nic, 3);
  EXPECT_EQ(schedule->MessageOf(2).dst_nic, kUnnamedNic);
}

TEST(GoalTextTest, StopsAfterTwentyMistakes) {
  std::string statements;
  for (int i = 0; i < 100; ++i) statements += "calc x\n";
  EXPECT_THAT(ErrorsOfRank(statements), SizeIs(21));
}

}  // namespace heddle::goal_text_test
