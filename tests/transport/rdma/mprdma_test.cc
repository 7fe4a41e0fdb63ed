// SPDX-License-Identifier: Apache-2.0
// MP-RDMA: its window by hand, how paths share a flow, what it does about slow and dead paths, and
// its recovery from losses.

#include "transport/rdma/mprdma.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::mprdma_test {

constexpr Channel kLink{100_Gbps, 1_us};

std::string MpRdmaWith(const std::string& more) {
  return "{kind: mprdma" + (more.empty() ? "" : ", " + more) + "}";
}

const MpRdmaSender* SenderOf(Lab& lab, HostId host, FlowId flow) {
  return dynamic_cast<const MpRdma&>(lab.network().host(host).transport()).FindSender(flow);
}

// Two leaves with a host each, and a spine for each channel.
Graph Leaves(const std::vector<std::pair<std::string, std::string>>& spines) {
  std::string asymmetry;
  for (size_t s = 0; s < spines.size(); ++s) {
    asymmetry += fmt::format("{}{{spines: [{}], rate: {}, delay: {}}}", s == 0 ? "" : ", ", s,
                             spines[s].first, spines[s].second);
  }
  return LeafSpineFrom(fmt::format(
      "{{leaves: 2, spines: {}, hosts_per_leaf: 1, host_link: {{rate: 100Gbps, delay: 1us}}, "
      "fabric_link: {{rate: 100Gbps, delay: 1us}}, asymmetry: [{}]}}",
      spines.size(), asymmetry));
}
FifoPort& PortToSpine(Lab& lab, SwitchId spine) {
  return lab.PortTo(lab.SwitchVertex(0), lab.SwitchVertex(static_cast<SwitchId>(2 + spine)));
}
std::vector<LinkEvent> LossOf(uint32_t link, double loss, Time at = {}) {
  return {{.at = at, .link = link, .up = {}, .rate = {}, .delay = {}, .loss = loss}};
}

// --- The window ---

