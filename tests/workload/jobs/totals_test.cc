// SPDX-License-Identifier: Apache-2.0
// What ranks send in all, against the sum over their messages; schedules that only reduce, or that
// are made without a collective's settings; and the time that sums take.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/printers.h"
#include "tests/support/timed_play.h"
#include "workload/jobs/all_to_all.h"
#include "workload/jobs/barrier.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/graph_schedule.h"
#include "workload/jobs/operation_graph.h"
#include "workload/jobs/rail_all_to_all.h"
#include "workload/jobs/step_algorithms.h"
#include "workload/jobs/tree.h"

namespace heddle::totals_test {

using Op = CollectiveSettings::Op;
using Algorithm = CollectiveSettings::Algorithm;

CollectiveSettings SettingsOf(Op op, Algorithm algorithm, int64_t bytes) {
  CollectiveSettings settings;
  settings.op = op;
  settings.algorithm = algorithm;
  settings.size = Bytes{bytes};
  return settings;
}

ScheduleTotals SumOf(const Schedule& schedule) {
  ScheduleTotals sum;
  std::vector<double> sent(schedule.ranks());
  const TimedPlay play(schedule, StarTimes);
  for (const auto& [at, index] : play.sent()) {
    const Message message = schedule.MessageOf(index);
    sum.Add(message.bytes, 1, sent[message.src]);
  }
  return sum;
}

void ExpectSum(const Schedule& schedule) {
  const ScheduleTotals totals = schedule.Totals();
  const ScheduleTotals sum = SumOf(schedule);
  EXPECT_NEAR(totals.messages, sum.messages, 1e-9 * sum.messages);
  EXPECT_NEAR(totals.bytes, sum.bytes, 1e-9 * sum.bytes);
  EXPECT_EQ(totals.bytes_of_rank, sum.bytes_of_rank);
  EXPECT_EQ(totals.largest, sum.largest);
}

// If all ranks send the same, or if all are looked at, totals are no estimates.
TEST(TotalsTest, AreTheSumsOfAllMessages) {
  struct Case {
    Op op;
    Algorithm algorithm;
    bool needs_power_of_two = false;
  };
  const std::vector<Case> cases = {{Op::kAllReduce, Algorithm::kRing},
                                   {Op::kAllReduce, Algorithm::kBidirectional},
                                   {Op::kAllReduce, Algorithm::kHalvingDoubling, true},
                                   {Op::kAllReduce, Algorithm::kRecursiveDoubling, true},
                                   {Op::kAllReduce, Algorithm::kTree},
                                   {Op::kAllReduce, Algorithm::kDoubleTree},
                                   {Op::kAllGather, Algorithm::kRing},
                                   {Op::kAllGather, Algorithm::kPat},
                                   {Op::kAllGather, Algorithm::kBruck},
                                   {Op::kReduceScatter, Algorithm::kRing},
                                   {Op::kReduceScatter, Algorithm::kPat},
                                   {Op::kAllToAll, Algorithm::kDirect},
                                   {Op::kAllToAll, Algorithm::kPairwise, true},
                                   {Op::kAllToAll, Algorithm::kShift},
                                   {Op::kAllToAll, Algorithm::kBruck},
                                   {Op::kBroadcast, Algorithm::kBinomial},
                                   {Op::kBroadcast, Algorithm::kChain},
                                   {Op::kBroadcast, Algorithm::kTree},
                                   {Op::kBarrier, Algorithm::kDissemination}};
  for (const Case& its : cases) {
    for (uint32_t n = 2; n <= 9; ++n) {
      if (its.needs_power_of_two && !std::has_single_bit(n)) continue;
      for (const bool in_pieces : {false, true}) {
        CollectiveSettings settings = SettingsOf(its.op, its.algorithm, int64_t{12'000} * n);
        settings.root = its.op == Op::kBroadcast ? n / 3 : 0;
        if (in_pieces && its.algorithm != Algorithm::kDirect) {
          settings.channels = 3;
          settings.chunk = 2'000_B;
        }
        SCOPED_TRACE(fmt::format("{} {}, {} ranks", settings.Operation(n).name,
                                 settings.Operation(n).algorithm, n));
        const std::shared_ptr<const Schedule> schedule = settings.Make(n, 1, 1);
        ExpectSum(*schedule);
        ExpectSum(*MakeWithBarrier(schedule));
      }
    }
  }
  for (uint32_t server = 2; server <= 4; ++server) {
    for (const bool merges : {true, false}) {
      const uint32_t n = 3 * server;
      ExpectSum(*MakeRailAllToAll({n, server, int64_t{100} * n, merges}));
    }
  }
}

// Each rank sends something else.
TEST(TotalsTest, OfUnevenRanksCountEveryOne) {
  for (uint32_t n = 2; n <= 11; ++n) {
    AllToAllSettings all{
        .ranks = n,
        .window = n,
        .bytes = [](uint32_t src,
                    uint32_t dst) { return src % 3 == dst % 3 ? 0 : int64_t{src} * src + dst; },
        .is_even = false};
    ExpectSum(*MakeAllToAll(std::move(all), MakeRoundOrder(n)));
  }
}

// --- Steps by themselves ---

// Of 10 n + n / 2 bytes, the first n / 2 blocks have 11 bytes, the others 10.
TEST(StepAlgorithmTest, AReduceScatterEndsWithTheBlockOfTheRank) {
  for (uint32_t n = 2; n <= 9; ++n) {
    const auto ring = MakeRing(n, Half::kReduceScatter, 1, false);
    for (uint32_t rank = 0; rank < n; ++rank) {
      EXPECT_EQ(ring->RecvOf(rank, n - 2, 10 * n + n / 2).bytes, rank < n / 2 ? 11 : 10) << n;
    }
  }
}

// Of 3 bytes, rank 0 keeps 2: it gives the other one away, and later what it has summed up.
TEST(StepAlgorithmTest, HalvingGivesThePartnersHalfAndDoublingTheOwn) {
  const auto two = MakeHalvingDoubling(2);
  EXPECT_EQ(two->SendOf(0, 0, 3).bytes, 1);
  EXPECT_EQ(two->SendOf(1, 0, 3).bytes, 2);
  EXPECT_EQ(two->SendOf(0, 1, 3).bytes, 2);
  EXPECT_EQ(two->SendOf(1, 1, 3).bytes, 1);
  const auto three = MakeRecursiveDoubling(3);  // Rank 0 gives its buffer to rank 1 first.
  EXPECT_TRUE(three->SendOf(0, 0, 9).exists && three->RecvOf(1, 0, 9).exists);
  EXPECT_FALSE(three->SendOf(1, 0, 9).exists || three->RecvOf(0, 0, 9).exists);
}

// --- Trees by themselves ---

// A way up alone is a reduction to the root, a way down alone a broadcast from it.
TEST(TreeScheduleTest, MayGoUpOrDownAlone) {
  for (uint32_t n = 2; n <= 9; ++n) {
    for (const bool goes_up : {true, false}) {
      for (const bool goes_down : {true, false}) {
        if (!goes_up && !goes_down) continue;
        SCOPED_TRACE(fmt::format("{} ranks, {} {}", n, goes_up, goes_down));
        std::vector<std::unique_ptr<Tree>> trees;
        trees.push_back(MakeRootedTree(n, n / 2));
        const Tree& tree = *trees.front();
        TreeSettings settings;
        settings.ranks = n;
        settings.goes_up = goes_up;
        settings.goes_down = goes_down;
        settings.lanes = {{trees.front().get(), 1'000, 0}, {trees.front().get(), 500, 0, 1}};
        const auto schedule = MakeTreeSchedule(std::move(settings), std::move(trees));
        // Along each link once for each lane and way.
        std::map<std::pair<uint32_t, uint32_t>, int64_t> expected;
        for (uint32_t rank = 0; rank < n; ++rank) {
          const auto parent = tree.ParentOf(rank);
          if (parent && goes_up) expected[{rank, *parent}] = 1'500;
          if (parent && goes_down) expected[{*parent, rank}] = 1'500;
        }
        std::map<std::pair<uint32_t, uint32_t>, int64_t> bytes;
        const TimedPlay play(*schedule, StarTimes);
        for (const auto& [at, index] : play.sent()) {
          const Message its = schedule->MessageOf(index);
          bytes[{its.src, its.dst}] += its.bytes;
        }
        EXPECT_EQ(bytes, expected);
        EXPECT_NE(play.end(), kNever);
        ExpectSum(*schedule);
        for (uint32_t rank = 0; rank < n; ++rank) {
          const uint64_t links = tree.ChildrenOf(rank).size();
          const uint64_t come = (goes_up ? links : 0) + (goes_down && tree.ParentOf(rank) ? 1 : 0);
          EXPECT_EQ(schedule->ArrivalsAt(rank), 2 * come);
          // Those of the children come first.
          const auto none = [](uint64_t) { return false; };
          const uint64_t first = goes_up && links > 0 ? links : come;
          EXPECT_EQ(schedule->MissingAt(rank, none).size(), 2 * first);
        }
        EXPECT_EQ(schedule->waits_for_all(), goes_up && goes_down);
      }
    }
  }
}

// A tree of two ranks that goes both ways, and servers of one rank, are what is not set.
TEST(TreeScheduleTest, IsAnAllReduceOfTwoRanksUnlessToldOtherwise) {
  std::vector<std::unique_ptr<Tree>> trees;
  trees.push_back(MakeBinaryTree(2));
  TreeSettings settings;
  settings.lanes = {{trees.front().get(), 1'000, 0}};
  const auto schedule = MakeTreeSchedule(std::move(settings), std::move(trees));
  EXPECT_EQ(schedule->ranks(), 2u);
  EXPECT_EQ(SumOf(*schedule).messages, 2);
  EXPECT_TRUE(schedule->waits_for_all());
}

TEST(RailAllToAllTest, ServersOfOneRankSendDirectly) {
  RailAllToAllSettings settings;
  EXPECT_EQ(settings.ranks, 2u);
  EXPECT_EQ(settings.server, 1u);
  EXPECT_TRUE(settings.merges);
  settings.ranks = 5;
  settings.bytes = 5'000;
  const auto schedule = MakeRailAllToAll(settings);
  const TimedPlay play(*schedule, StarTimes);
  EXPECT_EQ(play.sent().size(), 5u * 4);
  for (const auto& [at, index] : play.sent()) {
    EXPECT_EQ(at, Time{});
    EXPECT_EQ(schedule->MessageOf(index).bytes, 1'000);
  }
}

// --- Sums that take time ---

constexpr Duration kMessage = 10_us;
MessageTimes TenMicroseconds(const Message& /*message*/) { return {kMessage, kMessage}; }

// A byte takes 1 ns to be added. What is gathered is not.
TEST(SumTimesTest, ChainsOfMessagesAndSumsAreThoseOfTheAlgorithm) {
  const auto time_of = [](Op op, Algorithm algorithm, uint32_t n, int64_t bytes,
                          std::optional<int64_t> server = std::nullopt) {
    CollectiveSettings settings = SettingsOf(op, algorithm, bytes);
    settings.reduce_rate = 8_Gbps;
    settings.group_size = server;
    const auto schedule = settings.Make(n, 1, 1);
    EXPECT_FALSE(schedule->waits_for_all());
    return TimedPlay(*schedule, TenMicroseconds).end() - Time{};
  };
  EXPECT_EQ(time_of(Op::kAllReduce, Algorithm::kRing, 4, 4'000), 6 * kMessage + 3 * 1'000_ns);
  EXPECT_EQ(time_of(Op::kReduceScatter, Algorithm::kRing, 4, 4'000), 3 * kMessage + 3 * 1'000_ns);
  EXPECT_EQ(time_of(Op::kReduceScatter, Algorithm::kPat, 2, 4'000), kMessage + 2'000_ns);
  EXPECT_EQ(time_of(Op::kAllReduce, Algorithm::kHalvingDoubling, 8, 8'000),
            6 * kMessage + 4'000_ns + 2'000_ns + 1'000_ns);
  // Five ranks: one folds its buffer into another one, and gets the result in the end.
  EXPECT_EQ(time_of(Op::kAllReduce, Algorithm::kHalvingDoubling, 5, 4'000),
            (1 + 4 + 1) * kMessage + 4'000_ns + 2'000_ns + 1'000_ns);
  EXPECT_EQ(time_of(Op::kAllReduce, Algorithm::kRecursiveDoubling, 8, 1'000),
            3 * kMessage + 3'000_ns);
  // Five ranks: what is folded in takes two more steps. The way back begins before the last of them
  // has ended elsewhere.
  EXPECT_EQ(time_of(Op::kAllReduce, Algorithm::kRecursiveDoubling, 5, 1'000),
            (1 + 2) * kMessage + 3'000_ns);
  // A tree of 4 ranks: 1 and 3 to 2, which adds up both, then 2 to 0, and the way back.
  EXPECT_EQ(time_of(Op::kAllReduce, Algorithm::kTree, 4, 1'000),
            4 * kMessage + 2'000_ns + 1'000_ns);
  // What ranks pass on is not added up.
  EXPECT_EQ(time_of(Op::kAllGather, Algorithm::kBruck, 8, 8'000), 3 * kMessage);
  EXPECT_EQ(time_of(Op::kAllToAll, Algorithm::kBruck, 8, 8'000), 3 * kMessage);
  EXPECT_EQ(time_of(Op::kBroadcast, Algorithm::kBinomial, 8, 8'000), 3 * kMessage);
  // Servers of two: a half is added up in the server, then three blocks of an eighth among four
  // servers. The gathering in servers adds nothing.
  EXPECT_EQ(time_of(Op::kAllReduce, Algorithm::kHierarchical, 8, 8'000, 2),
            (1 + 6 + 1) * kMessage + 4'000_ns + 3 * 1'000_ns);
}

// --- Barriers behind graphs ---

// Rank 1 computes once it has heard that rank 0 has computed, and then both come to the barrier.
TEST(BarrierTest, FollowsTheNewsAndComputationsOfAGraph) {
  auto graph = std::make_shared<OperationGraph>(2);
  graph->AddCompute(0, 5_us);
  graph->AddCompute(1, 3_us);
  graph->RequireFar(1, 0, 0, 0);
  const std::shared_ptr<const Schedule> work = MakeGraphSchedule(graph);
  const auto schedule = MakeWithBarrier(work);
  EXPECT_EQ(TimedPlay(*work, TenMicroseconds, 2_us).end(), Time{} + 10_us);
  const TimedPlay play(*schedule, TenMicroseconds, 2_us);
  // Rank 0 waits for the message of rank 1, which has waited for nothing else.
  EXPECT_EQ(play.ends(), (std::vector<Time>{Time{} + 20_us, Time{} + 15_us}));
  EXPECT_EQ(schedule->graph(), work->graph());
  EXPECT_EQ(&schedule->work(), work.get());
  EXPECT_EQ(schedule->waits_for_sends(), work->waits_for_sends());
  EXPECT_FALSE(schedule->ProgramOf(0)->operations().empty());
}

// The messages of the barrier have a channel that no message of the work has.
TEST(BarrierTest, HasAChannelOfItsOwn) {
  CollectiveSettings settings = SettingsOf(Op::kAllReduce, Algorithm::kBidirectional, 256'000);
  settings.channels = 256;
  const auto schedule = MakeWithBarrier(settings.Make(2, 1, 1));
  const uint64_t slots = schedule->work().slots();
  std::vector<std::vector<uint32_t>> channels(2);
  const TimedPlay play(*schedule, StarTimes);
  for (const auto& [at, index] : play.sent()) {
    channels[index < slots ? 0 : 1].push_back(schedule->MessageOf(index).channel);
  }
  EXPECT_EQ(std::ranges::max(channels[0]), 511u);
  EXPECT_GT(std::ranges::min(channels[1]), 511u);
}

}  // namespace heddle::totals_test
