// SPDX-License-Identifier: Apache-2.0
// Runs schedules without a network: messages arrive in random order, and every rank must finish
// with what the algorithm's closed form says.

#include "workload/jobs/schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/random.h"
#include "tests/support/printers.h"
#include "tests/support/timed_play.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/critical_path.h"
#include "workload/jobs/graph_schedule.h"
#include "workload/jobs/operation_graph.h"
#include "workload/jobs/tree.h"

namespace heddle::schedules_test {

using Op = CollectiveSettings::Op;
using Algorithm = CollectiveSettings::Algorithm;

// All ranks of a schedule, and the messages and computations under way among them.
class Play {
 public:
  Play(const Schedule& schedule, uint64_t seed)
      : schedule_(schedule), rng_(Rng::Stream(seed, "play", 0)), sent_(schedule.ranks(), 0) {
    for (uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
      programs_.push_back(schedule.ProgramOf(rank));
      actions_.emplace_back(*this, rank);
    }
    for (uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
      programs_[rank]->Begin(actions_[rank]);
    }
  }

  // Lets everything happen in random order until nothing is under way.
  void Run() {
    while (!events_.empty()) {
      const size_t i = rng_.Below(static_cast<uint32_t>(events_.size()));
      const Event event = events_[i];
      events_[i] = events_.back();
      events_.pop_back();
      Handle(event);
    }
  }

  bool finished() const {
    return std::ranges::all_of(programs_, [](const auto& its) { return its->finished(); });
  }
  // In the order in which they were sent.
  const std::vector<uint64_t>& messages() const { return messages_; }
  const std::vector<int64_t>& sent() const { return sent_; }  // Bytes, by rank.

 private:
  struct Event {
    enum Kind { kReceived, kSent, kComputed } kind;
    uint32_t rank;
    uint64_t number;
  };
  class Actions final : public RankActions {
   public:
    Actions(Play& play, uint32_t rank) : play_(play), rank_(rank) {}
    void Send(uint64_t index) override { play_.Send(rank_, index); }
    void Compute(uint32_t /*stream*/, Duration time, uint64_t op) override {
      EXPECT_GE(time, Duration{0});  // An empty block takes no time.
      play_.events_.push_back({Event::kComputed, rank_, op});
    }

   private:
    Play& play_;
    const uint32_t rank_;
  };

  void Send(uint32_t rank, uint64_t index) {
    ASSERT_LT(index, schedule_.slots());
    const Message message = schedule_.MessageOf(index);
    ASSERT_EQ(message.src, rank);
    ASSERT_NE(message.dst, rank);
    ASSERT_LT(message.dst, schedule_.ranks());
    messages_.push_back(index);
    sent_[rank] += message.bytes;
    events_.push_back({Event::kReceived, message.dst, index});
    if (schedule_.waits_for_sends()) events_.push_back({Event::kSent, rank, index});
  }

  void Handle(const Event& event) {
    RankProgram& program = *programs_[event.rank];
    RankActions& actions = actions_[event.rank];
    switch (event.kind) {
      case Event::kReceived:
        return program.OnReceived(event.number, actions);
      case Event::kSent:
        return program.OnSent(event.number, actions);
      case Event::kComputed:
        return program.OnComputed(event.number, actions);
    }
  }

