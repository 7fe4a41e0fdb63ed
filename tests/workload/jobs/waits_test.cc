// SPDX-License-Identifier: Apache-2.0
// Tests what WaitsOf() says of a job that stands still. Each answer follows from what the job's
// operations, ranks and messages have come to.

#include "workload/jobs/waits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/printers.h"
#include "workload/jobs/barrier.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/graph_check.h"
#include "workload/jobs/graph_schedule.h"

namespace heddle::waits_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = RankProgram::OperationState;

constexpr FlowId kBase = 1'000;

// A job that stands still. Nothing has begun until a test says so.
class Stuck {
 public:
  explicit Stuck(std::shared_ptr<const Schedule> schedule, JobSettings settings = {})
      : job_(1, WithHosts(std::move(settings), schedule->ranks()), schedule),
        ranks_(schedule->ranks()),
        operations_(schedule->ranks()) {
    job_.SetBase(kBase);
    for (RankState& rank : ranks_) rank.has_begun = true;
  }

  RankState& rank(uint32_t rank) { return ranks_[rank]; }
  void Set(uint32_t rank, std::vector<State> operations) {
    operations_[rank] = std::move(operations);
    ranks_[rank].operations = operations_[rank];
  }
  FlowId IdOf(uint32_t iteration, uint64_t index) const { return job_.IdOf({iteration, index}); }
  void Open(FlowId id, OpenMessage message) { open_[id] = message; }

  JobWaits Waits(size_t most = 20) const { return WaitsOf(job_, ranks_, open_, most); }
  std::vector<std::string> First(size_t most = 20) const { return Waits(most).first; }

 private:
  static JobSettings WithHosts(JobSettings settings, uint32_t ranks) {
    for (uint32_t rank = 0; settings.host_of_rank.size() < ranks; ++rank) {
      settings.host_of_rank.push_back(static_cast<HostId>(rank));
    }
    return settings;
  }

  Job job_;
  std::vector<RankState> ranks_;
  std::vector<std::vector<State>> operations_;
  OpenMessages open_;
};

std::shared_ptr<const Schedule> ScheduleOf(OperationGraph graph) {
  EXPECT_THAT(GraphProblems(graph), IsEmpty());
  return MakeGraphSchedule(std::make_shared<const OperationGraph>(std::move(graph)));
}

// --- Graphs ---

