// SPDX-License-Identifier: Apache-2.0
// Pauses that end by themselves lose nothing as long as the next pause frame comes in time, on
// links whose two directions differ.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/lab.h"
#include "topo/queue_plan.h"

namespace heddle::pause_refresh_test {

using testing::HasSubstr;

// Packets of 1048 bytes and pause frames of 84: together 90.56 ns at 100 Gbps, and ten times as
// much at 10 Gbps. A quantum is 512 bits: 5.12 ns at 100 Gbps.
const Traffic kRdma{
    .classes = 0b1001, .control = 0, .marking = {.is_red = true}, .sizes = {1'048, 0}};

// All links have 100 Gbps but leaf0-spine0, which has `up` and `down`.
std::string ErrorsOf(const std::string& pfc, BitRate up, BitRate down) {
  Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: 100Gbps, delay: 1us}, "
      "fabric_link: {rate: 100Gbps, delay: 1us}}");
  for (Graph::Link& link : graph.links) {
    if (link.name != "leaf0-spine0") continue;
    link.a_to_b.rate = up;
    link.b_to_a.rate = down;
  }
  const PortRule rule = PortRuleFrom("{pfc: {classes: [3], " + pfc + "}}");
  const QueuePlan plan(graph, rule, kRdma, {});
  Diagnostics diagnostics;
  plan.Check("port", diagnostics);
  return diagnostics.ok() ? "" : diagnostics.Report();
}

std::string Quanta(int quanta, const std::string& more = "") {
  return "quanta: " + std::to_string(quanta) + more;
}

// The pause lasts q * 5.12 ns; the next frame comes 1 us after the last one or, if a packet is in
// its way, 90.56 ns later: q is 213.0 or more.
TEST(PauseRefreshTest, TheNextFrameMayWaitForAPacket) {
  const std::string interval = ", refresh_interval: 1us";
  EXPECT_EQ(ErrorsOf(Quanta(214, interval), 100_Gbps, 100_Gbps), "");
  EXPECT_EQ(ErrorsOf(Quanta(213, interval), 100_Gbps, 100_Gbps), "");
  EXPECT_THAT(ErrorsOf(Quanta(212, interval), 100_Gbps, 100_Gbps),
              HasSubstr("port.pfc.refresh_interval: a pause of "));
}

// It comes exactly in time: 1000 quanta are 5120 ns.
TEST(PauseRefreshTest, ExactlyInTimeIsInTime) {
  const std::string exactly = Quanta(1'000, ", refresh_interval: 5029440ps");
  const std::string late = Quanta(1'000, ", refresh_interval: 5029441ps");
  EXPECT_EQ(ErrorsOf(exactly, 100_Gbps, 100_Gbps), "");
  EXPECT_THAT(ErrorsOf(late, 100_Gbps, 100_Gbps), HasSubstr("port.pfc.refresh_interval: "));
  EXPECT_EQ(ErrorsOf(late + ", allow_loss: true", 100_Gbps, 100_Gbps), "");
}

// Quanta count at the rate of what is paused, and frames go at the rate of the other direction:
// 905.6 ns at 10 Gbps, so q * 5.12 ns must be 1905.6 ns or more.
TEST(PauseRefreshTest, AFrameTakesTheTimeOfItsOwnDirection) {
  const std::string interval = ", refresh_interval: 1us";
  for (const bool up_is_slow : {false, true}) {
    SCOPED_TRACE(up_is_slow);
    const BitRate up = up_is_slow ? 10_Gbps : 100_Gbps;
    const BitRate down = up_is_slow ? 100_Gbps : 10_Gbps;
    EXPECT_EQ(ErrorsOf(Quanta(373, interval), up, down), "");
    EXPECT_THAT(ErrorsOf(Quanta(372, interval), up, down),
                HasSubstr("port.pfc.refresh_interval: a pause of leaf0-spine0 can end before the "
                          "next one comes"));
  }
}

// By default a frame comes after half of the pause, which the sender takes to be as long as at its
// own rate. That is too late if its own rate is a tenth.
TEST(PauseRefreshTest, HalfOfAPauseIsThatOfTheSendersRate) {
  EXPECT_EQ(ErrorsOf(Quanta(1'000), 100_Gbps, 100_Gbps), "");
  EXPECT_THAT(ErrorsOf(Quanta(60'000), 100_Gbps, 10_Gbps),
              HasSubstr("port.pfc.quanta: a pause of leaf0-spine0 can end"));
  EXPECT_THAT(ErrorsOf(Quanta(60'000), 10_Gbps, 100_Gbps),
              HasSubstr("port.pfc.quanta: a pause of leaf0-spine0 can end"));
  // Half of q * 5.12 ns is 90.56 ns or more from 35.4 on.
  EXPECT_EQ(ErrorsOf(Quanta(36), 100_Gbps, 100_Gbps), "");
  EXPECT_THAT(ErrorsOf(Quanta(35), 100_Gbps, 100_Gbps), HasSubstr("port.pfc.quanta: "));
}

// Only inputs of switches need headroom: a host has none, however fast its link.
TEST(PauseRefreshTest, HeadroomIsForInputsOfSwitches) {
  Graph graph = Star(2, {25_Gbps, 1_us});
  for (Graph::Link& link : graph.links) link.b_to_a.rate = 100_Gbps;
  for (const Graph::Link& link : graph.links) ASSERT_TRUE(graph.IsHost(link.a));
  const auto errors = [&](int64_t headroom) {
    const PortRule rule =
        PortRuleFrom("{pfc: {classes: [3], headroom: " + std::to_string(headroom) + "B}}");
    const QueuePlan plan(graph, rule, kRdma, {});
    Diagnostics diagnostics;
    plan.Check("port", diagnostics);
    return diagnostics.ok() ? "" : diagnostics.Report();
  };
  const int64_t needed = HeadroomFor({25_Gbps, 1_us}, {100_Gbps, 1_us}, {1'048, 0}, Duration{0});
  ASSERT_LT(needed, HeadroomFor({100_Gbps, 1_us}, {25_Gbps, 1_us}, {1'048, 0}, Duration{0}));
  EXPECT_EQ(errors(needed), "");
  EXPECT_THAT(errors(needed - 1), HasSubstr("port.pfc.headroom: "));
}

TEST(PauseRefreshTest, WithoutATimerAPauseMayEndTooSoon) {
  EXPECT_THAT(ErrorsOf(Quanta(60'000, ", refresh: never"), 100_Gbps, 100_Gbps),
              HasSubstr("port.pfc.refresh: a pause can end while the input still holds too much"));
  EXPECT_THAT(ErrorsOf(Quanta(60'000, ", refresh: arrivals"), 100_Gbps, 100_Gbps),
              HasSubstr("port.pfc.refresh: "));
}

}  // namespace heddle::pause_refresh_test
