// SPDX-License-Identifier: Apache-2.0
// Best-nexthop's choice among the next hops that it is given, fields that nobody has written to,
// packets that a port has forgotten, and the times of each scale.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lb/best_nexthop/int_fields.h"
#include "tests/support/lb_bench.h"

namespace heddle::best_nexthop_details_test {

TEST(BestNexthopDetailsTest, FieldsThatNobodyHasWrittenToAddNothing) {
  const IntFields none;
  EXPECT_EQ(none.latency(), 0);
  EXPECT_EQ(none.queue(), 0);
  EXPECT_EQ(none.utilisation(), 0);
  const IntFields idle = IntFields::Merge(none, IntFields(0_s, 0, 0));
  EXPECT_TRUE(idle.is_set());
  EXPECT_EQ(idle.latency(), 0);
  EXPECT_EQ(idle.queue(), 0);
  EXPECT_EQ(idle.utilisation(), 0);
}

// The hosts of one leaf may have different next hops, as some have links to other leaves too.
TEST(BestNexthopDetailsTest, TheBestOfOtherNextHopsIsNotTaken) {
  LbSwitch leaf(
      "{kind: best_nexthop, probes: false, key: leaf, latency_range: 1s, queue_range: 100, "
      "utilisation_range: 1000}");
  const std::vector<PortIndex> some = {1, 2, 3};
  PortIndex of_all = kNoPath;
  PortIndex of_some = kNoPath;
  leaf.At(Time{} + 1_us, [&](SwitchView& view, SwitchPolicy& policy) {
    for (PortIndex port = 0; port < 4; ++port) {
      Packet packet = LbPacket(9);
      packet.src = 1;
      packet.dst = 0;
      packet.SetScheme(IntFields(0_s, 10 + port, 0));
      const PortIndex down = 4;
      policy.OnPacket(view, packet, port, {1, 1, {&down, 1}});
    }
    for (FlowId flow = 1; flow <= 2; ++flow) {
      Packet packet = LbPacket(flow);
      packet.flow = flow;
      const bool all = flow == 1;
      const Candidates candidates = {all ? 0u : 2u, 1,
                                     all ? leaf.uplinks() : std::span<const PortIndex>(some)};
      (all ? of_all : of_some) = policy.OnPacket(view, packet, 4, candidates).port;
    }
  });
  EXPECT_EQ(of_all, 0);
  EXPECT_EQ(of_some, 1);
}

// A packet that was queued before its link failed is not known any more. It tells no latency, so
// its port remains better than the others, on whose paths packets wait.
TEST(BestNexthopDetailsTest, APacketThatAPortHasForgottenTellsNoLatency) {
  LbSwitch leaf(
      "{kind: best_nexthop, probes: false, latency_range: 1us, queue_range: 1000000, "
      "utilisation_range: 1e12}");
  constexpr PortIndex kIdle = 2;
  leaf.At(Time{} + 1_us, [&](SwitchView& view, SwitchPolicy&) {
    view.SendControl(LbPacket(2), kIdle);  // It leaves at once: the latency is 0.
  });
  leaf.At(Time{} + 500_us, [&](SwitchView& view, SwitchPolicy& policy) {
    Packet forgotten = LbPacket(3);
    policy.OnTransmit(view, forgotten, kIdle);
    for (PortIndex port = 0; port < 4; ++port) {
      Packet packet = LbPacket(9);
      packet.src = 1;
      packet.dst = 0;
      packet.SetScheme(IntFields(0_s, port == kIdle ? 0 : 1'000, 0));
      const PortIndex down = 4;
      policy.OnPacket(view, packet, port, {1, 1, {&down, 1}});
    }
  });
  EXPECT_EQ(leaf.PortFor(LbPacket(1), Time{} + 501_us), kIdle);
}

// A packet that was lost with its link never left. The next one, alone in the queue, does not wait.
TEST(BestNexthopDetailsTest, APacketThatWasLostIsNoWaitOfTheNext) {
  LbSwitch leaf("{kind: best_nexthop, probes: false, direction: forward}");
  leaf.At(Time{} + 1_us, [](SwitchView& view, SwitchPolicy& policy) {
    Packet lost = LbPacket(1);
    policy.OnEnqueue(view, lost, 2);
  });
  leaf.At(Time{} + 100_us,
          [](SwitchView& view, SwitchPolicy&) { view.SendControl(LbPacket(1), 2); });
  leaf.At(Time{} + 200_us, [](SwitchView& view, SwitchPolicy& policy) {
    Packet next = LbPacket(1);
    policy.OnEnqueue(view, next, 2);
    EXPECT_EQ(next.Scheme<IntFields>().utilisation(), 1);
    EXPECT_EQ(next.Scheme<IntFields>().latency(), 0);
  });
}

// A flowlet gap and a period of the estimator of 500 us, and a probe each 100 us; 50 and 10 ms as
// in the paper's testbed. The estimator takes off half.
TEST(BestNexthopDetailsTest, EachScaleHasItsTimes) {
  for (const bool is_testbed : {false, true}) {
    const std::string settings =
        std::string("kind: best_nexthop, scale: ") + (is_testbed ? "testbed" : "datacenter");
    const Duration period = is_testbed ? 50_ms : 500_us;
    EXPECT_EQ(BalancerFrom("{" + settings + "}").settings->flowlet_gap(), period);
    LbSwitch leaf("{" + settings + ", probes: false, direction: forward}");
    leaf.At(Time{}, [](SwitchView& view, SwitchPolicy& policy) {
      Packet sent = LbPacket(1);
      policy.OnTransmit(view, sent, 2);
    });
    for (const bool is_over : {false, true}) {
      leaf.At(Time{} + period - (is_over ? 0_ps : 1_ps),
              [&](SwitchView& view, SwitchPolicy& policy) {
                Packet next = LbPacket(1);
                policy.OnEnqueue(view, next, 2);
                EXPECT_EQ(next.Scheme<IntFields>().utilisation(), is_over ? 0.5 : 1);
              });
    }
    LbSwitch prober("{" + settings + "}");
    prober.At(Time{} + (is_testbed ? 100_ms : 1_ms), [](SwitchView&, SwitchPolicy&) {});
    EXPECT_EQ(prober.Count("probes"), 10 * 4);
  }
}

}  // namespace heddle::best_nexthop_details_test
