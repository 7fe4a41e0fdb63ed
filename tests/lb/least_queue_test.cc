// SPDX-License-Identifier: Apache-2.0
// lq, p2c, rr_pkt and rr_dst: packet by packet, by local queues or by turns.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/support/lb_bench.h"
#include "tests/support/lb_queues.h"
#include "tests/support/lb_statistics.h"

namespace heddle::least_queue_test {

std::vector<int64_t> IdleCounts(const std::string& settings) {
  LbSwitch leaf(settings);
  std::vector<int64_t> counts(4);
  for (int i = 0; i < 20'000; ++i) ++counts[leaf.PortFor(LbPacket(7))];
  return counts;
}

// The lowest port first would flood it at low load.
TEST(LeastQueueTest, AnIdleSwitchUsesAllPortsAlike) {
  for (const char* settings : {"lq", "p2c"}) {
    EXPECT_LT(ChiSquare(IdleCounts(settings), {1, 1, 1, 1}), kChiSquare99[3]) << settings;
  }
}

TEST(LeastQueueTest, TheMoreItKnowsTheShorterAreTheQueues) {
  const LbSwitch::Shape shape{.uplinks = std::vector<BitRate>(8, 10_Gbps)};
  const auto run = [&](const char* settings) { return DriveQueues(settings, shape, 0.9, 40'000); };
  const QueueStats lq = run("lq");
  const QueueStats drill = run("drill");
  const QueueStats p2c = run("p2c");
  const QueueStats rps = run("rps");
  EXPECT_LE(lq.longest, drill.longest);
  EXPECT_LE(drill.longest, p2c.longest);
  EXPECT_LE(p2c.longest, rps.longest);
  EXPECT_LT(lq.spread, drill.spread);
  EXPECT_LT(drill.spread, p2c.spread);
  EXPECT_LT(p2c.spread, rps.spread / 2);
}

TEST(LeastQueueTest, DelayWeighsPortsByTheirRate) {
  const LbSwitch::Shape shape{.uplinks = {100_Gbps, 50_Gbps}};
  const QueueStats delay = DriveQueues("{kind: lq, metric: delay}", shape, 0.95, 40'000);
  const double ratio =
      static_cast<double>(delay.packets[0]) / static_cast<double>(delay.packets[1]);
  EXPECT_NEAR(ratio, 2, 0.1);
}

TEST(LeastQueueTest, SmallPacketsMayBeHashed) {
  LbSwitch leaf("{kind: lq, hash_below: 100B}");
  LbSwitch ecmp("ecmp");
  std::set<PortIndex> large;
  for (const uint32_t tuple : RandomTuples(4, 100)) {
    const Packet small = LbPacket(tuple, 59);
    EXPECT_EQ(leaf.PortFor(small), ecmp.PortFor(small));
    large.insert(leaf.PortFor(LbPacket(7, 60)));
  }
  EXPECT_EQ(large.size(), 4u);
}

TEST(LeastQueueTest, TwoChoicesAreOfTwoDifferentPorts) {
  // Both of two ports are sampled, so the longer queue is never taken.
  LbSwitch leaf("p2c", {.uplinks = {100_Gbps, 100_Gbps}});
  leaf.At(Time{}, [](SwitchView& view, SwitchPolicy&) { view.SendControl(LbPacket(1), 0); });
  for (int i = 0; i < 100; ++i) EXPECT_EQ(leaf.PortFor(LbPacket(7)), 1);
}

// --- Bands ---

// Fills port 0 of a leaf with packets of 1500 bytes, and asks where `decisions` of a flow go.
std::vector<int64_t> WithQueue(const std::string& settings, int packets, int decisions,
                               Time at = Time{}) {
  LbSwitch leaf(settings);
  leaf.At(Time{}, [&](SwitchView& view, SwitchPolicy&) {
    for (int i = 0; i < packets; ++i) view.SendControl(LbPacket(1), 0);
  });
  std::vector<int64_t> counts(4);
  for (const uint32_t tuple : RandomTuples(2, static_cast<size_t>(decisions))) {
    ++counts[leaf.PortFor(LbPacket(tuple), at)];
  }
  return counts;
}

// The bands of 100 KB: 3 packets are below 5%, 4 are not.
TEST(BandsTest, QueuesOfOneBandAreAlike) {
  const std::string settings = "{kind: lq_quant, full: 100KB}";
  EXPECT_LT(ChiSquare(WithQueue(settings, 3, 8'000), {1, 1, 1, 1}), kChiSquare99[3]);
  EXPECT_EQ(WithQueue(settings, 4, 1'000)[0], 0);
}

TEST(BandsTest, WhatIsKnownOfAPortIsAsOldAsTheRefresh) {
  LbSwitch leaf("{kind: lq_quant, full: 100KB, refresh: 1us}", {.uplinks = {1_Gbps, 1_Gbps}});
  leaf.PortFor(LbPacket(7));
  leaf.At(Time{} + 10_ns, [](SwitchView& view, SwitchPolicy&) {
    for (int i = 0; i < 50; ++i) view.SendControl(LbPacket(1), 0);
  });
  int64_t to_full = 0;
  for (int i = 0; i < 1'000; ++i) to_full += leaf.PortFor(LbPacket(7), Time{} + 999_ns) == 0;
  EXPECT_NEAR(static_cast<double>(to_full), 500, ThreeSigma(1'000, 0.5));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(leaf.PortFor(LbPacket(7), Time{} + 1_us), 1);
}

TEST(BandsTest, OlderKnowledgeMakesMoreUnequalQueues) {
  const LbSwitch::Shape shape{.uplinks = std::vector<BitRate>(8, 10_Gbps)};
  double before = 0;
  for (const char* refresh : {"0ps", "5us", "50us"}) {
    const std::string settings =
        std::string("{kind: lq_quant, full: 100KB, refresh: ") + refresh + "}";
    const double spread = DriveQueues(settings, shape, 0.9, 40'000).spread;
    EXPECT_GT(spread, before) << refresh;
    before = spread;
  }
}

TEST(BandsTest, AmongEqualQueuesLqBwTakesPortsThatWereLessUsed) {
  LbSwitch leaf("lq_bw", {.uplinks = {10_Gbps, 10_Gbps, 10_Gbps, 10_Gbps}});
  Packet packet = LbPacket(1);
  for (int i = 0; i < 50; ++i) {
    leaf.At(Time{} + 1_us * i, [&](SwitchView& view, SwitchPolicy& policy) {
      for (const PortIndex port : {PortIndex{0}, PortIndex{1}, PortIndex{3}}) {
        policy.OnTransmit(view, packet, port);
      }
    });
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(leaf.PortFor(LbPacket(7), Time{} + 50_us), 2);
}

// Port 0 has sent at more than its rate, and port 1 a packet in the last 10 us, or 12% of it.
TEST(BandsTest, ForLqBwTheQueueCountsBeforeTheUse) {
  LbSwitch leaf("{kind: lq_bw, full: 100KB}", {.uplinks = {10_Gbps, 10_Gbps}});
  const Time now = Time{} + 50_us;
  for (Time at; at < now; at += 1_us) {
    leaf.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      Packet packet = LbPacket(1);
      policy.OnTransmit(view, packet, 0);
    });
  }
  leaf.At(now, [&](SwitchView& view, SwitchPolicy&) {
    for (int i = 0; i < 4; ++i) view.SendControl(LbPacket(1), 1);  // 6%: the second band.
  });
  for (int i = 0; i < 100; ++i) ASSERT_EQ(leaf.PortFor(LbPacket(7), now), 0);
}

TEST(BandsTest, EcmpArLeavesAPortInTheWorstBandHalfOfTheTime) {
  const std::string settings = "{kind: ecmp_ar, full: 100KB}";
  const std::vector<int64_t> hashed = WithQueue("ecmp", 0, 8'000);
  EXPECT_EQ(WithQueue(settings, 12, 8'000), hashed);  // 18%.
  const double left = static_cast<double>(WithQueue(settings, 20, 8'000)[0]);
  EXPECT_NEAR(left, static_cast<double>(hashed[0]) / 2, ThreeSigma(8'000, 0.125));
}

TEST(BandsTest, LqFlowletMovesAfterAPauseIfThatIsStrictlyBetter) {
  const auto moves = [](int packets, Duration pause) {
    int moved = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      LbSwitch leaf("{kind: lq_flowlet, full: 100KB}",
                    {.uplinks = std::vector<BitRate>(4, 10_Gbps), .seed = seed});
      const PortIndex port = leaf.PortFor(LbPacket(7));
      leaf.At(Time{}, [&](SwitchView& view, SwitchPolicy&) {
        for (int i = 0; i < packets; ++i) view.SendControl(LbPacket(1), port);
      });
      moved += leaf.PortFor(LbPacket(7), Time{} + pause) != port ? 1 : 0;
    }
    return moved;
  };
  EXPECT_EQ(moves(100, 10_us), 0);
  EXPECT_NEAR(moves(100, 10_us + 1_ps), 100, ThreeSigma(200, 0.5));
  EXPECT_EQ(moves(0, 11_us), 0);  // All are as good.
}

// --- Turns ---

std::vector<PortIndex> Turns(LbSwitch& leaf, int packets, HostId dst = 1, uint32_t payload = 1460) {
  std::vector<PortIndex> ports;
  for (int i = 0; i < packets; ++i) {
    Packet packet = LbPacket(7, payload);
    packet.dst = dst;
    ports.push_back(leaf.PortFor(packet));
  }
  return ports;
}

// The i-th round of four.
std::vector<PortIndex> RoundOf(const std::vector<PortIndex>& ports, size_t i) {
  return {ports.begin() + static_cast<ptrdiff_t>(4 * i),
          ports.begin() + static_cast<ptrdiff_t>(4 * i + 4)};
}

TEST(RoundRobinTest, EveryRoundHasEachPortOnceInAnOrderThatIsDrawnAnew) {
  LbSwitch leaf("rr_pkt");
  const std::vector<PortIndex> ports = Turns(leaf, 4'000);
  std::set<std::vector<PortIndex>> orders;
  for (size_t i = 0; i < 1'000; ++i) {
    std::vector<PortIndex> round = RoundOf(ports, i);
    orders.insert(round);
    std::ranges::sort(round);
    ASSERT_EQ(round, (std::vector<PortIndex>{0, 1, 2, 3}));
  }
  EXPECT_EQ(orders.size(), 24u);
}

TEST(RoundRobinTest, AnOrderLastsAsManyRoundsAsAsked) {
  LbSwitch five("{kind: rr_pkt, reshuffle: 5}");
  const std::vector<PortIndex> ports = Turns(five, 4 * 5 * 40);
  std::set<std::vector<PortIndex>> orders;
  for (size_t i = 0; i < 200; ++i) {
    ASSERT_EQ(RoundOf(ports, i), RoundOf(ports, i - i % 5));
    orders.insert(RoundOf(ports, i));
  }
  EXPECT_GT(orders.size(), 10u);
  LbSwitch never("{kind: rr_pkt, reshuffle: 0}");
  const std::vector<PortIndex> same = Turns(never, 400);
  for (size_t i = 1; i < 100; ++i) ASSERT_EQ(RoundOf(same, i), RoundOf(same, 0));
}

TEST(RoundRobinTest, EachLeafAndSizeHasTurnsOfItsOwn) {
  LbSwitch leaf("rr_dst", {.remote_leaves = 2});
  // Large and small packets to two leaves alternate; the ports of each are those of its turns.
  std::vector<PortIndex> kinds[4];
  for (int i = 0; i < 40; ++i) {
    for (size_t kind = 0; kind < 4; ++kind) {
      kinds[kind].push_back(
          Turns(leaf, 1, static_cast<HostId>(1 + kind / 2), kind % 2 == 0 ? 1460 : 0).front());
    }
  }
  for (const std::vector<PortIndex>& ports : kinds) {
    for (size_t i = 0; i < 10; ++i) ASSERT_EQ(RoundOf(ports, i), RoundOf(ports, 0));
    EXPECT_EQ(std::set<PortIndex>(ports.begin(), ports.end()).size(), 4u);
  }
}

TEST(RoundRobinTest, LeavesStartAtDifferentPorts) {
  std::set<PortIndex> starts;
  for (SwitchId id = 0; id < 20; ++id) {
    LbSwitch leaf("rr_dst", {.id = id});
    starts.insert(leaf.PortFor(LbPacket(7)));
  }
  EXPECT_EQ(starts.size(), 4u);
}

TEST(RoundRobinTest, AFailedPortLeavesTheRound) {
  for (const char* settings : {"rr_pkt", "rr_dst"}) {
    LbSwitch leaf(settings);
    Turns(leaf, 3);
    const std::vector<PortIndex> live{0, 1, 3};
    std::vector<int64_t> counts(4);
    for (int i = 0; i < 300; ++i) ++counts[leaf.PortFor(LbPacket(7), Time{}, live)];
    EXPECT_EQ(counts, (std::vector<int64_t>{100, 100, 0, 100})) << settings;
  }
}

}  // namespace heddle::least_queue_test
