// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/goal_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/printers.h"
#include "tests/support/trace_kit.h"

namespace heddle::goal_text_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ReadTrace Read(std::string_view text, const GoalSettings& settings = {}) {
  return ReadTraceWith([&](FileErrors& errors) { return ReadGoalText(text, settings, errors); });
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

// A view that ends within a text is read as if the text ended there, wherever that is.
TEST(GoalTextTest, NothingBehindTheEndIsRead) {
  const std::string text =
      "num_ranks 2 // two\nrank 0 {\nab: send 10b to 1 tag 77 /* a\n*/ cpu 12\n"
      "c: recv 5b from -1 tag -1\nc requires ab\n}\nrank 1 {\nsend 5b to 0\nrecv 10b from 0 tag "
      "77\n}\n";
  for (size_t length = 0; length <= text.size(); ++length) {
    const std::string alone = text.substr(0, length);
    const std::vector<std::string> errors = ErrorsOfGoal(std::string_view(text).substr(0, length));
    EXPECT_EQ(errors, ErrorsOfGoal(alone)) << alone;
    const bool is_whole = length + 1 >= text.size();
    EXPECT_EQ(errors.empty(), is_whole) << alone;
    // Nothing that is wrong is behind the last line.
    const auto lines = 1 + std::ranges::count(alone, '\n');
    for (const std::string& error : errors) EXPECT_LE(std::stoi(error), lines) << alone;
  }
}

TEST(GoalTextTest, TellsWhichSignsAreNoNumbers) {
  EXPECT_THAT(ErrorsOfRank("send 10b to +1"), ElementsAre("3: expected a rank, found \"+\""));
  EXPECT_THAT(ErrorsOfRank("calc -"), ElementsAre("3: expected a time, found \"-\""));
  EXPECT_THAT(ErrorsOfRank("calc - 5"), ElementsAre("3: expected a time, found \"-\""));
  EXPECT_THAT(ErrorsOfRank("calc --5"), ElementsAre("3: expected a time, found \"-\""));
  EXPECT_THAT(ErrorsOfRank("calc _5"), ElementsAre("3: expected a time, found \"_\""));
  EXPECT_THAT(ErrorsOfRank("calc 5/"), ElementsAre("3: expected the end of the line, found \"/\""));
  EXPECT_THAT(ErrorsOfRank("a_1B: calc 5\na_1B requires A_1b"),
              ElementsAre("4: no operation of rank 0 is called A_1b"));
}

// Blanks, comments and blank lines may be anywhere between words; lines are counted on.
TEST(GoalTextTest, BlanksAndCommentsDoNotCount) {
  EXPECT_THAT(ErrorsOfGoal("\n/**/\tnum_ranks/* 5 */1\r\n\nrank//x\n0 {\n}\n"),
              ElementsAre("4: expected a rank, found the end of the line"));
  const std::string text =
      "// a\n/* b\nc */num_ranks 2/* d */\r\n\n\nrank 0\t{a:calc 5/*/ e */\n}\n\nrank 1 {\n\n\n}";
  EXPECT_THAT(ErrorsOfGoal(text), IsEmpty());
  EXPECT_THAT(ErrorsOfGoal(text + "x"), ElementsAre("12: expected \"rank\", found \"x\""));
  EXPECT_THAT(ErrorsOfGoal(text + " // x"), IsEmpty());
  EXPECT_THAT(ErrorsOfGoal(text + " /* x\n"), IsEmpty());  // It ends with the file.
  EXPECT_THAT(ErrorsOfRank("a: calc 1 }\n"), testing::Not(IsEmpty()));
  EXPECT_THAT(ErrorsOfGoal("num_ranks 1\nrank 0 {\ncalc 1 }"), IsEmpty());
}

// Every number is read at its limits, and refused just beyond.
TEST(GoalTextTest, NumbersHaveLimits) {
  struct Limit {
    std::string before;
    std::string least;
    std::string most;
    std::string below;
    std::string above;
    std::string after;
    std::string what;
  };
  const std::vector<Limit> limits = {
      {"calc ", "0", "1000000000000", "-1", "9223372036854775808", "", "a time"},
      {"calc 1 cpu ", "0", "255", "-1", "256", "", "a cpu"},
      {"send ", "0", "9223372036854775807", "-1", "9223372036854775808", "b to 1", "a size"},
      {"send 1b to ", "0", "1", "-1", "2", "", "a rank"},
      {"recv 1b from ", "-1", "1", "-2", "2", "", "a rank"},
      {"send 1b to 1 tag ", "0", "4294967295", "-1", "4294967296", "", "a tag"},
      {"recv 1b from 1 tag ", "-1", "4294967295", "-2", "4294967296", "", "a tag"},
      {"send 1b to 1 cpu ", "0", "255", "-1", "256", "", "a cpu"},
      {"send 1b to 1 nic ", "0", "255", "-1", "256", "", "a nic"},
      {"recv 1b from 1 nic ", "0", "255", "-1", "256", "", "a nic"}};
  for (const Limit& its : limits) {
    const auto errors = [&](const std::string& number) {
      // Without the check of the whole graph, in which the message has no other end.
      Diagnostics diagnostics;
      FileErrors trace_errors("file", diagnostics);
      ReadGoalText(
          "num_ranks 2\nrank 0 {\n" + its.before + number + its.after + "\n}\nrank 1 {\n}\n", {},
          trace_errors);
      return diagnostics.errors();
    };
    EXPECT_THAT(errors(its.least), IsEmpty()) << its.before;
    EXPECT_THAT(errors(its.most), IsEmpty()) << its.before;
    for (const std::string& number : {its.below, its.above}) {
      const std::string message =
          "file:3:1: " + number + " is out of range; expected " + its.what + " from " + its.least;
      EXPECT_THAT(errors(number), ElementsAre(testing::StartsWith(message)));
    }
  }
  for (const char* ranks : {"0", "1048577"}) {
    EXPECT_THAT(ErrorsOfGoal(std::string("num_ranks ") + ranks + "\n"),
                ElementsAre(std::string("1: ") + ranks +
                            " is out of range; expected a number of ranks from 1 to 1048576"));
  }
  EXPECT_THAT(ErrorsOfGoal("num_ranks 1048576\n"), ElementsAre("2: rank 0 has no schedule"));
  EXPECT_THAT(ErrorsOfRank("calc 1000000000001"), ElementsAre("3: takes longer than 1000 s"));
}

// What the model of LogGOPS makes of one message: o + (bytes - 1) O on a CPU at both ends, and a
// gap of g between the sends of a NIC, which begins when the overhead is over.
TEST(GoalTextTest, AMessageHasTheCostsOfTheModel) {
  for (const Duration o : {Duration{0}, 1_us}) {
    for (const Duration O : {Duration{0}, Duration{100}}) {
      for (const Duration g : {Duration{0}, 5_us}) {
        for (const int64_t bytes : {0, 1, 2, 1'000}) {
          const GoalSettings settings{.calc_unit = 1_ns, .o = o, .O = O, .g = g, .S = Bytes{1}};
          const std::string b = std::to_string(bytes);
          const ReadTrace read = Read("num_ranks 2\nrank 0 {\nsend " + b +
                                          "b to 1 tag 9 cpu 4 nic 5\n}\nrank 1 {\nrecv " + b +
                                          "b from 0 tag 9 cpu 6 nic 7\n}\n",
                                      settings);
          ASSERT_THAT(read.errors, IsEmpty());
          const Duration overhead = o + O * std::max<int64_t>(bytes - 1, 0);
          EXPECT_EQ(read.Ends()[1], Time{} + 2 * overhead + StarTimes({.bytes = bytes}).arrives);
          const Operation& send = read.graph->OpsOf(0).back();
          EXPECT_EQ(send.kind, Operation::Kind::kSend);
          EXPECT_EQ(send.bytes, bytes);
          EXPECT_EQ(send.tag, 9);
          EXPECT_EQ(send.channel, 5u);  // Messages of different NICs do not wait for each other.
          EXPECT_EQ(send.posted, bytes <= 1);
          std::vector<std::pair<Duration, uint32_t>> computations;
          for (const Operation& op : read.graph->OpsOf(0)) {
            if (op.kind == Operation::Kind::kCompute) computations.emplace_back(op.time, op.stream);
          }
          std::vector<std::pair<Duration, uint32_t>> expected;
          if (overhead > Duration{0}) expected.emplace_back(overhead, 4);
          if (g > Duration{0}) expected.emplace_back(g, 256 + 5);  // Behind the CPUs 0 to 255.
          EXPECT_EQ(computations, expected);
          EXPECT_EQ(read.graph->OpsOf(1).size(), overhead > Duration{0} ? 2u : 1u);
          EXPECT_EQ(read.graph->OpsOf(1).back().stream, overhead > Duration{0} ? 6 : kNoStream);
          EXPECT_EQ(read.graph->EdgesOf(0).size(), expected.size() + (expected.size() == 2));
        }
      }
    }
  }
}

// By default a message of a byte is finished when it has been acknowledged; one of none at once.
TEST(GoalTextTest, SendsAreFinishedLateByDefault) {
  const ReadTrace read = Read(
      "num_ranks 2\nrank 0 {\nsend 0b to 1\nsend 1b to 1 tag 1\n}\n"
      "rank 1 {\nrecv 0b from 0\nrecv 1b from 0 tag 1\n}\n");
  EXPECT_TRUE(read.graph->At(0, 0).posted);
  EXPECT_FALSE(read.graph->At(0, 1).posted);
}

// An operation that requires another waits for the last of its parts; one that irequires it, for
// the first. The parts of the operation that waits begin with its first.
TEST(GoalTextTest, DependenciesAreThoseOfTheFirstAndTheLastPart) {
  const GoalSettings settings{.calc_unit = 1_ns, .o = 1_us, .O = {}, .g = 5_us, .S = {}};
  const ReadTrace read = Read(
      "num_ranks 2\nrank 0 {\na: send 5b to 1\nb: send 5b to 1\nc: calc 2\nb requires a\n"
      "c irequires b\n}\nrank 1 {\nr: recv 5b from 0\ns: recv 5b from 0\nt: calc 7\n"
      "t requires r\ns irequires t\n}\n",
      settings);
  ASSERT_THAT(read.errors, IsEmpty());
  using Edge = std::tuple<uint32_t, uint32_t, bool>;
  const auto edges = [&](uint32_t rank) {
    std::vector<Edge> all;
    for (const auto& [before, after, at_start] : read.graph->EdgesOf(rank)) {
      all.emplace_back(before, after, at_start);
    }
    std::ranges::sort(all);
    return all;
  };
  // Of each send: the overhead, the gap, the message.
  EXPECT_THAT(edges(0), ElementsAre(Edge{0, 1, false}, Edge{0, 2, false}, Edge{1, 2, true},
                                    Edge{2, 3, false}, Edge{3, 4, false}, Edge{3, 5, false},
                                    Edge{3, 6, true}, Edge{4, 5, true}));
  // Of each receive: the message, the overhead.
  EXPECT_THAT(edges(1), ElementsAre(Edge{0, 1, false}, Edge{1, 4, false}, Edge{2, 3, false},
                                    Edge{4, 2, true}));
  for (const uint32_t op : {0u, 1u, 2u}) {
    EXPECT_EQ(read.graph->At(0, op).label, "a");
    EXPECT_EQ(read.graph->At(0, op).line, 3);
  }
}

// CPU c is stream c, and the gaps of NIC n are stream 256 + n.
TEST(GoalTextTest, CpusAndNicsHaveStreamsOfTheirOwn) {
  const GoalSettings settings{.calc_unit = 1_ns, .o = {}, .O = {}, .g = 5_us, .S = {}};
  const auto stream_of = [&](const std::string& statement) {
    return Read("num_ranks 2\nrank 0 {\n" + statement +
                    "\nsend 0b to 1\n}\nrank 1 {\nrecv 0b from -1\nrecv 0b from -1\n}\n",
                settings)
        .graph->At(0, 0)
        .stream;
  };
  EXPECT_EQ(stream_of("calc 1 cpu 255\nsend 0b to 1"), 255u);
  EXPECT_EQ(stream_of("send 0b to 1"), 256u);
  EXPECT_EQ(stream_of("send 0b to 1 nic 0"), 256u);
  EXPECT_EQ(stream_of("send 0b to 1 nic 255"), 511u);
}

// A computation is at most 1000 s long, and so is an overhead.
TEST(GoalTextTest, OverheadsHaveTheLimitOfComputations) {
  const auto errors = [](int64_t bytes) {
    Diagnostics diagnostics;
    FileErrors trace_errors("file", diagnostics);
    const GoalSettings settings{.calc_unit = 1_s, .o = 1_s, .O = 1_s, .g = {}, .S = {}};
    ReadGoalText("num_ranks 2\nrank 0 {\nsend " + std::to_string(bytes) +
                     "b to 1\n}\nrank 1 {\nrecv " + std::to_string(bytes) + "b from 0\n}\n",
                 settings, trace_errors);
    return diagnostics.errors();
  };
  EXPECT_THAT(errors(1'000), IsEmpty());  // 1 s and 999 times 1 s.
  const std::vector<std::string> too_long = {"file:3:1: takes longer than 1000 s",
                                             "file:6:1: takes longer than 1000 s"};
  EXPECT_EQ(errors(1'001), too_long);
  EXPECT_EQ(errors(std::numeric_limits<int64_t>::max()), too_long);
}

// The mistakes of several lines and ranks; what follows a line that cannot be read is read.
TEST(GoalTextTest, GoesOnBehindALineThatCannotBeRead) {
  EXPECT_THAT(
      ErrorsOfGoal("num_ranks 2\nrank 0 {\ncalc x 1 2\na: calc 1\na: send 5\n"
                   "a requires b c\n}\nrank 1 {\n}\nrank 1 {\n}\n"),
      ElementsAre("3: expected a time, found \"x\"", "5: rank 0 has two operations called a",
                  "6: no operation of rank 0 is called b", "10: rank 1 has a schedule already"));
  // Names belong to their ranks.
  EXPECT_THAT(
      ErrorsOfGoal("num_ranks 2\nrank 0 {\na: calc 1\nb: calc x\n}\nrank 1 {\nc: calc 1\n"
                   "c requires a\nc requires b\na: calc 1\n}\n"),
      ElementsAre("4: expected a time, found \"x\"", "8: no operation of rank 1 is called a",
                  "9: no operation of rank 1 is called b"));
  // Only the rest of the line of a dependency, too.
  EXPECT_THAT(ErrorsOfRank("a: calc 1\nb: calc 1\na irequires\nb requires a\na requires c"),
              ElementsAre("5: expected an operation's name, found the end of the line",
                          "7: no operation of rank 0 is called c"));
}

TEST(GoalTextTest, ADependencyEndsItsLine) {
  EXPECT_THAT(ErrorsOfRank("a: calc 1\nb: calc 1\nb requires a calc 5\nb requires a\n"),
              ElementsAre("5: expected the end of the line, found \"calc\""));
}

TEST(GoalTextTest, WhatIsNotSaidIsZero) {
  const ReadTrace read =
      Read("num_ranks 2\nrank 0 {\nsend 5b to 1\ncalc 3\n}\nrank 1 {\nrecv 5b from 0 tag 0\n}\n",
           {.calc_unit = 1_ns, .o = Duration{1}, .O = {}, .g = Duration{1}, .S = {}});
  ASSERT_THAT(read.errors, IsEmpty());
  ASSERT_EQ(read.graph->OpsOf(0).size(), 4u);  // An overhead and a gap of a picosecond each.
  EXPECT_EQ(read.graph->At(0, 0).stream, 0u);
  EXPECT_EQ(read.graph->At(0, 1).stream, 256u);
  EXPECT_EQ(read.graph->At(0, 2).tag, 0);
  EXPECT_EQ(read.graph->At(0, 2).channel, 0u);
  EXPECT_EQ(read.graph->At(0, 3).stream, 0u);
  const ReadTrace plain = Read(
      "num_ranks 2\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\nrecv 5b from 0\nsend 1b to 1\n"
      "recv 1b from 1\n}\n");
  for (const auto& [rank, op] : {std::pair<uint32_t, uint32_t>{0, 0}, {1, 0}, {1, 1}, {1, 2}}) {
    EXPECT_EQ(plain.graph->At(rank, op).nic, kUnnamedNic) << rank << ":" << op;
  }
}

TEST(GoalTextTest, NothingOfALineIsPassedOver) {
  EXPECT_THAT(ErrorsOfRank("a:"),
              ElementsAre("3: expected calc, send or recv, found the end of the line"));
  EXPECT_THAT(ErrorsOfRank("a: calc 1\nc requires a"),
              ElementsAre("4: no operation of rank 0 is called c"));
  EXPECT_THAT(ErrorsOfRank("a: calc 1\nb: calc 1\nb requires a c"),
              ElementsAre("5: expected the end of the line, found \"c\""));
  // Without its brace, a schedule makes no sense.
  EXPECT_THAT(ErrorsOfGoal("num_ranks 1\nrank 0\ncalc x\n}\n"), SizeIs(1));
}

}  // namespace heddle::goal_text_test
