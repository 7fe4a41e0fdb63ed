// SPDX-License-Identifier: Apache-2.0
// Tests DRILL's samples, its memory, the queues that result, and its components.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_queues.h"
#include "tests/support/lb_statistics.h"
#include "tests/support/paired_seeds.h"

namespace heddle::drill_test {

// Fills the queues of a leaf with this many packets each, at time 0.
void Fill(LbSwitch& leaf, const std::vector<int>& packets) {
  leaf.At(Time{}, [&](SwitchView& view, SwitchPolicy&) {
    for (size_t port = 0; port < packets.size(); ++port) {
      for (int i = 0; i < packets[port]; ++i) {
        view.SendControl(LbPacket(1), static_cast<PortIndex>(port));
      }
    }
  });
}

TEST(DrillTest, LookingAtAllPortsItJoinsTheShortestQueue) {
  for (int shortest = 0; shortest < 4; ++shortest) {
    LbSwitch leaf("{kind: drill, d: 4, m: 0}");
    std::vector<int> packets(4, 5);
    packets[static_cast<size_t>(shortest)] = 4;
    Fill(leaf, packets);
    for (int i = 0; i < 50; ++i) ASSERT_EQ(leaf.PortFor(LbPacket(7)), shortest);
  }
  // DRILL does what lq does, to the byte; only ties are drawn differently.
  const QueueStats drill = DriveQueues("{kind: drill, d: 4, m: 0}", {}, 0.9, 20'000);
  const QueueStats lq = DriveQueues("lq", {}, 0.9, 20'000);
  EXPECT_NEAR(drill.spread, lq.spread, 0.02 * lq.spread);
}

TEST(DrillTest, TheRememberedPortIsPreferredAmongEquals) {
  LbSwitch leaf("drill");
  const PortIndex first = leaf.PortFor(LbPacket(7));  // All queues of an idle switch are equal.
  for (int i = 0; i < 1'000; ++i) ASSERT_EQ(leaf.PortFor(LbPacket(7)), first);
}

TEST(DrillTest, WhatIsRememberedCountsWithTheQueueItHasNow) {
  LbSwitch leaf("drill");
  const PortIndex first = leaf.PortFor(LbPacket(7));
  std::vector<int> packets(4, 0);
  packets[first] = 3;
  Fill(leaf, packets);
  // At least one of two other sampled ports is idle.
  EXPECT_NE(leaf.PortFor(LbPacket(7)), first);
}

// Ten packets have been put into the queue of port 0 at 0; it takes 12 us to send them.
TEST(DrillTest, APacketMayCountOnlySomeTimeAfterItWasQueued) {
  for (const std::string metric : {"bytes", "delay"}) {
    LbSwitch leaf("{kind: drill, d: 4, m: 0, visible_after: 2us, metric: " + metric + "}",
                  {.uplinks = std::vector<BitRate>(4, 10_Gbps)});
    leaf.At(Time{}, [](SwitchView& view, SwitchPolicy&) {
      for (int i = 0; i < 10; ++i) view.SendControl(LbPacket(1), 0);
    });
    const auto of_400 = [&](Time at) {
      int64_t there = 0;
      for (int i = 0; i < 400; ++i) there += leaf.PortFor(LbPacket(7), at) == 0 ? 1 : 0;
      return static_cast<double>(there);
    };
    EXPECT_NEAR(of_400(Time{} + 2_us - 1_ps), 100, ThreeSigma(400, 0.25)) << metric;
    EXPECT_EQ(of_400(Time{} + 2_us), 0) << metric;
  }
}

// Port 0 is sending one long packet; ports 1 to 3 have a short one each behind the one being sent.
TEST(DrillTest, WaitingLeavesOutThePacketBeingSent) {
  const auto choose = [](const std::string& metric) {
    LbSwitch leaf("{kind: drill, d: 4, m: 0, metric: " + metric + "}");
    leaf.At(Time{}, [](SwitchView& view, SwitchPolicy&) {
      Packet large = LbPacket(1);
      large.bytes = 9'000;
      view.SendControl(large, 0);
      for (PortIndex port = 1; port < 4; ++port) {
        for (int i = 0; i < 2; ++i) view.SendControl(LbPacket(1), port);
      }
    });
    return leaf.PortFor(LbPacket(7));
  };
  EXPECT_EQ(choose("waiting"), 0);
  EXPECT_NE(choose("bytes"), 0);
}

// A port remembered for one host does not count for packets to another.
TEST(DrillTest, EachHostMayHaveAMemoryOfItsOwn) {
  const auto repeats = [](const std::string& memory_per) {
    int same = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
      LbSwitch leaf("{kind: drill, d: 1, memory_per: " + memory_per + "}",
                    {.seed = seed, .remote_leaves = 2});
      Packet first = LbPacket(7);
      Packet other = first;
      other.dst = static_cast<HostId>(first.dst + 1);
      // All queues of an idle switch are equal, so the remembered port goes first.
      const PortIndex port = leaf.PortFor(first);
      const PortIndex elsewhere = leaf.PortFor(other);
      EXPECT_EQ(leaf.PortFor(first), port);
      same += port == elsewhere ? 1 : 0;
    }
    return static_cast<double>(same);
  };
  EXPECT_EQ(repeats("switch"), 400);
  EXPECT_NEAR(repeats("host"), 100, ThreeSigma(400, 0.25));
}

TEST(DrillTest, RemembersNoPortThatHasFailed) {
  LbSwitch leaf("{kind: drill, d: 1}");
  const PortIndex first = leaf.PortFor(LbPacket(7));
  std::vector<PortIndex> live;
  for (PortIndex port = 0; port < 4; ++port) {
    if (port != first) live.push_back(port);
  }
  for (int i = 0; i < 100; ++i) EXPECT_NE(leaf.PortFor(LbPacket(7), Time{}, live), first);
}

TEST(DrillTest, EnginesRememberApart) {
  LbSwitch leaf("{kind: drill, engines: 4}", {.uplinks = std::vector<BitRate>(64, 100_Gbps)});
  std::set<PortIndex> ports;
  for (PortIndex in = 64; in < 68; ++in) {
    leaf.At(Time{}, [&](SwitchView& view, SwitchPolicy& policy) {
      ports.insert(policy.OnPacket(view, LbPacket(7), in, {0, 1, leaf.uplinks()}).port);
    });
  }
  EXPECT_EQ(ports.size(), 4u);
}

// The paper's point: queues stay balanced to within packets.
TEST(DrillTest, KeepsQueuesFarMoreEqualThanSprayingAndHashing) {
  struct Found {
    std::vector<double> spread;
    std::vector<double> longest;
  };
  const auto find = [](std::string_view settings) {
    Found found;
    found.spread = AtFiveSeeds([&](uint64_t seed) {
      const LbSwitch::Shape shape{.uplinks = std::vector<BitRate>(8, 10_Gbps), .seed = seed};
      const QueueStats queues = DriveQueues(settings, shape, 0.8, 20'000);
      found.longest.push_back(static_cast<double>(queues.longest));
      return queues.spread;
    });
    return found;
  };
  const Found drill = find("drill");
  const Found rps = find("rps");
  EXPECT_TRUE(IsLess(drill.spread, Times(1. / 3, rps.spread)));
  EXPECT_TRUE(IsLess(drill.longest, Times(1. / 2, rps.longest)));
  EXPECT_TRUE(IsLess(drill.spread, Times(1. / 3, find("ecmp").spread)));
}

// --- Components ---

TEST(DrillTest, FlowsAreHashedToComponentsByCapacityAndStayThere) {
  // Uplink 0 has a kind of its own.
  LbSwitch leaf("drill", {.next_hops = {{{5, 0}, {10, 1}, {10, 1}, {10, 1}}}});
  int64_t apart = 0;
  for (const uint32_t tuple : RandomTuples(1, 5'000)) {
    const bool alone = leaf.PortFor(LbPacket(tuple)) == 0;
    for (int i = 0; i < 5; ++i) ASSERT_EQ(leaf.PortFor(LbPacket(tuple)) == 0, alone);
    apart += alone ? 1 : 0;
  }
  // Capacities are of the order of bits per second here, and count a Mbps each at least.
  EXPECT_NEAR(static_cast<double>(apart), 5'000 / 4., ThreeSigma(5'000, 0.25));
}

TEST(DrillTest, ComponentsCountTheirCapacity) {
  LbSwitch leaf(
      "drill",
      {.next_hops = {
           {{5'000'000'000, 0}, {10'000'000'000, 1}, {10'000'000'000, 1}, {10'000'000'000, 1}}}});
  int64_t apart = 0;
  for (const uint32_t tuple : RandomTuples(1, 7'000)) {
    apart += leaf.PortFor(LbPacket(tuple)) == 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(apart), 1'000, ThreeSigma(7'000, 1. / 7));
}

// Leaf 0 has no link to spine 0, so between other leaves that spine is a component of its own.
// Returns how many paths the flows have used that lead neither from leaf 0 nor to it.
std::set<int64_t> PathsUsed(const std::string& lb) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 4, spines: 4, hosts_per_leaf: 4}\nlb: " + lb +
      "\nschedule: [{at: 0ps, links: [leaf0-spine0], state: down}]\n"
      "workload: [{kind: permutation, size: 200KB, cross_rack: true}]\n"));
  const CsvTable flows(run.files.flows);
  std::set<int64_t> used;
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    const bool other = flows.Integer(row, "src") >= 4 && flows.Integer(row, "dst") >= 4;
    if (other) used.insert(flows.Integer(row, "paths_used"));
  }
  return used;
}