// Rank 0 computes and sends to rank 1, which computes then, too.
std::shared_ptr<const Schedule> Line() {
  OperationGraph graph(2);
  graph.AddCompute(0, 1_us);
  graph.AddSend(0, 1, 5'000);
  graph.Require(0, 1, 0);
  graph.AddReceive(1, 0, 5'000);
  graph.AddCompute(1, 1_us);
  graph.Require(1, 1, 0);
  return ScheduleOf(std::move(graph));
}

TEST(WaitsOfGraphTest, NothingHasBegun) {
  Stuck stuck(Line());
  const JobWaits waits = stuck.Waits();
  EXPECT_EQ(waits.operations, 4);
  EXPECT_FALSE(waits.has_more);
  EXPECT_EQ(waits.cycle, "");
  EXPECT_THAT(waits.first,
              ElementsAre("0:op0 waits for its stream", "0:op1 waits for 0:op0",
                          "1:op0 waits for news, which is under way", "1:op1 waits for 1:op0"));
}

TEST(WaitsOfGraphTest, AComputationComputes) {
  Stuck stuck(Line());
  stuck.Set(0, {State::kStarted, State::kWaiting});
  stuck.Set(1, {State::kStarted, State::kWaiting});
  EXPECT_THAT(stuck.First(), ElementsAre("0:op0 computes", "0:op1 waits for 0:op0",
                                         "1:op0 waits for 0:op1", "1:op1 waits for 1:op0"));
}

// WaitsOf() names the operations first that wait for a message in the network.
TEST(WaitsOfGraphTest, AMessageUnderWayComesFirst) {
  Stuck stuck(Line());
  stuck.Set(0, {State::kFinished, State::kStarted});
  stuck.Set(1, {State::kStarted, State::kWaiting});
  stuck.Open(stuck.IdOf(0, 0), {Time{} + 7_us, false});
  const JobWaits waits = stuck.Waits();
  EXPECT_EQ(waits.operations, 2);  // The send is left to the network.
  EXPECT_THAT(waits.first,
              ElementsAre("1:op0 waits for the message of step 1 from rank 0 (5000 bytes), sent at "
                          "7us as flow 1000, which has not arrived",
                          "1:op1 waits for 1:op0"));
  const JobWaits one = stuck.Waits(1);
  EXPECT_EQ(one.first.size(), 1u);
  EXPECT_TRUE(one.has_more);
  EXPECT_EQ(one.operations, 2);
}

TEST(WaitsOfGraphTest, AMessageThatTheNetworkDoesNotKnowIsUnderWay) {
  Stuck stuck(Line());
  stuck.Set(0, {State::kFinished, State::kStarted});
  stuck.Set(1, {State::kStarted, State::kWaiting});
  const std::string text = "1:op0 waits for a message of rank 0, which is under way";
  EXPECT_EQ(stuck.First().front(), text);
  // Its sender has finished all that it had to do.
  stuck.rank(0).is_finished = true;
  EXPECT_EQ(stuck.First().front(), text);
  EXPECT_EQ(stuck.Waits().operations, 2);
  // It has arrived, and the news of it is under way.
  stuck.Open(stuck.IdOf(0, 0), {Time{} + 7_us, true});
  EXPECT_EQ(stuck.First().front(), text);
}

// Rank 0 is in an earlier iteration, or a later one.
TEST(WaitsOfGraphTest, AReceiveWaitsForTheSendOfItsOwnIteration) {
  JobSettings settings;
  settings.iterations = 3;
  Stuck stuck(Line(), settings);
  stuck.Set(0, {State::kFinished, State::kFinished});
  stuck.Set(1, {State::kStarted, State::kWaiting});
  stuck.rank(1).iteration = 1;
  EXPECT_EQ(stuck.First().front(), "1:op0 waits for 0:op1");
  stuck.rank(0).iteration = 2;
  stuck.Set(0, {State::kWaiting, State::kWaiting});
  EXPECT_THAT(stuck.First(), ElementsAre("0:op0 waits for its stream", "0:op1 waits for 0:op0",
                                         "1:op0 waits for a message of rank 0, which is under way",
                                         "1:op1 waits for 1:op0"));
  // The message of the rank's own iteration counts.
  stuck.Open(stuck.IdOf(1, 0), {Time{} + 9_us, false});
  EXPECT_EQ(stuck.First().front(),
            "1:op0 waits for the message of step 1 from rank 0 (5000 bytes), sent at 9us as flow "
            "1001, which has not arrived");
}

TEST(WaitsOfGraphTest, AStartIsEnoughWhereNoMoreIsAskedFor) {
  OperationGraph graph(1);
  graph.AddCompute(0, 1_us);
  graph.AddCompute(0, 1_us, 1);
  graph.RequireStart(0, 1, 0);
  graph.AddCompute(0, 1_us, 2);
  graph.Require(0, 2, 0);
  Stuck stuck(ScheduleOf(std::move(graph)));
  stuck.Set(0, {State::kWaiting, State::kWaiting, State::kWaiting});
  EXPECT_THAT(stuck.First(), ElementsAre("0:op0 waits for its stream", "0:op1 waits for 0:op0",
                                         "0:op2 waits for 0:op0"));
  stuck.Set(0, {State::kStarted, State::kWaiting, State::kWaiting});
  EXPECT_THAT(stuck.First(),
              ElementsAre("0:op0 computes", "0:op1 waits for its stream", "0:op2 waits for 0:op0"));
  stuck.Set(0, {State::kFinished, State::kWaiting, State::kWaiting});
  EXPECT_THAT(stuck.First(),
              ElementsAre("0:op1 waits for its stream", "0:op2 waits for its stream"));
}

TEST(WaitsOfGraphTest, AnOperationMayWaitForOneOfAnotherRank) {
  OperationGraph graph(2);
  graph.AddCompute(0, 1_us);
  graph.AddSend(1, 0, 100);
  graph.RequireFar(1, 0, 0, 0);
  graph.AddReceive(0, 1, 100);
  JobSettings settings;
  settings.iterations = 3;
  Stuck stuck(ScheduleOf(std::move(graph)), settings);
  stuck.Set(0, {State::kStarted, State::kFinished});
  stuck.Set(1, {State::kWaiting});
  EXPECT_THAT(stuck.First(), ElementsAre("0:op0 computes", "1:op0 waits for 0:op0"));
  stuck.Set(0, {State::kFinished, State::kFinished});
  EXPECT_THAT(stuck.First(), ElementsAre("1:op0 waits for news, which is under way"));
  // An iteration ahead, rank 1 waits for what rank 0 does there.
  stuck.rank(1).iteration = 1;
  EXPECT_THAT(stuck.First(), ElementsAre("1:op0 waits for 0:op0"));
  stuck.rank(0).iteration = 2;
  stuck.Set(0, {State::kStarted, State::kFinished});
  EXPECT_THAT(stuck.First(),
              ElementsAre("0:op0 computes", "1:op0 waits for news, which is under way"));
}

TEST(WaitsOfGraphTest, ASendThatOthersWaitForIsNoOpenOperation) {
  OperationGraph graph(2);
  graph.AddSend(0, 1, 100);
  graph.AddCompute(0, 1_us);
  graph.Require(0, 1, 0);
  graph.AddReceive(1, 0, 100);
  Stuck stuck(ScheduleOf(std::move(graph)));
  stuck.Set(0, {State::kStarted, State::kWaiting});
  stuck.rank(1).is_finished = true;
  EXPECT_THAT(stuck.First(), ElementsAre("0:op1 waits for 0:op0"));
}

// Each rank receives before it sends.
OperationGraph Circle(uint32_t ranks) {
  OperationGraph graph(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    graph.AddReceive(rank, kAnyRank, 100, 3);
    graph.AddSend(rank, (rank + 1) % ranks, 100, 3);
    graph.Require(rank, 1, 0);
  }
  return graph;
}

TEST(WaitsOfGraphTest, NamesACycleUpToItsSixteenthOperation) {
  for (const uint32_t ranks : {2u, 8u, 9u}) {
    Stuck stuck(MakeGraphSchedule(std::make_shared<const OperationGraph>(Circle(ranks))));
    std::string cycle;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      stuck.Set(rank, {State::kStarted, State::kWaiting});
      // The receive of rank 0 waits for the send of the last rank, and so on backwards.
      const uint32_t its = (ranks - rank) % ranks;
      if (2 * rank < 16) {
        cycle += fmt::format("{}:op0 -> {}:op1 -> ", its, (its + ranks - 1) % ranks);
      }
    }
    if (ranks > 8) cycle += "... -> ";
    EXPECT_EQ(stuck.Waits().cycle, cycle + "0:op0");
    EXPECT_EQ(stuck.First().front(), "0:op0 waits for a message from any rank with tag 3");
  }
}

TEST(WaitsOfGraphTest, AReceiveWithWildcardsWaitsForSendsThatFit) {
  OperationGraph graph(3);
  graph.AddReceive(0, kAnyRank, 100, 5);
  graph.AddReceive(0, 1, 100, kAnyTag);
  graph.AddSend(1, 0, 100, 4);
  graph.AddSend(2, 0, 100, 5);
  for (const uint32_t rank : {1u, 2u}) {  // They wait for what the receives lead to.
    graph.AddReceive(rank, 0, 100, 9);
    graph.AddSend(0, rank, 100, 9);
    graph.Require(0, rank + 1, rank == 1 ? 1 : 0);
    graph.Require(rank, 0, 1);
  }
  Stuck stuck(MakeGraphSchedule(std::make_shared<const OperationGraph>(std::move(graph))));
  stuck.Set(0, {State::kStarted, State::kStarted, State::kWaiting, State::kWaiting});
  stuck.Set(1, {State::kWaiting, State::kStarted});
  stuck.Set(2, {State::kWaiting, State::kStarted});
  EXPECT_THAT(stuck.First(2), ElementsAre("0:op0 waits for a message from any rank with tag 5",
                                          "0:op1 waits for a message from rank 1 with any tag"));
  EXPECT_EQ(stuck.Waits().cycle, "0:op0 -> 2:op0 -> 2:op1 -> 0:op3 -> 0:op0");
  // Rank 2 has sent. Only the other receive can wait for rank 1.
  stuck.Set(2, {State::kFinished, State::kStarted});
  EXPECT_EQ(stuck.Waits().cycle, "0:op1 -> 1:op0 -> 1:op1 -> 0:op2 -> 0:op1");
}

std::shared_ptr<const Schedule> Ring(uint32_t ranks) {
  CollectiveSettings settings;
  settings.op = CollectiveSettings::Op::kAllGather;
  settings.algorithm = CollectiveSettings::Algorithm::kRing;
  settings.size = Bytes{1'000 * int64_t{ranks}};
  return settings.Make(ranks, 1, 1);
}

// Ranks 2, 0 and 1 gather, in this order; after that rank 0 computes.
TEST(WaitsOfGraphTest, ACollectiveWaitsForPartsAndForMessages) {
  OperationGraph graph(3);
  const uint32_t all = graph.AddCollective({Ring(3), {2, 0, 1}, 0, "gather"});
  for (uint32_t rank = 0; rank < 3; ++rank) graph.AddPart(rank, all);
  graph.AddCompute(0, 1_us);
  graph.Require(0, 1, 0);
  Stuck stuck(ScheduleOf(std::move(graph)));
  stuck.Set(0, {State::kStarted, State::kWaiting});
  stuck.Set(1, {State::kWaiting});
  stuck.Set(2, {State::kStarted});
  EXPECT_THAT(stuck.First(), ElementsAre("0:gather waits for 1:gather", "0:op1 waits for 0:gather",
                                         "1:gather waits for news, which is under way",
                                         "2:gather waits for 1:gather"));
  // All have begun. Rank 0 is the second of the group: it waits for the first one, rank 2.
  stuck.Set(1, {State::kStarted});
  EXPECT_EQ(stuck.First().front(),
            "0:gather waits for the message of step 0 from rank 2 (1000 bytes), which has not been "
            "sent");
  // The message to rank 1, from rank 0, is under way, so rank 1 is named first.
  const uint64_t first = 0 * 3 + 1;  // Step 0, of the second of the group.
  stuck.Open(stuck.IdOf(0, first), {Time{} + 3_us, false});
  EXPECT_EQ(
      stuck.First().front(),
      "1:gather waits for the message of step 0 from rank 0 (1000 bytes), sent at 3us as flow "
      "1001, which has not arrived");
  // It has arrived, and so has the other one: their half has been closed.
  stuck.Open(stuck.IdOf(0, first), {Time{} + 3_us, true});
  EXPECT_EQ(stuck.First()[2],
            "1:gather waits for the message of step 1 from rank 0 (1000 bytes), which has not been "
            "sent");
  stuck.rank(1).is_closed = [](Job::Place place) { return place.index == 3 + 1; };
  EXPECT_EQ(stuck.First()[2], "1:gather has begun, and so have all others of its group");
}

// Messages of collectives are numbered behind those of sends.
TEST(WaitsOfGraphTest, ACollectiveWaitsForItsOwnMessages) {
  OperationGraph graph(2);
  for (const int64_t tag : {0, 1}) {
    graph.AddSend(0, 1, 7, tag);
    graph.AddReceive(1, 0, 7, tag);
  }
  const uint32_t all = graph.AddCollective({Ring(2), {0, 1}, 0, "gather"});
  for (uint32_t rank = 0; rank < 2; ++rank) graph.AddPart(rank, all);
  Stuck stuck(ScheduleOf(std::move(graph)));
  for (uint32_t rank = 0; rank < 2; ++rank) {
    stuck.Set(rank, {State::kFinished, State::kFinished, State::kStarted});
  }
  const auto waits = [](const std::string& name, int from, const std::string& fate) {
    return fmt::format("{} waits for the message of step 0 from rank {} (1000 bytes), {}", name,
                       from, fate);
  };
  EXPECT_THAT(stuck.First(), ElementsAre(waits("0:gather", 1, "which has not been sent"),
                                         waits("1:gather", 0, "which has not been sent")));
  stuck.Open(stuck.IdOf(0, 2), {Time{} + 3_us, false});  // Behind two sends, that of rank 0.
  EXPECT_THAT(stuck.First(),
              ElementsAre(waits("1:gather", 0, "sent at 3us as flow 1002, which has not arrived"),
                          waits("0:gather", 1, "which has not been sent")));
}

// Only receives and collectives wait for a message in the network; a computation is named behind.
TEST(WaitsOfGraphTest, AComputationIsNotAtTheNetwork) {
  OperationGraph graph(2);
  graph.AddCompute(0, 1_us);
  graph.AddSend(0, 1, 100);
  graph.AddReceive(1, 0, 100);
  Stuck stuck(ScheduleOf(std::move(graph)));
  stuck.Set(0, {State::kStarted, State::kStarted});
  stuck.Set(1, {State::kStarted});
  stuck.Open(stuck.IdOf(0, 0), {Time{} + 7_us, false});
  EXPECT_THAT(stuck.First(),
              ElementsAre("1:op0 waits for the message of step 1 from rank 0 (100 bytes), sent at "
                          "7us as flow 1000, which has not arrived",
                          "0:op0 computes"));
}

// A receive waits for no send to another rank, from another rank, or with another tag; so nothing
// that these sends wait for closes a cycle.
TEST(WaitsOfGraphTest, SendsThatDoNotFitCloseNoCycle) {
  struct Case {
    uint32_t from;  // The receive of rank 0.
    int64_t tag;
    uint32_t to;  // The send of rank 2.
    int64_t sent;
    bool fits;
  };
  for (const Case& its : std::vector<Case>{{kAnyRank, kAnyTag, 0, 5, true},
                                           {2, kAnyTag, 0, 5, true},
                                           {kAnyRank, 5, 0, 5, true},
                                           {1, kAnyTag, 0, 5, false},
                                           {kAnyRank, 6, 0, 5, false},
                                           {kAnyRank, kAnyTag, 1, 5, false}}) {
    OperationGraph graph(3);
    graph.AddReceive(0, its.from, 100, its.tag);
    graph.AddSend(0, 2, 100, 9);
    graph.Require(0, 1, 0);
    graph.AddReceive(2, 0, 100, 9);
    graph.AddSend(2, its.to, 100, its.sent);
    graph.Require(2, 1, 0);
    graph.AddReceive(1, 2, 100, 5);
    graph.AddSend(1, 0, 100, 6);
    Stuck stuck(MakeGraphSchedule(std::make_shared<const OperationGraph>(std::move(graph))));
    stuck.Set(0, {State::kStarted, State::kWaiting});
    stuck.Set(1, {State::kFinished, State::kFinished});
    stuck.Set(2, {State::kStarted, State::kWaiting});
    EXPECT_EQ(stuck.Waits().cycle, its.fits ? "0:op0 -> 2:op1 -> 2:op0 -> 0:op1 -> 0:op0" : "")
        << its.from << " " << its.tag << " " << its.to;
  }
}

// --- Ranks of a collective ---

// In a direct all-to-all a rank waits for a message of each other one.
TEST(WaitsOfRanksTest, CountsTheOtherMessagesThatAreMissing) {
  for (const uint32_t ranks : {2u, 3u, 4u, 7u}) {
    CollectiveSettings settings;
    settings.op = CollectiveSettings::Op::kAllToAll;
    settings.algorithm = CollectiveSettings::Algorithm::kDirect;
    settings.size = Bytes{1'000 * int64_t{ranks}};
    const Stuck stuck(settings.Make(ranks, 1, 1));
    const std::string first = stuck.First(1).front();
    const std::string more = ranks == 2 ? "" : fmt::format(", and for {} more", ranks - 2);
    EXPECT_TRUE(first.ends_with("(1000 bytes), which has not been sent" + more)) << first;
  }
}

TEST(WaitsOfRanksTest, ARankWaitsForTheMessageOfAStep) {
  Stuck stuck(Ring(3));
  stuck.rank(1).is_finished = true;
  stuck.rank(2).has_begun = false;
  JobWaits waits = stuck.Waits();
  EXPECT_EQ(waits.operations, 0);
  EXPECT_THAT(waits.first,
              ElementsAre("rank 0 waits for the message of step 0 from rank 2 (1000 bytes), which "
                          "has not been sent",
                          "rank 2 has not begun"));
  EXPECT_FALSE(waits.has_more);
  EXPECT_TRUE(stuck.Waits(1).has_more);
}

// Message 3 is that of step 1 from rank 0, to rank 1.
TEST(WaitsOfRanksTest, ThoseToWhichAMessageIsUnderWayComeFirst) {
  Stuck stuck(Ring(3));
  stuck.rank(1).is_closed = [](Job::Place place) { return place.index == 0; };
  stuck.Open(stuck.IdOf(0, 3), {Time{} + 2_us, false});
  EXPECT_THAT(stuck.First(2),
              ElementsAre("rank 1 waits for the message of step 1 from rank 0 (1000 bytes), sent "
                          "at 2us as flow 1003, which has not arrived",
                          "rank 0 waits for the message of step 0 from rank 2 (1000 bytes), which "
                          "has not been sent"));
  // A message that has arrived, and those of other jobs, put nobody first.
  stuck.Open(stuck.IdOf(0, 3), {Time{} + 2_us, true});
  stuck.Open(kBase - 1, {Time{} + 2_us, false});
  stuck.Open(kBase + 6, {Time{} + 2_us, false});
  EXPECT_THAT(stuck.First(2)[1],
              "rank 1 has all its messages, and computes or waits to begin the "
              "next iteration");
}

TEST(WaitsOfRanksTest, NamesTheIterationIfThereAreSeveral) {
  JobSettings settings;
  settings.iterations = 2;
  Stuck stuck(Ring(3), settings);
  stuck.rank(0).iteration = 1;
  // Message 2, step 0 from rank 2, of each iteration.
  stuck.Open(stuck.IdOf(0, 2), {Time{} + 1_us, true});
  EXPECT_EQ(stuck.First().front(),
            "rank 0 in iteration 1 waits for the message of step 0 from rank 2 (1000 bytes), which "
            "has not been sent");
  stuck.Open(stuck.IdOf(1, 2), {Time{} + 4_us, false});
  EXPECT_EQ(stuck.First().front(),
            "rank 0 in iteration 1 waits for the message of step 0 from rank 2 (1000 bytes), sent "
            "at 4us as flow 1008, which has not arrived");
}

// Step 1 of the shift: each rank sends to the one before it.
TEST(WaitsOfRanksTest, ARankMayWaitForItsOwnMessage) {
  for (const bool waits : {true, false}) {
    JobSettings settings;
    settings.iterations = 2;
    CollectiveSettings shift;
    shift.op = CollectiveSettings::Op::kAllToAll;
    shift.algorithm = CollectiveSettings::Algorithm::kShift;
    shift.size = 3_KB;
    using Wait = CollectiveSettings::Wait;
    shift.wait = waits ? Wait::kBoth : Wait::kRecv;
    Stuck stuck(shift.Make(3, 1, 1), settings);
    stuck.rank(0).is_closed = [](Job::Place) { return true; };
    // The rank does not wait for messages of another rank, of another iteration, or such that only
    // their receiver has not closed.
    stuck.Open(stuck.IdOf(0, 1), {Time{} + 1_us, true});
    stuck.Open(stuck.IdOf(1, 0), {Time{} + 2_us, true});
    stuck.Open(stuck.IdOf(0, 0), {kNever, true});
    const std::string done =
        "rank 0 in iteration 0 has all its messages, and computes or waits to begin the next "
        "iteration";
    EXPECT_EQ(stuck.First().front(), done);
    stuck.Open(stuck.IdOf(0, 3), {Time{} + 5_us, true});
    EXPECT_EQ(stuck.First().front(),
              waits ? "rank 0 in iteration 0 waits until its message of step 1 to rank 2 (1000 "
                      "bytes) is finished, sent at 5us as flow 1003"
                    : done);
  }
}

TEST(WaitsOfRanksTest, AMessageWithinAServerComesOverItsLink) {
  JobSettings settings;
  settings.host_of_rank = {4, 4, 5};
  Stuck stuck(Ring(3), settings);
  EXPECT_THAT(stuck.First(),
              ElementsAre("rank 0 waits for the message of step 0 from rank 2 (1000 bytes), which "
                          "has not been sent",
                          "rank 1 waits for the message of step 0 from rank 0 (1000 bytes), which "
                          "has not come over the server's link",
                          "rank 2 waits for the message of step 0 from rank 1 (1000 bytes), which "
                          "has not been sent"));
}

// A ring of 3 has 6 messages. The barrier's first step is from the rank before.
TEST(WaitsOfRanksTest, SaysThatAMessageIsOfTheBarrier) {
  Stuck stuck(MakeWithBarrier(Ring(3)));
  stuck.rank(0).is_closed = [](Job::Place place) { return place.index < 6; };
  EXPECT_EQ(stuck.First(1).front(),
            "rank 0 waits for the message of step 0 of the barrier from rank 2 (1 byte), which "
            "has not been sent");
  stuck.rank(1).is_closed = stuck.rank(0).is_closed;  // The first of all is from rank 0 to it.
  EXPECT_EQ(stuck.First()[1],
            "rank 1 waits for the message of step 0 of the barrier from rank 0 (1 byte), which "
            "has not been sent");
}

}  // namespace heddle::waits_test
