// SPDX-License-Identifier: Apache-2.0
// Tests RoCEv2 queue pairs: when they send, and how they recover from packets that are lost or
// overtaken. Times are checked to the picosecond where there are worked numbers.

#include "transport/rdma/roce_sender.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::roce_test {

// HPCC's framing, 1000 + 48 bytes, and no congestion control but for `more`.
std::string Roce(const std::string& more = "") {
  return "{kind: rocev2, framing: ns3_rdma, cc: none" + (more.empty() ? "" : ", " + more) + "}";
}

constexpr Duration kPacketTime = 83'840_ps;  // 1048 bytes at 100 Gbps.
constexpr Duration kAckTime = 4'800_ps;

// 100 Gbps and 1 us links, and switches 0, 1, ...
Graph Links(size_t links) { return Line(links, {100_Gbps, 1_us}); }

// The same times, but the last link needs half of each for a packet: one that is held back by the
// last switch follows the packet that overtakes it, and delays no other.
Graph RoomBetweenPackets() {
  Graph graph = Links(4);
  graph.links.back().a_to_b = {200_Gbps, 1_us + kPacketTime / 2};
  return graph;
}
constexpr SwitchId kLast = 2;

FlowRecord Transfer(int64_t size, std::vector<Rule> rules, const std::string& transport,
                    const Graph& graph = Links(4)) {
  Lab lab({.graph = graph, .transport = transport, .switch_policy = Scripted(std::move(rules))});
  lab.AddFlow(0, 1, size);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return lab.Record(0);
}