  const Schedule& schedule_;
  Rng rng_;
  std::vector<std::unique_ptr<RankProgram>> programs_;
  std::vector<Actions> actions_;
  std::vector<Event> events_;
  std::vector<uint64_t> messages_;
  std::vector<int64_t> sent_;
};

struct Case {
  Op op;
  Algorithm algorithm;
  std::string name;
};

std::vector<Case> Cases() {
  return {{Op::kAllReduce, Algorithm::kRing, "all-reduce ring"},
          {Op::kAllReduce, Algorithm::kBidirectional, "all-reduce bidirectional"},
          {Op::kAllReduce, Algorithm::kHalvingDoubling, "all-reduce halving_doubling"},
          {Op::kAllReduce, Algorithm::kRecursiveDoubling, "all-reduce recursive_doubling"},
          {Op::kAllReduce, Algorithm::kTree, "all-reduce tree"},
          {Op::kAllReduce, Algorithm::kDoubleTree, "all-reduce double_tree"},
          {Op::kAllGather, Algorithm::kRing, "all-gather ring"},
          {Op::kAllGather, Algorithm::kPat, "all-gather pat"},
          {Op::kAllGather, Algorithm::kBruck, "all-gather bruck"},
          {Op::kReduceScatter, Algorithm::kRing, "reduce-scatter ring"},
          {Op::kReduceScatter, Algorithm::kPat, "reduce-scatter pat"},
          {Op::kAllToAll, Algorithm::kDirect, "all-to-all direct"},
          {Op::kAllToAll, Algorithm::kShift, "all-to-all shift"},
          {Op::kAllToAll, Algorithm::kPairwise, "all-to-all pairwise"},
          {Op::kAllToAll, Algorithm::kBruck, "all-to-all bruck"},
          {Op::kBroadcast, Algorithm::kBinomial, "broadcast binomial"},
          {Op::kBroadcast, Algorithm::kChain, "broadcast chain"},
          {Op::kBroadcast, Algorithm::kTree, "broadcast tree"},
          {Op::kBarrier, Algorithm::kDissemination, "barrier"}};
}

std::vector<uint32_t> RankCounts() {
  std::vector<uint32_t> counts;
  for (uint32_t n = 2; n <= 17; ++n) counts.push_back(n);
  counts.insert(counts.end(), {32, 33});
  return counts;
}

CollectiveSettings SettingsOf(const Case& its, int64_t bytes) {
  CollectiveSettings settings;
  settings.op = its.op;
  settings.algorithm = its.algorithm;
  settings.size = Bytes{bytes};
  return settings;
}

bool Exists(const Case& its, uint32_t ranks) {
  return its.algorithm != Algorithm::kPairwise || std::has_single_bit(ranks);
}

// Every message is sent once and has its own numbers; every rank finishes; the forecast of arrivals
// holds.
void CheckPlay(const Schedule& schedule, const Play& play) {
  EXPECT_TRUE(play.finished());
  std::set<uint64_t> numbers;
  std::map<uint32_t, std::set<uint64_t>> ordinals;  // By receiver.
  for (const uint64_t index : play.messages()) {
    EXPECT_TRUE(numbers.insert(index).second) << "sent twice";
    const uint32_t dst = schedule.MessageOf(index).dst;
    const uint64_t ordinal = schedule.OrdinalOf(index);
    EXPECT_LT(ordinal, schedule.IncomingOf(dst));
    EXPECT_TRUE(ordinals[dst].insert(ordinal).second) << "two messages to a rank with one number";
  }
  for (uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    EXPECT_EQ(schedule.ArrivalsAt(rank), ordinals[rank].size());
  }
}

// The forecast of what ranks send is exact for up to four ranks; beyond them it looks at four.
void CheckTotals(const Schedule& schedule, const Play& play) {
  const ScheduleTotals totals = schedule.Totals();
  int64_t largest = 0;
  for (const uint64_t index : play.messages()) {
    largest = std::max(largest, schedule.MessageOf(index).bytes);
  }
  const double messages = static_cast<double>(play.messages().size());
  const double bytes = std::accumulate(play.sent().begin(), play.sent().end(), 0.0);
  if (schedule.ranks() <= 4) {
    EXPECT_DOUBLE_EQ(totals.messages, messages);
    EXPECT_DOUBLE_EQ(totals.bytes, bytes);
    EXPECT_EQ(totals.bytes_of_rank, std::ranges::max(play.sent()));
    EXPECT_EQ(totals.largest, largest);
  } else {
    EXPECT_NEAR(totals.messages, messages, 0.5 * messages);
    EXPECT_NEAR(totals.bytes, bytes, 0.5 * bytes);
    EXPECT_LE(totals.bytes_of_rank, std::ranges::max(play.sent()));
    EXPECT_GE(totals.bytes_of_rank, 0.5 * static_cast<double>(std::ranges::max(play.sent())));
    EXPECT_LE(totals.largest, largest);
  }
}

TEST(SchedulesTest, EveryRankFinishesWhateverTheOrderOfArrivals) {
  for (const Case& its : Cases()) {
    for (const uint32_t ranks : RankCounts()) {
      if (!Exists(its, ranks)) continue;
      for (const int64_t bytes : {int64_t{ranks} - 1, int64_t{ranks}, int64_t{1'000} * ranks + 7}) {
        for (uint64_t seed = 1; seed <= 3; ++seed) {
          SCOPED_TRACE(
              fmt::format("{}, {} ranks, {} bytes, seed {}", its.name, ranks, bytes, seed));
          CollectiveSettings settings = SettingsOf(its, bytes);
          if (seed == 3) settings.reduce_rate = 100_Gbps;
          const std::unique_ptr<Schedule> schedule = settings.Make(ranks, 1, 1);
          Play play(*schedule, seed);
          play.Run();
          CheckPlay(*schedule, play);
          CheckTotals(*schedule, play);
        }
      }
    }
  }
}

// Delays never shorten a bound. They may well shorten a run: a rank that adds up slowly takes what
// comes first, and another order may let all finish earlier.
TEST(SchedulesTest, TheCriticalPathIsABoundWhateverTheDelays) {
  for (const Case& its : Cases()) {
    for (uint32_t ranks = 2; ranks <= 6; ++ranks) {
      if (!Exists(its, ranks)) continue;
      CollectiveSettings settings = SettingsOf(its, int64_t{45'000} * ranks + 1);
      settings.reduce_rate = 5_Gbps;
      const std::unique_ptr<Schedule> schedule = settings.Make(ranks, 1, 1);
      const Duration bound = CriticalPath(*schedule, StarTimes);
      for (uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(fmt::format("{}, {} ranks, seed {}", its.name, ranks, seed));
        Rng rng = Rng::Stream(seed, "delays", 0);
        const TimedPlay play(*schedule, [&rng](const Message& message) {
          const Duration delay{rng.Below(2) == 0 ? 0 : rng.Below(20'000'000)};
          const MessageTimes times = StarTimes(message);
          return MessageTimes{times.arrives + delay, times.finished + delay};
        });
        EXPECT_GE(play.end() - Time{}, bound);
      }
    }
  }
}

// One rank begins late. If all wait for all, each finishes with it; else some finish before.
TEST(SchedulesTest, RanksSayWhetherTheyWaitForAll) {
  const auto at_once = [](const Message&) { return MessageTimes{Duration{0}, Duration{0}}; };
  for (const Case& its : Cases()) {
    for (const uint32_t ranks : RankCounts()) {
      if (!Exists(its, ranks)) continue;
      for (const int64_t bytes : {int64_t{ranks} - 1, int64_t{1'000} * ranks + 7}) {
        const std::shared_ptr<const Schedule> schedule =
            SettingsOf(its, bytes).Make(ranks, /*seed=*/1, /*job=*/1);
        std::vector<uint32_t> group(ranks);
        std::iota(group.begin(), group.end(), 0);
        bool all_wait = true;
        for (uint32_t late = 0; late < ranks; ++late) {
          auto graph = std::make_shared<OperationGraph>(ranks);
          const uint32_t collective = graph->AddCollective({schedule, group, 0, ""});
          for (const uint32_t rank : group) graph->AddPart(rank, collective);
          graph->Require(late, 0, graph->AddCompute(late, 1_us));
          const auto whole = MakeGraphSchedule(graph);
          const TimedPlay play(*whole, at_once);
          for (const Time end : play.ends()) all_wait = all_wait && end == Time{} + 1_us;
        }
        EXPECT_EQ(schedule->waits_for_all(), all_wait) << its.name << ", " << ranks << " ranks";
      }
    }
  }
  CollectiveSettings slow = SettingsOf({Op::kAllReduce, Algorithm::kRing, ""}, 1'000);
  slow.reduce_rate = 1_Gbps;
  EXPECT_FALSE(slow.Make(4, 1, 1)->waits_for_all());
}

TEST(SchedulesTest, RanksSendTheBytesOfTheClosedForms) {
  for (const uint32_t n : RankCounts()) {
    const int64_t block = 1'000;
    const int64_t all = block * n;
    const auto sent = [&](Op op, Algorithm algorithm) {
      const auto schedule = SettingsOf({op, algorithm, ""}, all).Make(n, 1, 1);
      Play play(*schedule, 1);
      play.Run();
      return play.sent();
    };
    const std::vector<int64_t> once(n, block * (n - 1));
    const std::vector<int64_t> twice(n, 2 * block * (n - 1));
    SCOPED_TRACE(n);
    EXPECT_EQ(sent(Op::kAllReduce, Algorithm::kRing), twice);
    EXPECT_EQ(sent(Op::kAllReduce, Algorithm::kBidirectional), twice);
    EXPECT_EQ(sent(Op::kAllGather, Algorithm::kRing), once);
    EXPECT_EQ(sent(Op::kAllGather, Algorithm::kPat), once);
    EXPECT_EQ(sent(Op::kAllGather, Algorithm::kBruck), once);
    EXPECT_EQ(sent(Op::kReduceScatter, Algorithm::kRing), once);
    EXPECT_EQ(sent(Op::kReduceScatter, Algorithm::kPat), once);
    EXPECT_EQ(sent(Op::kAllToAll, Algorithm::kDirect), once);
    EXPECT_EQ(sent(Op::kAllToAll, Algorithm::kShift), once);
    if (!std::has_single_bit(n)) continue;
    EXPECT_EQ(sent(Op::kAllReduce, Algorithm::kHalvingDoubling), twice);
    EXPECT_EQ(sent(Op::kAllToAll, Algorithm::kPairwise), once);
    const int64_t levels = std::bit_width(n) - 1;
    EXPECT_EQ(sent(Op::kAllReduce, Algorithm::kRecursiveDoubling),
              std::vector<int64_t>(n, levels * all));
    EXPECT_EQ(sent(Op::kAllToAll, Algorithm::kBruck), std::vector<int64_t>(n, levels * all / 2));
  }
}

// The factors of nccl-tests (doc/PERFORMANCE.md).
TEST(CollectiveTest, ItsBusBandwidthCountsWhatANicOfAnIdealRingSends) {
  const std::map<Op, double> factors = {{Op::kAllReduce, 1.5},      {Op::kAllGather, 0.75},
                                        {Op::kReduceScatter, 0.75}, {Op::kAllToAll, 0.75},
                                        {Op::kBroadcast, 1},        {Op::kBarrier, 0}};
  for (const auto& [op, factor] : factors) {
    CollectiveSettings settings;
    settings.op = op;
    settings.size = 1'000_B;
    EXPECT_DOUBLE_EQ(settings.Operation(4).bus_factor, factor);
    EXPECT_EQ(settings.Operation(4).bytes, 1'000);
  }
}

std::map<std::string, std::string> ErrorsOf(const CollectiveSettings& settings, uint32_t ranks) {
  std::map<std::string, std::string> errors;
  settings.Check(ranks, [&](std::string_view key, const std::string& message) {
    errors[std::string(key)] = message;
  });
  return errors;
}

TEST(CollectiveTest, RefusesWhatDoesNotGoTogether) {
  using Errors = std::map<std::string, std::string>;
  EXPECT_EQ(ErrorsOf(SettingsOf({Op::kBarrier, Algorithm::kRing, ""}, 1'000), 4),
            (Errors{{"algorithm", "ring is no algorithm for barrier; choose dissemination"}}));
  CollectiveSettings uneven = SettingsOf({Op::kAllToAll, Algorithm::kShift, ""}, 1'000);
  uneven.matrix = "m.csv";
  EXPECT_EQ(ErrorsOf(uneven, 4), (Errors{{"matrix", "goes with algorithm: direct"},
                                         {"size", "matrix says what ranks send"}}));
  uneven.algorithm = Algorithm::kDirect;
  uneven.size = Bytes{0};
  uneven.traffic = std::make_shared<const std::vector<int64_t>>(9, 100);
  EXPECT_EQ(ErrorsOf(uneven, 3), Errors{});
  EXPECT_EQ(ErrorsOf(uneven, 4),
            (Errors{{"matrix", "m.csv has 9 cells; 4 ranks need 4 rows of as many cells"}}));
}

// NCCL's trees as its source builds them (src/graph/trees.cc).
TEST(TreeTest, HasTheChildrenOfNccl) {
  using Children = std::map<uint32_t, std::vector<uint32_t>>;
  const auto children = [](uint32_t ranks, bool mirrored) {
    const std::unique_ptr<Tree> tree = MakeBinaryTree(ranks, mirrored);
    Children all;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      if (!tree->ChildrenOf(rank).empty()) all[rank] = tree->ChildrenOf(rank);
    }
    return all;
  };
  EXPECT_EQ(children(8, false), (Children{{0, {4}}, {4, {2, 6}}, {2, {1, 3}}, {6, {5, 7}}}));
  EXPECT_EQ(children(8, true), (Children{{7, {3}}, {3, {5, 1}}, {5, {6, 4}}, {1, {2, 0}}}));
  EXPECT_EQ(children(6, false), (Children{{0, {4}}, {4, {2, 5}}, {2, {1, 3}}}));
  EXPECT_EQ(children(6, true), (Children{{5, {1}}, {1, {3, 0}}, {3, {4, 2}}}));
  EXPECT_EQ(children(5, true), (Children{{1, {0}}, {0, {3}}, {3, {2, 4}}}));
}

TEST(TreeTest, ChildrenAndParentsAgree) {
  for (const uint32_t ranks : RankCounts()) {
    std::vector<std::unique_ptr<Tree>> trees;
    trees.push_back(MakeBinaryTree(ranks));
    trees.push_back(MakeBinaryTree(ranks, true));
    trees.push_back(MakeRootedTree(ranks, ranks / 2));
    trees.push_back(MakeChain(ranks, ranks / 2));
    for (const auto& tree : trees) {
      uint32_t roots = 0;
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        roots += tree->ParentOf(rank) ? 0 : 1;
        for (const uint32_t child : tree->ChildrenOf(rank)) EXPECT_EQ(tree->ParentOf(child), rank);
        uint32_t up = 0;  // Steps to the root.
        for (auto at = tree->ParentOf(rank); at; at = tree->ParentOf(*at)) ASSERT_LT(++up, ranks);
      }
      EXPECT_EQ(roots, 1u);
    }
  }
}

}  // namespace heddle::schedules_test
