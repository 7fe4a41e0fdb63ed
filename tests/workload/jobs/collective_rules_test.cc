// SPDX-License-Identifier: Apache-2.0
// The settings of collectives: their limits, and what goes with what. Which algorithms a setting
// goes with is listed here a second time.

#include "workload/jobs/collective.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/collective_kit.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/limits.h"
#include "tests/support/printers.h"
#include "workload/jobs/nccl.h"

namespace heddle::collective_rules_test {

using namespace collective_kit;
using ::testing::HasSubstr;

// --- Limits ---

TEST(CollectiveLimitsTest, AreThoseOfTheManual) {
  const std::string ring = "op: all_reduce, size: 1MB, ";
  const std::string direct = "op: all_to_all, size: 1MB, ";
  ExpectTakenAndRefused(
      {{"size", {"1B"}, {"-1B"}, "op: all_reduce, "},
       {"channels", {"1", "256", "auto"}, {"0", "257"}, ring},
       {"chunk", {"1B", "none"}, {"0B"}, ring},
       {"reduce_rate", {"1bps", "off"}, {"0bps"}, ring},
       {"window", {"1", "auto"}, {"0"}, direct},
       {"aggregate", {"1", "most"}, {"0"}, "op: all_gather, algorithm: pat, size: 1MB, "},
       {"root", {"0", "7"}, {"-1"}, "op: broadcast, size: 1MB, "},
       {"group_size", {"2", "4"}, {"1"}, ring + "algorithm: hierarchical, "}},
      [](const SettingValues& its, const std::string& value) {
        return Errors(fmt::format("{}{}: {}", its.beside, its.setting, value));
      },
      [](const SettingValues& its, const std::string& value) {
        return fmt::format("{}: \"{}\" is out of range", its.setting, value);
      });
}

TEST(CollectiveLimitsTest, OfExpertsAreThoseOfTheManual) {
  const auto errors = [](const std::string& moe) {
    return Errors(fmt::format("op: all_to_all, moe: {{{}}}", moe), 2);
  };
  ExpectTakenAndRefused(
      {{"tokens", {"1", "16777216"}, {"-1", "16777217"}},
       {"top_k", {"1", "64"}, {"0", "65"}, "tokens: 1, experts: 100, "},
       {"hidden", {"1", "1048576"}, {"0", "1048577"}, "tokens: 1, "},
       {"element", {"1B", "16B"}, {"0B", "17B"}, "tokens: 1, "},
       {"experts", {"1", "65536"}, {"0", "65537"}, "tokens: 1, top_k: 1, "},
       {"skew", {"0", "3"}, {"-0.01", "3.01"}, "tokens: 1, "}},
      [&](const SettingValues& its, const std::string& value) {
        return errors(fmt::format("{}{}: {}", its.beside, its.setting, value));
      },
      [](const SettingValues&, const std::string&) { return "out of range"; });
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
  for (const OpAlgorithm& pair : Pairs()) {
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
      EXPECT_THAT(Errors(OpAlgorithm{op, algorithm, {}, {}}.Text()),
                  HasSubstr(fmt::format("algorithm: {} is no algorithm for {}; choose {}",
                                        algorithm, op, fmt::join(its, ", "))));
    }
  }
}

// Expects that `setting` is refused exactly for the pairs for which `is_used` is false, by an error
// that contains `message`.
template <class IsUsed>
void ExpectUse(const std::string& setting, const std::string& message, const IsUsed& is_used) {
  for (const OpAlgorithm& pair : Pairs()) {
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
  ExpectUse(setting, message, [&](const OpAlgorithm& pair) {
    return used.contains(pair.algorithm) || used.contains(pair.op);
  });
}

TEST(CollectiveRulesTest, ASettingIsRefusedWhereItDoesNothing) {
  const std::string none = "has no effect on ";
  ExpectUse("ring_order: stride", "ring_order: " + none, {"ring", "bidirectional", "hierarchical"});
  ExpectUse("reduce_rate: 1Gbps", "reduce_rate: " + none, {"all_reduce", "reduce_scatter"});
  ExpectUse("window: 2", "window: " + none, {"direct"});
  ExpectUse("peers: random", "peers: " + none, {"direct"});
  ExpectUse("wait: recv", "wait: " + none, {"pairwise", "shift", "binomial"});
  ExpectUse("aggregate: 1", "aggregate: " + none, {"pat"});
  ExpectUse("root: 1", "root: " + none, {"broadcast"});
  ExpectUse("merge: false", "merge: " + none, {"rail"});
  ExpectUse("protocol: ll", "protocol: " + none, std::set<std::string>{});
  // With the preset or the latencies of NCCL, there are protocols.
  ExpectUse("protocol: ll, step_latency: nccl", "", [](const OpAlgorithm&) { return true; });
  for (const OpAlgorithm& pair : Pairs()) {
    if (pair.algorithm == "hierarchical" || pair.algorithm == "rail") continue;
    EXPECT_THAT(Errors(pair.Text() + ", group_size: 2"), HasSubstr("group_size: " + none));
  }
  EXPECT_THAT(Errors("op: barrier, size: 1B"), HasSubstr("size: " + none));
}

TEST(CollectiveRulesTest, SomeAlgorithmsHavePiecesChannelsPartsOrNccl) {
  ExpectUse("chunk: 100KB", "chunk: goes with rings, trees, chains and pat",
            {"ring", "bidirectional", "tree", "double_tree", "chain", "pat", "hierarchical"});
  ExpectUse(
      "channels: 2", " sends one message to each rank; use channels: 1",
      [](const OpAlgorithm& its) { return its.algorithm != "direct" && its.algorithm != "rail"; });
  ExpectUse("channels: 1", "", [](const OpAlgorithm&) { return true; });
  ExpectUse("preset: nccl", "preset: nccl goes with ring, tree, double_tree, pat, chain and direct",
            {"ring", "tree", "double_tree", "pat", "chain", "direct"});
  for (const std::string split : {"leaf", "host"}) {
    const std::set<std::string> whole = {"tree", "double_tree",   "chain",
                                         "rail", "dissemination", "hierarchical"};
    for (const OpAlgorithm& pair : Pairs()) {
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

}  // namespace heddle::collective_rules_test
