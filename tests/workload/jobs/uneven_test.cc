// SPDX-License-Identifier: Apache-2.0
// Collectives whose ranks differ: all-to-all by a matrix and by experts, in servers, in random
// orders, and with NCCL's parameters.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/timed_play.h"
#include "workload/jobs/all_to_all.h"
#include "workload/jobs/barrier.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/moe.h"
#include "workload/jobs/nccl.h"
#include "workload/jobs/rail_all_to_all.h"
#include "workload/jobs/traffic_matrix.h"

namespace heddle::uneven_test {

using Op = CollectiveSettings::Op;
using Algorithm = CollectiveSettings::Algorithm;

int64_t X(int64_t packets) { return 2'083'840 + 83'840 * packets; }

CollectiveSettings SettingsOf(Op op, Algorithm algorithm, int64_t bytes) {
  CollectiveSettings settings;
  settings.op = op;
  settings.algorithm = algorithm;
  settings.size = Bytes{bytes};
  return settings;
}

// Bytes from each rank to each other, by source, then destination, with each message's number
// checked against what the receiver calls it.
std::vector<int64_t> TrafficOf(const Schedule& schedule) {
  std::vector<int64_t> bytes(size_t{schedule.ranks()} * schedule.ranks());
  std::vector<std::set<uint64_t>> ordinals(schedule.ranks());
  const TimedPlay play(schedule, StarTimes);
  for (const TimedPlay::Sent& sent : play.sent()) {
    const Message message = schedule.MessageOf(sent.index);
    bytes[message.src * size_t{schedule.ranks()} + message.dst] += message.bytes;
    const uint64_t ordinal = schedule.OrdinalOf(sent.index);
    EXPECT_LT(ordinal, schedule.IncomingOf(message.dst));
    EXPECT_TRUE(ordinals[message.dst].insert(ordinal).second);
  }
  for (uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    EXPECT_EQ(ordinals[rank].size(), schedule.ArrivalsAt(rank)) << rank;
  }
  EXPECT_NE(play.end(), kNever);
  return bytes;
}

// --- Orders ---

TEST(RandomOrderTest, IsAPermutationOfItsOwnForEachRank) {
  std::vector<uint32_t> counts = {33, 65, 257};
  for (uint32_t ranks = 2; ranks <= 18; ++ranks) counts.push_back(ranks);
  for (const uint32_t ranks : counts) {
    const auto order = MakeRandomOrder(ranks, /*seed=*/5, /*job=*/1);
    std::set<std::vector<uint32_t>> orders;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      std::vector<uint32_t> peers;
      for (uint32_t i = 0; i + 1 < ranks; ++i) {
        peers.push_back(order->PeerOf(rank, i));
        EXPECT_EQ(order->PlaceOf(rank, peers.back()), i);
      }
      std::vector<uint32_t> sorted = peers;
      std::ranges::sort(sorted);
      for (uint32_t i = 0; i + 1 < ranks; ++i) EXPECT_EQ(sorted[i], i < rank ? i : i + 1);
      // By distance, so that equal orders relative to the rank would be noticed.
      for (uint32_t& peer : peers) peer = (peer + ranks - rank) % ranks;
      orders.insert(peers);
    }
    if (ranks >= 17) {
      EXPECT_EQ(orders.size(), ranks);
    }
  }
}

// Each rank sends to each other one once, and knows of each which place it has.
TEST(PeerOrderTest, PlacesAreThoseOfPeers) {
  for (uint32_t ranks = 2; ranks <= 18; ++ranks) {
    std::vector<std::unique_ptr<PeerOrder>> orders;
    orders.push_back(MakeRoundOrder(ranks));
    for (uint32_t group = 1; group <= ranks; ++group) {
      if (ranks % group == 0) orders.push_back(MakeNcclOrder(ranks, group));
    }
    for (const auto& order : orders) {
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        std::set<uint32_t> peers = {rank};
        for (uint32_t i = 0; i + 1 < ranks; ++i) {
          const uint32_t peer = order->PeerOf(rank, i);
          EXPECT_LT(peer, ranks);
          EXPECT_TRUE(peers.insert(peer).second);
          EXPECT_EQ(order->PlaceOf(rank, peer), i) << ranks << " ranks, " << rank;
        }
      }
    }
  }
}