TEST(DrillTest, NoFlowCrossesComponentsWhereALinkIsMissing) {
  const std::set<int64_t> used = PathsUsed("drill");
  EXPECT_TRUE(used.contains(3));
  EXPECT_FALSE(used.contains(4));
  EXPECT_TRUE(PathsUsed("{kind: drill, components: false}").contains(4));
}

// Datagrams of class 2 wait for the link to spine 0, 16 Gbps for 10; flows of class 1 go before
// them.
TEST(DrillTest, PacketsOfClassesBehindNeedNotCount) {
  const auto share_of_spine_1 = [](const std::string& lb) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, port: {buffer: 1MB, "
        "scheduler: strict}}\nlb: " +
        lb +
        "\nbackground: [{from: [0, 1], to: [4, 5], rate: 8Gbps, via: spine0, priority: 2, "
        "overload: "
        "true}]\nworkload: [{kind: incast, fan_in: 1, bytes_each: 1MB, receiver: 6, senders: "
        "other_racks, "
        "queries: 1, period: 10ms}]\nmeasure: {t_max: 100ms}\n"));
    return ShareOfUplink(run, "leaf0", "spine1");
  };
  EXPECT_GT(share_of_spine_1("{kind: drill, d: 2, m: 0}"), 0.99);
  EXPECT_NEAR(share_of_spine_1("{kind: drill, d: 2, m: 0, per_class: true}"), 0.5, 0.1);
}

}  // namespace heddle::drill_test
