// SPDX-License-Identifier: Apache-2.0
// Tests how APS divides the ports of a switch between short and long flows.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/lb_bench.h"

namespace heddle::aps_test {

constexpr size_t kPorts = 8;

// A leaf with eight uplinks. Flows are numbered; a flow below `kLongFlows` is long from its start.
class Leaf {
 public:
  explicit Leaf(const std::string& settings)
      : leaf_(settings, {.uplinks = std::vector<BitRate>(kPorts, 100_Gbps)}) {}

  PortIndex Send(FlowId flow) {
    Packet packet = LbPacket(static_cast<uint32_t>(Mix64(flow + 1)));
    packet.flow = flow;
    now_ = now_ + 100_ns;
    return leaf_.PortFor(packet, now_);
  }
  // Sends a packet of `flow` until it is long.
  void MakeLong(FlowId flow) {
    for (int i = 0; i < 80; ++i) Send(flow);
  }
  void Sleep(Duration time) { now_ = now_ + time; }
  int64_t Count(const std::string& counter) const { return leaf_.Count(counter); }

 private:
  LbSwitch leaf_;
  Time now_{};
};

TEST(ApsTest, ShortFlowsAloneHaveAllPorts) {
  Leaf leaf("{kind: aps, period: 1ms}");
  std::set<PortIndex> used;
  for (FlowId flow = 0; flow < 400; ++flow) used.insert(leaf.Send(flow));
  EXPECT_EQ(used.size(), kPorts);
  EXPECT_EQ(leaf.Count("long_packets"), 0);
}

TEST(ApsTest, AFlowIsLongAfterAHundredThousandBytesAndThenKeepsItsPort) {
  Leaf leaf("{kind: aps, period: 1s}");
  int packets = 0;
  while (leaf.Count("long_packets") == 0) {
    leaf.Send(1);
    ++packets;
  }
  // 66 packets have 100,000 bytes or more on the wire; the next one is the first of a long flow.
  const int64_t wire = 1'460 + 40 + 38;
  EXPECT_EQ(packets, (100'000 + wire - 1) / wire + 1);
  const PortIndex port = leaf.Send(1);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(leaf.Send(1), port);
}

// Six bytes of eight belong to long flows: they have six of eight ports, the short flows the rest.
TEST(ApsTest, PortsAreDividedByTheBytesOfTheLastPeriodAndDisjoint) {
  Leaf leaf("{kind: aps, period: 100us, table_age: 1s}");
  for (FlowId flow = 0; flow < 300; ++flow) leaf.MakeLong(flow);
  FlowId fresh = 1'000'000;
  std::set<PortIndex> of_long;
  std::set<PortIndex> of_short;
  for (int i = 0; i < 40'000; ++i) {
    const bool is_long = i % 4 != 3;
    const PortIndex port = leaf.Send(is_long ? static_cast<FlowId>(i % 300) : fresh++);
    if (i < 4'000) continue;  // Two periods: the counts are those of this mix.
    (is_long ? of_long : of_short).insert(port);
  }
  EXPECT_EQ(of_long.size(), 6u);
  EXPECT_EQ(of_short.size(), 2u);
  for (const PortIndex port : of_short) EXPECT_FALSE(of_long.contains(port));
}

TEST(ApsTest, AClassAlwaysHasOnePort) {
  Leaf leaf("{kind: aps, period: 100us, table_age: 1s}");
  for (FlowId flow = 0; flow < 50; ++flow) leaf.MakeLong(flow);
  FlowId fresh = 1'000'000;
  std::set<PortIndex> of_long;
  std::set<PortIndex> of_short;
  for (int i = 0; i < 20'000; ++i) {
    const bool is_short = i % 100 == 0;
    const PortIndex port = leaf.Send(is_short ? fresh++ : static_cast<FlowId>(i % 50));
    if (i >= 4'000) (is_short ? of_short : of_long).insert(port);
  }
  EXPECT_EQ(of_short.size(), 1u);
  EXPECT_EQ(of_long.size(), kPorts - 1);
}

// When the share of long flows shrinks, a flow whose port they keep stays there.
TEST(ApsTest, ADivisionThatChangesMovesFewFlows) {
  Leaf leaf("{kind: aps, period: 100us, table_age: 1s}");
  constexpr FlowId kFlows = 300;
  for (FlowId flow = 0; flow < kFlows; ++flow) leaf.MakeLong(flow);
  FlowId fresh = 1'000'000;
  const auto mix = [&](int of_eight) {
    std::map<FlowId, PortIndex> ports;
    for (int i = 0; i < 12'000; ++i) {
      const FlowId flow = static_cast<FlowId>(i) % kFlows;
      if (i % 8 >= of_eight) {
        leaf.Send(fresh++);
      } else {
        ports[flow] = leaf.Send(flow);
      }
    }
    return ports;
  };
  const std::map<FlowId, PortIndex> six = mix(6);
  const std::map<FlowId, PortIndex> five = mix(5);
  std::set<PortIndex> kept;
  for (const auto& [flow, port] : five) kept.insert(port);
  size_t moved = 0;
  size_t compared = 0;
  for (const auto& [flow, port] : six) {
    if (!five.contains(flow)) continue;
    ++compared;
    moved += five.at(flow) != port ? 1 : 0;
  }
  EXPECT_EQ(kept.size(), 5u);
  EXPECT_GT(compared, 100u);
  // The sixth port's flows move, and of those that are hashed a second time some do.
  EXPECT_LT(static_cast<double>(moved) / static_cast<double>(compared), 0.45);
}

TEST(ApsTest, ShortFlowsCanTakeTheShortestQueue) {
  Leaf leaf("{kind: aps, spray: least_queue}");
  std::map<PortIndex, int> packets;
  for (FlowId flow = 0; flow < 800; ++flow) ++packets[leaf.Send(flow)];
  EXPECT_EQ(packets.size(), kPorts);
}

}  // namespace heddle::aps_test
