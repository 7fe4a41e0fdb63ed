// SPDX-License-Identifier: Apache-2.0
// Graphs of operations that cannot run: which problems are named.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
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
  OperationGraph to_any(2);  // Only receives have any rank as their peer.
  to_any.AddSend(0, kAnyRank, 100);
  EXPECT_THAT(ProblemsOf(to_any), ElementsAre("0:op0: there is no rank 4294967295; there are 2"));
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
  for (const uint32_t rank : {0u, 0u, 0u, 1u, 2u}) graph.AddPart(rank, ring);
  graph.At(0, 0).label = "first";
  EXPECT_THAT(ProblemsOf(graph),
              ElementsAre("0:ar takes part in collective ar again, after 0:first",
                          "0:ar takes part in collective ar again, after 0:ar",
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

// Two messages of other sizes and one without a receive for each tag, and collectives with a rank
// too many and one that is missing: the first problems are the same, however many are asked for.
TEST(GraphProblemsTest, NamesTheFirstOfManyProblems) {
  OperationGraph messages(2);
  OperationGraph groups(3);
  OperationGraph wildcards(4);
  for (int i = 0; i < 3; ++i) {
    for (int send = 0; send < 3; ++send) messages.AddSend(0, 1, 5, i);
    for (int receive = 0; receive < 2; ++receive) messages.AddReceive(1, 0, 6, i);
    const uint32_t ring = groups.AddCollective({RingOf(2), {0, 2}, 0, "ar"});
    for (const uint32_t rank : {0u, 0u, 1u}) groups.AddPart(rank, ring);
    const uint32_t rank = static_cast<uint32_t>(i) + 1;
    wildcards.AddReceive(rank, kAnyRank, 5);
    for (int send = 0; send < 2; ++send) wildcards.AddSend(0, rank, 5);
  }
  OperationGraph operations(2);
  for (int i = 0; i < 4; ++i) operations.AddSend(0, 7, i - 2);  // Two are negative, too.
  const std::pair<const OperationGraph*, size_t> cases[] = {
      {&messages, 9}, {&groups, 9}, {&wildcards, 3}, {&operations, 6}};
  for (const auto& [graph, count] : cases) {
    const std::vector<std::string> all = ProblemsOf(*graph);
    EXPECT_EQ(all.size(), count);
    for (size_t most = 1; most <= count; ++most) {
      std::vector<std::string> first;
      for (const GraphProblem& its : GraphProblems(*graph, most)) first.push_back(its.message);
      EXPECT_EQ(first, std::vector(all.begin(), all.begin() + static_cast<int64_t>(most)));
    }
  }
}

// --- Cycles of random graphs ---

using Op = std::pair<uint32_t, uint32_t>;  // Rank, operation.

struct RandomWaits {
  explicit RandomWaits(Rng& rng) : graph(2 + rng.Below(2)) {
    const uint32_t ranks = graph.ranks();
    for (int tag = 0; tag < 4; ++tag) {
      const uint32_t src = rng.Below(ranks);
      const uint32_t dst = (src + 1) % ranks;
      receives_from.insert(
          {{src, graph.AddSend(src, dst, 9, tag)}, {dst, graph.AddReceive(dst, src, 9, tag)}});
    }
    std::vector<uint32_t> group(ranks);
    std::iota(group.begin(), group.end(), 0);
    for (int i = 0; i < 2; ++i) {
      const uint32_t ring = graph.AddCollective({RingOf(ranks), group, 0, ""});
      std::vector<Op>& its = parts.emplace_back();
      for (const uint32_t rank : group) its.emplace_back(rank, graph.AddPart(rank, ring));
    }
    for (const uint32_t rank : group) graph.AddCompute(rank, 1_us);
    for (uint32_t edges = rng.Below(12); edges > 0; --edges) {
      const uint32_t rank = rng.Below(ranks);
      const uint32_t other = rng.Below(3) == 0 ? (rank + 1) % ranks : rank;
      const uint32_t op = rng.Below(static_cast<uint32_t>(graph.OpsOf(rank).size()));
      const uint32_t before = rng.Below(static_cast<uint32_t>(graph.OpsOf(other).size()));
      if (rng.Below(3) > 0 && before >= op) continue;  // Fewer cycles.
      if (other != rank) {
        graph.RequireFar(rank, op, other, before);
      } else if (rng.Below(2) == 0) {
        graph.Require(rank, op, before);
      } else {
        graph.RequireStart(rank, op, before);
      }
    }
  }

  // Lets operations start and finish by the rules until nothing changes. Returns those that do not
  // finish.
  std::set<Op> NeverFinished() const {
    std::set<Op> started;
    std::set<Op> finished;
    size_t before = 0;
    do {
      before = started.size() + finished.size();
      for (uint32_t rank = 0; rank < graph.ranks(); ++rank) {
        for (uint32_t op = 0; op < graph.OpsOf(rank).size(); ++op) {
          if (MayStart({rank, op}, started, finished)) started.insert({rank, op});
          if (MayFinish({rank, op}, started)) finished.insert({rank, op});
        }
      }
    } while (before < started.size() + finished.size());
    std::set<Op> never;
    for (uint32_t rank = 0; rank < graph.ranks(); ++rank) {
      for (uint32_t op = 0; op < graph.OpsOf(rank).size(); ++op) {
        if (!finished.contains({rank, op})) never.insert({rank, op});
      }
    }
    return never;
  }

  // Returns true if `after` waits for `before`, without others between them.
  bool Waits(const Op& after, const Op& before) const {
    if (receives_from.contains({before, after})) return true;
    for (const std::vector<Op>& its : parts) {
      const auto has = [&](const Op& op) { return std::ranges::find(its, op) != its.end(); };
      if (has(before) && has(after)) return true;
    }
    for (const auto& edge : graph.EdgesOf(after.first)) {
      if (Op(after.first, edge.before) == before && edge.after == after.second) return true;
    }
    for (const auto& edge : graph.FarEdgesOf(after.first)) {
      if (Op(edge.rank, edge.before) == before && edge.after == after.second) return true;
    }
    return false;
  }

  OperationGraph graph;
  std::set<std::pair<Op, Op>> receives_from;  // Send, receive.
  std::vector<std::vector<Op>> parts;         // By collective.

 private:
  bool MayStart(const Op& op, const std::set<Op>& started, const std::set<Op>& finished) const {
    for (const auto& edge : graph.EdgesOf(op.first)) {
      const std::set<Op>& reached = edge.at_start ? started : finished;
      if (edge.after == op.second && !reached.contains({op.first, edge.before})) return false;
    }
    for (const auto& edge : graph.FarEdgesOf(op.first)) {
      if (edge.after == op.second && !finished.contains({edge.rank, edge.before})) return false;
    }
    return true;
  }
  bool MayFinish(const Op& op, const std::set<Op>& started) const {
    if (!started.contains(op)) return false;
    for (const auto& [send, receive] : receives_from) {
      if (receive == op && !started.contains(send)) return false;
    }
    const auto has_started = [&](const Op& part) { return started.contains(part); };
    return std::ranges::all_of(parts, [&](const std::vector<Op>& its) {
      return std::ranges::find(its, op) == its.end() || std::ranges::all_of(its, has_started);
    });
  }
};

TEST(GraphProblemsTest, NamesACycleWhereOperationsWouldWaitForEver) {
  int cycles = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "cycles", 0);
    const RandomWaits waits(rng);
    const std::set<Op> never = waits.NeverFinished();
    const std::vector<GraphProblem> problems = GraphProblems(waits.graph);
    ASSERT_EQ(problems.size(), never.empty() ? 0u : 1u);
    if (never.empty()) continue;
    ++cycles;
    std::map<std::string, Op> op_of;
    for (const auto& [rank, op] : never) op_of[waits.graph.NameOf(rank, op)] = {rank, op};
    const std::string text = "operations wait for each other: ";
    ASSERT_TRUE(problems[0].message.starts_with(text));
    std::vector<Op> cycle;
    const std::string names = problems[0].message.substr(text.size());
    for (size_t at = 0; at <= names.size();) {
      const size_t end = std::min(names.find(" -> ", at), names.size());
      const std::string name = names.substr(at, end - at);
      ASSERT_TRUE(op_of.contains(name)) << name;
      cycle.push_back(op_of[name]);
      at = end + 4;
    }
    ASSERT_GE(cycle.size(), 2u);
    EXPECT_EQ(cycle.front(), cycle.back());
    for (size_t i = 1; i < cycle.size(); ++i) EXPECT_TRUE(waits.Waits(cycle[i], cycle[i - 1])) << i;
    cycle.pop_back();
    EXPECT_EQ(std::set<Op>(cycle.begin(), cycle.end()).size(), cycle.size());
    EXPECT_EQ(std::ranges::min(cycle), cycle.front());  // It begins with the first operation.
    EXPECT_EQ(problems[0].rank, cycle.front().first);
  }
  EXPECT_GT(cycles, 50);
  EXPECT_LT(cycles, 350);
}

}  // namespace heddle::graph_problems_test
