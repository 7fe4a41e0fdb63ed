// SPDX-License-Identifier: Apache-2.0
// Tests which flows get a bucket of BurstBalancer's sketch, and the effect of a bucket.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::burstbalancer_test {

std::string With(const std::string& settings) { return "{kind: burstbalancer, " + settings + "}"; }

PortIndex EcmpPort(uint32_t tuple) {
  LbSwitch leaf("ecmp");
  return leaf.PortFor(LbPacket(tuple));
}

// If it has buckets for all flows, BurstBalancer is LetFlow with ECMP's port for the first flowlet.
TEST(BurstBalancerTest, AFlowIsHashedUntilItPauses) {
  LbSwitch leaf(With("buckets: 1000000, expiry: 1000s"));
  for (const uint32_t tuple : RandomTuples(1, 200)) {
    const PortIndex hashed = EcmpPort(tuple);
    EXPECT_EQ(leaf.PortFor(LbPacket(tuple), Time{}), hashed);
    EXPECT_EQ(leaf.PortFor(LbPacket(tuple), Time{}), hashed);
  }
}

TEST(BurstBalancerTest, AfterEachPauseItDrawsAnyPort) {
  LbSwitch leaf(With("buckets: 1000000, expiry: 1000s"));
  std::vector<int64_t> ports(4);
  Time at;
  leaf.PortFor(LbPacket(7), at);
  for (int burst = 0; burst < 4'000; ++burst) {
    at += 200_us + 1_ps;
    const PortIndex port = leaf.PortFor(LbPacket(7), at);
    ++ports[port];
    at += 200_us;  // Exactly the gap: the same burst.
    ASSERT_EQ(leaf.PortFor(LbPacket(7), at), port);
  }
  EXPECT_LT(ChiSquare(ports, {1, 1, 1, 1}), kChiSquare99[3]);
  EXPECT_EQ(leaf.Count("flowlets"), 4'000);
}

// The flows take the one bucket from each other before any of them has a flowlet gap.
TEST(BurstBalancerTest, WithOneBucketAlmostAllIsHashed) {
  LbSwitch leaf(With("buckets: 1"));
  const std::vector<uint32_t> tuples = RandomTuples(2, 100);
  std::vector<PortIndex> hashed;
  for (const uint32_t tuple : tuples) hashed.push_back(EcmpPort(tuple));
  int moved = 0;
  Time at;
  for (int round = 0; round < 100; ++round) {
    for (size_t i = 0; i < tuples.size(); ++i) {
      at += 3_us;  // Each flow sends every 300 us, beyond the gap.
      moved += leaf.PortFor(LbPacket(tuples[i]), at) != hashed[i] ? 1 : 0;
    }
  }
  EXPECT_LT(moved, 200);  // A few of 10,000 packets.
}

TEST(BurstBalancerTest, VotesProtectAFlowAndAPortDoesAltogether) {
  LbSwitch leaf(With("buckets: 1"));
  for (int i = 0; i < 3; ++i) leaf.PortFor(LbPacket(1), Time{} + 1_us * i);  // Three votes.
  for (int i = 0; i < 3; ++i) leaf.PortFor(LbPacket(2), Time{} + 10_us);     // Down to none.
  EXPECT_EQ(leaf.Count("replaced"), 0);
  leaf.PortFor(LbPacket(2), Time{} + 10_us);
  EXPECT_EQ(leaf.Count("replaced"), 1);
  leaf.PortFor(LbPacket(2), Time{} + 300_us);  // Bursts: it has a port now.
  EXPECT_EQ(leaf.Count("flowlets"), 1);
  for (int i = 0; i < 100; ++i) leaf.PortFor(LbPacket(3), Time{} + 301_us);
  EXPECT_EQ(leaf.Count("replaced"), 1);
  leaf.PortFor(LbPacket(3), Time{} + 60_ms);  // The bucket has expired.
  leaf.PortFor(LbPacket(3), Time{} + 61_ms);
  EXPECT_EQ(leaf.Count("flowlets"), 2);
}

TEST(BurstBalancerTest, SmallFlowsNeedVotesToMove) {
  LbSwitch leaf(With("buckets: 1000, votes_above: 30"));
  Time at;
  for (int burst = 0; burst < 3; ++burst, at += 1_ms) {
    for (int i = 0; i < 10; ++i) leaf.PortFor(LbPacket(1), at);
  }
  EXPECT_EQ(leaf.Count("flowlets"), 0);
  leaf.PortFor(LbPacket(1), at);  // 30 votes: not yet.
  EXPECT_EQ(leaf.Count("flowlets"), 0);
  leaf.PortFor(LbPacket(1), at + 1_ms);
  EXPECT_EQ(leaf.Count("flowlets"), 1);
}

TEST(BurstBalancerTest, AFlowWithAPortMovesHoweverFewVotesItHas) {
  LbSwitch leaf(With("buckets: 1, votes_above: 30"));
  for (int i = 0; i < 40; ++i) leaf.PortFor(LbPacket(1), Time{});
  leaf.PortFor(LbPacket(1), Time{} + 1_ms);
  EXPECT_EQ(leaf.Count("flowlets"), 1);
  for (int i = 0; i < 100; ++i) leaf.PortFor(LbPacket(2), Time{} + 1_ms);
  leaf.PortFor(LbPacket(1), Time{} + 2_ms);
  EXPECT_EQ(leaf.Count("flowlets"), 2);
}

TEST(BurstBalancerTest, APortThatIsGoneIsLeftAndNotComeBackTo) {
  LbSwitch leaf(With("buckets: 1000000"));
  Time at;
  leaf.PortFor(LbPacket(7), at);
  PortIndex port = 0;
  do {
    at += 201_us;
    port = leaf.PortFor(LbPacket(7), at);
  } while (port == EcmpPort(7));
  std::vector<PortIndex> live;
  for (PortIndex p = 0; p < 4; ++p) {
    if (p != port) live.push_back(p);
  }
  EXPECT_NE(leaf.PortFor(LbPacket(7), at + 1_us, live), port);
  EXPECT_EQ(leaf.PortFor(LbPacket(7), at + 2_us), EcmpPort(7));
}

TEST(BurstBalancerTest, RehashingBeginsWithThePortOfEcmp) {
  LbSwitch leaf(With("buckets: 1000000, draw: rehash"));
  int moved = 0;
  for (const uint32_t tuple : RandomTuples(3, 200)) {
    const PortIndex hashed = EcmpPort(tuple);
    leaf.PortFor(LbPacket(tuple), Time{});
    LbSwitch other(With("buckets: 1000000, draw: rehash"));
    Time at;
    other.PortFor(LbPacket(tuple), at);
    EXPECT_EQ(other.PortFor(LbPacket(tuple), at += 201_us), hashed);
    moved += other.PortFor(LbPacket(tuple), at += 201_us) != hashed ? 1 : 0;
  }
  EXPECT_NEAR(moved, 150, 20);
}

}  // namespace heddle::burstbalancer_test
