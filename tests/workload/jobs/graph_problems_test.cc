// SPDX-License-Identifier: Apache-2.0
// Graphs of operations that cannot run: which problems are named.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/graph_kit.h"
#include "tests/support/printers.h"
#include "tests/support/timed_play.h"
#include "workload/jobs/graph_check.h"

namespace heddle::graph_problems_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using namespace graph_kit;

TEST(GraphProblemsTest, NamesMessagesWithoutAnEnd) {
  OperationGraph graph(2);
  for (const char* label : {"l2", "l5"}) {
    const uint32_t send = graph.AddSend(0, 1, 100, 7);
    graph.At(0, send).label = label;
  }
  graph.AddReceive(0, 1, 5, 2);
  EXPECT_THAT(ProblemsOf(graph), ElementsAre("2 sends from 0 to 1 with tag 7 have no recv: l2, l5",
                                             "1 recv from 1 to 0 with tag 2 has no send: op2"));
}

// Tag 1 has only a receive, tag 2 both, tag 3 only a send, tag 4 both.
TEST(GraphProblemsTest, MatchesMessagesByTagAndPair) {
  OperationGraph graph(3);
  for (const int64_t tag : {4, 2, 1}) graph.AddReceive(1, 0, 100 * tag, tag);
  for (const int64_t tag : {3, 4, 2}) graph.AddSend(0, 1, 100 * tag, tag);
  graph.AddSend(2, 1, 50, 2);
  graph.AddReceive(1, 2, 50, 2);
  EXPECT_THAT(ProblemsOf(graph), ElementsAre("1 recv from 0 to 1 with tag 1 has no send: op2",
                                             "1 send from 0 to 1 with tag 3 has no recv: op0"));
  std::vector<std::vector<uint32_t>> matches;
  for (const Match& its : MatchMessages(graph)) {
    matches.push_back({its.src, its.send, its.dst, its.receive});
  }
  EXPECT_THAT(matches, testing::UnorderedElementsAre(std::vector<uint32_t>{0, 2, 1, 1},
                                                     std::vector<uint32_t>{0, 1, 1, 0},
                                                     std::vector<uint32_t>{2, 0, 1, 3}));
}

// Op 1 needs one of ops 0 and 2, so it can start although op 2 waits for it.
TEST(GraphProblemsTest, WhatNeedsOnlySomeMayBePartOfACycle) {
  for (const bool is_far : {false, true}) {
    OperationGraph graph(2);
    const uint32_t other = is_far ? 1 : 0;
    graph.AddCompute(0, 1_us);
    graph.AddCompute(0, 1_us);
    const uint32_t last = graph.AddCompute(other, 1_us);
    graph.Require(0, 1, 0);
    if (is_far) {
      graph.RequireFar(0, 1, 1, last);
      graph.RequireFar(1, last, 0, 1);
    } else {
      graph.Require(0, 1, last);
      graph.Require(0, last, 1);
    }
    OperationGraph all = graph;
    EXPECT_EQ(ProblemsOf(all).size(), 1u);
    graph.At(0, 1).needs = 1;
    EXPECT_EQ(TimedPlay(*ScheduleOf(std::move(graph)), OneUs).end(), Time{} + 3_us);
  }
}

TEST(GraphProblemsTest, CallsOperationsAsItIsTold) {
  OperationGraph graph(2);
  graph.AddSend(0, 2, 100);
  graph.At(0, 0).line = 17;
  const auto problems = GraphProblems(graph, 20, [](uint32_t rank, uint32_t op) {
    return "node " + std::to_string(10 * rank + op);
  });
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message, "node 0: there is no rank 2; there are 2");
  EXPECT_EQ(problems[0].line, 17);
  EXPECT_EQ(problems[0].rank, 0u);
}

TEST(GraphProblemsTest, ComparesSizes) {
  OperationGraph graph(2);
  graph.AddSend(0, 1, 100);
  graph.AddReceive(1, 0, 200);
  EXPECT_THAT(ProblemsOf(graph), ElementsAre("send 0:op0 has 100 bytes, recv 1:op0 200"));
}

