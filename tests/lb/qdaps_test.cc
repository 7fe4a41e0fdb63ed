// SPDX-License-Identifier: Apache-2.0
// QDAPS: packets of a flow leave a switch in their order, whatever its queues are like.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::qdaps_test {

const std::vector<BitRate> kSlowAndFast = {10_Gbps, 10_Gbps, 5_Gbps, 10_Gbps};

// Packets of a few flows and cross traffic, on queues of random lengths. Returns how many packets
// would start to leave before the one of their flow before them has left.
int64_t Overtaken(const std::string& settings, const std::vector<BitRate>& uplinks) {
  LbSwitch leaf(settings, {.uplinks = uplinks});
  Rng rng = Rng::Stream(3, "cross traffic", 0);
  std::map<FlowId, Time> left;
  int64_t overtaken = 0;
  Time now;
  for (int i = 0; i < 20'000; ++i) {
    now += Duration{rng.Below(1'200'000)};
    Packet packet = LbPacket(0, 1 + rng.Below(1'460));
    packet.flow = rng.Below(5);
    packet.tuple_hash = packet.flow * 977;
    leaf.At(now, [&](SwitchView& view, SwitchPolicy& policy) {
      if (rng.Below(3) == 0) {
        const PortIndex crossed = static_cast<PortIndex>(rng.Below(4));
        for (uint32_t n = rng.Below(6); n > 0; --n) view.SendControl(LbPacket(1), crossed);
      }
      const PortIndex port = policy.OnPacket(view, packet, 4, {0, 1, leaf.uplinks()}).port;
      const Time starts = now + view.QueueingDelay(port);
      overtaken += starts < left[packet.flow] ? 1 : 0;
      view.SendControl(packet, port);
      left[packet.flow] = now + view.QueueingDelay(port);
    });
  }
  return overtaken;
}

TEST(QdapsTest, NoPacketLeavesBeforeTheOneOfItsFlowBeforeIt) {
  EXPECT_EQ(Overtaken("qdaps", std::vector<BitRate>(4, 10_Gbps)), 0);
  EXPECT_EQ(Overtaken("qdaps", kSlowAndFast), 0);  // Rates may differ.
  EXPECT_GT(Overtaken("lq", kSlowAndFast), 1'000);
}

TEST(QdapsTest, AnIdleSwitchIsUsedUniformly) {
  LbSwitch leaf("qdaps");
  std::vector<int64_t> counts(4);
  for (FlowId flow = 0; flow < 8'000; ++flow) {
    Packet packet = LbPacket(flow);
    packet.flow = flow;
    ++counts[leaf.PortFor(packet)];
  }
  EXPECT_LT(ChiSquare(counts, {1, 1, 1, 1}), kChiSquare99[3]);
}

// A flow's last packet is behind 100 others, and ten more of other flows are behind it; all other
// ports are idle. Returns true if the flow still takes that port at `at`.
bool Stays(Time at) {
  LbSwitch leaf("qdaps", {.uplinks = std::vector<BitRate>(4, 10_Gbps)});
  PortIndex port = 0;
  leaf.At(Time{}, [&](SwitchView& view, SwitchPolicy& policy) {
    port = policy.OnPacket(view, LbPacket(7), 4, {0, 1, leaf.uplinks()}).port;
    view.SendControl(LbPacket(7), port);
    for (int i = 0; i < 99; ++i) view.SendControl(LbPacket(1), port);
    // No other port lets it wait until its first packet has left.
    EXPECT_EQ(policy.OnPacket(view, LbPacket(7), 4, {0, 1, leaf.uplinks()}).port, port);
    view.SendControl(LbPacket(7), port);
    for (int i = 0; i < 10; ++i) view.SendControl(LbPacket(1), port);
  });
  return leaf.PortFor(LbPacket(7), at) == port;
}

// 101 packets of 1524 bytes at 10 Gbps last 123.1 us.
TEST(QdapsTest, AFlowStaysOnALongQueueUntilItsLastPacketHasLeftThenMoves) {
  for (const Duration at : {1_us, 60_us, 123_us}) EXPECT_TRUE(Stays(Time{} + at));
  EXPECT_FALSE(Stays(Time{} + 124_us));
}

// Other papers describe it so: a packet must wait as long as the packet before it had to. That was
// 121.9 us here, long ago.
TEST(QdapsTest, TakenLiterallyTheWholeWaitOfThePacketBeforeCounts) {
  for (const bool literal : {false, true}) {
    LbSwitch leaf(literal ? "{kind: qdaps, need: literal}" : "qdaps",
                  {.uplinks = std::vector<BitRate>(4, 10_Gbps)});
    const auto fill = [&](Time at, PortIndex from, PortIndex to, int packets) {
      leaf.At(at, [&](SwitchView& view, SwitchPolicy&) {
        for (PortIndex port = from; port < to; ++port) {
          for (int i = 0; i < packets; ++i) view.SendControl(LbPacket(1), port);
        }
      });
    };
    fill(Time{}, 0, 4, 100);
    const PortIndex port = leaf.PortFor(LbPacket(7));
    fill(Time{} + 500_us, port, static_cast<PortIndex>(port + 1), 5);
    EXPECT_EQ(leaf.PortFor(LbPacket(7), Time{} + 500_us) == port, literal);
  }
}

TEST(QdapsTest, AFailedPortIsLeftAtOnce) {
  LbSwitch leaf("qdaps");
  const PortIndex port = leaf.PortFor(LbPacket(7));
  leaf.At(Time{}, [&](SwitchView& view, SwitchPolicy&) {
    for (PortIndex p = 0; p < 4; ++p) {
      for (int i = 0; i < 3 + p; ++i) view.SendControl(LbPacket(1), p);
    }
  });
  std::vector<PortIndex> live;
  for (PortIndex p = 0; p < 4; ++p) {
    if (p != port) live.push_back(p);
  }
  EXPECT_EQ(leaf.PortFor(LbPacket(7), Time{}, live), live.front());  // The shortest queue.
}

TEST(QdapsTest, CountsItsTable) {
  LbSwitch leaf("{kind: qdaps, table_entries: 10}");
  for (FlowId flow = 0; flow < 12; ++flow) {
    Packet packet = LbPacket(flow);
    packet.flow = flow;
    leaf.PortFor(packet);
  }
  EXPECT_EQ(leaf.Count("table_entries"), 10);
  EXPECT_EQ(leaf.Count("table_evictions"), 2);
}

}  // namespace heddle::qdaps_test
