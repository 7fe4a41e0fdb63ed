// SPDX-License-Identifier: Apache-2.0
// The settings of collectives: their limits, what goes with what, and what each of them does. Which
// algorithms a setting goes with is listed here a second time.

#include "workload/jobs/collective.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/printers.h"
#include "tests/support/settings_from.h"
#include "tests/support/timed_play.h"
#include "workload/jobs/group_algorithms.h"
#include "workload/jobs/job.h"
#include "workload/jobs/nccl.h"

namespace heddle::collective_test {

using ::testing::HasSubstr;
using Algorithm = CollectiveSettings::Algorithm;
using Op = CollectiveSettings::Op;

struct Pair {
  std::string op;
  std::string algorithm;
  Op its_op;
  Algorithm its_algorithm;

  // The start of a job's settings.
  std::string Text() const {
    const std::string size = op == "barrier" ? "" : ", size: 1MB";
    const bool in_servers = algorithm == "hierarchical" || algorithm == "rail";
    return fmt::format("op: {}, algorithm: {}{}{}", op, algorithm, size,
                       in_servers ? ", group_size: 2" : "");
  }
};

// Each operation with its algorithms; the first is the default.
const std::vector<Pair>& Pairs() {
  static const std::vector<Pair> pairs = {
      {"all_reduce", "ring", Op::kAllReduce, Algorithm::kRing},
      {"all_reduce", "bidirectional", Op::kAllReduce, Algorithm::kBidirectional},
      {"all_reduce", "halving_doubling", Op::kAllReduce, Algorithm::kHalvingDoubling},
      {"all_reduce", "recursive_doubling", Op::kAllReduce, Algorithm::kRecursiveDoubling},
      {"all_reduce", "tree", Op::kAllReduce, Algorithm::kTree},
      {"all_reduce", "double_tree", Op::kAllReduce, Algorithm::kDoubleTree},
      {"all_reduce", "hierarchical", Op::kAllReduce, Algorithm::kHierarchical},
      {"all_gather", "ring", Op::kAllGather, Algorithm::kRing},
      {"all_gather", "pat", Op::kAllGather, Algorithm::kPat},
      {"all_gather", "bruck", Op::kAllGather, Algorithm::kBruck},
      {"reduce_scatter", "ring", Op::kReduceScatter, Algorithm::kRing},
      {"reduce_scatter", "pat", Op::kReduceScatter, Algorithm::kPat},
      {"all_to_all", "direct", Op::kAllToAll, Algorithm::kDirect},
      {"all_to_all", "pairwise", Op::kAllToAll, Algorithm::kPairwise},
      {"all_to_all", "shift", Op::kAllToAll, Algorithm::kShift},
      {"all_to_all", "bruck", Op::kAllToAll, Algorithm::kBruck},
      {"all_to_all", "rail", Op::kAllToAll, Algorithm::kRail},
      {"broadcast", "binomial", Op::kBroadcast, Algorithm::kBinomial},
      {"broadcast", "chain", Op::kBroadcast, Algorithm::kChain},
      {"broadcast", "tree", Op::kBroadcast, Algorithm::kTree},
      {"barrier", "dissemination", Op::kBarrier, Algorithm::kDissemination}};
  return pairs;
}

std::string JobOf(uint32_t ranks, const std::string& job) {
  return fmt::format("{{kind: collective, ranks: {}, {}}}", ranks, job);
}
// The errors of a job of `ranks` ranks, each on a host of its own.
std::string Errors(const std::string& job, uint32_t ranks = 8) {
  return WorkloadErrors(JobOf(ranks, job), StageOf(2, (ranks + 1) / 2));
}
std::unique_ptr<Job> Made(const std::string& job, uint32_t ranks = 8) {
  return WorkloadFrom(JobOf(ranks, job), StageOf(2, (ranks + 1) / 2)).settings->MakeJob(1);
}

// --- Limits ---

TEST(CollectiveLimitsTest, AreThoseOfTheManual) {
  const std::string ring = "op: all_reduce, size: 1MB, ";
  const std::string direct = "op: all_to_all, size: 1MB, ";
  struct Limit {
    std::string job;
    std::string key;
    std::vector<std::string> good;
    std::vector<std::string> bad;
  };
  const std::vector<Limit> limits = {
      {"op: all_reduce, ", "size", {"1B"}, {"-1B"}},
      {ring, "channels", {"1", "256", "auto"}, {"0", "257"}},
      {ring, "chunk", {"1B", "none"}, {"0B"}},
      {ring, "reduce_rate", {"1bps", "off"}, {"0bps"}},
      {direct, "window", {"1", "auto"}, {"0"}},
      {"op: all_gather, algorithm: pat, size: 1MB, ", "aggregate", {"1", "most"}, {"0"}},
      {"op: broadcast, size: 1MB, ", "root", {"0", "7"}, {"-1"}},
      {ring + "algorithm: hierarchical, ", "group_size", {"2", "4"}, {"1"}}};
  for (const Limit& its : limits) {
    for (const std::string& value : its.good) {
      EXPECT_EQ(Errors(fmt::format("{}{}: {}", its.job, its.key, value)), "");
    }
    for (const std::string& value : its.bad) {
      EXPECT_THAT(Errors(fmt::format("{}{}: {}", its.job, its.key, value)),
                  HasSubstr(fmt::format("{}: \"{}\" is out of range", its.key, value)));
    }
  }
}

TEST(CollectiveLimitsTest, OfExpertsAreThoseOfTheManual) {
  const auto errors = [](const std::string& moe) {
    return Errors(fmt::format("op: all_to_all, moe: {{{}}}", moe), 2);
  };
  const std::map<std::string, std::pair<std::vector<std::string>, std::vector<std::string>>>
      limits = {{"tokens", {{"1", "16777216"}, {"-1", "16777217"}}},
                {"top_k", {{"1", "64"}, {"0", "65"}}},
                {"hidden", {{"1", "1048576"}, {"0", "1048577"}}},
                {"element", {{"1B", "16B"}, {"0B", "17B"}}},
                {"experts", {{"1", "65536"}, {"0", "65537"}}},
                {"skew", {{"0", "3"}, {"-0.01", "3.01"}}}};
  for (const auto& [key, values] : limits) {
    std::string others = key == "tokens" ? "" : "tokens: 1, ";
    if (key == "experts") others += "top_k: 1, ";
    if (key == "top_k") others += "experts: 100, ";
    for (const std::string& value : values.first) {
      EXPECT_EQ(errors(fmt::format("{}{}: {}", others, key, value)), "");
    }
    for (const std::string& value : values.second) {
      EXPECT_THAT(errors(fmt::format("{}{}: {}", others, key, value)), HasSubstr("out of range"));
    }
  }
  EXPECT_EQ(errors("tokens: 1, top_k: 3, experts: 3"), "");
  EXPECT_THAT(errors("tokens: 1, top_k: 4, experts: 3"),
              HasSubstr("moe.top_k: is more than there are experts"));
  // No tokens, no layer, so the size is missing.
  EXPECT_THAT(errors("tokens: 0"), HasSubstr("size: is missing"));
}

// The defaults of the manual: without `moe`, and of each of its settings.
TEST(CollectiveLimitsTest, ALayerHasTwoOfEightExpertsUnlessItSaysOtherwise) {
  const MoeSettings moe;
  EXPECT_FALSE(moe.is_on());
  EXPECT_EQ(moe.top_k, 2);
  EXPECT_EQ(moe.hidden, 4096);
  EXPECT_EQ(moe.element, 2_B);
  EXPECT_EQ(moe.experts, 8);
  EXPECT_EQ(moe.skew, 0);
  EXPECT_EQ(moe.routing, MoeSettings::Routing::kExpected);
  EXPECT_EQ(moe.direction, MoeSettings::Direction::kDispatch);
}

// --- What goes with what ---

TEST(CollectiveRulesTest, EveryOperationHasAlgorithms) {
  std::map<std::string, std::vector<std::string>> fitting;
  std::set<std::string> all;
  for (const Pair& pair : Pairs()) {
    fitting[pair.op].push_back(pair.algorithm);
    all.insert(pair.algorithm);
    EXPECT_EQ(Errors(pair.Text()), "");
    CollectiveSettings settings;
    settings.op = pair.its_op;
    const std::string first = fitting[pair.op].front();
    EXPECT_EQ(settings.Operation(8).algorithm, first) << pair.op;
    settings.algorithm = pair.its_algorithm;
    EXPECT_EQ(settings.Operation(8).name, pair.op);
    EXPECT_EQ(settings.Operation(8).algorithm, pair.algorithm);
  }
  for (const auto& [op, its] : fitting) {
    for (const std::string& algorithm : all) {
      if (std::ranges::find(its, algorithm) != its.end()) continue;
      EXPECT_THAT(Errors(Pair{op, algorithm, {}, {}}.Text()),
                  HasSubstr(fmt::format("algorithm: {} is no algorithm for {}; choose {}",
                                        algorithm, op, fmt::join(its, ", "))));
    }
  }
}

// Expects that `setting` is refused exactly for the pairs for which `is_used` is false, by an error
// that contains `message`.
template <class IsUsed>
void ExpectUse(const std::string& setting, const std::string& message, const IsUsed& is_used) {
  for (const Pair& pair : Pairs()) {
    const std::string job = fmt::format("{}, {}", pair.Text(), setting);
    if (is_used(pair)) {
      EXPECT_EQ(Errors(job), "") << job;
    } else {
      EXPECT_THAT(Errors(job), HasSubstr(message)) << job;
    }
  }
}
// The same for settings that only the algorithms `used` have, or operations.
void ExpectUse(const std::string& setting, const std::string& message,
               const std::set<std::string>& used) {
  ExpectUse(setting, message, [&](const Pair& pair) {
    return used.contains(pair.algorithm) || used.contains(pair.op);
  });
}

TEST(CollectiveRulesTest, ASettingIsRefusedWhereItDoesNothing) {
  const std::string none = "has no effect on ";
  ExpectUse("ring_order: stride", "ring_order: " + none, {"ring", "bidirectional", "hierarchical"});
  ExpectUse("reduce_rate: 1Gbps", "reduce_rate: " + none, {"all_reduce", "reduce_scatter"});
  ExpectUse("window: 2", "window: " + none, {"direct"});
  ExpectUse("peers: random", "peers: " + none, {"direct"});
  ExpectUse("wait: recv", "wait: " + none, {"pairwise", "shift"});
  ExpectUse("aggregate: 1", "aggregate: " + none, {"pat"});
  ExpectUse("root: 1", "root: " + none, {"broadcast"});
  ExpectUse("merge: false", "merge: " + none, {"rail"});
  ExpectUse("protocol: ll", "protocol: " + none, std::set<std::string>{});
  // With the preset or the latencies of NCCL, there are protocols.
  ExpectUse("protocol: ll, step_latency: nccl", "", [](const Pair&) { return true; });
  for (const Pair& pair : Pairs()) {
    if (pair.algorithm == "hierarchical" || pair.algorithm == "rail") continue;
    EXPECT_THAT(Errors(pair.Text() + ", group_size: 2"), HasSubstr("group_size: " + none));
  }
  EXPECT_THAT(Errors("op: barrier, size: 1B"), HasSubstr("size: " + none));
}

TEST(CollectiveRulesTest, SomeAlgorithmsHavePiecesChannelsPartsOrNccl) {
  ExpectUse("chunk: 100KB", "chunk: goes with rings, trees, chains and pat",
            {"ring", "bidirectional", "tree", "double_tree", "chain", "pat", "hierarchical"});
  ExpectUse("channels: 2", " sends one message to each rank; use channels: 1",
            [](const Pair& its) { return its.algorithm != "direct" && its.algorithm != "rail"; });
  ExpectUse("channels: 1", "", [](const Pair&) { return true; });
  ExpectUse("preset: nccl", "preset: nccl goes with ring, tree, double_tree, pat, chain and direct",
            {"ring", "tree", "double_tree", "pat", "chain", "direct"});
  for (const std::string split : {"leaf", "host"}) {
    const std::set<std::string> whole = {"tree", "double_tree",   "chain",
                                         "rail", "dissemination", "hierarchical"};
    for (const Pair& pair : Pairs()) {
      // Only check the settings: there are no paths here.
      CollectiveSettings settings;
      settings.op = pair.its_op;
      settings.algorithm = pair.its_algorithm;
      settings.size = pair.op == "barrier" ? 0_B : 1_MB;
      settings.group_size = 2;
      settings.split =
          split == "leaf" ? CollectiveSettings::Split::kLeaf : CollectiveSettings::Split::kHost;
      std::vector<std::string> errors;
      settings.Check(8, [&](std::string_view key, const std::string& message) {
        errors.push_back(fmt::format("{}: {}", key, message));
      });
      std::vector<std::string> expected;
      if (whole.contains(pair.algorithm)) {
        expected.push_back(
            fmt::format("split: does not go with {}; use it with rings, halving_doubling, "
                        "recursive_doubling, pat, bruck, direct, pairwise, shift or binomial",
                        pair.algorithm));
      }
      EXPECT_EQ(errors, expected);
    }
  }
}

TEST(CollectiveRulesTest, PatTakesPowersOfTwoOfBlocksUpToHalfOfTheRanks) {
  for (uint32_t ranks = 2; ranks <= 17; ++ranks) {
    uint32_t most = 1;
    while (2 * most < ranks) most *= 2;
    for (uint32_t aggregate = 1; aggregate <= 20; ++aggregate) {
      const std::string errors =
          Errors(fmt::format("op: all_gather, algorithm: pat, size: 1MB, aggregate: {}", aggregate),
                 ranks);
      if (std::has_single_bit(aggregate) && aggregate <= most) {
        EXPECT_EQ(errors, "") << aggregate << " of " << ranks;
      } else {
        EXPECT_THAT(errors,
                    HasSubstr(fmt::format("aggregate: must be a power of two of at most {}", most)))
            << aggregate << " of " << ranks;
      }
    }
  }
}

TEST(CollectiveRulesTest, ServersAreEqualAndSeveral) {
  for (const std::string op :
       {"op: all_reduce, algorithm: hierarchical", "op: all_to_all, algorithm: rail"}) {
    for (uint32_t ranks = 4; ranks <= 12; ++ranks) {
      for (uint32_t server = 2; server <= 13; ++server) {
        const std::string errors =
            Errors(fmt::format("{}, size: 1MB, group_size: {}", op, server), ranks);
        if (ranks % server == 0 && ranks > server) {
          EXPECT_EQ(errors, "") << server << " of " << ranks;
        } else {
          EXPECT_THAT(errors,
                      HasSubstr(fmt::format(
                          "group_size: {} ranks cannot be in several servers of {} ranks each",
                          ranks, server)));
        }
      }
    }
    EXPECT_THAT(Errors(op + ", size: 1MB"), HasSubstr("group_size: each server has one rank"));
    // Servers of two hosts, or hosts of two ranks, are groups, too.
    EXPECT_EQ(Errors(op + ", size: 1MB, domain_hosts: 2"), "");
    EXPECT_EQ(Errors(op + ", size: 1MB, ranks_per_host: 2"), "");
  }
}

TEST(CollectiveRulesTest, PairwiseNeedsAPowerOfTwo) {
  for (uint32_t ranks = 2; ranks <= 17; ++ranks) {
    const std::string errors = Errors("op: all_to_all, size: 1MB, algorithm: pairwise", ranks);
    if (ranks == 2 || ranks == 4 || ranks == 8 || ranks == 16) {
      EXPECT_EQ(errors, "") << ranks;
    } else {
      EXPECT_THAT(errors, HasSubstr(fmt::format(
                              "pairwise needs a power of two of ranks, not {}; use shift", ranks)));
    }
  }
}

TEST(CollectiveRulesTest, ManyRanksNeedAWindow) {
  const std::string direct = "op: all_to_all, size: 1MB";
  EXPECT_EQ(Errors(direct, 256), "");
  EXPECT_THAT(Errors(direct, 257), HasSubstr("window: must be set for more than 256 ranks"));
  EXPECT_EQ(Errors(direct + ", window: 257", 257), "");
  EXPECT_EQ(Errors("op: all_reduce, size: 1MB", 257), "");
  EXPECT_EQ(Errors(direct + ", algorithm: shift", 257), "");
}

TEST(CollectiveRulesTest, TheRootIsARank) {
  for (uint32_t ranks = 2; ranks <= 5; ++ranks) {
    EXPECT_EQ(Errors(fmt::format("op: broadcast, size: 1MB, root: {}", ranks - 1), ranks), "");
    EXPECT_THAT(Errors(fmt::format("op: broadcast, size: 1MB, root: {}", ranks), ranks),
                HasSubstr(fmt::format("root: there is no rank {0}; there are {0}", ranks)));
  }
}

// --- Unequal messages ---

class MatrixFileTest : public ::testing::Test {
 protected:
  // Writes a square with the number of bytes `cell` everywhere.
  std::string Square(size_t ranks, int64_t cell) {
    std::string text;
    for (size_t row = 0; row < ranks; ++row) {
      for (size_t i = 0; i < ranks; ++i) text += fmt::format("{}{}", i > 0 ? "," : "", cell);
      text += '\n';
    }
    return folder_.Write(fmt::format("{}_{}.csv", ranks, cell), text).string();
  }
  const TemporaryFolder folder_;
};

TEST_F(MatrixFileTest, TakesThePlaceOfSize) {
  const std::string matrix = ", matrix: " + Square(3, 1'000);
  EXPECT_EQ(Errors("op: all_to_all" + matrix, 3), "");
  EXPECT_THAT(Errors("op: all_to_all, size: 1B" + matrix, 3),
              HasSubstr("size: matrix says what ranks send"));
  EXPECT_THAT(Errors("op: all_to_all, size: 1B, moe: {tokens: 1}", 3),
              HasSubstr("size: moe says what ranks send"));
  EXPECT_THAT(Errors("op: all_to_all, moe: {tokens: 1}" + matrix, 3),
              HasSubstr("matrix: does not go with moe"));
  for (const std::string algorithm : {"shift", "bruck", "pairwise", "rail, group_size: 2"}) {
    EXPECT_THAT(Errors("op: all_to_all, algorithm: " + algorithm + ", matrix: " + Square(4, 9), 4),
                HasSubstr("matrix: goes with algorithm: direct"));
    EXPECT_THAT(Errors("op: all_to_all, moe: {tokens: 1}, algorithm: " + algorithm, 4),
                HasSubstr("moe: goes with algorithm: direct"));
  }
  EXPECT_THAT(Errors("op: all_to_all" + matrix, 4),
              HasSubstr("has 9 cells; 4 ranks need 4 rows of as many cells"));
}

// A path is relative to the experiment's folder.
TEST_F(MatrixFileTest, IsReadAndSent) {
  Square(3, 1'000);
  Stage stage = StageOf(1, 3);
  stage.folder = folder_.path().string();
  const auto workload = WorkloadFrom(JobOf(3, "op: all_to_all, matrix: 3_1000.csv"), stage);
  const auto job = workload.settings->MakeJob(1);
  EXPECT_EQ(job->schedule().Totals().bytes, 6'000);
  EXPECT_EQ(job->schedule().Totals().largest, 1'000);
  // The mean of what the ranks have to send, their own blocks included.
  EXPECT_EQ(job->settings().operation.bytes, 3'000);
  // Flags of LL take as much again.
  const auto ll = WorkloadFrom(
      JobOf(3, "op: all_to_all, preset: nccl, protocol: ll, matrix: 3_1000.csv"), stage);
  EXPECT_EQ(ll.settings->MakeJob(1)->schedule().Totals().bytes, 12'000);
}

// Tokens times experts times elements times their size, those of the rank's own experts included.
TEST(CollectiveOperationTest, CountsTheBytesOfALayer) {
  const auto job =
      Made("op: all_to_all, moe: {tokens: 3, top_k: 5, hidden: 7, element: 11B, experts: 8}", 4);
  EXPECT_EQ(job->settings().operation.bytes, 3 * 5 * 7 * 11);
}

// --- What settings do ---

// Message sizes of a job, each with its number of messages.
std::map<int64_t, int> SizesOf(const Job& job) {
  std::map<int64_t, int> sizes;
  const TimedPlay play(job.schedule(), StarTimes);
  for (const auto& [at, index] : play.sent()) ++sizes[job.schedule().MessageOf(index).bytes];
  return sizes;
}
std::set<uint32_t> ChannelsOf(const Job& job) {
  std::set<uint32_t> channels;
  const TimedPlay play(job.schedule(), StarTimes);
  for (const auto& [at, index] : play.sent()) {
    channels.insert(job.schedule().MessageOf(index).channel);
  }
  return channels;
}
std::set<uint32_t> Numbers(uint32_t count) {
  std::set<uint32_t> numbers;
  for (uint32_t i = 0; i < count; ++i) numbers.insert(i);
  return numbers;
}

using Sizes = std::map<int64_t, int>;

TEST(CollectiveSettingsTest, ChannelsAndChunksCutTheBuffer) {
  // 8 ranks: 2 * 7 steps of 8 messages each.
  EXPECT_EQ(SizesOf(*Made("op: all_reduce, size: 8000B")), (Sizes{{1'000, 112}}));
  EXPECT_EQ(SizesOf(*Made("op: all_reduce, size: 8000B, channels: 4")), (Sizes{{250, 4 * 112}}));
  // Pieces of 8 blocks of 400 bytes, and the rest of 1,600.
  EXPECT_EQ(SizesOf(*Made("op: all_reduce, size: 8000B, chunk: 400B")),
            (Sizes{{400, 2 * 112}, {200, 112}}));
  EXPECT_EQ(SizesOf(*Made("op: all_reduce, size: 8000B, chunk: 500B")), (Sizes{{500, 2 * 112}}));
  EXPECT_EQ(SizesOf(*Made("op: all_reduce, size: 8000B, chunk: 1000B")), (Sizes{{1'000, 112}}));
  // Trees have two messages for each of 7 links, and pieces of the size itself.
  EXPECT_EQ(SizesOf(*Made("op: all_reduce, size: 1000B, algorithm: tree, chunk: 300B")),
            (Sizes{{300, 3 * 14}, {100, 14}}));
  EXPECT_EQ(SizesOf(*Made("op: broadcast, size: 900B, algorithm: chain, chunk: 300B")),
            (Sizes{{300, 3 * 7}}));
}

// Channels are numbered without gaps, so that those of other schedules fit behind them. Rings in
// two directions and double trees have two for each channel.
TEST(CollectiveSettingsTest, ChannelsAreNumberedFromZero) {
  const std::string sum = "op: all_reduce, size: 80KB, channels: 3, algorithm: ";
  EXPECT_EQ(ChannelsOf(*Made(sum + "ring")), Numbers(3));
  EXPECT_EQ(ChannelsOf(*Made(sum + "bidirectional")), Numbers(6));
  EXPECT_EQ(ChannelsOf(*Made(sum + "tree")), Numbers(3));
  EXPECT_EQ(ChannelsOf(*Made(sum + "double_tree")), Numbers(6));
  EXPECT_EQ(ChannelsOf(*Made(sum + "hierarchical, group_size: 2")), Numbers(3));
  EXPECT_EQ(ChannelsOf(*Made("op: all_to_all, size: 80KB")), Numbers(1));
  EXPECT_EQ(ChannelsOf(*Made("op: all_to_all, size: 80KB, algorithm: rail, group_size: 2")),
            Numbers(1));
  EXPECT_EQ(ChannelsOf(*Made("op: broadcast, size: 80KB, algorithm: chain, channels: 2")),
            Numbers(2));
}

// Messages of a connection leave in the order of their turns.
TEST(CollectiveSettingsTest, TheMessagesOfAChannelAreInOrder) {
  for (const Pair& pair : Pairs()) {
    const bool has_channels = pair.algorithm != "direct" && pair.algorithm != "rail";
    const auto job = Made(pair.Text() + (has_channels ? ", channels: 2" : ""));
    const Schedule& schedule = job->schedule();
    using Connection = std::tuple<uint32_t, uint32_t, uint32_t>;
    std::map<Connection, uint32_t> last;
    const TimedPlay play(schedule, StarTimes);
    for (const auto& [at, index] : play.sent()) {
      const Message its = schedule.MessageOf(index);
      const auto [before, is_first] =
          last.emplace(Connection{its.src, its.dst, its.channel}, its.turn);
      if (is_first) continue;
      EXPECT_LT(before->second, its.turn) << pair.Text();
      before->second = its.turn;
    }
  }
}

// How many messages of the connection come before: in trees, pieces; along rails, those to be
// handed on to other servers.
TEST(CollectiveSettingsTest, TurnsCountTheMessagesOfAConnection) {
  for (const std::string job :
       {"op: all_reduce, size: 9KB, algorithm: double_tree, channels: 2, chunk: 1KB",
        "op: broadcast, size: 9KB, algorithm: chain, chunk: 1KB",
        "op: broadcast, size: 9KB, algorithm: tree, chunk: 1KB", "op: all_to_all, size: 9KB",
        "op: all_to_all, size: 9KB, algorithm: rail, group_size: 2",
        "op: all_to_all, size: 9KB, algorithm: rail, group_size: 4, merge: false",
        "op: all_reduce, size: 9KB, chunk: 300B"}) {
    const auto made = Made(job);
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::set<uint32_t>> turns;
    const TimedPlay play(made->schedule(), StarTimes);
    for (const auto& [at, index] : play.sent()) {
      const Message its = made->schedule().MessageOf(index);
      auto& its_turns = turns[{its.src, its.dst, its.channel}];
      EXPECT_TRUE(its_turns.insert(its.turn).second);
    }
    for (const auto& [connection, its] : turns) {
      EXPECT_EQ(its, Numbers(static_cast<uint32_t>(its.size()))) << job;
    }
  }
}

// Handed to a rank of the own server, sent to another server, or within the server.
TEST(CollectiveSettingsTest, RailsHaveThreePhases) {
  for (const bool merges : {true, false}) {
    const auto job = Made(fmt::format(
        "op: all_to_all, size: 8000B, algorithm: rail, group_size: 4, merge: {}", merges));
    std::map<std::tuple<uint32_t, bool, int64_t>, int> messages;
    const TimedPlay play(job->schedule(), StarTimes);
    for (const auto& [at, index] : play.sent()) {
      const Message its = job->schedule().MessageOf(index);
      ++messages[{its.step, its.src / 4 == its.dst / 4, its.bytes}];
    }
    EXPECT_EQ(messages, (std::map<std::tuple<uint32_t, bool, int64_t>, int>{
                            {{0, true, 1'000}, 8 * 3},
                            {{1, false, merges ? 4'000 : 1'000}, merges ? 8 : 8 * 4},
                            {{2, true, 1'000}, 8 * 3}}));
  }
}

// A rank's first message of each channel goes a stride ahead, the strides being the first numbers
// that have no common divisor with the ranks. If there are fewer than channels, they come again.
TEST(CollectiveSettingsTest, RingsHaveStrides) {
  const auto strides = [](uint32_t ranks, uint32_t channels) {
    const auto job =
        Made(fmt::format("op: all_gather, size: 1MB, ring_order: stride, channels: {}", channels),
             ranks);
    std::vector<uint32_t> found(channels);
    const TimedPlay play(job->schedule(), StarTimes);
    for (const auto& [at, index] : play.sent()) {
      const Message its = job->schedule().MessageOf(index);
      const uint32_t stride = (its.dst + ranks - its.src) % ranks;
      EXPECT_TRUE(found[its.channel] == 0 || found[its.channel] == stride);
      found[its.channel] = stride;
    }
    return found;
  };
  EXPECT_EQ(strides(2, 2), (std::vector<uint32_t>{1, 1}));
  EXPECT_EQ(strides(5, 6), (std::vector<uint32_t>{1, 2, 3, 4, 1, 2}));
  EXPECT_EQ(strides(6, 5), (std::vector<uint32_t>{1, 5, 1, 5, 1}));
  EXPECT_EQ(strides(8, 4), (std::vector<uint32_t>{1, 3, 5, 7}));
  EXPECT_EQ(strides(9, 3), (std::vector<uint32_t>{1, 2, 4}));
}

// Without a window, or with one of all others, a rank sends all at once.
TEST(CollectiveSettingsTest, AWindowLimitsWhatIsUnderWay) {
  for (const std::string window : {"auto", "1", "3", "7", "8", "4294967297"}) {
    const auto job = Made("op: all_to_all, size: 8KB, window: " + window);
    std::vector<int> at_start(8);
    const TimedPlay play(job->schedule(), StarTimes);
    for (const auto& [at, index] : play.sent()) {
      if (at == Time{}) ++at_start[job->schedule().MessageOf(index).src];
    }
    const int most = window == "1" ? 1 : window == "3" ? 3 : 7;
    EXPECT_EQ(at_start, std::vector<int>(8, most)) << window;
  }
}

// NCCL's order (src/init.cc): groups of gcd(ranks, 8) ranks, one group after the other. The
// distances between groups are 0, 1, 3, 6, 10, ... modulo the next power of two; a distance without
// a group is left out.
TEST(CollectiveSettingsTest, PeersAreInTheOrderThatIsAskedFor) {
  const auto peers_of = [](const std::string& order, uint32_t ranks, uint32_t rank) {
    const auto job = Made("op: all_to_all, size: 1MB, peers: " + order, ranks);
    std::vector<uint32_t> peers(ranks - 1);
    const TimedPlay play(job->schedule(), StarTimes);
    for (const auto& [at, index] : play.sent()) {
      const Message its = job->schedule().MessageOf(index);
      if (its.src == rank) peers.at(its.step) = its.dst;
    }
    return peers;
  };
  using Peers = std::vector<uint32_t>;
  EXPECT_EQ(peers_of("round", 5, 3), (Peers{4, 0, 1, 2}));
  // One group of eight.
  EXPECT_EQ(peers_of("nccl", 8, 6), (Peers{7, 0, 1, 2, 3, 4, 5}));
  // Three groups of four; distances 0, 1, (3,) 2.
  EXPECT_EQ(peers_of("nccl", 12, 5), (Peers{6, 7, 4, 9, 10, 11, 8, 1, 2, 3, 0}));
  // Seven groups of two; distances 0, 1, 3, 6, 2, (7,) 5, 4.
  EXPECT_EQ(peers_of("nccl", 14, 0), (Peers{1, 2, 3, 6, 7, 12, 13, 4, 5, 10, 11, 8, 9}));
  EXPECT_NE(peers_of("random", 12, 5), peers_of("round", 12, 5));
}

// Orders of other jobs and other seeds are others; experts, too.
TEST(CollectiveSettingsTest, RandomDrawsDependOnJobAndSeed) {
  for (const std::string job : {"op: all_to_all, size: 1MB, peers: random",
                                "op: all_to_all, moe: {tokens: 100, skew: 1}"}) {
    const auto messages = [&](uint64_t seed, uint32_t number) {
      Stage stage = StageOf(2, 8);
      stage.seed = seed;
      const auto made = WorkloadFrom(JobOf(16, job), stage).settings->MakeJob(number);
      std::vector<std::pair<uint32_t, int64_t>> all;
      for (uint64_t index = 0; index < made->schedule().slots(); ++index) {
        const Message its = made->schedule().MessageOf(index);
        all.emplace_back(its.dst, its.bytes);
      }
      return all;
    };
    EXPECT_EQ(messages(1, 1), messages(1, 1));
    EXPECT_NE(messages(1, 1), messages(1, 2));
    EXPECT_NE(messages(1, 1), messages(2, 1));
  }
}

// --- NCCL ---

TEST(CollectiveNcclTest, FillsInWhatIsNotSet) {
  const std::map<Algorithm, NcclShape> shapes = {
      {Algorithm::kRing, NcclShape::kRing},   {Algorithm::kTree, NcclShape::kTree},
      {Algorithm::kPat, NcclShape::kPat},     {Algorithm::kDoubleTree, NcclShape::kTree},
      {Algorithm::kChain, NcclShape::kChain}, {Algorithm::kDirect, NcclShape::kDirect}};
  for (const Pair& pair : Pairs()) {
    if (!shapes.contains(pair.its_algorithm)) continue;
    const NcclShape shape = shapes.at(pair.its_algorithm);
    for (const NcclProtocol protocol :
         {NcclProtocol::kSimple, NcclProtocol::kLl, NcclProtocol::kLl128}) {
      CollectiveSettings settings;
      settings.op = pair.its_op;
      settings.algorithm = pair.its_algorithm;
      settings.size = 12_MB;
      settings.protocol = protocol;
      EXPECT_EQ(settings.nccl_shape(), shape);
      // Without the preset, only servers follow from elsewhere.
      const CollectiveSettings plain = settings.Resolved(16, 4);
      EXPECT_EQ(plain.size, 12_MB);
      EXPECT_EQ(plain.group_size, 4);
      EXPECT_FALSE(plain.channels || plain.chunk || plain.window);

      settings.preset = CollectiveSettings::Preset::kNccl;
      const CollectiveSettings its = settings.Resolved(16, 4);
      EXPECT_EQ(its.size.count, NcclWireBytes(protocol, 12'000'000));
      if (shape == NcclShape::kDirect) {
        EXPECT_EQ(its.window, 8);
        EXPECT_FALSE(its.channels || its.chunk);
        settings.window = 3;
        EXPECT_EQ(settings.Resolved(16, 4).window, 3);
        continue;
      }
      EXPECT_FALSE(its.window);
      EXPECT_EQ(its.channels, 2);
      NcclCollective collective{.protocol = protocol,
                                .shape = shape,
                                .bytes = 12'000'000,
                                .channels = 2,
                                .ranks = 16,
                                .server = 4,
                                .scatters = pair.op == "reduce_scatter"};
      EXPECT_EQ(its.chunk->count, NcclMessage(collective)) << pair.Text();
      settings.channels = 5;
      collective.channels = 5;
      EXPECT_EQ(settings.Resolved(16, 4).channels, 5);
      EXPECT_EQ(settings.Resolved(16, 4).chunk->count, NcclMessage(collective));
      settings.chunk = 77_B;
      settings.group_size = 8;
      EXPECT_EQ(settings.Resolved(16, 4).chunk, 77_B);
      EXPECT_EQ(settings.Resolved(16, 4).group_size, 8);
    }
  }
}

// Of 16 MiB on two channels, a reduce-scatter's chunk is a 32nd, an all-gather's a 64th, as
// nccl_test.cc has it.
TEST(CollectiveNcclTest, PatHasShorterChunksIfItGathers) {
  for (const auto& [op, chunk] : {std::pair(Op::kReduceScatter, 512), {Op::kAllGather, 256}}) {
    CollectiveSettings settings;
    settings.op = op;
    settings.algorithm = Algorithm::kPat;
    settings.size = Bytes{16 << 20};
    settings.preset = CollectiveSettings::Preset::kNccl;
    EXPECT_EQ(settings.Resolved(64, 1).chunk->count, chunk * 1'024);
  }
}

// The preset limits what is unfinished on a connection, unless the user says otherwise; the
// latencies of steps come on top of the user's.
TEST(CollectiveNcclTest, LimitsConnectionsAndDelaysSteps) {
  const std::string ring = "op: all_reduce, size: 1MB";
  EXPECT_EQ(Made(ring)->settings().unfinished, 0u);
  EXPECT_EQ(Made(ring + ", preset: nccl")->settings().unfinished, 4u);
  EXPECT_EQ(Made(ring + ", preset: nccl, protocol: ll")->settings().unfinished, 8u);
  EXPECT_EQ(Made(ring + ", preset: nccl, algorithm: tree")->settings().unfinished, 8u);
  EXPECT_EQ(Made(ring + ", preset: nccl, unfinished: 3")->settings().unfinished, 3u);
  EXPECT_EQ(Made(ring + ", preset: nccl, connections: free")->settings().unfinished, 0u);
  EXPECT_EQ(Made(ring + ", step_latency: nccl")->settings().unfinished, 0u);

  const auto latency = [&](const std::string& more) {
    const auto job = Made(ring + more);
    return std::pair(job->settings().overhead, job->settings().local_overhead);
  };
  EXPECT_EQ(latency(""), std::pair(0_ns, 0_ns));
  EXPECT_EQ(latency(", preset: nccl"), std::pair(0_ns, 0_ns));
  EXPECT_EQ(latency(", step_latency: nccl"), std::pair(14_us, 3'400_ns));
  EXPECT_EQ(latency(", step_latency: nccl, protocol: ll"), std::pair(2'700_ns, 600_ns));
  EXPECT_EQ(latency(", step_latency: nccl, algorithm: tree"), std::pair(14_us, 4_us));
  const auto with_overhead = Made(ring + ", step_latency: nccl, overhead: 1us");
  const auto overhead_alone = Made(ring + ", overhead: 1us");
  EXPECT_EQ(with_overhead->settings().overhead, overhead_alone->settings().overhead + 14_us);
  EXPECT_EQ(with_overhead->settings().local_overhead,
            overhead_alone->settings().local_overhead + 3'400_ns);
}

// --- Algorithms of training steps and traces ---

TEST(GroupAlgorithmsTest, HaveThoseOfTheirOperations) {
  GroupAlgorithms algorithms;
  EXPECT_EQ(algorithms.Of(Op::kAllReduce), Algorithm::kRing);
  EXPECT_EQ(algorithms.Of(Op::kAllGather), Algorithm::kRing);
  EXPECT_EQ(algorithms.Of(Op::kReduceScatter), Algorithm::kRing);
  EXPECT_EQ(algorithms.Of(Op::kAllToAll), Algorithm::kDirect);
  EXPECT_EQ(algorithms.Of(Op::kBroadcast), Algorithm::kBinomial);
  EXPECT_EQ(algorithms.Of(Op::kBarrier), Algorithm::kAuto);
}

// All that have no servers, for training steps without those of all-to-all and broadcast.
TEST(GroupAlgorithmsTest, AreReadByTheirNames) {
  for (const Pair& pair : Pairs()) {
    if (pair.op == "barrier" || pair.algorithm == "hierarchical" || pair.algorithm == "rail") {
      continue;
    }
    const std::string yaml = pair.op + ": " + pair.algorithm;
    GroupAlgorithms algorithms;
    ReadTestSettings(yaml, [&](Fields& fields) { algorithms.Declare(fields); });
    EXPECT_EQ(algorithms.Of(pair.its_op), pair.its_algorithm) << yaml;
    if (pair.op == "all_to_all" || pair.op == "broadcast") continue;
    GroupAlgorithms sums;
    ReadTestSettings(yaml, [&](Fields& fields) { sums.DeclareSums(fields); });
    EXPECT_EQ(sums, algorithms) << yaml;
  }
}

}  // namespace heddle::collective_test