TEST(GraphProblemsTest, CountsMessagesToWildcards) {
  OperationGraph graph(2);
  for (int i = 0; i < 3; ++i) graph.AddSend(0, 1, 100);
  graph.AddReceive(1, kAnyRank, 100);
  EXPECT_THAT(ProblemsOf(graph), ElementsAre("3 messages are sent to rank 1, which has 1 recvs"));
  for (int i = 0; i < 2; ++i) graph.AddReceive(1, 0, 100);
  EXPECT_THAT(ProblemsOf(graph), IsEmpty());
  graph.AddReceive(0, 1, 100, kAnyTag);
  graph.AddSend(1, 0, 100);
  graph.AddSend(1, 0, 100);
  EXPECT_THAT(ProblemsOf(graph), ElementsAre("2 messages are sent to rank 0, which has 1 recvs"));
}

TEST(GraphProblemsTest, NamesRanksThatDoNotExist) {
  OperationGraph graph(2);
  graph.AddSend(0, 2, 100);
  EXPECT_THAT(ProblemsOf(graph), ElementsAre("0:op0: there is no rank 2; there are 2"));
  OperationGraph receives(2);
  receives.AddReceive(1, 2, 100);
  EXPECT_THAT(ProblemsOf(receives), testing::Contains("1:op0: there is no rank 2; there are 2"));
}

TEST(GraphProblemsTest, NamesACycleOverMessages) {
  OperationGraph graph(2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    graph.AddReceive(rank, 1 - rank, 100);
    graph.Require(rank, graph.AddSend(rank, 1 - rank, 100), 0);
  }
  EXPECT_THAT(
      ProblemsOf(graph),
      ElementsAre("operations wait for each other: 0:op0 -> 0:op1 -> 1:op0 -> 1:op1 -> 0:op0"));
}

TEST(GraphProblemsTest, NamesACycleAtOneRank) {
  OperationGraph graph(1);
  graph.AddCompute(0, 1_us);
  graph.AddCompute(0, 1_us);
  graph.Require(0, 0, 1);
  graph.RequireStart(0, 1, 0);
  EXPECT_THAT(ProblemsOf(graph),
              ElementsAre("operations wait for each other: 0:op0 -> 0:op1 -> 0:op0"));
}

// Of a long cycle, the first 16 operations are shown.
TEST(GraphProblemsTest, CutsLongCyclesShort) {
  OperationGraph graph(1);
  for (uint32_t i = 0; i < 20; ++i) graph.AddCompute(0, 1_us);
  for (uint32_t i = 0; i < 20; ++i) graph.Require(0, (i + 1) % 20, i);
  std::string names;
  for (int i = 0; i < 16; ++i) names += "0:op" + std::to_string(i) + " -> ";
  EXPECT_THAT(ProblemsOf(graph),
              ElementsAre("operations wait for each other: " + names + "... -> 0:op0"));
}

// A receive may be posted before the message that its posting brings about has been sent.
TEST(GraphProblemsTest, PostingAReceiveIsNoWait) {
  OperationGraph graph(2);
  graph.AddReceive(0, 1, 100, 1);
  graph.RequireStart(0, graph.AddSend(0, 1, 100, 2), 0);
  graph.AddReceive(1, 0, 100, 2);
  graph.Require(1, graph.AddSend(1, 0, 100, 1), 0);
  EXPECT_EQ(TimedPlay(*ScheduleOf(std::move(graph)), OneUs).end(), Time{} + 2_us);
}

TEST(GraphProblemsTest, NamesCollectivesThatWaitForEachOther) {
  OperationGraph graph(2);
  const uint32_t a = graph.AddCollective({RingOf(2), {0, 1}, 0, "a"});
  const uint32_t b = graph.AddCollective({RingOf(2), {0, 1}, 0, "b"});
  graph.AddPart(0, a);
  graph.Require(0, graph.AddPart(0, b), 0);
  graph.AddPart(1, b);
  graph.Require(1, graph.AddPart(1, a), 0);
  EXPECT_THAT(ProblemsOf(graph),
              ElementsAre("operations wait for each other: 0:a -> 0:b -> 1:b -> 1:a -> 0:a"));
}

