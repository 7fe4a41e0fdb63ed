// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/htsim_cm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/support/printers.h"
#include "tests/support/trace_kit.h"

namespace heddle::htsim_cm_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using CrossHost = HtsimCmSettings::CrossHost;

ReadTrace Read(std::string_view text, const HtsimCmSettings& settings = {}) {
  return ReadTraceWith([&](FileErrors& errors) { return ReadHtsimCm(text, settings, errors); });
}

std::vector<std::string> ErrorsOfCm(std::string_view text) { return Read(text).errors; }

// When the connection of each line starts, in the order of lines.
std::vector<Time> Starts(const ReadTrace& read, Duration news = Duration{0}) {
  EXPECT_THAT(read.errors, IsEmpty());
  const auto schedule = MakeGraphSchedule(std::make_shared<const OperationGraph>(*read.graph));
  const TimedPlay play(*schedule, StarTimes, news);
  std::vector<Time> starts(play.sent().size());
  for (const auto& sent : play.sent()) starts[schedule->MessageOf(sent.index).channel] = sent.at;
  return starts;
}

const Time kArrived = Time{} + StarTimes({.bytes = 1'000}).arrives;
const Time kAcked = Time{} + StarTimes({.bytes = 1'000}).finished;

TEST(HtsimCmTest, AReceivedConnectionTriggersAnother) {
  const ReadTrace read = Read(
      "Nodes 4\nConnections 2\nTriggers 1\n"
      "0->1 id 1 start 0 size 100000 recv_done_trigger 1\n"
      "1->2 id 2 trigger 1 size 100000\n"
      "trigger id 1 oneshot\n");
  EXPECT_EQ(read.graph->ranks(), 4u);
  EXPECT_EQ(read.graph->NameOf(1, 1), "1:id2");
  EXPECT_THAT(Starts(read), ElementsAre(Time{}, Time{} + StarTimes({.bytes = 100'000}).arrives));
}

TEST(HtsimCmTest, ASentConnectionTriggersAnother) {
  EXPECT_THAT(Starts(Read("Nodes 3\nConnections 2\nTriggers 1\n# two from one node\n"
                          "0->1 id 1 start 0 size 1000 send_done_trigger 5\n"
                          "0->2 trigger 5 size 1000 id 2\ntrigger id 5 oneshot\n")),
              ElementsAre(Time{}, kAcked));
}

TEST(HtsimCmTest, StartsAreExact) {
  const char* text = "Nodes 2\nConnections 1\n0->1 start 123456789 size 1000\n";
  EXPECT_THAT(Starts(Read(text)), ElementsAre(Time{123'456'789}));
  EXPECT_THAT(Starts(Read(text, {.unit = HtsimCmSettings::Unit::kUs})),
              ElementsAre(Time{123'456'789'000'000}));
}

// Three connections fire a trigger at node 0, at 1, 2 and 3 us and the time of a message.
std::string ThreeFire(const std::string& trigger) {
  std::string text = "Nodes 5\nConnections 5\nTriggers 1\n";
  for (const char* start : {"1000000", "2000000", "3000000"}) {
    text += std::string("1->0 start ") + start + " size 1000 recv_done_trigger 1\n";
  }
  return text + "0->2 trigger 1 size 1000\n0->3 trigger 1 size 1000\ntrigger id 1 " + trigger +
         "\n";
}

TEST(HtsimCmTest, TriggersCountActivations) {
  const auto last = [](const std::string& trigger) {
    std::vector<Time> starts = Starts(Read(ThreeFire(trigger)));
    starts.erase(starts.begin(), starts.begin() + 3);
    return starts;
  };
  EXPECT_THAT(last("oneshot"), ElementsAre(kArrived + 1_us, kArrived + 1_us));
  EXPECT_THAT(last("multishot"), ElementsAre(kArrived + 1_us, kArrived + 2_us));
  EXPECT_THAT(last("barrier count 2"), ElementsAre(kArrived + 2_us, kArrived + 2_us));
  EXPECT_THAT(last("barrier"), ElementsAre(kArrived + 3_us, kArrived + 3_us));
}

// The public generators of rings mean by send_done_trigger that the message has arrived.
TEST(HtsimCmTest, ASentConnectionMayTriggerAtItsReceiver) {
  const char* ring =
      "Nodes 3\nConnections 2\nTriggers 1\n0->1 start 0 size 1000 send_done_trigger 1\n"
      "1->2 trigger 1 size 1000\ntrigger id 1 oneshot\n";
  EXPECT_THAT(Read(ring, {.cross_host = CrossHost::kRefuse}).errors,
              ElementsAre("5: starts at node 1, but its trigger (line 6) fires at node 0, when the "
                          "connection of line 4 is done; cross_host: delay lets the news travel"));
  EXPECT_THAT(Starts(Read(ring, {.cross_host = CrossHost::kReceive}), 5_us),
              ElementsAre(Time{}, kArrived));
  EXPECT_THAT(Starts(Read(ring), 5_us), ElementsAre(Time{}, kAcked + 5_us));
}

// If one of the connections starts elsewhere, the trigger fires at the sender.
TEST(HtsimCmTest, ASentConnectionTriggersAtItsSenderUnlessAllStartAtItsReceiver) {
  const char* both =
      "Nodes 3\nConnections 3\nTriggers 1\n0->1 start 0 size 1000 send_done_trigger 1\n"
      "1->2 trigger 1 size 1000\n2->1 trigger 1 size 1000\ntrigger id 1 oneshot\n";
  EXPECT_THAT(Starts(Read(both, {.cross_host = CrossHost::kReceive}), 5_us),
              ElementsAre(Time{}, kAcked + 5_us, kAcked + 5_us));
}

// A trigger that fires at nodes 0, 4 and 0, at 1, 2 and 3 us and the time of a message, and starts
// connections of both.
TEST(HtsimCmTest, TriggersCountActivationsThatTheNewsTellsOf) {
  const auto starts = [](const std::string& trigger) {
    std::vector<Time> all = Starts(
        Read(
            "Nodes 5\nConnections 5\nTriggers 1\n1->0 start 1000000 size 1000 recv_done_trigger 1\n"
            "2->4 start 2000000 size 1000 recv_done_trigger 1\n"
            "3->0 start 3000000 size 1000 recv_done_trigger 1\n"
            "0->1 trigger 1 size 1000\n4->1 trigger 1 size 1000\ntrigger id 1 " +
            trigger + "\n"),
        100_ns);
    all.erase(all.begin(), all.begin() + 3);
    return all;
  };
  EXPECT_THAT(starts("oneshot"), ElementsAre(kArrived + 1_us, kArrived + 1'100_ns));
  EXPECT_THAT(starts("multishot"), ElementsAre(kArrived + 1_us, kArrived + 2_us));
  EXPECT_THAT(starts("barrier"), ElementsAre(kArrived + 3_us, kArrived + 3'100_ns));
}

TEST(HtsimCmTest, WarnsOfIgnoredWordsOnce) {
  EXPECT_THAT(Read("Nodes 2\nConnections 2\n0->1 start 0 size 1 prio 3\n"
                   "1->0 start 0 size 1 msg 3\n")
                  .warnings,
              SizeIs(1));
}

TEST(HtsimCmTest, TellsWhatIsWrong) {
  EXPECT_THAT(ErrorsOfCm("Nodes 2\nConnections 240\n0->1 start 0 size 1\n"),
              ElementsAre("2: 240 connections announced, 1 found"));
  EXPECT_THAT(ErrorsOfCm("Connections 0\n"), ElementsAre(" has no line \"Nodes\" with a number"));
  EXPECT_THAT(
      ErrorsOfCm("Nodes 2\nConnections 1\nfailure switch_type TOR\n"),
      ElementsAre("3: failures of links are not read from here; write them under schedule"));
  const auto errors = [](const std::string& connection) {
    return ErrorsOfCm("Nodes 2\nConnections 1\n" + connection + "\n");
  };
  EXPECT_THAT(errors("0->2 start 0 size 1"), ElementsAre("3: there is no node 2; there are 2"));
  EXPECT_THAT(errors("0->0 start 0 size 1"), ElementsAre("3: node 0 sends to itself"));
  EXPECT_THAT(errors("0->1 start 0"),
              ElementsAre("3: has no size, and so never ends; give it one"));
  EXPECT_THAT(errors("0->1 size 1"), ElementsAre("3: has neither start nor trigger"));
  EXPECT_THAT(errors("0->1 size 1 start 0 trigger 1"),
              ElementsAre("3: has both start and trigger"));
  EXPECT_THAT(errors("0->1 size 1 trigger 1"), ElementsAre("3: there is no trigger 1"));
  EXPECT_THAT(errors("0->1 size 1 colour 1"),
              ElementsAre("3: \"colour\" is no property of a connection"));
  EXPECT_THAT(errors("0->1 size"), ElementsAre("3: expected a number behind size"));
  EXPECT_THAT(errors("trigger id 1 twice"),
              ElementsAre("3: expected oneshot, multishot or barrier, found \"twice\""));
  EXPECT_THAT(errors("0->1 size 1 start x"), SizeIs(1));
}

TEST(HtsimCmTest, TellsWhichHeadersAreWrong) {
  EXPECT_THAT(ErrorsOfCm("Nodes 2\n"), ElementsAre(" has no line \"Connections\" with a number"));
  EXPECT_THAT(ErrorsOfCm("Nodes 2 3\nConnections 0\n"),
              ElementsAre("1: expected a number behind Nodes"));
  EXPECT_THAT(ErrorsOfCm("Nodes 2\nNodes 3\nConnections 0\n"),
              ElementsAre("2: Nodes is there twice"));
  EXPECT_THAT(ErrorsOfCm("Nodes two\nConnections 0\n"), SizeIs(1));
  EXPECT_THAT(ErrorsOfCm("Nodes 0\nConnections 0\n"),
              ElementsAre("1: Nodes: 0 is out of range; expected 1 to 1048576"));
  EXPECT_THAT(ErrorsOfCm("Nodes 1048577\nConnections 0\n"), SizeIs(1));
  EXPECT_THAT(ErrorsOfCm("Nodes 1048576\nConnections 0\n"), IsEmpty());
  EXPECT_THAT(ErrorsOfCm("Nodes 2\nConnections 0\nLinks 4\n"),
              ElementsAre("3: expected a connection such as 0->1, a trigger or a header, found "
                          "\"Links\""));
}

TEST(HtsimCmTest, TellsWhichTriggersAreWrong) {
  const auto errors = [](const std::string& trigger) {
    return ErrorsOfCm("Nodes 2\nConnections 0\n" + trigger + "\n");
  };
  EXPECT_THAT(errors("trigger id 1"),
              ElementsAre("3: expected: trigger id NUMBER oneshot, multishot or barrier"));
  EXPECT_THAT(errors("trigger no 1 oneshot"), SizeIs(1));
  EXPECT_THAT(errors("trigger id one oneshot"), SizeIs(1));
  EXPECT_THAT(errors("trigger id one twice"), SizeIs(1));
  EXPECT_THAT(errors("trigger id 1 oneshot count 2"),
              ElementsAre("3: expected the end of the line, found \"count\""));
  EXPECT_THAT(errors("trigger id 1 barrier number 2"),
              ElementsAre("3: expected the end of the line, found \"number\""));
  EXPECT_THAT(errors("trigger id 1 barrier count two"), SizeIs(1));
  EXPECT_THAT(errors("trigger id 1 barrier count 0"), ElementsAre("3: count: 0 is out of range"));
  EXPECT_THAT(errors("trigger id 1 oneshot\ntrigger id 1 oneshot"),
              ElementsAre("4: trigger 1 is there twice"));
}

TEST(HtsimCmTest, AConnectionIsBetweenTwoNumbers) {
  EXPECT_THAT(ErrorsOfCm("Nodes 2\nConnections 1\na->1 start 0 size 1\n"), SizeIs(1));
  EXPECT_THAT(ErrorsOfCm("Nodes 2\nConnections 1\n0->b start 0 size 1\n"), SizeIs(1));
}

TEST(HtsimCmTest, TellsWhichNumbersAreOutOfRange) {
  const auto errors = [](const std::string& connection) {
    return ErrorsOfCm("Nodes 2\nConnections 1\n" + connection + "\n");
  };
  EXPECT_THAT(errors("0->1 start 0 size -1"), ElementsAre("3: size: -1 is out of range"));
  EXPECT_THAT(errors("0->1 start 0 size 9223372036854775808"), SizeIs(1));
  EXPECT_THAT(errors("0->1 start 0 size 0"),
              ElementsAre("3: has no size, and so never ends; give it one"));
  EXPECT_THAT(errors("0->1 start 1000000000000001 size 1"),
              ElementsAre("3: starts later than 1000 s"));
  EXPECT_THAT(ErrorsOfCm("Nodes 2\nConnections 2\nTriggers 1\n0->1 start 0 size 1 id 4\n"
                         "1->0 start 0 size 1 id 4\ntrigger id 1 oneshot\n"),
              ElementsAre("5: id 4 is that of line 4, too"));
  EXPECT_THAT(ErrorsOfCm("Nodes 2\nConnections 0\nTriggers 2\ntrigger id 1 oneshot\n"),
              ElementsAre("3: 2 triggers announced, 1 found"));
}

TEST(HtsimCmTest, StopsAfterTwentyMistakes) {
  std::string text = "Nodes 2\nConnections 100\n";
  for (int i = 0; i < 100; ++i) text += "0->0 start 0 size 1\n";
  EXPECT_THAT(ErrorsOfCm(text), SizeIs(21));
}

TEST(HtsimCmTest, NamesTriggersThatNothingFires) {
  EXPECT_THAT(ErrorsOfCm("Nodes 2\nConnections 1\n0->1 size 1 trigger 1\ntrigger id 1 oneshot\n"),
              ElementsAre("4: no connection fires trigger 1"));
  EXPECT_THAT(
      ErrorsOfCm("Nodes 2\nConnections 3\n1->0 size 1 start 0 recv_done_trigger 1\n"
                 "0->1 size 1 trigger 1\n0->1 size 1 trigger 1\ntrigger id 1 multishot\n"),
      ElementsAre(
          "5: never starts: the trigger in line 6 must fire 2 times before, but fires 1 time"));
}

// Each of two connections waits for the other.
TEST(HtsimCmTest, NamesCycles) {
  EXPECT_THAT(ErrorsOfCm("Nodes 2\nConnections 2\n0->1 id 1 size 9 trigger 1 recv_done_trigger 2\n"
                         "1->0 id 2 size 9 trigger 2 recv_done_trigger 1\n"
                         "trigger id 1 oneshot\ntrigger id 2 oneshot\n"),
              ElementsAre("3: operations wait for each other: 0:id1 -> 1:id1 -> 1:id2 -> 0:id2 -> "
                          "0:id1"));
  EXPECT_THAT(ErrorsOfCm("Nodes 4\nConnections 2\n0->1 id 1 size 9 trigger 1 recv_done_trigger 2\n"
                         "2->3 id 2 size 9 trigger 2 recv_done_trigger 1\n"
                         "trigger id 1 oneshot\ntrigger id 2 oneshot\n"),
              ElementsAre("3: operations wait for each other: 0:id1 -> 1:id1 -> 2:id2 -> 3:id2 -> "
                          "0:id1"));
}

TEST(HtsimCmTest, EveryNumberHasLimits) {
  const auto errors = [](const std::string& line) {
    return ErrorsOfCm("Nodes 2\nConnections 1\n" + line + "\n");
  };
  const std::string greatest = "1000000000000000000";
  EXPECT_THAT(errors("1048576->1 start 0 size 1"),
              ElementsAre("3: the source: 1048576 is out of range"));
  EXPECT_THAT(errors("1->1048576 start 0 size 1"),
              ElementsAre("3: the destination: 1048576 is out of range"));
  EXPECT_THAT(errors("1->1048575 start 0 size 1"),
              ElementsAre("3: there is no node 1048575; there are 2"));
  EXPECT_THAT(errors("1048575->1 start 0 size 1"),
              ElementsAre("3: there is no node 1048575; there are 2"));
  EXPECT_THAT(errors("-1->1 start 0 size 1"), ElementsAre("3: the source: -1 is out of range"));
  EXPECT_THAT(errors("1->-1 start 0 size 1"),
              ElementsAre("3: the destination: -1 is out of range"));
  EXPECT_THAT(errors("0->1 start 1000000000000000 size " + greatest), IsEmpty());
  for (const char* word : {"id", "start", "prio", "msg"}) {
    const std::string rest = std::string(word) == "start" ? " size 1 " : " size 1 start 0 ";
    EXPECT_THAT(errors("0->1" + rest + word + " 0"), IsEmpty()) << word;
    EXPECT_THAT(errors("0->1" + rest + word + " -1"),
                ElementsAre(std::string("3: ") + word + ": -1 is out of range"));
  }
  for (const char* word : {"trigger", "send_done_trigger", "recv_done_trigger"}) {
    EXPECT_THAT(errors(std::string("0->1 size 1 ") + word + " -1"),
                ElementsAre(std::string("3: ") + word + ": -1 is out of range"));
    EXPECT_THAT(errors(std::string("0->1 size 1 start 0 ") + word),
                ElementsAre(std::string("3: expected a number behind ") + word));
  }
  EXPECT_THAT(ErrorsOfCm("Nodes -1\nConnections 0\n"), ElementsAre("1: Nodes: -1 is out of range"));
  EXPECT_THAT(ErrorsOfCm("Nodes 1\nConnections -1\n"),
              ElementsAre("2: Connections: -1 is out of range"));
  EXPECT_THAT(errors("trigger id -1 oneshot"), ElementsAre("3: id: -1 is out of range"));
  for (const std::string& count : {std::string("1"), greatest}) {
    EXPECT_THAT(ErrorsOfCm("Nodes 2\nConnections 0\ntrigger id 0 barrier count " + count + "\n"),
                IsEmpty());
  }
  for (const char* end : {"oneshot 1", "barrier count", "barrier count 1 2", "multishot count 1"}) {
    EXPECT_THAT(errors(std::string("trigger id 1 ") + end),
                ElementsAre(testing::StartsWith("3: expected the end of the line, found ")))
        << end;
  }
}

// With starts in microseconds, too.
TEST(HtsimCmTest, AConnectionStartsUpTo1000SecondsLater) {
  const auto errors = [](const std::string& start) {
    return Read("Nodes 2\nConnections 1\n0->1 start " + start + " size 1\n",
                {.unit = HtsimCmSettings::Unit::kUs})
        .errors;
  };
  EXPECT_THAT(errors("1000000000"), IsEmpty());
  EXPECT_THAT(errors("1000000001"), ElementsAre("3: starts later than 1000 s"));
}

// A start of 0 needs no wait; any other is a wait of its own.
TEST(HtsimCmTest, ConnectionsAreMessagesOfTheirOwn) {
  const ReadTrace read = Read(
      "Failures 0\nNodes 3\nConnections 3\n0->1 start 0 size 7\n0->1 start 1 size 8 id 0\n"
      "2->0 id 5 start 2 size 9\n");
  ASSERT_THAT(read.errors, IsEmpty());
  ASSERT_EQ(read.graph->OpsOf(0).size(), 4u);  // Two sends, a wait, and a receive.
  EXPECT_EQ(read.graph->At(0, 0).bytes, 7);
  EXPECT_EQ(read.graph->At(0, 0).label, "");
  EXPECT_EQ(read.graph->At(0, 0).line, 4);
  EXPECT_EQ(read.graph->At(0, 0).channel, 0u);
  EXPECT_EQ(read.graph->At(0, 1).bytes, 8);
  EXPECT_EQ(read.graph->At(0, 1).channel, 1u);
  EXPECT_EQ(read.graph->At(0, 1).label, "id0");
  EXPECT_EQ(read.graph->At(0, 2).time, Duration{1});
  EXPECT_EQ(read.graph->At(0, 2).stream, kNoStream);
  EXPECT_EQ(read.graph->At(0, 3).label, "id5");
  EXPECT_EQ(read.graph->At(0, 3).line, 6);
  EXPECT_EQ(read.graph->At(2, 0).channel, 2u);
  EXPECT_EQ(read.graph->At(1, 0).peer, 0u);
  EXPECT_EQ(read.graph->At(1, 1).bytes, 8);
}

// All mistakes are named, each with its line.
TEST(HtsimCmTest, NamesAllMistakesOfConnections) {
  EXPECT_THAT(ErrorsOfCm("Nodes 2\nConnections 3\n2->3 start 0 size 1 id 1\n"
                         "0->1 trigger 1 size 1 send_done_trigger 2 recv_done_trigger 3 id 1\n"
                         "0->1 start 0 size 1 id 1\n"),
              ElementsAre("3: there is no node 2; there are 2",
                          "3: there is no node 3; there are 2", "4: there is no trigger 1",
                          "4: there is no trigger 2", "4: there is no trigger 3",
                          "4: id 1 is that of line 3, too", "5: id 1 is that of line 3, too"));
  EXPECT_THAT(
      ErrorsOfCm("Nodes 2\nConnections 4\n0->1 start 2000000000000000 size 1\n"
                 "0->1 size 1 trigger 1\n1->0 size 1 start 0 recv_done_trigger 2\n"
                 "0->1 size 1 trigger 2\ntrigger id 1 barrier\ntrigger id 2 barrier count 2\n"),
      ElementsAre("3: starts later than 1000 s", "7: no connection fires trigger 1",
                  "8: needs 2 activations, but only 1 connections fire it"));
}

// A trigger that starts nothing may fire or not.
TEST(HtsimCmTest, ATriggerMayStartNothing) {
  EXPECT_THAT(ErrorsOfCm("Nodes 2\nConnections 1\n0->1 start 0 size 1 recv_done_trigger 1\n"
                         "trigger id 1 barrier count 9\ntrigger id 2 oneshot\n"),
              IsEmpty());
}

TEST(HtsimCmTest, AnEmptyFileHasNoNodes) {
  EXPECT_THAT(ErrorsOfCm(""), ElementsAre(" has no line \"Nodes\" with a number",
                                          " has no line \"Connections\" with a number"));
  EXPECT_THAT(ErrorsOfCm("Nodes\n"), ElementsAre("1: expected a number behind Nodes"));
}

}  // namespace heddle::htsim_cm_test
