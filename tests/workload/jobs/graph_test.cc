// SPDX-License-Identifier: Apache-2.0
// Graphs of operations: what their ranks do and when.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/graph_kit.h"
#include "tests/support/printers.h"
#include "tests/support/timed_play.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/critical_path.h"
#include "workload/jobs/graph_check.h"
#include "workload/jobs/graph_schedule.h"
#include "workload/jobs/graph_tables.h"

namespace heddle::graph_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using namespace graph_kit;

// A ping after 1 us, and a pong 0.5 us after it.
OperationGraph PingPong() {
  OperationGraph graph(2);
  graph.AddCompute(0, 1_us);
  graph.AddSend(0, 1, 10'000, 7);
  graph.AddReceive(0, 1, 2'000, 8);
  graph.Require(0, 1, 0);
  graph.AddReceive(1, 0, 10'000, 7);
  graph.AddCompute(1, 500_ns);
  graph.AddSend(1, 0, 2'000, 8);
  graph.Require(1, 1, 0);
  graph.Require(1, 2, 1);
  return graph;
}

TEST(GraphScheduleTest, RunsAPingPong) {
  const auto schedule = ScheduleOf(PingPong());
  const TimedPlay play(*schedule, StarTimes);
  EXPECT_THAT(play.ends(), ElementsAre(Time{6'673'760}, Time{4'422'240}));
  EXPECT_EQ(CriticalPath(*schedule, StarTimes), Duration{6'673'760});
}

// irequires: the ping starts with the computation.
TEST(GraphScheduleTest, StartsWhatWaitsForAStart) {
  OperationGraph graph(2);
  graph.AddCompute(0, 1_us);
  graph.AddSend(0, 1, 10'000);
  graph.RequireStart(0, 1, 0);
  graph.AddReceive(1, 0, 10'000);
  const auto schedule = ScheduleOf(std::move(graph));
  const TimedPlay play(*schedule, StarTimes);
  EXPECT_EQ(play.sent().front().at, Time{});
  EXPECT_THAT(play.ends(), ElementsAre(Time{} + 1_us, Time{2'922'240}));
}

// The second and third computations are ready at once: the lower number goes first. The one that
// waits for the second one's start waits for the stream, too.
TEST(GraphScheduleTest, AStreamRunsOneOperationAtATime) {
  OperationGraph graph(1);
  graph.AddCompute(0, 3_us, 1);
  graph.AddCompute(0, 2_us, 1);
  graph.AddCompute(0, 1_us, 1);
  graph.AddCompute(0, 10_us, 2);
  graph.RequireStart(0, 3, 1);
  const auto schedule = ScheduleOf(std::move(graph));
  EXPECT_EQ(TimedPlay(*schedule, OneUs).end(), Time{} + 13_us);
  // The bound lets all of a stream begin at once, but counts the time of each stream.
  EXPECT_EQ(CriticalPath(*schedule, OneUs), 10_us);
}

TEST(GraphScheduleTest, ComputationsWithoutAStreamOverlap) {
  OperationGraph graph(1);
  graph.AddCompute(0, 3_us, kNoStream);
  graph.AddCompute(0, 2_us, kNoStream);
  EXPECT_EQ(TimedPlay(*ScheduleOf(std::move(graph)), OneUs).end(), Time{} + 3_us);
}

TEST(GraphScheduleTest, SendsReleaseWhatWaitsForThem) {
  for (const bool posted : {false, true}) {
    OperationGraph graph(2);
    const uint32_t send = graph.AddSend(0, 1, 100);
    graph.At(0, send).posted = posted;
    graph.Require(0, graph.AddCompute(0, 1_us), send);
    graph.AddReceive(1, 0, 100);
    const auto schedule = ScheduleOf(std::move(graph));
    EXPECT_EQ(schedule->waits_for_sends(), !posted);
    EXPECT_EQ(CriticalPath(*schedule, OneUs), posted ? 1_us : 3_us);
    EXPECT_EQ(TimedPlay(*schedule, OneUs).ends()[0], Time{} + (posted ? 1_us : 3_us));
  }
}

// The computation starts after two of three.
TEST(GraphScheduleTest, AnOperationMayNeedSomeOfSeveral) {
  OperationGraph graph(1);
  for (const Duration time : {5_us, 1_us, 3_us}) graph.AddCompute(0, time, kNoStream);
  const uint32_t last = graph.AddCompute(0, 1_us);
  graph.At(0, last).needs = 2;
  for (uint32_t op = 0; op < last; ++op) graph.Require(0, last, op);
  const uint32_t after = graph.AddCompute(0, 10_us);
  graph.Require(0, after, last);
  EXPECT_EQ(TimedPlay(*ScheduleOf(std::move(graph)), OneUs).end(), Time{} + 14_us);
}

// Messages match in the order of operations, by tag.
TEST(GraphScheduleTest, ReceivesTakeTheMessagesOfTheirTag) {
  OperationGraph graph(2);
  graph.AddSend(0, 1, 1'000, 5);
  graph.AddSend(0, 1, 50'000, 6);
  graph.AddReceive(1, 0, 50'000, 6);
  graph.AddReceive(1, 0, 1'000, 5);
  graph.Require(1, graph.AddCompute(1, 100_us), 1);
  const auto schedule = ScheduleOf(std::move(graph));
  EXPECT_EQ(TimedPlay(*schedule, StarTimes).ends()[1], Time{2'167'680} + 100_us);
}

// The receive of any source gets the message that comes first; the other one, the second.
TEST(GraphScheduleTest, WildcardsTakeMessagesAsTheyCome) {
  OperationGraph graph(3);
  graph.AddReceive(2, kAnyRank, 0, kAnyTag);
  graph.AddReceive(2, kAnyRank, 0, kAnyTag);
  graph.Require(2, graph.AddCompute(2, 10_us), 0);
  graph.Require(2, graph.AddCompute(2, 1_us, kNoStream), 1);  // It ends before.
  graph.AddSend(0, 2, 100'000, 3);
  graph.AddSend(1, 2, 1'000, 4);
  const auto schedule = ScheduleOf(std::move(graph));
  EXPECT_EQ(TimedPlay(*schedule, StarTimes).ends()[2], Time{2'167'680} + 10_us);
  // A bound that may not know which message a receive gets.
  EXPECT_LE(CriticalPath(*schedule, StarTimes), Duration{12'167'680});
}

TEST(GraphScheduleTest, AWildcardOfATagPassesOthers) {
  OperationGraph graph(2);
  graph.AddReceive(1, kAnyRank, 0, 4);
  graph.AddSend(0, 1, 100, 3);
  const auto schedule = ScheduleOf(std::move(graph));
  EXPECT_EQ(TimedPlay(*schedule, OneUs).ends()[1], kNever);  // It waits for ever.
}

// The first receive takes the message from rank 1, whatever its tag; the second the one with tag 7,
// whoever sends it.
TEST(GraphScheduleTest, WildcardsOfARankOrATagPassOthers) {
  OperationGraph graph(3);
  graph.AddReceive(2, 1, 0, kAnyTag);
  graph.AddReceive(2, kAnyRank, 0, 7);
  graph.AddReceive(2, kAnyRank, 0, kAnyTag);
  for (uint32_t op = 0; op < 3; ++op) {
    graph.Require(2, graph.AddCompute(2, Duration{1 + op}, kNoStream), op);
  }
  graph.AddSend(0, 2, 30, 5);
  graph.AddSend(1, 2, 20, 6);
  graph.AddSend(0, 2, 10, 7);
  const auto schedule = ScheduleOf(std::move(graph));
  // Messages come in each of the six orders.
  for (const std::vector<int64_t>& us : std::vector<std::vector<int64_t>>{
           {1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}}) {
    const auto times = [&us](const Message& message) {
      const Duration time = us[static_cast<size_t>(message.bytes / 10 - 1)] * 1_us;
      return MessageTimes{time, time};
    };
    // Each message has one receive, whatever the order. The last one decides when the rank ends.
    const int64_t last_receive = us[1] == 3 ? 0 : us[0] == 3 ? 1 : 2;
    EXPECT_EQ(TimedPlay(*schedule, times).ends()[2], Time{} + 3_us + Duration{1 + last_receive});
  }
}

// A message waits for the receive that fits it.
TEST(GraphScheduleTest, AMessageThatCameEarlyWaitsForItsReceive) {
  OperationGraph graph(3);
  graph.AddCompute(2, 9_us);
  graph.AddReceive(2, 1, 0, kAnyTag);
  graph.AddReceive(2, kAnyRank, 0, 5);
  graph.Require(2, 1, 0);
  graph.Require(2, 2, 1);
  graph.Require(2, graph.AddCompute(2, 2_us), 1);
  graph.AddSend(0, 2, 100, 5);
  graph.AddCompute(1, 20_us);
  graph.Require(1, graph.AddSend(1, 2, 100, 5), 0);
  // Rank 0's message is there first, but the first receive wants that of rank 1.
  EXPECT_EQ(TimedPlay(*ScheduleOf(std::move(graph)), OneUs).ends()[2], Time{} + 23_us);
}

// A rank whose send releases an operation of another one waits until it is finished.
TEST(GraphScheduleTest, ARankWaitsForSendsThatOthersWaitFor) {
  for (const bool is_far : {false, true}) {
    OperationGraph graph(2);
    graph.AddSend(0, 1, 100);
    graph.AddReceive(1, 0, 100);
    graph.AddCompute(1, 5_us);
    if (is_far) graph.RequireFar(1, 1, 0, 0);
    const auto schedule = ScheduleOf(std::move(graph));
    const TimedPlay play(*schedule, OneUs, /*news=*/1_us);
    EXPECT_EQ(play.ends()[0], Time{} + (is_far ? 2_us : Duration{0}));
    EXPECT_EQ(play.ends()[1], Time{} + (is_far ? 8_us : 5_us));
  }
}

// Notes in which order operations start.
class Starts final : public RankActions {
 public:
  void Send(uint64_t /*index*/) override {}
  void Compute(uint32_t /*stream*/, Duration /*time*/, uint64_t /*op*/) override {}
  void Note(uint32_t op, OperationStep step) override {
    if (step == OperationStep::kStarted) order.push_back(op);
  }
  std::vector<uint32_t> order;
};

// Of the operations that are ready at one instant, the one with the lowest number starts first. A
// slow model looks at all edges for each.
TEST(GraphScheduleTest, LowerNumbersStartFirst) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Rng rng = Rng::Stream(seed, "order", 0);
    constexpr uint32_t kOps = 12;
    std::vector<uint32_t> rank_in_time(kOps);  // Edges lead upwards in these numbers.
    for (uint32_t op = 0; op < kOps; ++op) rank_in_time[op] = op;
    rng.MoveToFront(rank_in_time, kOps);
    OperationGraph graph(1);
    for (uint32_t op = 0; op < kOps; ++op) graph.AddCompute(0, Duration{0}, kNoStream);
    for (int i = 0; i < 14; ++i) {
      const uint32_t a = rng.Below(kOps);
      const uint32_t b = rng.Below(kOps);
      if (rank_in_time[a] < rank_in_time[b]) graph.Require(0, b, a);
    }
    std::vector<uint32_t> expected;
    std::vector<bool> has_run(kOps);
    while (expected.size() < kOps) {
      for (uint32_t op = 0; op < kOps; ++op) {
        bool is_ready = !has_run[op];
        for (const OperationGraph::Edge& edge : graph.EdgesOf(0)) {
          if (edge.after == op && !has_run[edge.before]) is_ready = false;
        }
        if (!is_ready) continue;
        has_run[op] = true;
        expected.push_back(op);
        break;
      }
    }
    const auto schedule = ScheduleOf(std::move(graph));
    const auto program = schedule->ProgramOf(0);
    for (int iteration = 0; iteration < 2; ++iteration) {
      Starts starts;
      program->Begin(starts);
      EXPECT_EQ(starts.order, expected) << seed;
      EXPECT_TRUE(program->finished());
    }
  }
}

// A send that nothing waits for may still hold its stream when the iteration ends; the next one
// begins with free streams.
TEST(GraphScheduleTest, EachIterationBeginsWithFreeStreams) {
  OperationGraph graph(2);
  graph.AddSend(0, 1, 100);
  graph.At(0, 0).stream = 0;
  graph.AddReceive(1, 0, 100);
  const auto schedule = ScheduleOf(std::move(graph));
  const auto program = schedule->ProgramOf(0);
  for (int iteration = 0; iteration < 3; ++iteration) {
    Starts starts;
    program->Begin(starts);
    EXPECT_THAT(starts.order, ElementsAre(0u));
    EXPECT_TRUE(program->finished());
  }
}

// Tables list what comes after an operation by number, and number parts in the order of operations.
TEST(GraphTablesTest, ListsAreInTheOrderOfOperations) {
  OperationGraph graph(2);
  for (int i = 0; i < 5; ++i) graph.AddCompute(0, 1_us);
  for (int i = 0; i < 4; ++i) graph.AddCompute(1, 1_us);
  for (const uint32_t after : {3u, 1u, 2u}) {
    graph.Require(0, after, 0);
    graph.RequireStart(0, after, 4);
    graph.RequireFar(1, after, 0, 4);
  }
  for (const uint32_t after : {2u, 0u, 1u}) {
    graph.Require(1, after, 3);
    graph.RequireFar(0, after, 1, 3);
  }
  const GraphTables tables(graph);
  EXPECT_THAT(tables.FinishAfter(0, 0), ElementsAre(1, 2, 3));
  EXPECT_THAT(tables.StartAfter(0, 4), ElementsAre(1, 2, 3));
  EXPECT_THAT(tables.FinishAfter(1, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(tables.StartAfter(1, 3), IsEmpty());
  using Far = GraphTables::Far;
  EXPECT_THAT(tables.FarAfter(0, 4), ElementsAre(Far{1, 1}, Far{1, 2}, Far{1, 3}));
  EXPECT_THAT(tables.FarAfter(1, 3), ElementsAre(Far{0, 0}, Far{0, 1}, Far{0, 2}));
  EXPECT_THAT(tables.FarAfter(0, 0), IsEmpty());
  const std::vector<uint32_t> waits = {1, 3, 3, 2, 0};
  for (uint32_t op = 0; op < 5; ++op) EXPECT_EQ(tables.WaitsOf(0, op), waits[op]) << op;
  EXPECT_EQ(tables.streams(), 1u);
}

// Bytes of sends are those of their rank, and those of a collective are counted for each rank of
// its group: a ring of two sums up 200 kB, of which each rank sends as much.
TEST(GraphTablesTest, SumsUpWhatRanksSend) {
  CollectiveSettings settings;
  settings.size = Bytes{200'000};
  settings.algorithm = CollectiveSettings::Algorithm::kRing;
  settings.channels = 1;
  OperationGraph graph(3);
  const uint32_t collective = graph.AddCollective({settings.Make(2, 1, 1), {2, 0}, 0, ""});
  graph.AddPart(0, collective);
  graph.AddPart(2, collective);
  ScheduleTotals totals = GraphTables(graph).totals();
  EXPECT_EQ(totals.messages, 4);
  EXPECT_EQ(totals.bytes, 400'000);
  EXPECT_EQ(totals.bytes_of_rank, 200'000);
  EXPECT_EQ(totals.largest, 100'000);
  graph.AddSend(2, 1, 70'000);
  graph.AddReceive(1, 2, 70'000);
  graph.AddSend(1, 0, 250'000);
  graph.AddReceive(0, 1, 250'000);
  totals = GraphTables(graph).totals();
  EXPECT_EQ(totals.messages, 6);
  EXPECT_EQ(totals.bytes, 720'000);
  EXPECT_EQ(totals.bytes_of_rank, 270'000);
  EXPECT_EQ(totals.largest, 250'000);
}

// Numbers within a collective are those of its group.
TEST(GraphTablesTest, KnowsThePartsOfRanks) {
  OperationGraph graph(3);
  CollectiveSettings settings;
  settings.size = Bytes{2'000};
  const std::shared_ptr<const Schedule> two = settings.Make(2, 1, 1);
  for (const auto& group : std::vector<std::vector<uint32_t>>{{2, 0}, {0, 1}, {1, 2}}) {
    const uint32_t number = graph.AddCollective({.schedule = two, .group = group, .label = ""});
    for (const uint32_t rank : group) {
      graph.AddCompute(rank, 1_us);
      graph.AddPart(rank, number);
    }
  }
  const GraphTables tables(graph);
  EXPECT_THAT(tables.PartsAt(0), ElementsAre(0, 1));
  EXPECT_THAT(tables.PartsAt(1), ElementsAre(1, 2));
  EXPECT_THAT(tables.PartsAt(2), ElementsAre(0, 2));
  EXPECT_EQ(tables.PartOf(0, 1), 0u);
  EXPECT_EQ(tables.PartOf(0, 3), 1u);
  EXPECT_EQ(tables.LocalRankOf(0, 2), 0u);
  EXPECT_EQ(tables.LocalRankOf(0, 0), 1u);
  EXPECT_EQ(tables.LocalRankOf(2, 2), 1u);
  for (uint32_t number = 0; number < 3; ++number) {
    EXPECT_EQ(tables.FirstSlotOf(number), number * two->slots());
    for (uint64_t index = 0; index < two->slots(); ++index) {
      const uint64_t slot = tables.FirstSlotOf(number) + index;
      EXPECT_TRUE(tables.IsOfCollective(slot));
      EXPECT_EQ(tables.CollectiveOf(slot), number);
      EXPECT_EQ(tables.MessageOf(slot).channel, two->MessageOf(index).channel);
    }
  }
  EXPECT_EQ(tables.slots(), 3 * two->slots());
}

TEST(GraphScheduleTest, AMessageToOneselfArrives) {
  OperationGraph graph(1);
  graph.AddSend(0, 0, 100);
  graph.AddReceive(0, 0, 100);
  EXPECT_EQ(TimedPlay(*ScheduleOf(std::move(graph)), OneUs).end(), Time{} + 1_us);
}

// --- Collectives in a graph ---

// An all-reduce over three of four ranks, of which one comes late, and then another one.
TEST(GraphScheduleTest, RunsCollectivesOfGroups) {
  OperationGraph graph(4);
  const std::vector<uint32_t> group = {3, 0, 1};
  const auto ring = RingOf(3);
  graph.AddCompute(0, 7_us);
  for (uint32_t i = 0; i < 2; ++i) {
    const uint32_t collective = graph.AddCollective({ring, group, 5, {}});
    for (const uint32_t rank : group) {
      const uint32_t part = graph.AddPart(rank, collective);
      if (part > 0) graph.Require(rank, part, part - 1);
    }
  }
  const auto schedule = ScheduleOf(std::move(graph));
  const TimedPlay play(*schedule, OneUs);
  EXPECT_EQ(play.sent().size(), 24u);
  // The late rank has two messages when it comes, and so sends three at 7 us. The ranks finish the
  // first all-reduce at 10, 11 and 9 us, in the order of their numbers.
  EXPECT_THAT(play.ends(), ElementsAre(Time{} + 13_us, Time{} + 14_us, Time{}, Time{} + 15_us));
  for (const TimedPlay::Sent& sent : play.sent()) {
    const Message message = schedule->MessageOf(sent.index);
    EXPECT_EQ(message.channel, 5u);
    EXPECT_THAT(group, ::testing::Contains(message.src));
    EXPECT_LT(schedule->OrdinalOf(sent.index), schedule->IncomingOf(message.dst));
  }
  EXPECT_EQ(schedule->ArrivalsAt(2), 0u);
  EXPECT_EQ(schedule->ArrivalsAt(3), 8u);
  EXPECT_EQ(CriticalPath(*schedule, OneUs), 15_us);
}

// --- Computations alone ---

// Makes random graphs without cycles: operations come one after the other, and each may wait for
// earlier ones of its rank.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed)
      : rng_(Rng::Stream(seed, "graph", 0)), graph_(std::make_shared<OperationGraph>(kRanks)) {}

  std::shared_ptr<const OperationGraph> Make() {
    for (int i = 0; i < 60; ++i) AddOne();
    return graph_;
  }

 private:
  static constexpr uint32_t kRanks = 5;

  void AddOne() {
    const uint32_t rank = rng_.Below(kRanks);
    switch (rng_.Below(5)) {
      case 0:
        return AddMessage(rank, (rank + 1 + rng_.Below(kRanks - 1)) % kRanks);
      case 1:
        return AddCollective();
      default:
        Connect(rank, graph_->AddCompute(rank, Duration{rng_.Below(1'000)}, rng_.Below(2)));
    }
  }

  void AddMessage(uint32_t src, uint32_t dst) {
    const uint32_t send = graph_->AddSend(src, dst, 100, ++tag_);
    graph_->At(src, send).posted = rng_.Below(2) == 0;
    Connect(src, send);
    // Rank 0 takes messages from any other one.
    Connect(dst, graph_->AddReceive(dst, dst == 0 ? kAnyRank : src, 100, tag_));
  }

  void AddCollective() {
    std::vector<uint32_t> group = {0, 1, 2, 3, 4};
    group.erase(group.begin() + rng_.Below(kRanks));
    const uint32_t collective = graph_->AddCollective({RingOf(4), group, 0, ""});
    for (const uint32_t rank : group) Connect(rank, graph_->AddPart(rank, collective));
  }

  void Connect(uint32_t rank, uint32_t op) {
    RequireEarlier(*graph_, rank, op, rng_);
    // News of another rank's first operation.
    const uint32_t other = (rank + 1) % kRanks;
    if (rng_.Below(8) == 0 && !graph_->OpsOf(other).empty()) graph_->RequireFar(rank, op, other, 0);
  }

  Rng rng_;
  std::shared_ptr<OperationGraph> graph_;
  int64_t tag_ = 0;
};

TEST(ComputingTimeTest, IsThatOfMessagesThatTakeNoTime) {
  const auto at_once = [](const Message&) { return MessageTimes{Duration{0}, Duration{0}}; };
  int checked = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const auto graph = RandomGraph(seed).Make();
    if (!GraphProblems(*graph).empty()) continue;  // News may close a cycle.
    const auto schedule = MakeGraphSchedule(graph);
    EXPECT_EQ(ComputingTime(*schedule), CriticalPath(*schedule, at_once)) << seed;
    ++checked;
  }
  EXPECT_GT(checked, 100);
}

// 4 us, a message, 1 us at the other rank, and the news of it at the first one: 2 us more.
TEST(ComputingTimeTest, FollowsMessagesAndNews) {
  OperationGraph graph(2);
  graph.AddCompute(0, 4_us);
  graph.AddSend(0, 1, 100);
  graph.Require(0, 1, 0);
  graph.AddReceive(1, 0, 100);
  graph.AddCompute(1, 1_us);
  graph.Require(1, 1, 0);
  graph.AddCompute(0, 2_us, /*stream=*/1);
  graph.RequireFar(0, 2, 1, 1);
  EXPECT_EQ(ComputingTime(*ScheduleOf(std::move(graph))), 7_us);
}

// Two computations of one stream cannot overlap, although neither waits for the other.
TEST(ComputingTimeTest, IsAtLeastThatOfAStream) {
  OperationGraph graph(1);
  graph.AddCompute(0, 4_us);
  graph.AddCompute(0, 3_us);
  graph.AddCompute(0, 5_us, /*stream=*/1);
  EXPECT_EQ(ComputingTime(*ScheduleOf(std::move(graph))), 7_us);
}

// An operation that needs one of two starts with the first of them; ranks behind the root of a
// broadcast finish without those before them. Both are walked through message by message.
TEST(ComputingTimeTest, FollowsWhatNeedsOnlySome) {
  OperationGraph graph(1);
  graph.AddCompute(0, 4_us, 0);
  graph.AddCompute(0, 3_us, 1);
  graph.AddCompute(0, 2_us, 2);
  graph.Require(0, 2, 0);
  graph.Require(0, 2, 1);
  graph.At(0, 2).needs = 1;
  EXPECT_EQ(ComputingTime(*ScheduleOf(graph)), 5_us);
  std::swap(graph.At(0, 0).time, graph.At(0, 1).time);
  EXPECT_EQ(ComputingTime(*ScheduleOf(std::move(graph))), 5_us);
  OperationGraph broadcast(2);
  CollectiveSettings settings;
  settings.op = CollectiveSettings::Op::kBroadcast;
  settings.size = 1_KB;
  const uint32_t one = broadcast.AddCollective({settings.Make(2, 1, 1), {0, 1}, 0, ""});
  for (const uint32_t rank : {0u, 1u}) broadcast.AddPart(rank, one);
  broadcast.AddCompute(1, 4_us);
  broadcast.Require(1, 0, 1);
  broadcast.AddCompute(0, 3_us);
  broadcast.Require(0, 1, 0);
  EXPECT_EQ(ComputingTime(*ScheduleOf(std::move(broadcast))), 4_us);
}

// Each of two ranks adds up 100 kB at 800 Gb/s once, and each of four ranks three times.
TEST(ComputingTimeTest, OfACollectiveIsThatOfItsAdditions) {
  EXPECT_EQ(ComputingTime(*RingOf(2, 800_Gbps)), 1_us);
  EXPECT_EQ(ComputingTime(*RingOf(4, 800_Gbps)), 3_us);
  EXPECT_EQ(ComputingTime(*RingOf(4)), Duration{0});
}

// A collective's additions take no time of the graph's own streams.
TEST(GraphScheduleTest, CollectivesReduceBesideComputations) {
  OperationGraph graph(2);
  const uint32_t collective = graph.AddCollective({RingOf(2, 800_Gbps), {0, 1}, 0, {}});
  for (uint32_t rank = 0; rank < 2; ++rank) {
    graph.AddCompute(rank, 1_us);
    graph.AddPart(rank, collective);
  }
  // One step with a reduction of 100 kB at 800 Gb/s, and one without.
  EXPECT_EQ(TimedPlay(*ScheduleOf(std::move(graph)), OneUs).end(), Time{} + 3_us);
}

// Three steps of a message and a reduction of 1 us each, and three of a message alone.
TEST(GraphScheduleTest, CollectivesMayAddUpSeveralTimes) {
  OperationGraph graph(4);
  const uint32_t collective = graph.AddCollective({RingOf(4, 800_Gbps), {3, 1, 0, 2}, 0, {}});
  for (uint32_t rank = 0; rank < 4; ++rank) graph.AddPart(rank, collective);
  EXPECT_EQ(TimedPlay(*ScheduleOf(std::move(graph)), OneUs).end(), Time{} + 9_us);
}

}  // namespace heddle::graph_test
