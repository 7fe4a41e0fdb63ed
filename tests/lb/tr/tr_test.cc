// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lb/tr/code.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"
#include "tests/support/paired_seeds.h"
#include "tests/support/watched_policy.h"

namespace heddle::tr_test {

constexpr PortIndex kA = 0;
constexpr PortIndex kB = 1;
constexpr PortIndex kC = 2;
constexpr PortIndex kD = 3;

TEST(TrCodeTest, IsTheQueueInThirtySecondsOfTheBuffer) {
  const auto code = [](int64_t bytes) { return EncodeQueue(Bytes{bytes}, 375_KB, 5); };
  EXPECT_EQ(code(0), 0);
  EXPECT_EQ(code(11'718), 0);
  EXPECT_EQ(code(11'719), 1);
  EXPECT_EQ(code(374'999), 31);
  EXPECT_EQ(code(375'000), 31);
  EXPECT_EQ(code(9'000'000), 31);
  EXPECT_EQ(DecodeQueue(2, 375_KB, 5), Bytes{23'437});
  EXPECT_EQ(EncodeQueue(1'000_KB, Bytes{kUnlimited}, 5), 0);
}

// A leaf of 1 Gbps with these propagation delays to its peer.
class TrLeafTest : public testing::Test {
 protected:
  explicit TrLeafTest(const std::vector<Duration>& delays = {50_us, 50_us, 100_us, 50_us},
                      const std::string& more = ", own_serialization: false")
      : leaf_("{kind: tr, buffer: 96KB, idle: 100us" + more + "}", ShapeOf(delays)) {}

  static LbSwitch::Shape ShapeOf(const std::vector<Duration>& delays) {
    LbSwitch::Shape shape{.uplinks = std::vector<BitRate>(delays.size(), 1_Gbps)};
    for (const Duration delay : delays) shape.ways.push_back({delay, 1_Gbps, 1_Gbps, 375_KB});
    return shape;
  }

  // `packets` of 1500 bytes on the wire begin to wait at `port`.
  void Queue(PortIndex port, int packets, Time at = {}) {
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy&) {
      Packet packet = LbPacket(99);
      packet.bytes = 1'476;
      for (int i = 0; i < packets; ++i) view.SendControl(packet, port);
    });
  }
  // An ACK reports that `code` times 3000 bytes wait at the spine.
  void Tell(PortIndex port, uint8_t code, Time at = {}, uint8_t hops = 2) {
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      Packet ack;
      ack.kind = PacketKind::kAck;
      ack.src = 1;
      ack.dst = 0;
      ack.hops = hops;
      ack.SetScheme(TrHeader{code, true});
      const PortIndex down = static_cast<PortIndex>(leaf_.uplinks().size());
      policy.OnPacket(view, ack, port, {1, 1, {&down, 1}});
    });
  }
  PortIndex Send(FlowId flow, Time at, const std::vector<PortIndex>& live,
                 uint16_t payload = 1'000) {
    Packet packet = LbPacket(flow, 1'000);
    packet.flow = flow;
    packet.data.payload = payload;
    return leaf_.PortFor(packet, at, live);
  }
  PortIndex Send(FlowId flow, Time at = {}, uint16_t payload = 1'000) {
    return Send(flow, at, {leaf_.uplinks().begin(), leaf_.uplinks().end()}, payload);
  }

  LbSwitch leaf_;
};

// Predictions are 86, 74 and 100 us.
TEST_F(TrLeafTest, AShortFlowTakesTheEarliest) {
  Queue(kA, 3);
  Tell(kB, 1);
  EXPECT_EQ(Send(1, {}, {kA, kB, kC}), kB);
}

TEST_F(TrLeafTest, NothingOvertakesThePacketBefore) {
  Queue(kA, 3);
  Tell(kB, 1);
  ASSERT_EQ(Send(1, {}, {kA, kB, kC}), kB);
  // 1 us later A is predicted for 86 us, and D, idle, for 51 us: before the packet sent to B.
  EXPECT_EQ(Send(1, Time{} + 1_us, {kA, kD}), kA);
  EXPECT_EQ(Send(2, Time{} + 1_us, {kA, kD}), kD);  // A new flow may.
}

TEST_F(TrLeafTest, ThePortBeforeFitsWhateverIsToldSince) {
  Tell(kA, 10);
  Tell(kB, 10);
  const PortIndex before = Send(1, {}, {kA, kB});
  Tell(kA, 0);
  Tell(kB, 0);
  for (int i = 1; i < 20; ++i) {
    EXPECT_EQ(Send(1, Time{} + 1_us * i, {kA, kB}), before);
  }
  EXPECT_EQ(leaf_.Count("s_empty"), 0);
}

// A later report may shorten its port's queue; the packets that are ahead there don't arrive
// earlier for it.
TEST_F(TrLeafTest, AnEarlierPredictionIsNotForgottenForALaterOne) {
  Tell(kA, 10);
  Tell(kB, 10);
  const PortIndex before = Send(1, {}, {kA, kB});  // 290 us.
  Tell(kA, 0);
  Tell(kB, 0);
  ASSERT_EQ(Send(1, Time{} + 1_us, {kA, kB}), before);  // 51 us.
  Queue(before, 5, Time{} + 2_us);
  EXPECT_EQ(Send(1, Time{} + 20_us, {kA, kB}), before);  // 112 us; the other: 70 us.
}

TEST_F(TrLeafTest, IfItHasFailedAndNothingFitsTheEarliestWill) {
  Tell(kA, 10);
  ASSERT_EQ(Send(1, {}, {kA, kC}), kC);  // 100 us; A takes 290.
  EXPECT_NE(Send(1, Time{} + 1_us, {kB, kD}), kC);
  EXPECT_EQ(leaf_.Count("s_empty"), 1);
}

TEST_F(TrLeafTest, APortThatComesBackIsIdle) {
  Tell(kA, 10);
  EXPECT_EQ(Send(1, {}, {kA, kC}), kC);
  EXPECT_EQ(Send(2, Time{} + 1_us, {kB, kC}), kB);
  EXPECT_EQ(Send(3, Time{} + 2_us, {kA, kC}), kA);
}

TEST_F(TrLeafTest, SaysHowOldNewsAre) {
  EXPECT_EQ(leaf_.Count("telemetry_age_ns"), 0);
  Send(1, Time{} + 1_us, std::vector{kA});  // Alone: there is nothing to decide.
  Send(1, Time{} + 2_us, {kA, kC});         // Nothing has been told.
  Tell(kA, 0, Time{} + 10_us);
  Send(2, Time{} + 12_us, {kA, kC});
  Send(3, Time{} + 20_us, {kA, kC});
  EXPECT_EQ(leaf_.Count("told_decisions"), 2);
  EXPECT_EQ(leaf_.Count("telemetry_age_ns"), 2'000 + 10'000);
}

// The ACK came over a leaf and another spine.
TEST_F(TrLeafTest, AnAckThatTookADetourTellsNothing) {
  Tell(kA, 10, {}, 4);
  EXPECT_EQ(leaf_.Count("codes_read"), 0);
  EXPECT_EQ(Send(1, {}, {kA, kC}), kA);
}

// Spines alone write codes: leaves send on ACKs as they came.
TEST_F(TrLeafTest, ALeafWritesNoCode) {
  Tell(kA, 10);
  leaf_.At(Time{} + 1_us, [&](SwitchView& view, SwitchPolicy& policy) {
    Packet ack;
    ack.kind = PacketKind::kAck;
    ack.dst = 1;
    const PortIndex down = static_cast<PortIndex>(leaf_.uplinks().size());
    policy.OnPacket(view, ack, down, {0, 1, leaf_.uplinks()});
    policy.OnEnqueue(view, ack, kA);
    EXPECT_FALSE(ack.Scheme<TrHeader>().is_set);
  });
}

TEST_F(TrLeafTest, AFlowThatPausedLongerThanPathsDifferIsFree) {
  ASSERT_EQ(Send(1, {}, {kC, kD}), kD);
  ASSERT_EQ(Send(1, {}, {kA, kC}), kC);  // D is gone, and A would be at the same instant.
  EXPECT_EQ(Send(1, Time{} + 200_us, {kA, kC}), kA);
}

TEST_F(TrLeafTest, AsksNothingOfAPacketWithoutAChoice) {
  EXPECT_EQ(Send(1, {}, std::vector<PortIndex>{kC}), kC);
  EXPECT_EQ(leaf_.Count("table_entries"), 0);
}

class TrOwnSerializationTest : public TrLeafTest {
 protected:
  TrOwnSerializationTest() : TrLeafTest({50_us, 50_us}, "") {}
};

// The first packet is sent behind nothing: 50 us and 2 x 12 us. A small one would be there earlier
// over the other port.
TEST_F(TrOwnSerializationTest, ASmallPacketDoesNotOvertakeALargeOne) {
  Packet large = LbPacket(1, 1'436);
  Packet small = LbPacket(1, 10);
  const PortIndex port = leaf_.PortFor(large, {});
  Queue(port, 1);
  EXPECT_EQ(leaf_.PortFor(small, Time{} + 5_us), port);
  Queue(port, 1, Time{} + 24_us);
  EXPECT_NE(leaf_.PortFor(small, Time{} + 25_us), port);
}

class TrLongFlowTest : public TrLeafTest {
 protected:
  TrLongFlowTest()
      : TrLeafTest({10_us, 30_us, 20_us}, ", own_serialization: false, long_above: 30KB") {}
};

TEST_F(TrLongFlowTest, ALongFlowTakesThePortOfFewestShortFlows) {
  EXPECT_EQ(Send(1, {}, 40'000), kA);  // No short flows: the earliest.
  EXPECT_EQ(Send(2), kA);
  EXPECT_EQ(Send(3), kA);
  EXPECT_EQ(leaf_.Count("short_flows"), 2);
  EXPECT_EQ(Send(4, {}, 40'000), kC);  // Two at A, none at B or C, of which C is earlier.
}

TEST_F(TrLongFlowTest, AShortFlowCountsAtEveryPortUntilItIsSilent) {
  ASSERT_EQ(Send(1), kA);
  ASSERT_EQ(Send(1, Time{} + 1_us), kA);
  Queue(kA, 5, Time{} + 1_us);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Send(1, Time{} + 10_us), kC);
  EXPECT_EQ(leaf_.Count("short_flows"), 2);
  Send(9, Time{} + 101_us, 40'000);  // A long one: only to let time pass.
  EXPECT_EQ(leaf_.Count("short_flows"), 2);
  Send(9, Time{} + 101_us + 1_ps, 1'000);
  EXPECT_EQ(leaf_.Count("short_flows"), 1);
  Send(9, Time{} + 110_us + 1_ps, 1'000);
  EXPECT_EQ(leaf_.Count("short_flows"), 0);
}

TEST_F(TrLongFlowTest, AFlowThatGrowsLongCountsNowhereAtOnce) {
  Send(1, {}, 15'000);
  Queue(kA, 5);
  Send(1, Time{}, 15'000);
  EXPECT_EQ(leaf_.Count("short_flows"), 2);
  Send(1, Time{}, 1);  // 30,001 bytes.
  EXPECT_EQ(leaf_.Count("short_flows"), 0);
}

TEST_F(TrLeafTest, AFlowIsLongAbove100Kilobytes) {
  Send(1, {}, 50'000);
  Send(1, {}, 50'000);
  EXPECT_EQ(leaf_.Count("short_flows"), 1);
  Send(1, {}, 1);
  EXPECT_EQ(leaf_.Count("short_flows"), 0);
}

TEST_F(TrLongFlowTest, AFlowThatReturnsCountsAgain) {
  Send(1);
  Send(1, Time{} + 500_us);
  EXPECT_EQ(leaf_.Count("short_flows"), 1);
}

class TrDecayTest : public TrLeafTest {
 protected:
  TrDecayTest() : TrLeafTest({50_us, 60_us}, ", own_serialization: false, decay: true") {}
};

TEST_F(TrDecayTest, WhatWasToldDrains) {
  Tell(kA, 1);                             // 24 us.
  EXPECT_EQ(Send(1, Time{} + 10_us), kB);  // 50 + 14 against 60.
  EXPECT_EQ(Send(2, Time{} + 15_us), kA);  // 50 + 9.
}

// --- In a network ---

// 1 Gbps; two spines are nearer than the two others.
const char* const kUneven =
    "{leaves: 3, spines: 4, hosts_per_leaf: 6, host_link: {rate: 1Gbps, delay: 5us}, "
    "fabric_link: {rate: 1Gbps, delay: 25us}, asymmetry: [{spines: [2, 3], delay: 75us}]}";

struct Order {
  int64_t packets = 0;
  int64_t reordered = 0;
  int64_t mistaken = 0;  // Fast retransmits of what had only been overtaken.
};

// Sends 250 flows from the first `sources` leaves to the last, of up to `largest` packets, all of
// one size if `equal`.
Order OrderOf(const std::string& settings, int sources, bool equal, int64_t largest = 40,
              uint64_t seed = 1) {
  Lab lab({.graph = LeafSpineFrom(kUneven),
           .transport = "{kind: dctcp, setup: none}",
           .balancer = settings,
           .port = "{buffer: 375KB, ecn_above: 30KB}",
           .seed = seed});
  Rng rng = Rng::Stream(seed, "tr test", 0);
  Time start;
  for (int i = 0; i < 250; ++i) {
    start += rng.ExponentialDuration(300e6);
    const uint32_t leaf = rng.Below(static_cast<uint32_t>(sources));
    const HostId src = static_cast<HostId>(leaf * 6 + rng.Below(6));
    const int64_t size = 1 + rng.Below(static_cast<uint32_t>(1'460 * largest));
    lab.AddFlow(src, static_cast<HostId>(12 + rng.Below(6)),
                equal ? (size + 1'459) / 1'460 * 1'460 : size, start);
  }
  lab.Run(Time{} + 5_s);
  EXPECT_TRUE(lab.finished());
  Order order;
  for (const FlowRecord& record : lab.records()) {
    order.packets += record.receiver.packets;
    order.reordered += record.receiver.reordered_net;
    order.mistaken += record.sender.fast_retransmits_reorder;
  }
  return order;
}

TEST(TrNetworkTest, KeepsTheOrderOfOneLeafAndOnePacketSize) {
  for (const char* settings : {"tr", "{kind: tr, telemetry: vclock}"}) {
    for (const int64_t largest : {40, 400}) {  // Packets of the largest flow.
      const Order order = OrderOf(settings, 1, true, largest);
      EXPECT_GT(order.packets, 4'000);
      EXPECT_EQ(order.reordered, 0) << settings;
      EXPECT_EQ(order.mistaken, 0) << settings;
    }
  }
  EXPECT_GT(OrderOf("rps", 1, true).reordered, 1'000);
}

TEST(TrNetworkTest, OfSeveralSizesTheOwnClockKeepsTheOrderIfItCountsThePacketItself) {
  EXPECT_EQ(OrderOf("{kind: tr, telemetry: vclock}", 1, false, 4).reordered, 0);
  EXPECT_GT(
      OrderOf("{kind: tr, telemetry: vclock, own_serialization: false}", 1, false, 4).reordered, 0);
}

// The packets of other leaves enter the spines' queues in between.
TEST(TrNetworkTest, TwoLeavesReorderALittle) {
  const auto reordered = [](const std::string& settings) {
    return AtFiveSeeds(
        [&](uint64_t seed) { return OrderOf(settings, 2, true, 150, seed).reordered; });
  };
  const std::vector<double> two = reordered("tr");
  EXPECT_TRUE(IsLess(std::vector<double>(5, 0), two));
  EXPECT_TRUE(IsLess(two, Times(1. / 2, reordered("rps"))));
}

TEST(TrNetworkTest, SpinesTellOfTheirQueuesInAcks) {
  const FinishedRun run = RunExperiment(
      ExperimentFrom("topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4,"
                     " host_link: {rate: 10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: "
                     "1us}}\nlb: tr\nworkload: [{kind: permutation, size: 1MB, cross_rack: "
                     "true}]\n"));
  EXPECT_GT(Counted(run, "codes_read"), 8 * 600);  // Every ACK tells.
}

// Lets flows run over two spines which queue. Each ACK reports the queue that data in the opposite
// direction had before it when the ACK came to the spine. Counts the ACKs, and those that tell of a
// queue.
struct Told {
  int64_t read = 0;
  int64_t of_queues = 0;
};
Told CodesOfAcks(const std::string& balancer, const std::function<void(Lab&)>& add_flows) {
  std::map<std::pair<FlowId, int64_t>, uint8_t> noted;
  Told told;
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex in_port) {
    if (packet.kind != PacketKind::kAck) return;
    const std::pair<FlowId, int64_t> id = {packet.flow, packet.sent.ps};
    if (view.tier() > 0) {
      noted[id] = EncodeQueue(view.Unsent(in_port), 375_KB, 5);
    } else if (!view.FacesHost(in_port)) {
      const TrHeader header = packet.Scheme<TrHeader>();
      ASSERT_TRUE(header.is_set);
      ASSERT_EQ(header.code, noted.at(id));
      ++told.read;
      told.of_queues += header.code > 0 ? 1 : 0;
    }
  };
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 3, spines: 2, hosts_per_leaf: 6, host_link: {rate: 1Gbps, delay: 5us}, "
               "fabric_link: {rate: 1Gbps, delay: 25us}}"),
           .transport = "{kind: tcp, iw: 50}",
           .port = "{buffer: 375KB, ecn_above: unlimited}",
           .switch_policy = Watched(balancer, look)});
  add_flows(lab);
  lab.Run(Time{} + 1_s);
  EXPECT_TRUE(lab.finished());
  return told;
}

// Two leaves send to the third.
TEST(TrNetworkTest, AcksTellOfTheQueueThatDataWouldMeet) {
  const Told told = CodesOfAcks("{kind: tr, buffer: 375KB}", [](Lab& lab) {
    for (HostId src = 0; src < 12; ++src) {
      lab.AddFlow(src, static_cast<HostId>(12 + src % 6), 150'000);
    }
  });
  EXPECT_GT(told.read, 1'000);
  EXPECT_GT(told.of_queues, 100);
}

// Two leaves send to leaf 0: spines count it like the others.
TEST(TrNetworkTest, AcksOfTheFirstLeafTellOfTheQueueTowardsIt) {
  const Told told = CodesOfAcks("tr", [](Lab& lab) {
    for (HostId src = 6; src < 18; ++src) lab.AddFlow(src, static_cast<HostId>(src % 6), 100'000);
  });
  EXPECT_GT(told.read, 500);
  EXPECT_GT(told.of_queues, 50);
}

// Counts the ACKs of one flow, by the uplink of its first leaf that they come through.
std::vector<int64_t> AcksByUplink(const std::string& balancer) {
  std::vector<int64_t> acks(4);
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex in_port) {
    if (packet.kind != PacketKind::kAck || !view.IsAttached(packet.dst)) return;
    const auto uplinks = view.Uplinks();
    const auto uplink = std::ranges::find(uplinks, in_port);
    ASSERT_NE(uplink, uplinks.end());
    ++acks[static_cast<size_t>(uplink - uplinks.begin())];
  };
  Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 4, hosts_per_leaf: 1}"),
           .switch_policy = Watched(balancer, look)});
  lab.AddFlow(0, 1, 1'000'000);
  lab.Run();
  return acks;
}

// A leaf hears of the queues at all spines by these ACKs.
TEST(TrNetworkTest, TheAcksOfOneFlowComeOverAllSpines) {
  const std::vector<int64_t> acks = AcksByUplink("tr");
  EXPECT_GT(acks[0] + acks[1] + acks[2] + acks[3], 300);
  EXPECT_LT(ChiSquare(acks, {1, 1, 1, 1}), kChiSquare99[3]);
  EXPECT_EQ(Used(AcksByUplink("ecmp")), 1);
}

TEST(TrNetworkTest, IsForTwoTiers) {
  EXPECT_THAT(ErrorsOf("topology: {kind: fat_tree, k: 4}\nlb: tr\n"
                       "workload: [{kind: permutation, size: 1MB}]\n"),
              testing::HasSubstr("lb: tr is for two tiers"));
}

}  // namespace heddle::tr_test
