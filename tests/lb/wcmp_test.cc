// SPDX-License-Identifier: Apache-2.0
// WCMP: shares by the capacity behind each next hop, and the reduction of weights that do not fit.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "lb/parts/weights.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::wcmp_test {

using Weights = std::vector<int64_t>;

std::vector<NextHop> Hops(const Weights& capacities) {
  std::vector<NextHop> hops;
  for (const int64_t capacity : capacities) hops.push_back({capacity, 0});
  return hops;
}

// A leaf whose uplinks have these capacities towards leaf 1, and are alike towards leaf 2.
LbSwitch::Shape Shaped(const Weights& capacities) {
  return {.uplinks = std::vector<BitRate>(capacities.size(), 10_Gbps),
          .remote_leaves = 2,
          .next_hops = {Hops(capacities), Hops(Weights(capacities.size(), 10))}};
}

std::vector<int64_t> Shares(LbSwitch& leaf, HostId dst, size_t ports) {
  std::vector<int64_t> counts(ports);
  for (const uint32_t tuple : RandomTuples(1, 100'000)) {
    Packet packet = LbPacket(tuple);
    packet.dst = dst;
    ++counts[leaf.PortFor(packet)];
  }
  return counts;
}

// Worked example: one downlink towards leaf 1 has half the rate.
TEST(WcmpTest, SharesTowardsALeafFollowTheCapacityTowardsThatLeaf) {
  LbSwitch leaf("wcmp", Shaped({5, 10, 10, 10}));
  const std::vector<int64_t> there = Shares(leaf, 1, 4);
  EXPECT_LT(ChiSquare(there, {1, 2, 2, 2}), kChiSquare99[3]);
  EXPECT_NEAR(static_cast<double>(there[0]), 100'000. / 7, 0.02 * 100'000 / 7);
  EXPECT_LT(ChiSquare(Shares(leaf, 2, 4), {1, 1, 1, 1}), kChiSquare99[3]);
}

TEST(WcmpTest, EqualCapacitiesMakeItEcmp) {
  LbSwitch wcmp("wcmp", {.id = 3, .seed = 9});
  LbSwitch ecmp("ecmp", {.id = 3, .seed = 9});
  for (const uint32_t tuple : RandomTuples(1, 10'000)) {
    ASSERT_EQ(wcmp.PortFor(LbPacket(tuple)), ecmp.PortFor(LbPacket(tuple)));
  }
}

TEST(WcmpTest, AFailureChangesTheTable) {
  LbSwitch leaf("wcmp", Shaped({5, 10, 10, 10}));
  const std::vector<PortIndex> live{0, 2};
  std::vector<int64_t> counts(4);
  for (const uint32_t tuple : RandomTuples(1, 30'000)) {
    ++counts[leaf.PortFor(LbPacket(tuple), Time{}, live)];
  }
  EXPECT_LT(ChiSquare({counts[0], counts[2]}, {1, 2}), kChiSquare99[1]);
}

TEST(WcmpTest, TablesTakeTwoBytesAnEntryForEachLeaf) {
  EXPECT_EQ(LbSwitch("{kind: wcmp, entries: 100}", Shaped({1, 1})).policy().StateBytes(),
            8u + 3 * 100 * 2);
}

// --- The network's own capacities, and what a change of rate does to them ---

// Counts the packets of many flows from leaf 0 to host 4, on leaf 2, by uplink of leaf 0.
std::vector<int64_t> UplinksUsed(std::vector<LinkEvent> events, Time start) {
  Lab lab({.graph = LeafSpineFrom("{leaves: 3, spines: 4, hosts_per_leaf: 2, host_link: {rate: "
                                  "100Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}"),
           .transport = "{kind: dctcp, iw: 1}",
           .balancer = "wcmp",
           .events = std::move(events)});
  for (int i = 0; i < 700; ++i) lab.AddFlow(0, 4, 1'000, start + 1_us * i);
  std::vector<int64_t> packets;
  lab.Run();
  for (uint32_t spine = 0; spine < 4; ++spine) {
    packets.push_back(
        lab.PortTo(lab.SwitchVertex(0), lab.SwitchVertex(static_cast<SwitchId>(3 + spine)))
            .SentBy(lab.end())
            .packets);
  }
  return packets;
}

TEST(WcmpTest, FollowsARateThatChangesFarAway) {
  const Graph graph = LeafSpineFrom("{leaves: 3, spines: 4, hosts_per_leaf: 2}");
  uint32_t link = 0;
  while (graph.links[link].name != "leaf2-spine1") ++link;
  const auto before = UplinksUsed({}, Time{});
  EXPECT_LT(ChiSquare(before, {1, 1, 1, 1}), kChiSquare99[3]);
  const LinkEvent slower{.at = Time{} + 1_us, .link = link, .up = {}, .rate = 1_Gbps, .delay = {}};
  const auto after = UplinksUsed({slower}, Time{} + 2_us);
  EXPECT_LT(ChiSquare(after, {10, 1, 10, 10}), kChiSquare99[3]);
}

// --- Weights that do not fit ---

TEST(WeightsTest, AreDividedByWhatTheyHaveInCommon) {
  EXPECT_EQ(ReduceWeights(Weights{40'000, 100'000, 20'000}, 64, 1.05), (Weights{2, 5, 1}));
  EXPECT_EQ(ReduceWeights(Weights{7, 7, 7}, 64, 1.05), (Weights{1, 1, 1}));
}

// Worked example.
TEST(WeightsTest, SevenToThreeInFourEntriesIsThreeToOne) {
  EXPECT_EQ(ReduceWeights(Weights{7, 3}, 4, 1.05), (Weights{3, 1}));
  EXPECT_NEAR(Oversubscription(Weights{7, 3}, Weights{3, 1}), 1.0714, 1e-4);
  EXPECT_EQ(ReduceWeights(Weights{7, 3}, 10, 1.05), (Weights{7, 3}));
  EXPECT_EQ(ReduceWeights(Weights{7, 3}, 9, 1.2), (Weights{2, 1}));  // 1.11 is good enough.
}

// The greedy table is compared with every table up to the limit: it is among the best, or nearly.
TEST(WeightsTest, GreedyReductionIsNearTheBestThereIs) {
  const Weights wanted{17, 11, 5};
  for (int64_t limit = 3; limit < 25; ++limit) {
    double best = 1e9;
    for (int64_t a = 1; a <= limit; ++a) {
      for (int64_t b = 1; a + b < limit; ++b) {
        for (int64_t c = 1; a + b + c <= limit; ++c) {
          best = std::min(best, Oversubscription(wanted, Weights{a, b, c}));
        }
      }
    }
    const Weights reduced = ReduceWeights(wanted, limit, 1.0);
    EXPECT_LE(std::accumulate(reduced.begin(), reduced.end(), int64_t{0}), limit);
    EXPECT_LE(Oversubscription(wanted, reduced), 1.12 * best) << limit;
  }
}

TEST(WeightsTest, MorePortsThanEntriesHaveOneEach) {
  EXPECT_EQ(ReduceWeights(Weights{1, 2, 3}, 2, 1.05), (Weights{1, 1, 1}));
}

TEST(WeightsTest, InterleaveSpreadsEachEvenly) {
  EXPECT_EQ(Interleave(Weights{1, 1, 1}), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(Interleave(Weights{2, 1}), (std::vector<uint32_t>{0, 1, 0}));
  EXPECT_EQ(Interleave(Weights{3, 1}), (std::vector<uint32_t>{0, 0, 1, 0}));
}

}  // namespace heddle::wcmp_test
