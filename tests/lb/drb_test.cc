// SPDX-License-Identifier: Apache-2.0
// DRB: the order of bounce switches, and the short queues that come of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"

namespace heddle::drb_test {

constexpr size_t kHalf = 4;  // k = 8: edges and aggregations have 4 uplinks each.

std::vector<uint16_t> PathsOf(LbHost& host, HostFlow& flow, size_t packets) {
  std::vector<uint16_t> paths;
  for (size_t i = 0; i < packets; ++i) paths.push_back(host.Send(flow).path);
  return paths;
}

TEST(DrbTest, VisitsEveryCoreOnceAndChangesTheLowestDigitEveryTime) {
  const PathTable table = PathsOfWeights(std::vector<uint16_t>(kHalf * kHalf, 1));
  LbHost host("drb", table);
  HostFlow flow = host.Start(1);
  const std::vector<uint16_t> paths = PathsOf(host, flow, 10 * kHalf * kHalf);
  for (size_t i = 0; i + kHalf * kHalf <= paths.size(); ++i) {
    const auto from = paths.begin() + static_cast<ptrdiff_t>(i);
    ASSERT_EQ(std::set<uint16_t>(from, from + kHalf * kHalf).size(), kHalf * kHalf);
    // Any four in a row go by four aggregation switches.
    std::set<size_t> aggs;
    for (size_t j = i; j < i + kHalf; ++j) aggs.insert(paths[j] % kHalf);
    ASSERT_EQ(aggs.size(), kHalf);
  }
}

TEST(DrbTest, AcksHaveTurnsOfTheirOwn) {
  const PathTable table = PathsOfWeights(std::vector<uint16_t>(4, 1));
  LbHost host("drb", table);
  HostFlow flow = host.Start(1);
  std::set<uint16_t> data;
  std::set<uint16_t> acks;
  for (int i = 0; i < 4; ++i) {  // They alternate, and still each takes all paths.
    data.insert(host.Send(flow).path);
    Packet ack = LbPacket(1);
    host.At(Time{},
            [&](HostView& view, HostPolicy& policy) { policy.OnSendAck(view, LbPacket(1), ack); });
    acks.insert(ack.path);
  }
  EXPECT_EQ(data.size(), 4u);
  EXPECT_EQ(acks.size(), 4u);
}

TEST(DrbTest, FlowsOfAPairShareItsTurnsAndHostsStartAnywhere) {
  const PathTable table = PathsOfWeights(std::vector<uint16_t>(16, 1));
  LbHost host("drb", table);
  HostFlow one = host.Start(1, 1);
  HostFlow two = host.Start(1, 2);
  const uint16_t first = host.Send(one).path;
  EXPECT_EQ(host.Send(two).path, (first + 1) % 16);
  // Two hosts of one run begin at paths of their own, and in another run elsewhere.
  constexpr uint64_t kSeeds = 64;
  std::set<uint16_t> starts;
  int alike = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    LbHost left("drb", table, 0, seed);
    LbHost right("drb", table, 2, seed);
    HostFlow of_left = left.Start(1);
    HostFlow of_right = right.Start(1);
    const uint16_t path = left.Send(of_left).path;
    alike += path == right.Send(of_right).path ? 1 : 0;
    starts.insert(path);
  }
  EXPECT_GT(starts.size(), 12u);
  EXPECT_LT(alike, 13);  // 4 of 64 by chance; more than 12 once in 20,000 times.
}

TEST(DrbTest, PrunedPathsKeepTheirOrderAndWeightsRepeatThem) {
  PathTable table = PathsOfWeights({1, 1, 1, 1});
  LbHost host("drb", table);
  HostFlow flow = host.Start(1);
  host.Send(flow);
  table.Set(0, 1, {{0, 1}, {2, 1}, {3, 1}});
  const std::vector<uint16_t> paths = PathsOf(host, flow, 6);
  EXPECT_TRUE(std::equal(paths.begin(), paths.begin() + 3, paths.begin() + 3));
  EXPECT_EQ(std::set<uint16_t>(paths.begin(), paths.end()), (std::set<uint16_t>{0, 2, 3}));

  const PathTable weighted = PathsOfWeights({2, 1});
  LbHost heavy("{kind: drb, weights: capacity}", weighted);
  HostFlow third = heavy.Start(1);
  const std::vector<uint16_t> turns = PathsOf(heavy, third, 30);
  EXPECT_EQ(std::ranges::count(turns, 0), 20);
}

// Hosts send at 95% of a fabric link in a permutation across pods. Returns the longest queue of any
// port between switches, in bytes.
int64_t LongestQueue(const std::string& balancer) {
  Lab lab(
      {.graph = GraphFrom("{kind: fat_tree, k: 4, host_link: {rate: 9500Mbps, delay: 1us}}"),
       .transport =
           "{kind: rocev2, cc: none, recovery: irn, window: none, rto: never, control_priority: 3}",
       .balancer = balancer});
  for (HostId h = 0; h < 16; ++h) {
    lab.AddFlow(h, static_cast<HostId>((h + 4) % 16), 2'000'000);
  }
  int64_t longest = 0;
  lab.SampleEvery(500_ns, [&](Time now) {
    const Graph& graph = lab.network().graph();
    for (const Network::Egress& egress : lab.network().egresses()) {
      if (graph.IsHost(egress.vertex) || graph.IsHost(egress.peer)) continue;
      longest = std::max(longest, egress.fifo->Unsent(now).count);
    }
  });
  lab.Run(Time{} + 1_ms);
  return longest;
}

TEST(DrbTest, QueuesOfAPermutationStayShort) {
  const int64_t drb = LongestQueue("drb");
  EXPECT_LE(drb, 8 * 1'100);  // A few packets of about 1,100 bytes.
  EXPECT_GT(LongestQueue("rps"), 3 * drb);
}

}  // namespace heddle::drb_test