// The second flow begins when the first has been forgotten, and takes its slot. Both lose their
// first packet.
TEST(RoceSlotTest, KnowsNothingOfTheFlowBefore) {
  Lab lab({.graph = Links(4),
           .transport = Roce(),
           .switch_policy =
               Scripted({DropAt(0, Data(0, 0)).Times(1), DropAt(0, Data(1, 0)).Times(1)})});
  lab.AddFlow(0, 1, 20'000);
  lab.AddFlow(0, 1, 20'000, Time{} + 1_ms);
  lab.Run();
  EXPECT_EQ(lab.Record(0).sender.fast_retransmits, 1);
  EXPECT_EQ(lab.Record(1).sender.fast_retransmits, 1);
  EXPECT_EQ(FctTx(lab.Record(1)), FctTx(lab.Record(0)));
}

// The ACK of flow 0 comes after 4 us, two packets of 838.4 ns and two ACKs of 48 ns, just behind a
// timeout. Then the NIC is busy with a packet of flow 1, so flow 0 ends while its turn is due.
// Later flows that take the slots of both are not hurt.
TEST(RoceSlotTest, IsInOrderAfterAFlowThatEndsBeforeItsTurn) {
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}), .transport = Roce("rto: 5600ns")});
  lab.AddFlow(0, 1, 1'000);
  lab.AddFlow(0, 1, 20'000);
  lab.AddFlow(0, 1, 1'000, Time{} + 10_ms);
  lab.AddFlow(0, 1, 1'000, Time{} + 10_ms);
  lab.Run(Time{} + 20_ms);
  EXPECT_TRUE(lab.finished());
  EXPECT_EQ(lab.Record(0).sender.timeouts, 1);
  EXPECT_EQ(lab.Record(0).sender.packets_sent, 1);
}

// --- An idle network ---

TEST(RoceIdealTest, TakesTheTimesOfTheClosedForm) {
  const FlowRecord small = Transfer(1'000, {}, Roce());
  EXPECT_EQ(FctRx(small), 4'335'360_ps);
  EXPECT_EQ(FctTx(small), 8'354'560_ps);
  const FlowRecord large = Transfer(1'000'000, {}, Roce());
  EXPECT_EQ(FctRx(large), 88'091'520_ps);
  EXPECT_EQ(FctTx(large), 92'110'720_ps);
  const FlowRecord far = Transfer(1'000'000, {}, Roce(), Links(6));
  EXPECT_EQ(FctRx(far), 90'259'200_ps);
  EXPECT_EQ(FctTx(far), 96'288'000_ps);
}

TEST(RoceIdealTest, AgreesWithThePipelineOnRandomPaths) {
  constexpr int64_t kGbps[] = {1, 10, 25, 40, 50, 100, 200, 400};
  Rng rng = Rng::Stream(1, "paths", 0);
  for (int i = 0; i < 100; ++i) {
    const char* const framing[] = {"rocev2", "ns3_rdma", "ip1500", "rocev2, mtu: 4096"};
    const std::string transport =
        std::string("{kind: rocev2, framing: ") + framing[rng.Below(4)] + "}";
    std::vector<Channel> path(2 + rng.Below(5));
    for (Channel& link : path) {
      link = {{kGbps[rng.Below(8)] * 1'000'000'000}, Duration{1 + rng.Below(20'000'000)}};
    }
    const int64_t size = 1 + rng.Below(rng.Below(2) == 0 ? 3'000 : 150'000);
    Lab lab({.graph = Line(path), .transport = transport});
    lab.AddFlow(0, 1, size);
    lab.Run();
    const PacketSizes sizes = TransportFrom(transport).settings->sizes();
    EXPECT_EQ(FctRx(lab.Record(0)), FctHopByHop(path, size, sizes))
        << "case " << i << ", " << size << " B, " << transport;
    EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
  }
}

TEST(RoceSizesTest, AreThoseOfTheFraming) {
  const auto sizes = [](const std::string& yaml) { return TransportFrom(yaml).settings->sizes(); };
  const PacketSizes real = sizes("{kind: rocev2}");
  EXPECT_EQ(real.DataPacket(1'024), 1'086);
  EXPECT_EQ(real.DataPacket(1'024) + real.wire_overhead, 1'106);
  EXPECT_EQ(real.DataPacket(1), 64);
  EXPECT_EQ(real.ack + real.wire_overhead, 84);
  const PacketSizes ns3 = sizes("{kind: rocev2, framing: ns3_rdma}");
  EXPECT_EQ(ns3.DataPacket(1'000) + ns3.wire_overhead, 1'048);
  EXPECT_EQ(ns3.ack + ns3.wire_overhead, 60);
  EXPECT_EQ(sizes("{kind: rocev2, framing: ip1500}").DataPacket(1'460), 1'500);
  const PacketSizes longer = sizes("{kind: rocev2, lb_header: 50B}");
  EXPECT_EQ(longer.mss, 1'024);
  EXPECT_EQ(longer.DataPacket(1'024), 1'136);
  EXPECT_EQ(longer.ack, real.ack);
}

TEST(RocePriorityTest, IsThatOfTheClassOfEachPacket) {
  std::map<PacketKind, int> priority;
  const auto note = [&](const SwitchView&, const Packet& p) { priority[p.kind] = p.priority; };
  Transfer(20'000,
           {WatchAt(0, Anything(), note), MarkAt(0, Data(0, 3)), DropAt(1, Data(0, 7)).Times(1)},
           "{kind: rocev2, priority: 5, control_priority: 1}");
  EXPECT_EQ(priority, (std::map<PacketKind, int>{{PacketKind::kData, 5},
                                                 {PacketKind::kAck, 1},
                                                 {PacketKind::kNack, 1},
                                                 {PacketKind::kCnp, 1}}));
}

// --- Timeouts ---

// Nothing tells of a lost tail but a timeout. Go-back-N and the selective repeat of NICs have none
// unless it is set; IRN and placement always have one.
TEST(RoceTimeoutTest, NeverComesUnlessItIsSet) {
  for (const std::string recovery : {"gbn", "sr", "irn", "ddp"}) {
    SCOPED_TRACE(recovery);
    const bool repairs = recovery == "irn" || recovery == "ddp";
    Lab lab({.graph = Links(4),
             .transport = Roce("rto: never, recovery: " + recovery),
             .switch_policy = Scripted({DropAt(0, Data(0, 9)).Times(1)})});
    lab.AddFlow(0, 1, 10'000);
    lab.Run(Time{} + 1_s);
    EXPECT_EQ(lab.finished(), repairs);
    EXPECT_EQ(lab.Record(0).sender.timeouts, repairs ? 1 : 0);
    EXPECT_EQ(lab.Record(0).sender.retransmissions, repairs ? 1 : 0);
  }
}

// --- Pacing ---

TEST(RocePacingTest, SpacesPacketsByTheRate) {
  std::vector<Time> sent;
  const auto note = [&](const SwitchView&, const Packet& p) { sent.push_back(p.sent); };
  Transfer(5'000, {WatchAt(0, AllData(0), note)},
           "{kind: rocev2, framing: ns3_rdma, cc: {kind: none, rate: 10Gbps}}");
  EXPECT_EQ(sent, (std::vector<Time>{{0}, {838'400}, {2 * 838'400}, {3 * 838'400}, {4 * 838'400}}));
}

TEST(RocePacingTest, HoldsForEachFlowOfANic) {
  for (const int flows : {1, 2, 5}) {
    Lab lab({.graph = Star(2, {100_Gbps, 1_us}),
             .transport = "{kind: rocev2, framing: ns3_rdma, cc: {kind: none, rate: 10Gbps}}"});
    for (int i = 0; i < flows; ++i) lab.AddFlow(0, 1, 100'000);
    lab.Run();
    for (const FlowRecord& flow : lab.records()) {
      // 99 gaps, and the pipeline; among several flows packets wait for those of the others.
      const Duration alone = 99 * 838'400_ps + 2 * (kPacketTime + 1_us);
      EXPECT_GE(FctRx(flow), alone);
      EXPECT_LE(FctRx(flow), alone + (flows - 1) * 100 * kPacketTime);
    }
  }
}

TEST(RocePacingTest, SharesALineThatIsTooSlowForAll) {
  Lab lab({.graph = Star(2, {100_Gbps, 1_us}),
           .transport = "{kind: rocev2, framing: ns3_rdma, cc: {kind: none, rate: 40Gbps}}"});
  for (int i = 0; i < 5; ++i) lab.AddFlow(0, 1, 1'000'000);
  lab.Run();
  Duration last{0};
  for (const FlowRecord& flow : lab.records()) last = std::max(last, FctRx(flow));
  EXPECT_EQ(last, 5'001 * kPacketTime + 2_us);
}

// Half of the line's time is then free, and the link is no bottleneck.
TEST(RocePacingTest, StartsAtALineRateOfItsOwn) {
  std::vector<Time> sent;
  const auto note = [&](const SwitchView&, const Packet& p) { sent.push_back(p.sent); };
  for (const char* cc : {"none", "dcqcn", "timely"}) {
    SCOPED_TRACE(cc);
    sent.clear();
    Transfer(3'000, {WatchAt(0, AllData(0), note)},
             std::string("{kind: rocev2, framing: ns3_rdma, line_rate: 50Gbps, cc: ") + cc + "}");
    EXPECT_EQ(sent, (std::vector<Time>{{0}, {167'680}, {2 * 167'680}}));
    sent.clear();
    Transfer(3'000, {WatchAt(0, AllData(0), note)},
             std::string("{kind: rocev2, framing: ns3_rdma, line_rate: 400Gbps, cc: ") + cc + "}");
    EXPECT_EQ(sent, (std::vector<Time>{{0}, {83'840}, {2 * 83'840}}));
  }
}

// 838.4 ns at the rate.
TEST(RocePacingTest, CanCountInWholeUnits) {
  for (const auto& [unit, gap] :
       {std::pair{"1ns", 838'000}, std::pair{"100ns", 800'000}, std::pair{"exact", 838'400}}) {
    std::vector<Time> sent;
    const auto note = [&](const SwitchView&, const Packet& p) { sent.push_back(p.sent); };
    Transfer(3'000, {WatchAt(0, AllData(0), note)},
             std::string("{kind: rocev2, framing: ns3_rdma, gap_unit: ") + unit +
                 ", cc: {kind: none, rate: 10Gbps}}");
    EXPECT_EQ(sent, (std::vector<Time>{{0}, {gap}, {2 * gap}})) << unit;
  }
}

// --- Turns ---

// Runs two queue pairs of one NIC; DCQCN paces one of them to half of the line for good. Returns
// the share of the other one.
double ShareOfUnpaced(const std::string& turns) {
  Lab lab({.graph = Star(3, {100_Gbps, 1_us}),
           .transport = "{kind: rocev2, framing: ns3_rdma, cc: {kind: dcqcn, increase_interval: "
                        "1s, byte_counter: 1GB}" +
                        turns + "}",
           .switch_policy = Scripted({MarkAt(0, Data(1, 3))})});
  lab.AddFlow(0, 1, 20'000'000);
  lab.AddFlow(0, 2, 20'000'000);
  std::vector<int64_t> before;
  std::vector<int64_t> after;
  lab.SampleEvery(500_us, [&](Time now) {
    if (now > Time{} + 1_ms || lab.QueuePair(0) == nullptr) return;
    std::vector<int64_t>& at = now == Time{} + 500_us ? before : after;
    at = {lab.QueuePair(0)->state().acked, lab.QueuePair(1)->state().acked};
  });
  lab.Run(Time{} + 2_ms);
  EXPECT_EQ(lab.QueuePair(1)->rate().rate, 50e9);
  const double unpaced = static_cast<double>(after[0] - before[0]);
  return unpaced / (unpaced + static_cast<double>(after[1] - before[1]));
}

// The paced one may send when the packet of the other has left, and the other has had its turn.
TEST(RoceTurnsTest, APacedQueuePairGetsTheHalfOfTheLineThatItMayHave) {
  EXPECT_NEAR(ShareOfUnpaced(""), 0.5, 0.001);
  EXPECT_NEAR(ShareOfUnpaced(", turns: from_end"), 0.5, 0.001);
}

// Once the other has begun to send it waits for its next turn, and the paced one behind it.
TEST(RoceTurnsTest, FromTheStartThePacedOneComesLate) {
  EXPECT_NEAR(ShareOfUnpaced(", turns: from_start"), 2.0 / 3, 0.001);
}

// Two queue pairs have much to send. Only one of them hears ACKs, which give it no more turns.
TEST(RoceTurnsTest, AcksGiveNoMoreTurns) {
  std::vector<FlowId> turns;
  const auto note = [&](const SwitchView&, const Packet& p) { turns.push_back(p.flow); };
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .transport = Roce("rto: 10ms"),
           .switch_policy = Scripted(
               {WatchAt(0, Anything(PacketKind::kData), note), DropAt(0, AllAcks(1)).Times(90)})});
  lab.AddFlow(0, 1, 100'000);
  lab.AddFlow(0, 1, 100'000);
  lab.Run();
  ASSERT_GE(turns.size(), 200u);
  for (size_t i = 0; i < 200; ++i) ASSERT_EQ(turns[i], i % 2) << i;
}

// The only packet is lost, and from 1 us on the queue pair may not send. A timeout at 10 us asks
// for the packet; further ones would say nothing new. From 85 us on it may send again, and the
// packet leaves.
TEST(RoceLimitTest, ATimeoutNeedsAPacketThatHasLeftSinceTheLastOne) {
  for (const std::string more : {"rto: 10us", "recovery: irn, rto_low: 10us"}) {
    Lab lab({.graph = Links(2),
             .transport = Roce(more),
             .switch_policy = Scripted({DropAt(0, Data(0, 0)).Times(1)})});
    lab.AddFlow(0, 1, 1'000);
    lab.SampleEvery(1_us, [&](Time now) {
      if (now == Time{} + 1_us) lab.network().host(0).transport().SetRateLimit(0, {0});
      if (now == Time{} + 85_us) lab.network().host(0).transport().SetRateLimit(0, 100_Gbps);
    });
    lab.Run(Time{} + 105_us);
    EXPECT_TRUE(lab.finished());
    EXPECT_EQ(lab.Record(0).sender.timeouts, 1) << more;
    EXPECT_EQ(lab.Record(0).sender.packets_sent, 2) << more;
    EXPECT_GT(lab.Record(0).sender.done, Time{} + 85_us) << more;
  }
}

// --- Windows ---

// T12: the least window that does not slow a flow down is what fits a round trip.
TEST(RoceWindowTest, OfIrnLimitsWhatIsInFlight) {
  const auto fct = [](int packets) {
    return FctRx(Transfer(2'000'000, {},
                          Roce("recovery: irn, bdp: " + std::to_string(packets * 1'000) + "B")));
  };
  EXPECT_NEAR(Microseconds(fct(80)), 211.468, 0.0006);
  EXPECT_NEAR(Microseconds(fct(98)), 174.696, 0.0006);
  EXPECT_EQ(fct(100), 171'931'520_ps);
  EXPECT_EQ(fct(104), 171'931'520_ps);
}

TEST(RoceWindowTest, FollowsFromTheNetwork) {
  const auto most_in_flight = [](size_t links, const std::string& more) {
    Lab lab({.graph = Line(links, {100_Gbps, 1_us}), .transport = Roce(more)});
    lab.AddFlow(0, 1, 1'000'000);
    uint32_t most = 0;
    lab.SampleEvery(100_ns, [&](Time) {
      if (const RoceSender* qp = lab.QueuePair(0)) most = std::max(most, qp->in_flight());
    });
    lab.Run();
    return most;
  };
  // HPCC's and ConWeave's: 104 000 and 156 000 bytes. Idle round trips hold 100 and 149 packets.
  EXPECT_EQ(most_in_flight(4, "recovery: irn"), 100u);
  EXPECT_EQ(most_in_flight(4, "recovery: irn, bdp: 104KB"), 100u);
  EXPECT_EQ(most_in_flight(4, "recovery: irn, bdp: 50500B"), 50u);
  EXPECT_EQ(most_in_flight(4, "window: bdp, bdp: 50500B"), 51u);
  EXPECT_EQ(most_in_flight(4, "recovery: irn, bdp: 500B"), 1u);  // One at least.
  EXPECT_EQ(most_in_flight(4, "window: bdp"), 100u);
  EXPECT_EQ(FctRx(Transfer(1'000'000, {}, Roce("recovery: irn"), Links(6))), 90'259'200_ps);
}

// A rate above the line's does not widen the window.
TEST(RoceWindowTest, ShrinksWithTheRate) {
  for (const auto& [rate, packets] :
       {std::pair{"20Gbps", 20u}, std::pair{"100Gbps", 100u}, std::pair{"200Gbps", 100u}}) {
    Lab lab({.graph = Line(4, {100_Gbps, 10_us}),
             .transport = std::string("{kind: rocev2, framing: ns3_rdma, window: bdp_var, bdp: "
                                      "100KB, cc: {kind: none, rate: ") +
                          rate + "}}"});
    lab.AddFlow(0, 1, 1'000'000);
    uint32_t most = 0;
    lab.SampleEvery(100_ns, [&](Time) {
      if (const RoceSender* qp = lab.QueuePair(0)) most = std::max(most, qp->in_flight());
    });
    lab.Run();
    EXPECT_EQ(most, packets) << rate;
  }
}

// The receiver answers every 64th packet, but ten fill the window: the second half of them asks for
// answers. A round trip takes 8.4 us.
TEST(RoceWindowTest, AsksForTheAcksThatItNeeds) {
  for (const std::string recovery : {"gbn", "sr"}) {
    const FlowRecord flow = Transfer(1'000'000, {},
                                     Roce("recovery: " + recovery +
                                          ", window: bdp, bdp: 9500B, ack_interval: 64, "
                                          "rto: never"));
    EXPECT_LT(FctRx(flow), 1'000'000 / 10'000 * 10_us) << recovery;
  }
}

// --- Go-back-N (T11) ---

constexpr Duration kBase = 171'931'520_ps;  // 2000 packets over 4 links.

TEST(GoBackNTest, SendsARoundTripTwiceForOneLoss) {
  const FlowRecord flow = Transfer(2'000'000, {DropAt(0, Data(0, 500)).Times(1)}, Roce());
  EXPECT_EQ(flow.sender.retransmissions, 101);
  EXPECT_EQ(flow.sender.retransmissions_loss, 1);
  EXPECT_EQ(flow.sender.retransmissions_spurious, 100);
  EXPECT_EQ(FctRx(flow), kBase + 101 * kPacketTime);  // 8.468 us more.
  EXPECT_EQ(flow.sender.nacks, 1);
  EXPECT_EQ(flow.sender.fast_retransmits, 1);
  EXPECT_EQ(flow.sender.fast_retransmits_reorder, 0);
  EXPECT_EQ(flow.sender.timeouts, 0);
  EXPECT_EQ(flow.receiver.discarded, 100);
  EXPECT_EQ(flow.receiver.duplicates, 0);
}

TEST(GoBackNTest, SendsARoundTripTwiceForOneOvertaking) {
  struct Case {
    int64_t overtaken_by;
    int64_t retransmissions;
    double extra_us;
  };
  for (const Case& c : {Case{1, 101, 8.468}, Case{20, 120, 10.061}}) {
    SCOPED_TRACE(c.overtaken_by);
    const FlowRecord flow =
        Transfer(2'000'000, {LetPassAt(kLast, Data(0, 500), c.overtaken_by).Times(1)}, Roce(),
                 RoomBetweenPackets());
    EXPECT_EQ(flow.sender.retransmissions, c.retransmissions);
    EXPECT_EQ(flow.sender.retransmissions_spurious, c.retransmissions);
    EXPECT_NEAR(Microseconds(FctRx(flow) - kBase), c.extra_us, 0.001);
    EXPECT_EQ(flow.sender.fast_retransmits_reorder, flow.sender.fast_retransmits);
    EXPECT_EQ(flow.receiver.reordered_net, 1);
  }
}

TEST(GoBackNTest, PaysMoreWithNacksThatRepeat) {
  struct Case {
    Rule rule;
    int64_t retransmissions;
    double extra_us;
  };
  const std::string timer = Roce("nack: timer, nack_interval: 4us");
  for (const Case& c : {Case{LetPassAt(kLast, Data(0, 500), 1), 197, 16.516},
                        Case{LetPassAt(kLast, Data(0, 500), 20), 168, 14.085},
                        Case{DropAt(0, Data(0, 500)), 197, 16.516}}) {
    SCOPED_TRACE(c.extra_us);
    const FlowRecord flow = Transfer(2'000'000, {c.rule.Times(1)}, timer, RoomBetweenPackets());
    EXPECT_EQ(flow.sender.retransmissions, c.retransmissions);
    EXPECT_NEAR(Microseconds(FctRx(flow) - kBase), c.extra_us, 0.001);
  }
}

TEST(GoBackNTest, RepairsALostTailAfterTheTimeout) {
  const FlowRecord flow = Transfer(10'000, {DropAt(0, Data(0, 9)).Times(2)}, Roce("rto: 1ms"));
  // The timer runs from the last ACK, of packet 8, and again from each transmission.
  const Duration last_ack = 9 * kPacketTime + 3 * kPacketTime + 4_us + 4 * (kAckTime + 1_us);
  EXPECT_EQ(FctRx(flow), last_ack + 2_ms + 4 * (kPacketTime + 1_us));
  EXPECT_EQ(flow.sender.timeouts, 2);
  EXPECT_EQ(flow.sender.retransmissions_loss, 2);
  EXPECT_EQ(flow.sender.nacks, 0);
}

TEST(GoBackNTest, GetsOverALostLastAck) {
  const FlowRecord flow = Transfer(10'000, {DropAt(0, Ack(0, 10)).Times(1)}, Roce("rto: 1ms"));
  EXPECT_EQ(flow.sender.timeouts, 1);
  EXPECT_EQ(flow.sender.retransmissions_spurious, 1);
  EXPECT_EQ(flow.receiver.duplicates, 1);
}

TEST(GoBackNTest, WaitsForEverWithoutATimeout) {
  Lab lab({.graph = Line(4, {100_Gbps, 1_us}),
           .transport = Roce("rto: never"),
           .switch_policy = Scripted({DropAt(0, Data(0, 9)).Times(1)})});
  lab.AddFlow(0, 1, 10'000);
  lab.Run(Time{} + 1_s);
  EXPECT_FALSE(lab.finished());
}

TEST(GoBackNTest, AcknowledgesEverySoManyPacketsAndTheLast) {
  std::vector<uint32_t> acks;
  const auto note = [&](const SwitchView&, const Packet& p) { acks.push_back(p.seq); };
  Transfer(10'000, {WatchAt(0, AllAcks(0), note)}, Roce("ack_interval: 4"));
  EXPECT_EQ(acks, (std::vector<uint32_t>{4, 8, 10}));
}

// Each packet takes 8.384 us by the rate, and its ACK comes after 8.355 us: when the timeout has
// gone back already, but before the packet is sent again.
TEST(GoBackNTest, SkipsWhatALateAckCovers) {
  const FlowRecord flow = Transfer(
      10'000, {}, "{kind: rocev2, framing: ns3_rdma, rto: 8us, cc: {kind: none, rate: 1Gbps}}");
  EXPECT_EQ(flow.sender.timeouts, 10);
  EXPECT_EQ(flow.sender.retransmissions, 0);
  EXPECT_EQ(FctRx(flow), 9 * 8'384_ns + 4 * (kPacketTime + 1_us));
}

// The mean of 20 random networks, in which packets are overtaken by one with a probability of 1 %.
double MeanSlowdown(const std::string& transport, const Match& some) {
  double sum = 0;
  constexpr int kRuns = 20;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    sum += Microseconds(
        FctRx(Transfer(2'000'000, {LetPassAt(kLast, WithProbability(0.01, seed, some), 1)},
                       transport, RoomBetweenPackets())));
  }
  return sum / kRuns / Microseconds(kBase);
}

TEST(GoBackNTest, SuffersFromEveryOvertaking) {
  const Match first_copy = [](const Packet& p) {
    return p.kind == PacketKind::kData && !p.Has(Packet::kRetransmission);
  };
  EXPECT_NEAR(MeanSlowdown(Roce(), first_copy), 1.54, 0.08);
  EXPECT_NEAR(MeanSlowdown(Roce("nack: timer"), first_copy), 2.03, 0.1);
  EXPECT_NEAR(MeanSlowdown(Roce("recovery: irn, bdp: 104KB"), first_copy), 1.011, 0.003);
  // If copies that were sent again are overtaken too, one packet in a hundred costs 101 more.
  EXPECT_NEAR(MeanSlowdown(Roce(), AllData(0)), 1 + 0.01 * 101, 0.1);
}

// --- IRN (T11) ---

const std::string kIrn = Roce("recovery: irn, bdp: 104KB");

TEST(IrnTest, SendsOnlyWhatIsMissing) {
  struct Case {
    Rule rule;
    double extra_us;
  };
  for (const Case& c :
       {Case{LetPassAt(kLast, Data(0, 500), 1), 0.084},
        Case{LetPassAt(kLast, Data(0, 500), 20), 1.354}, Case{DropAt(0, Data(0, 500)), 8.103}}) {
    SCOPED_TRACE(c.extra_us);
    const FlowRecord flow = Transfer(2'000'000, {c.rule.Times(1)}, kIrn, RoomBetweenPackets());
    EXPECT_EQ(flow.sender.retransmissions, 1);
    EXPECT_NEAR(Microseconds(FctRx(flow) - kBase), c.extra_us, 0.001);
    EXPECT_EQ(flow.sender.fast_retransmits, 1);
    EXPECT_EQ(flow.sender.timeouts, 0);
    EXPECT_EQ(flow.receiver.discarded, 0);
  }
}

TEST(IrnTest, RepairsEachOfSeveralLossesOnce) {
  std::vector<Rule> rules;
  for (uint32_t i = 0; i < 10; ++i) rules.push_back(DropAt(0, Data(0, 500 + 3 * i)).Times(1));
  const FlowRecord flow = Transfer(2'000'000, rules, kIrn);
  EXPECT_EQ(flow.sender.retransmissions, 10);
  EXPECT_EQ(flow.sender.retransmissions_loss, 10);
  EXPECT_EQ(flow.sender.fast_retransmits, 1);
  EXPECT_EQ(flow.sender.timeouts, 0);
  EXPECT_EQ(flow.receiver.duplicates, 0);
}

TEST(IrnTest, LeavesASecondLossOfAPacketToTheLongTimeout) {
  const FlowRecord flow = Transfer(2'000'000, {DropAt(0, Data(0, 500)).Times(2)}, kIrn);
  EXPECT_EQ(flow.sender.timeouts, 1);
  EXPECT_GT(FctRx(flow), kBase + 320_us);
  EXPECT_LT(FctRx(flow), kBase + 350_us);
  EXPECT_EQ(flow.sender.retransmissions_loss, 2);
  EXPECT_EQ(flow.sender.retransmissions_spurious, 0);
}

TEST(IrnTest, RepairsAShortTailAfterTheShortTimeout) {
  const FlowRecord flow =
      Transfer(10'000, {DropAt(0, Data(0, 8)).Times(1), DropAt(0, Data(0, 9)).Times(1)}, kIrn);
  const Duration last_ack = 8 * kPacketTime + 3 * kPacketTime + 4_us + 4 * (kAckTime + 1_us);
  EXPECT_EQ(FctRx(flow), last_ack + 100_us + 5 * kPacketTime + 4_us);
  EXPECT_EQ(flow.sender.timeouts, 1);
  EXPECT_EQ(flow.sender.retransmissions_loss, 2);
}

// Section 3.1 of the paper: RTO_low is for a small number of packets in flight, N = 3 in its
// simulations, and RTO_high for more.
TEST(IrnTest, TakesThreePacketsInFlightForASmallNumberAndFourForMore) {
  for (const uint32_t lost : {3u, 4u}) {
    SCOPED_TRACE(lost);
    std::vector<Rule> rules;
    for (uint32_t i = 10 - lost; i < 10; ++i) rules.push_back(DropAt(0, Data(0, i)).Times(1));
    const FlowRecord flow = Transfer(10'000, rules, kIrn);
    const Duration last_ack =
        (10 - lost) * kPacketTime + 3 * kPacketTime + 4_us + 4 * (kAckTime + 1_us);
    const Duration timeout = lost == 3 ? 100_us : 320_us;
    EXPECT_EQ(FctRx(flow), last_ack + timeout + (lost + 3) * kPacketTime + 4_us);
    EXPECT_EQ(flow.sender.timeouts, 1);
    EXPECT_EQ(flow.sender.retransmissions_loss, lost);
  }
}

TEST(IrnTest, CanWaitForMoreOvertakers) {
  const auto overtaken = [](int64_t by) {
    return Transfer(2'000'000, {LetPassAt(0, Data(0, 500), by).Times(1)},
                    Roce("recovery: irn, bdp: 104KB, nack_threshold: 4"));
  };
  EXPECT_EQ(overtaken(3).sender.retransmissions, 0);
  EXPECT_EQ(overtaken(3).sender.fast_retransmits, 0);
  EXPECT_EQ(overtaken(4).sender.retransmissions, 1);
  EXPECT_EQ(overtaken(4).sender.fast_retransmits_reorder, 1);
}

// Swift answers a loss by half a window, and nothing else here delays it.
TEST(RoceTest, ANackTellsTheCongestionControlOfALoss) {
  for (const bool loses : {false, true}) {
    std::vector<Rule> rules;
    if (loses) rules.push_back(DropAt(0, Data(0, 100)).Times(1));
    Lab lab({.graph = Line(2, {100_Gbps, 1_us}),
             .transport = "{kind: rocev2, recovery: irn, bdp: 1MB, cc: {kind: swift, base: 200us, "
                          "per_hop: 0us, fs_range: 0us, initial_cwnd: 64}}",
             .switch_policy = Scripted(std::move(rules))});
    lab.AddFlow(0, 1, 1'000'000);
    double least = 1'000;
    lab.SampleEvery(1_us, [&](Time now) {
      if (const RoceSender* pair = lab.QueuePair(0); pair != nullptr && now > Time{}) {
        least = std::min(least, pair->rate().window);
      }
    });
    lab.Run();
    EXPECT_EQ(lab.Record(0).sender.nacks > 0, loses);
    if (loses) {
      EXPECT_LT(least, 50);
    } else {
      EXPECT_GE(least, 64);
    }
  }
}

}  // namespace heddle::roce_test