// The first window holds the whole flow, so that nothing waits for an ACK.
TEST(MpRdmaTest, ALoneFlowTakesItsPipelineTime) {
  Lab lab({.graph = Line(4, kLink), .transport = MpRdmaWith("first_window: 1000")});
  lab.AddFlow(0, 1, 1'024'000);
  lab.Run();
  const Duration packet = SerializationDelay(1'122_B, 100_Gbps);
  EXPECT_EQ(FctRx(lab.Record(0)), packet * (1'000 + 3) + 4_us);
}

// 4 us of propagation at 100 Gbps and a payload over each of two links: 52,000 bytes of 1000, or
// 52,048 of 1024.
TEST(MpRdmaTest, BeginsWithABandwidthDelayProductInWholePackets) {
  for (const auto& [mtu, packets] : {std::pair(1'000, 52), std::pair(1'024, 51)}) {
    Lab lab({.graph = Line(2, kLink), .transport = MpRdmaWith(fmt::format("mtu: {}", mtu))});
    lab.AddFlow(0, 1, 1'000'000);
    double window = 0;
    lab.SampleEvery(1_us, [&](Time at) {
      if (at == Time{} + 1_us) window = SenderOf(lab, 0, 0)->window();
    });
    lab.Run(Time{} + 10_us);
    EXPECT_EQ(window, packets) << mtu;
  }
}

// Two flows have much to send. Only one of them hears ACKs, which give it no more turns.
TEST(MpRdmaTest, FlowsTakeTurnsWhateverAcksCome) {
  std::vector<FlowId> turns;
  const auto note = [&](const SwitchView&, const Packet& p) { turns.push_back(p.flow); };
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .transport = MpRdmaWith("first_window: 100, rto: 10ms"),
           .switch_policy = Scripted(
               {WatchAt(0, Anything(PacketKind::kData), note), DropAt(0, AllAcks(1)).Times(90)})});
  lab.AddFlow(0, 1, 100 * 1'024);
  lab.AddFlow(0, 1, 100 * 1'024);
  lab.Run();
  ASSERT_GE(turns.size(), 200u);
  for (size_t i = 0; i < 200; ++i) ASSERT_EQ(turns[i], i % 2) << i;
}

// All flows have five packets in flight. The ACKs of flow 0 are held back until they come together,
// when it has nothing to send and the others keep the NIC busy. It takes its place among them once,
// however many ACKs come before its turn: five ACKs, each of which releases a packet at least, need
// as many rounds.
TEST(MpRdmaTest, AcksInOneBurstGiveOnePlaceInTheRound) {
  constexpr uint32_t kFlows = 11;
  const Duration round = kFlows * SerializationDelay(1'122_B, 10_Gbps);
  std::vector<FlowId> turns;
  std::vector<Rule> rules = {
      WatchAt(0, Anything(PacketKind::kData),
              [&](const SwitchView&, const Packet& p) { turns.push_back(p.flow); })};
  for (uint32_t k = 0; k < 5; ++k) {
    const Match ack = [k](const Packet& p) {
      return p.kind == PacketKind::kAck && p.flow == 0 && p.nack.trigger == k;
    };
    rules.push_back(HoldAt(0, ack, 300_us - k * round));
  }
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .transport = MpRdmaWith("first_window: 5, rto: 10ms, probe: 0"),
           .switch_policy = Scripted(rules)});
  for (uint32_t f = 0; f < kFlows; ++f) lab.AddFlow(0, 1, 100 * 1'024);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  std::vector<size_t> places;
  for (size_t i = 0; i < turns.size(); ++i) {
    if (turns[i] == 0) places.push_back(i);
  }
  ASSERT_GE(places.size(), 10u);
  EXPECT_GT(places[5] - places[4], 100u);  // Nothing to send.
  for (size_t i = 6; i < 10; ++i) EXPECT_GE(places[i] - places[i - 1], kFlows - 1) << i;
}

// Without marks each ACK adds one over the window: a packet in a round trip.
TEST(MpRdmaTest, GrowsByOnePacketInARoundTripWithoutMarks) {
  Lab lab({.graph = Line(2, {100_Gbps, 20_us}), .transport = MpRdmaWith("first_window: 10")});
  lab.AddFlow(0, 1, 100'000'000);
  const Duration rtt =
      80_us + SerializationDelay(1'122_B, 100_Gbps) * 2 + SerializationDelay(84_B, 100_Gbps) * 2;
  std::vector<double> windows;
  lab.SampleEvery(rtt, [&](Time) {
    const MpRdmaSender* sender = SenderOf(lab, 0, 0);
    windows.push_back(sender == nullptr ? 10 : sender->window());
  });
  lab.Run(Time{} + 20 * rtt);
  ASSERT_GE(windows.size(), 15u);
  for (size_t i = 3; i < windows.size(); ++i) {
    EXPECT_NEAR(windows[i] - windows[i - 1], 1, 0.12) << i << " round trips";
  }
}

// At a window of 10 a mark takes a half, and an ACK without one adds a tenth: -0.4 for two.
TEST(MpRdmaTest, AMarkTakesHalfAPacket) {
  int64_t data = 0;
  const Match every_other = [&](const Packet& p) {
    return p.kind == PacketKind::kData && data++ % 2 == 1;
  };
  Lab lab({.graph = Line(2, kLink),
           .transport = MpRdmaWith("first_window: 10"),
           .switch_policy = Scripted({MarkAt(0, every_other)})});
  lab.AddFlow(0, 1, 1'000'000'000);
  double window = 0;
  // Two ACKs have come after a round trip and the time of one packet more.
  const Duration two =
      4_us + SerializationDelay(1'122_B, 100_Gbps) * 3 + SerializationDelay(84_B, 100_Gbps) * 2;
  lab.SampleEvery(two + 1_ns, [&](Time at) {
    if (at == Time{} + two + 1_ns) window = SenderOf(lab, 0, 0)->window();
  });
  lab.Run(Time{} + 10_us);
  EXPECT_NEAR(window, 9.6, 1e-9);
}

TEST(MpRdmaTest, TheWindowIsNeverBelowOnePacket) {
  Lab lab({.graph = Line(2, kLink),
           .transport = MpRdmaWith("first_window: 4"),
           .switch_policy = Scripted({MarkAt(0, AllData(0))})});
  lab.AddFlow(0, 1, 1'000'000);
  double least = 100;
  lab.SampleEvery(3_us, [&](Time at) {
    if (const MpRdmaSender* sender = SenderOf(lab, 0, 0); sender != nullptr && at > Time{}) {
      least = std::min(least, sender->window());
    }
  });
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_EQ(least, 1);
  EXPECT_EQ(lab.Record(0).sender.timeouts, 0);
}

// --- Paths ---

// Links are short, so that queues at the threshold keep both paths busy. Such a queue is a delay
// four times as long on the slower path. With 6 KB that is a lead of 20 packets of the flow on the
// faster one, fewer than delta; with 12 KB it is 41, and the slower path is pruned again and again.
TEST(MpRdmaTest, PathsCarryBytesInProportionToTheirRates) {
  for (const int marks_above_kb : {6, 12}) {
    SCOPED_TRACE(marks_above_kb);
    Lab lab({.graph = LeafSpineFrom(
                 "{leaves: 2, spines: 2, hosts_per_leaf: 1, host_link: {rate: 100Gbps, delay: "
                 "100ns}, fabric_link: {rate: 100Gbps, delay: 100ns}, asymmetry: [{spines: [0], "
                 "rate: 40Gbps}, {spines: [1], rate: 10Gbps}]}"),
             .transport = MpRdmaWith("first_window: 8"),
             .port = fmt::format("{{buffer: unlimited, ecn_above: {}KB}}", marks_above_kb)});
    lab.AddFlow(0, 1, 50'000'000);
    lab.Run(Time{} + 100_ms);
    ASSERT_TRUE(lab.finished());
    const double fast = static_cast<double>(PortToSpine(lab, 0).Committed().wire_bytes);
    const double slow = static_cast<double>(PortToSpine(lab, 1).Committed().wire_bytes);
    if (marks_above_kb > 6) {
      EXPECT_GT(fast / slow, 4.8);
      continue;
    }
    EXPECT_NEAR(fast / slow, 4, 0.4);
    EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
    // What both paths carry without headers, less 8 %.
    const double bps = 50e6 * 8 / Seconds(FctRx(lab.Record(0)));
    EXPECT_GT(bps, 0.92 * 50e9 * 1'024 / 1'122);
  }
}

// The receiver's bitmap has 64 packets. With paths of unequal delay no packet comes beyond it.
TEST(MpRdmaTest, ReordersNoMoreThanTheBitmapHolds) {
  Lab lab({.graph = Leaves({{"40Gbps", "1us"}, {"40Gbps", "1500ns"}, {"40Gbps", "2us"}}),
           .transport = MpRdmaWith(""),
           .balancer = "ecmp",
           .port = "{buffer: unlimited, ecn_above: 60KB}"});
  lab.AddFlow(0, 1, 20'000'000);
  lab.Run(Time{} + 100_ms);
  ASSERT_TRUE(lab.finished());
  const FlowRecord& record = lab.Record(0);
  EXPECT_GT(record.receiver.reordered_net, 0);
  EXPECT_EQ(record.receiver.paths_used, 3);
  EXPECT_EQ(record.receiver.discarded, 0);
  EXPECT_LE(record.receiver.max_out_of_order_bytes, 64 * 1'024);
  EXPECT_EQ(record.sender.retransmissions, 0);
}

// A path that is slower by more than delta packets gets the first window's packets and no more.
TEST(MpRdmaTest, ASlowPathIsPruned) {
  const auto share_of_slow = [](int delta) {
    Lab lab({.graph = Leaves({{"100Gbps", "1us"}, {"100Gbps", "3us"}}),
             .transport = MpRdmaWith(fmt::format("first_window: 60, probe: 0, delta: {}", delta))});
    lab.AddFlow(0, 1, 10'000'000);
    lab.Run(Time{} + 100_ms);
    EXPECT_TRUE(lab.finished());
    const double slow = static_cast<double>(PortToSpine(lab, 1).Committed().packets);
    return slow / (slow + static_cast<double>(PortToSpine(lab, 0).Committed().packets));
  };
  EXPECT_LT(share_of_slow(8), 0.02);
  EXPECT_GT(share_of_slow(64), 0.2);
}

// Packets on a dead path bring no ACKs, so the path gets nothing but fresh probes: here, none. The
// flow must end all the same.
TEST(MpRdmaTest, ADeadPathGetsNothingAfterThePacketsInFlight) {
  for (const std::string beyond : {"drop", "nack"}) {
    SCOPED_TRACE(beyond);
    const Graph graph = Leaves({{"100Gbps", "1us"}, {"100Gbps", "1us"}, {"100Gbps", "1us"}});
    uint32_t dead = 0;
    while (graph.links[dead].name != "leaf1-spine1") ++dead;
    Lab lab({.graph = graph,
             .transport = MpRdmaWith("probe: 0, beyond: " + beyond),
             .events = LossOf(dead, 1, Time{} + 50_us)});
    lab.AddFlow(0, 1, 20'000'000);
    std::map<int64_t, int64_t> packets;  // By time in us.
    lab.SampleEvery(10_us, [&](Time at) {
      packets[at.ps / 1'000'000] = PortToSpine(lab, 1).Committed().packets;
    });
    lab.Run(Time{} + 100_ms);
    ASSERT_TRUE(lab.finished());
    EXPECT_GT(packets[50], packets[40]);
    EXPECT_EQ(packets[300], packets[80]);
    EXPECT_GT(lab.Record(0).sender.retransmissions, 0);
  }
}

// A switch holds the first two of twelve packets in flight back. Marks on the next 19 take 9.5 from
// the window, until these two alone fill it. Their ACKs are late and release nothing on their path,
// but without a packet in flight nothing would go on: one packet leaves on another path.
TEST(MpRdmaTest, OnePacketGoesOnWhereTheLastInFlightWereLate) {
  std::map<uint32_t, Time> sent;
  const auto note = [&](const SwitchView&, const Packet& p) { sent[p.seq] = p.sent; };
  const Match early = [](const Packet& p) { return p.kind == PacketKind::kData && p.seq <= 20; };
  Lab lab({.graph = Line(2, kLink),
           .transport = MpRdmaWith("probe: 0, first_window: 12, delta: 8"),
           .switch_policy = Scripted({WatchAt(0, AllData(0), note), HoldAt(0, Data(0, 0), 100_us),
                                      HoldAt(0, Data(0, 1), 100_us), MarkAt(0, early)})});
  lab.AddFlow(0, 1, 100 * 1'024);
  lab.Run(Time{} + 10_ms);
  ASSERT_TRUE(lab.finished());
  EXPECT_EQ(lab.Record(0).sender.timeouts, 0);
  EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
  EXPECT_LT(sent[20], Time{} + 100_us);
  EXPECT_GT(sent[21], Time{} + 100_us);
  EXPECT_GT(sent[22] - sent[21], 4_us);  // Its ACK releases the next.
}

// --- Losses ---

TEST(MpRdmaTest, LossesAreRepaired) {
  for (const std::string more : {"", "beyond: nack", "message: 64KB"}) {
    SCOPED_TRACE(more);
    Lab lab({.graph = Line(4, kLink), .transport = MpRdmaWith(more), .events = LossOf(1, 0.01)});
    lab.AddFlow(0, 1, 1'000'000);
    lab.AddFlow(0, 1, 1);
    lab.AddFlow(1, 0, 300'000);
    lab.Run(Time{} + 1'000_ms);
    ASSERT_TRUE(lab.finished());
    EXPECT_GT(lab.Record(0).sender.retransmissions, 0);
    EXPECT_GT(lab.Record(0).sender.retransmissions, lab.Record(0).sender.retransmissions_spurious);
  }
}

// The ACK of flow 0 comes after 4 us, two packets of 897.6 ns and two ACKs of 67.2 ns, just behind
// a timeout. Then the NIC is busy with a packet of flow 1, so flow 0 ends while its turn is due.
// Later flows that take the slots of both are not hurt.
TEST(MpRdmaTest, AFlowThatEndsBeforeItsTurnLeavesItsSlotInOrder) {
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .transport = MpRdmaWith("first_window: 1000, rto: 5700ns")});
  lab.AddFlow(0, 1, 1'024);
  lab.AddFlow(0, 1, 20 * 1'024);
  lab.AddFlow(0, 1, 1'024, Time{} + 10_ms);
  lab.AddFlow(0, 1, 1'024, Time{} + 10_ms);
  lab.Run(Time{} + 20_ms);
  EXPECT_TRUE(lab.finished());
  EXPECT_EQ(lab.Record(0).sender.timeouts, 1);
  EXPECT_EQ(lab.Record(0).sender.packets_sent, 1);
}

TEST(MpRdmaTest, LostAcksOfAFlowStopNothing) {
  const Match acks = WithProbability(0.05, 3, AllAcks(0));
  Lab lab({.graph = Line(4, kLink),
           .transport = MpRdmaWith(""),
           .switch_policy = Scripted({DropAt(1, acks)})});
  lab.AddFlow(0, 1, 5'000'000);
  lab.Run(Time{} + 100_ms);
  ASSERT_TRUE(lab.finished());
  EXPECT_LE(lab.Record(0).sender.timeouts, 1);  // That of the last ACK, if it is lost.
}

// A loss of which nothing tells is repaired a timeout after the last ACK: 64 packets behind it are
// placed, the others dropped. A receiver that asks when a packet comes beyond its bitmap is faster.
TEST(MpRdmaTest, ALossStopsTheFlowForATimeoutUnlessTheReceiverAsks) {
  for (const std::string beyond : {"drop", "nack"}) {
    SCOPED_TRACE(beyond);
    Lab lab({.graph = Line(4, kLink),
             .transport = MpRdmaWith("rto: 500us, beyond: " + beyond),
             .switch_policy = Scripted({DropAt(0, Data(0, 100)).Times(1)})});
    lab.AddFlow(0, 1, 1'024'000);
    lab.Run(Time{} + 100_ms);
    ASSERT_TRUE(lab.finished());
    const FlowRecord& record = lab.Record(0);
    EXPECT_GT(record.receiver.discarded, 0);
    EXPECT_EQ(record.sender.timeouts, beyond == "drop" ? 1 : 0);
    EXPECT_EQ(record.sender.nacks, beyond == "drop" ? 0 : 1);
    if (beyond == "drop") {
      EXPECT_GT(FctRx(record), 500_us);
    } else {
      EXPECT_LT(FctRx(record), 200_us);
    }
  }
}

// --- Messages that must be placed in order ---

// A message of 20 packets begins 32 packets' time after the one before, and asks for its losses.
TEST(MpRdmaTest, MessagesWaitForTheOneBefore) {
  std::vector<std::pair<uint32_t, Time>> sent;
  const auto note = [&](const SwitchView& view, const Packet& p) {
    sent.emplace_back(p.seq, view.now());
    EXPECT_EQ(p.Has(Packet::kCwr), p.seq > 0 && p.seq % 20 == 0) << p.seq;
  };
  Lab lab({.graph = Line(2, kLink),
           .transport = MpRdmaWith("message: 20480B, first_window: 40"),
           .switch_policy = Scripted({WatchAt(0, AllData(0), note)})});
  lab.AddFlow(0, 1, 102'400);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  ASSERT_EQ(sent.size(), 100u);
  const Duration rtt =
      4_us + SerializationDelay(1'122_B, 100_Gbps) * 2 + SerializationDelay(84_B, 100_Gbps) * 2;
  for (size_t i = 20; i < 100; i += 20) {
    EXPECT_EQ(sent[i].first, i);
    const Duration gap = sent[i].second - sent[i - 1].second;
    EXPECT_GT(gap, rtt * 32 / 50) << i;  // The window has grown a little.
    EXPECT_LT(gap, rtt * 2) << i;
  }
  EXPECT_EQ(lab.Record(0).sender.nacks, 0);
}

TEST(MpRdmaTest, TheNextMessageAsksForWhatIsMissing) {
  Lab lab({.graph = Line(2, kLink),
           .transport = MpRdmaWith("message: 20480B"),
           .switch_policy = Scripted({DropAt(0, Data(0, 30)).Times(1)})});
  lab.AddFlow(0, 1, 102'400);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  EXPECT_EQ(lab.Record(0).sender.nacks, 1);
  EXPECT_EQ(lab.Record(0).sender.timeouts, 0);
}

// --- Whole networks ---

std::string AllRecords(int threads) {
  return RecordsOfSixteenHosts({.graph = {},
                                .transport = "{kind: mprdma}",
                                .port = "{buffer: 100KB, ecn_above: 30KB}",
                                .threads = threads});
}

TEST(MpRdmaTest, ResultsDoNotDependOnThreads) {
  const std::string one = AllRecords(1);
  EXPECT_EQ(one, AllRecords(2));
  EXPECT_EQ(one, AllRecords(3));
}

TEST(MpRdmaTest, RefusesBalancersThatChoosePathsAtHosts) {
  const std::string network =
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
      "workload: [{kind: permutation, size: 10KB}]\ntransport: mprdma\nlb: ";
  for (const std::string lb : {"reps", "presto", "oblivious", "flowbender"}) {
    EXPECT_NE(ErrorsOf(network + lb + "\n").find("set lb: ecmp"), std::string::npos) << lb;
  }
  for (const std::string lb : {"ecmp", "wcmp", "letflow"}) {
    EXPECT_EQ(ErrorsOf(network + lb + "\n"), "") << lb;
  }
}

}  // namespace heddle::mprdma_test