// The heap that the result takes; 0 with AddressSanitizer, whose heap is its own.
template <class Make>
size_t BytesOf(const Make& make) {
  const size_t before = mallinfo2().uordblks;
  const auto kept = make();
  return mallinfo2().uordblks - before;
}

TEST(RandomOrderTest, TakesMemoryThatDoesNotGrowWithRanks) {
  EXPECT_EQ(BytesOf([] { return MakeRandomOrder(10'000, 1, 1); }),
            BytesOf([] { return MakeRandomOrder(10, 1, 1); }));
  // A message of one of 10,000 ranks is told from its number, and the number of a rank's state is
  // that of its window.
  AllToAllSettings all{
      .ranks = 10'000, .window = 2, .bytes = [](uint32_t, uint32_t) { return int64_t{1000}; }};
  const auto schedule = MakeAllToAll(std::move(all), MakeRandomOrder(10'000, 1, 1));
  EXPECT_EQ(schedule->slots(), 99'990'000u);
  EXPECT_LE(BytesOf([&] { return schedule->ProgramOf(77); }), 128u);
}

// --- Uneven all-to-all ---

TEST(AllToAllTest, SendsWhatAMatrixSays) {
  CollectiveSettings settings = SettingsOf(Op::kAllToAll, Algorithm::kDirect, 0);
  settings.matrix = "m.csv";
  settings.traffic = std::make_shared<const std::vector<int64_t>>(
      std::vector<int64_t>{5, 10, 0, 20, 7, 30, 0, 40, 9});
  const auto schedule = settings.Resolved(3, 1).Make(3, 1, 1);
  EXPECT_EQ(TrafficOf(*schedule), (std::vector<int64_t>{0, 10, 0, 20, 0, 30, 0, 40, 0}));
  const ScheduleTotals totals = schedule->Totals();
  EXPECT_EQ(totals.messages, 4);
  EXPECT_EQ(totals.bytes, 100);
  EXPECT_EQ(totals.largest, 40);
}

// Blanks around numbers, and lines that are blank, do not count.
TEST(TrafficMatrixTest, ReadsRowsAndNamesMistakes) {
  const TemporaryFolder folder;
  FilesRead files;
  const auto read = [&](const std::string& name, const std::string& text,
                        Diagnostics& diagnostics) {
    return ReadTrafficMatrix(folder.Write(name, text).string(), "matrix", files, diagnostics);
  };
  Diagnostics good;
  const auto matrix = read("good.csv", "0, 10 ,  2\n\n3 ,0,4\n5,6,0\n", good);
  ASSERT_TRUE(good.ok()) << good.Report();
  EXPECT_EQ(*matrix, (std::vector<int64_t>{0, 10, 2, 3, 0, 4, 5, 6, 0}));
  Diagnostics bad;
  EXPECT_EQ(read("bad.csv", "0,\"1\"x\n1,y\n", bad), nullptr);
  EXPECT_NE(bad.Report().find("bad.csv:1:1: "), std::string::npos) << bad.Report();
  EXPECT_NE(bad.Report().find("bad.csv:2:1: "), std::string::npos) << bad.Report();
}

MoeSettings Experts(double skew, MoeSettings::Routing routing) {
  MoeSettings moe;
  moe.tokens = 1000;
  moe.top_k = 2;
  moe.hidden = 8;
  moe.experts = 8;
  moe.skew = skew;
  moe.routing = routing;
  return moe;
}

// The least popular of 64 experts has 4e-6 of all choices, and every token goes to it in the end.
TEST(MoeTest, SamplesRareExpertsInABoundedTime) {
  MoeSettings moe = Experts(3, MoeSettings::Routing::kSampled);
  moe.tokens = 500;
  moe.experts = moe.top_k = 64;
  const int64_t to_each_rank = moe.tokens * moe.hidden * moe.element.count * 64 / 4;
  EXPECT_EQ(MoeTraffic(moe, 4, 1, 0), std::vector<int64_t>(16, to_each_rank));
}

// Two of three experts: the third is left out as often as successive draws by weight say.
TEST(MoeTest, SamplesWithoutReplacementByWeight) {
  MoeSettings moe = Experts(3, MoeSettings::Routing::kSampled);
  moe.tokens = 40'000;
  moe.experts = 3;
  const std::vector<int64_t> traffic = MoeTraffic(moe, 3, 1, 0);
  std::vector<double> shares;
  for (size_t expert = 0; expert < 3; ++expert) {
    double bytes = 0;
    for (size_t rank = 0; rank < 3; ++rank)
      bytes += static_cast<double>(traffic[3 * rank + expert]);
    shares.push_back(bytes / static_cast<double>(3 * moe.tokens * moe.hidden * moe.element.count));
  }
  std::ranges::sort(shares);
  const std::vector<double> w = {1, 1.0 / 8, 1.0 / 27};
  const auto left_out = [&](size_t a, size_t b) {  // The third, if a and b are drawn.
    const double sum = w[0] + w[1] + w[2];
    return w[a] / sum * w[b] / (sum - w[a]) + w[b] / sum * w[a] / (sum - w[b]);
  };
  EXPECT_NEAR(shares[0], 1 - left_out(0, 1), 0.005);
  EXPECT_NEAR(shares[1], 1 - left_out(0, 2), 0.005);
  EXPECT_NEAR(shares[2], 1 - left_out(1, 2), 0.005);
}

TEST(MoeTest, ExpectedTokensAreSharedOutByPopularity) {
  // Without skew, each of eight experts gets 250 of the 2,000 choices: 4,000 bytes.
  const MoeSettings even = Experts(0, MoeSettings::Routing::kExpected);
  EXPECT_EQ(MoeTraffic(even, 4, 1, 1), std::vector<int64_t>(16, 2 * 4'000));

  // With skew 1 the shares are 1/j over their sum 2.717857, whatever expert is the j-th.
  const MoeSettings skewed = Experts(1, MoeSettings::Routing::kExpected);
  std::vector<int64_t> row = MoeTraffic(skewed, 8, 1, 1);
  row.resize(8);
  std::ranges::sort(row, std::greater<>());
  const std::vector<int64_t> tokens = {736, 368, 245, 184, 147, 123, 105, 92};
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(row[i], tokens[i] * 16) << i;
}

TEST(MoeTest, SamplesAddUpAndFollowPopularity) {
  for (const double skew : {0.0, 1.0}) {
    const MoeSettings moe = Experts(skew, MoeSettings::Routing::kSampled);
    const std::vector<int64_t> bytes = MoeTraffic(moe, 4, 1, 1);
    std::vector<int64_t> to(4);
    for (size_t src = 0; src < 4; ++src) {
      int64_t sum = 0;
      for (size_t dst = 0; dst < 4; ++dst) {
        sum += bytes[src * 4 + dst];
        to[dst] += bytes[src * 4 + dst];
      }
      EXPECT_EQ(sum, moe.BytesOfRank());
      // No expert gets a token twice.
      EXPECT_LE(*std::max_element(&bytes[src * 4], &bytes[src * 4] + 4), 2 * 1000 * 16);
    }
    const double spread =
        static_cast<double>(std::ranges::max(to)) / static_cast<double>(std::ranges::min(to));
    if (skew == 0.0) {
      EXPECT_LT(spread, 1.1);
    } else {
      EXPECT_GT(spread, 1.3);
    }
  }
}

TEST(MoeTest, CombineIsTheTransposeOfDispatch) {
  MoeSettings moe = Experts(1.2, MoeSettings::Routing::kSampled);
  const std::vector<int64_t> forth = MoeTraffic(moe, 6, 3, 2);
  moe.direction = MoeSettings::Direction::kCombine;
  const std::vector<int64_t> back = MoeTraffic(moe, 6, 3, 2);
  for (size_t a = 0; a < 6; ++a) {
    for (size_t b = 0; b < 6; ++b) EXPECT_EQ(back[a * 6 + b], forth[b * 6 + a]);
  }
}

// --- In servers ---

TEST(HierarchicalTest, TakesTheTimeOfItsThreePhases) {
  // Four servers of two ranks: one step in the server, six steps among servers with half of the
  // buffer, one step in the server.
  CollectiveSettings settings = SettingsOf(Op::kAllReduce, Algorithm::kHierarchical, 800'000);
  settings.group_size = 2;
  const auto schedule = settings.Resolved(8, 1).Make(8, 1, 1);
  const TimedPlay play(*schedule, StarTimes);
  EXPECT_EQ(play.end().ps, 2 * X(400) + 6 * X(100));
  // Each rank sends half of the buffer twice in its server, and 2 (4 - 1) / 4 of a half beyond it.
  EXPECT_EQ(schedule->Totals().bytes, 8 * (800'000 + 600'000));
  // Ranks speak to their server and to those of their own place alone.
  const std::vector<int64_t> bytes = TrafficOf(*schedule);
  for (size_t src = 0; src < 8; ++src) {
    for (size_t dst = 0; dst < 8; ++dst) {
      if (src / 2 != dst / 2 && src % 2 != dst % 2) {
        EXPECT_EQ(bytes[src * 8 + dst], 0);
      }
    }
  }
}

TEST(RailAllToAllTest, SendsAllBytesAlongRails) {
  for (const bool merges : {true, false}) {
    for (const uint32_t server : {2u, 3u, 4u}) {
      const uint32_t ranks = 3 * server;
      const auto schedule = MakeRailAllToAll({ranks, server, 1000 * ranks + 5, merges});
      EXPECT_EQ(schedule->slots(),
                ranks * ((server - 1) * 2 + 2 * (merges ? 1 : server) + server - 1));
      const std::vector<int64_t> bytes = TrafficOf(*schedule);
      for (uint32_t src = 0; src < ranks; ++src) {
        for (uint32_t dst = 0; dst < ranks; ++dst) {
          int64_t expected = 0;
          const int64_t block = 1000 + (dst < 5 ? 1 : 0);
          if (src / server == dst / server && src != dst) {
            // A block for each rank of the other's rail, itself included.
            for (uint32_t rail = dst % server; rail < ranks; rail += server) {
              expected += 1000 + (rail < 5 ? 1 : 0);
            }
          } else if (src % server == dst % server && src != dst) {
            expected = server * block;
          }
          EXPECT_EQ(bytes[src * ranks + dst], expected) << src << " to " << dst;
        }
      }
    }
  }
}

TEST(RailAllToAllTest, TakesOneHandOverAndOneMessage) {
  const auto schedule = MakeRailAllToAll({8, 4, 80'000, true});
  EXPECT_EQ(TimedPlay(*schedule, StarTimes).end().ps, X(10) + X(40));
  // Unmerged, a rank's own bytes leave at once, and the others do not wait for each other.
  const auto single = MakeRailAllToAll({8, 4, 80'000, false});
  EXPECT_EQ(TimedPlay(*single, StarTimes).end().ps, 2 * X(10));
}

// --- NCCL ---

TEST(NcclTest, CutsMessagesAsTheProtocolDoes) {
  constexpr int64_t kMebibyte = 1 << 20;
  const auto make = [](Algorithm algorithm, NcclProtocol protocol, int64_t bytes) {
    CollectiveSettings settings = SettingsOf(Op::kAllReduce, algorithm, bytes);
    settings.preset = CollectiveSettings::Preset::kNccl;
    settings.protocol = protocol;
    return settings.Resolved(4, 1).Make(4, 1, 1);
  };
  // Two channels of 4 MiB, each in blocks of one slice.
  const ScheduleTotals ring =
      make(Algorithm::kRing, NcclProtocol::kSimple, 8 * kMebibyte)->Totals();
  EXPECT_EQ(ring.messages, 2 * 6 * 4);
  EXPECT_EQ(ring.largest, kMebibyte);
  // Twice the bytes, in messages of a step: 64 KiB with flags.
  const ScheduleTotals ll = make(Algorithm::kRing, NcclProtocol::kLl, 8 * kMebibyte)->Totals();
  EXPECT_EQ(ll.bytes, 2 * ring.bytes);
  EXPECT_EQ(ll.largest, kMebibyte / 16);
  // Trees: pieces of a step.
  const ScheduleTotals tree =
      make(Algorithm::kTree, NcclProtocol::kSimple, 8 * kMebibyte)->Totals();
  EXPECT_EQ(tree.largest, kMebibyte / 2);
  EXPECT_EQ(make(Algorithm::kRing, NcclProtocol::kLl128, 120'000)->Totals().bytes, 6 * 128'000);
}

// By NCCL's calcCollChunking(): 576,000 bytes of payload at most, halved as long as there are fewer
// chunks than 64 or 16 for each level of the tree. On the wire, 128 bytes carry 120.
TEST(NcclTest, TreesOfLl128HaveShortChunksForSmallBuffers) {
  constexpr int64_t kMebibyte = 1 << 20;
  const auto message = [](int64_t bytes, uint32_t ranks, uint32_t server) {
    return NcclMessage({.protocol = NcclProtocol::kLl128,
                        .shape = NcclShape::kTree,
                        .bytes = bytes,
                        .channels = 2,
                        .ranks = ranks,
                        .server = server});
  };
  // 8 servers of one rank: 1 + 3 + 0.1 levels, so 262.4 and 65.6 chunks.
  EXPECT_EQ(message(1024 * kMebibyte, 8, 1), 614'400);  // 932 chunks of 576,000.
  EXPECT_EQ(message(256 * kMebibyte, 8, 1), 307'200);   // 233, then 466.
  EXPECT_EQ(message(128 * kMebibyte, 8, 1), 153'600);   // 116, 233, 466.
  EXPECT_EQ(message(16 * kMebibyte, 8, 1), 76'800);     // 116 of 72,000 are 65.6 or more.
  EXPECT_EQ(message(8 * kMebibyte, 8, 1), 38'400);      // 58 of 72,000 are not.
  EXPECT_EQ(message(kMebibyte, 8, 1), 19'200);          // NCCL stops below 32 KiB.
  // 8 servers of 8 ranks: 1 + 3 + 0.8 levels, so 38.4 and 9.6 chunks.
  EXPECT_EQ(message(64 * kMebibyte, 64, 8), 614'400);  // 58.
  EXPECT_EQ(message(8 * kMebibyte, 64, 8), 76'800);    // 7, 14, 29 and 58 of 72,000.
  EXPECT_EQ(message(kMebibyte, 64, 8), 38'400);        // 7, then 14 of 36,000.
  // Neither rings nor other protocols.
  EXPECT_EQ(NcclMessage({.protocol = NcclProtocol::kLl128, .bytes = kMebibyte, .channels = 2}),
            614'400);
  EXPECT_EQ(NcclMessage({.shape = NcclShape::kTree, .bytes = kMebibyte, .channels = 2}),
            kMebibyte / 2);

  CollectiveSettings settings = SettingsOf(Op::kAllReduce, Algorithm::kTree, kMebibyte);
  settings.preset = CollectiveSettings::Preset::kNccl;
  settings.protocol = NcclProtocol::kLl128;
  // 1,118,482 bytes on the wire; half of them on each channel, in 29 pieces of 19,200 and the rest.
  const ScheduleTotals totals = settings.Resolved(8, 1).Make(8, 1, 1)->Totals();
  EXPECT_EQ(totals.largest, 19'200);
  EXPECT_NEAR(totals.messages, 2 * 30 * 2 * 7, 1e-9);
}

// NCCL knows broadcasts along the ring alone, in chunks of one step.
TEST(NcclTest, BroadcastsGoAlongTheRingInChunksOfAStep) {
  constexpr int64_t kMebibyte = 1 << 20;
  CollectiveSettings settings = SettingsOf(Op::kBroadcast, Algorithm::kAuto, 8 * kMebibyte);
  EXPECT_EQ(settings.chosen(), Algorithm::kBinomial);
  settings.preset = CollectiveSettings::Preset::kNccl;
  EXPECT_EQ(settings.chosen(), Algorithm::kChain);
  const auto totals = [&](NcclProtocol protocol) {
    settings.protocol = protocol;
    return settings.Resolved(4, 1).Make(4, 1, 1)->Totals();
  };
  // Two channels with 8 chunks each, over three hops.
  EXPECT_EQ(totals(NcclProtocol::kSimple).largest, kMebibyte / 2);
  EXPECT_EQ(totals(NcclProtocol::kSimple).messages, 2 * 8 * 3);
  EXPECT_EQ(totals(NcclProtocol::kLl).largest, kMebibyte / 16);
  EXPECT_EQ(totals(NcclProtocol::kLl).bytes, 2 * 3 * 8 * kMebibyte);
  EXPECT_EQ(totals(NcclProtocol::kLl128).largest, 614'400);
  EXPECT_EQ(NcclUnfinished(NcclProtocol::kSimple, NcclShape::kChain), 8u);
  EXPECT_EQ(NcclUnfinished(NcclProtocol::kSimple, NcclShape::kRing), 4u);
  // The latencies of a ring.
  EXPECT_EQ(NcclStepLatency(NcclProtocol::kLl, NcclShape::kChain).network, 2700_ns);

  std::string refused;
  settings.algorithm = Algorithm::kBinomial;
  settings.Resolved(4, 1).Check(4, [&](std::string_view key, const std::string& message) {
    refused = std::string(key) + ": " + message;
  });
  EXPECT_EQ(refused, "preset: nccl goes with ring, tree, double_tree, pat, chain and direct");
}

TEST(NcclTest, AllToAllHasEightPeersAtOnce) {
  CollectiveSettings settings = SettingsOf(Op::kAllToAll, Algorithm::kDirect, 32'000);
  settings.preset = CollectiveSettings::Preset::kNccl;
  const auto schedule = settings.Resolved(32, 1).Make(32, 1, 1);
  const TimedPlay play(*schedule, StarTimes);
  std::vector<int> at_start(32);
  for (const TimedPlay::Sent& sent : play.sent()) {
    if (sent.at == Time{}) ++at_start[schedule->MessageOf(sent.index).src];
  }
  EXPECT_EQ(at_start, std::vector<int>(32, 8));
}

// --- Barriers ---

TEST(BarrierTest, LetsNoRankGoOnBeforeAllHaveFinished) {
  const auto work = [] {
    return SettingsOf(Op::kBroadcast, Algorithm::kChain, 10'000).Resolved(5, 1).Make(5, 1, 1);
  };
  const auto schedule = MakeWithBarrier(work());
  const TimedPlay alone(*work(), StarTimes);
  const TimedPlay play(*schedule, StarTimes);
  // The last rank of the chain ends after four messages; then come three steps.
  EXPECT_EQ(alone.end().ps, 4 * X(10));
  for (const Time end : play.ends()) EXPECT_GE(end, alone.end() + Duration{X(1)});
  EXPECT_EQ(play.end().ps, 4 * X(10) + 3 * X(1));
  EXPECT_EQ(schedule->slots(), schedule->work().slots() + 3 * 5);
  TrafficOf(*schedule);
}

}  // namespace heddle::uneven_test