TEST(GraphProblemsTest, NamesIncompleteGroups) {
  OperationGraph graph(3);
  graph.AddPart(0, graph.AddCollective({RingOf(2), {0, 2}, 0, "ar"}));
  EXPECT_THAT(ProblemsOf(graph),
              ElementsAre("collective ar needs an operation of each of its 2 ranks; rank 2 has "
                          "none, unlike 0:ar"));
  const uint32_t nobodys = graph.AddCollective({RingOf(2), {0, 1}, 0, "of nobody"});
  graph.AddPart(2, 0);
  EXPECT_EQ(nobodys, 1u);
  EXPECT_THAT(ProblemsOf(graph),
              ElementsAre("collective of nobody needs an operation of each of its 2 ranks; ranks "
                          "0, 1 have none"));
}

TEST(GraphProblemsTest, NamesSomeOfManyIncompleteGroups) {
  OperationGraph graph(2);
  for (int i = 0; i < 100; ++i) graph.AddCollective({RingOf(2), {0, 1}, 0, "of nobody"});
  EXPECT_EQ(ProblemsOf(graph).size(), 20u);
}

// Collectives of a group are counted from 1. Of many ranks, the first 16 are named.
TEST(GraphProblemsTest, NamesTheCollectiveOfAGroup) {
  for (const uint32_t missing : {1u, 15u, 16u, 17u, 18u}) {
    OperationGraph graph(20);
    std::vector<uint32_t> group(missing + 1);
    std::string names;
    for (uint32_t rank = 0; rank <= missing; ++rank) {
      group[rank] = missing - rank;
      if (rank < 16 && rank < missing) names += (rank > 0 ? ", " : "") + std::to_string(rank);
    }
    if (missing > 16) names += ", ...";
    const uint32_t first = graph.AddCollective({.schedule = RingOf(missing + 1),
                                                .group = group,
                                                .label = "sum",
                                                .operation = {"all_reduce", "ring"},
                                                .group_name = "dp"});
    graph.AddPart(missing, first);
    const std::string ranks = missing == 1 ? "rank 0 has" : "ranks " + names + " have";
    EXPECT_THAT(ProblemsOf(graph),
                ElementsAre("all_reduce 1 of group dp needs an operation of each of its " +
                            std::to_string(missing + 1) + " ranks; " + ranks + " none, unlike " +
                            std::to_string(missing) + ":sum"));
  }
}

TEST(GraphProblemsTest, NamesRanksThatTakePartTwiceOrUncalledFor) {
  OperationGraph graph(3);
  const uint32_t ring = graph.AddCollective({RingOf(2), {0, 2}, 0, "ar"});
  for (const uint32_t rank : {0u, 0u, 1u, 2u}) graph.AddPart(rank, ring);
  graph.At(0, 0).label = "first";
  EXPECT_THAT(ProblemsOf(graph),
              ElementsAre("0:ar takes part in collective ar again, after 0:first",
                          "1:ar takes part in collective ar, whose ranks are 0, 2"));
}

TEST(GraphProblemsTest, NothingIsNegative) {
  OperationGraph graph(2);
  graph.AddSend(0, 1, -1);
  graph.AddReceive(1, 0, 1);
  graph.AddCompute(1, Duration{-1});
  EXPECT_THAT(ProblemsOf(graph), ElementsAre("0:op0: is negative", "1:op1: is negative"));
}

// Sixteen names, of all that lack a partner; and no more problems than are asked for.
TEST(GraphProblemsTest, NamesSomeOfManyMessages) {
  for (const int sends : {16, 17}) {
    OperationGraph graph(2);
    std::string names;
    for (int i = 0; i < sends; ++i) {
      graph.AddSend(0, 1, 5, 7);
      if (i < 16) names += (i > 0 ? ", op" : "op") + std::to_string(i);
    }
    if (sends > 16) names += ", ...";
    EXPECT_THAT(ProblemsOf(graph),
                ElementsAre(std::to_string(sends) +
                            " sends from 0 to 1 with tag 7 have no recv: " + names));
  }
  OperationGraph graph(2);
  for (int tag = 0; tag < 9; ++tag) graph.AddSend(0, 1, 5, tag);
  EXPECT_EQ(GraphProblems(graph, 3).size(), 3u);
  EXPECT_EQ(GraphProblems(graph, 9).size(), 9u);
  for (int tag = 0; tag < 9; ++tag) graph.AddReceive(1, 0, 6, tag);
  EXPECT_EQ(GraphProblems(graph, 3).size(), 3u);
}

}  // namespace heddle::graph_problems_test
