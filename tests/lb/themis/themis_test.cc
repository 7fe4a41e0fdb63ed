// SPDX-License-Identifier: Apache-2.0
// How Themis' first leaf sprays, which NACKs the last leaf drops, passes and makes, and that skewed
// paths cause no repair.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "lb/themis/forwarded.h"
#include "lb/themis/header.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"

namespace heddle::themis_test {

// --- The packets that the last leaf has forwarded ---

using Fate = ForwardedPackets::Fate;

Fate FateAfter(const std::vector<uint32_t>& forwarded, uint32_t expected, uint32_t paths) {
  ForwardedPackets packets(/*flows=*/1, /*window=*/16, /*paths=*/4);
  ForwardedPackets::Flow flow = packets.Take();
  for (const uint32_t packet : forwarded) {
    EXPECT_TRUE(packets.Add(flow, packet));
    packets.NotePath(flow, packet, paths);
  }
  return packets.FateOf(flow, expected, paths);
}

TEST(ThemisForwardedTest, OnlyALaterPacketOfItsPathProvesALoss) {
  EXPECT_EQ(FateAfter({0, 2}, 1, 4), Fate::kUnknown);
  EXPECT_EQ(FateAfter({0, 2, 3, 4}, 1, 4), Fate::kUnknown);
  EXPECT_EQ(FateAfter({0, 2, 3, 4, 5}, 1, 4), Fate::kLost);
  EXPECT_EQ(FateAfter({0, 2}, 1, 1), Fate::kLost);
}

TEST(ThemisForwardedTest, APacketThatHasBeenForwardedIsOnItsWay) {
  EXPECT_EQ(FateAfter({0, 2, 1}, 1, 4), Fate::kOnItsWay);
  EXPECT_EQ(FateAfter({0, 2, 3, 1, 4, 5, 6, 7, 8, 9}, 1, 4), Fate::kOnItsWay);
}

TEST(ThemisForwardedTest, PacketsWithoutATurnProveNothing) {
  ForwardedPackets packets(1, 16, 4);
  ForwardedPackets::Flow flow = packets.Take();
  EXPECT_TRUE(packets.Add(flow, 0));
  EXPECT_TRUE(packets.Add(flow, 5));
  EXPECT_EQ(packets.FateOf(flow, 1, 4), Fate::kUnknown);
}

TEST(ThemisForwardedTest, TheWindowMovesWithThePackets) {
  ForwardedPackets packets(2, 16, 4);
  ForwardedPackets::Flow other = packets.Take();
  ForwardedPackets::Flow flow = packets.Take();
  for (uint32_t packet = 0; packet < 100; ++packet) {
    EXPECT_TRUE(packets.Add(flow, packet ^ 1));
    EXPECT_TRUE(packets.Add(other, packet));
  }
  EXPECT_EQ(flow.missing, 100u);
  EXPECT_TRUE(packets.Add(flow, 115));
  EXPECT_FALSE(packets.Add(flow, 116));
  EXPECT_TRUE(packets.Add(flow, 3));
  packets.GiveBack(flow);
  EXPECT_EQ(packets.Take().missing, 0u);
}

// --- The leaf where flows begin ---

struct Sent {
  PortIndex port;
  ThemisHeader header;
};

Sent Send(LbSwitch& leaf, FlowId flow, uint32_t seq, std::span<const PortIndex> live) {
  Packet packet = LbPacket(7);
  packet.flow = flow;
  packet.seq = seq;
  Sent sent{};
  sent.port = leaf.PortFor(packet, Time{}, live);
  leaf.At(Time{}, [&](SwitchView& view, SwitchPolicy& policy) {
    policy.OnEnqueue(view, packet, sent.port);
  });
  sent.header = packet.Scheme<ThemisHeader>();
  EXPECT_EQ(packet.path, sent.port);
  return sent;
}

TEST(ThemisFirstLeafTest, SpraysInTurnFromAnOffsetOfTheFlow) {
  LbSwitch leaf("themis");
  std::set<PortIndex> firsts;
  for (FlowId flow = 0; flow < 64; ++flow) {
    const PortIndex first = Send(leaf, flow, 0, leaf.uplinks()).port;
    firsts.insert(first);
    for (uint32_t seq = 1; seq < 12; ++seq) {
      const Sent sent = Send(leaf, flow, seq, leaf.uplinks());
      EXPECT_EQ(sent.port, (first + seq) % 4);
      EXPECT_EQ(sent.header.paths, 4);
      EXPECT_FALSE(sent.header.is_again);
    }
  }
  EXPECT_EQ(firsts.size(), 4u);
}

TEST(ThemisFirstLeafTest, APacketThatIsSentAgainTakesAnotherPath) {
  LbSwitch leaf("themis");
  std::vector<PortIndex> before;
  for (uint32_t seq = 0; seq < 8; ++seq) {
    before.push_back(Send(leaf, 1, seq, leaf.uplinks()).port);
  }
  std::set<PortIndex> others;
  for (int i = 0; i < 3; ++i) {
    const Sent again = Send(leaf, 1, 5, leaf.uplinks());
    EXPECT_TRUE(again.header.is_again);
    EXPECT_NE(again.port, before[5]);
    others.insert(again.port);
  }
  EXPECT_EQ(others.size(), 3u);
  EXPECT_FALSE(Send(leaf, 1, 8, leaf.uplinks()).header.is_again);
  EXPECT_EQ(Send(leaf, 1, 8, leaf.uplinks().first(1)).port, 0);  // There is no other.
}

TEST(ThemisFirstLeafTest, TellsOfAnotherSetOfPaths) {
  LbSwitch leaf("themis");
  const ThemisHeader four = Send(leaf, 1, 0, leaf.uplinks()).header;
  const ThemisHeader three = Send(leaf, 1, 1, leaf.uplinks().first(3)).header;
  EXPECT_EQ(three.paths, 3);
  EXPECT_FALSE(three.HasPathsOf(four));
}

// --- The leaf where flows end ---

class ThemisLastLeafTest : public testing::Test {
 protected:
  static Packet DataOf(uint32_t seq, ThemisHeader header) {
    Packet data = LbPacket(7);
    data.src = 1;
    data.dst = 0;
    data.flow = 1;
    data.seq = seq;
    data.SetScheme(header);
    return data;
  }
  void Forward(const Packet& arriving, Time at = {}) {
    Packet data = arriving;
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      const Decision decision = policy.OnPacket(view, data, 0, view.CandidatesTo(0));
      ASSERT_EQ(decision.kind, Decision::Kind::kForward);
      policy.OnEnqueue(view, data, decision.port);
    });
  }
  void Arrive(const std::vector<uint32_t>& packets) {
    for (const uint32_t seq : packets) Forward(DataOf(seq, paths_));
  }
  bool Passes(uint32_t expected, Time at = {}, uint8_t flags = 0) {
    Packet nack = LbPacket(9);
    nack.kind = PacketKind::kNack;
    nack.src = 0;
    nack.dst = 1;
    nack.flow = 1;
    nack.seq = expected;
    nack.bytes = 64;
    nack.flags = flags;
    nack.nack.trigger = expected + 1;
    bool passes = false;
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      passes =
          policy.OnPacket(view, nack, 4, view.CandidatesTo(1)).kind == Decision::Kind::kForward;
    });
    return passes;
  }
  int64_t Made() const { return leaf_.Count("nacks_made"); }

  LbSwitch leaf_{"themis"};
  ThemisHeader paths_{.paths = 4, .set = 1, .is_again = false};
};

TEST_F(ThemisLastLeafTest, DropsANackOfSkew) {
  Arrive({0, 2});
  EXPECT_FALSE(Passes(1));
  Arrive({1, 3, 4, 5, 9});
  EXPECT_EQ(Made(), 0);
}

TEST_F(ThemisLastLeafTest, MakesTheNackWhenALaterPacketOfThePathComes) {
  Arrive({0, 2});
  EXPECT_FALSE(Passes(1));
  Arrive({3, 4});
  EXPECT_EQ(Made(), 0);
  Arrive({5});
  EXPECT_EQ(Made(), 1);
  Arrive({9, 13});
  EXPECT_EQ(Made(), 1);
}

TEST_F(ThemisLastLeafTest, PassesANackThatIsProvedAlready) {
  Arrive({0, 2, 3, 5});
  EXPECT_TRUE(Passes(1));
  Arrive({9});
  EXPECT_EQ(Made(), 0);
}

TEST_F(ThemisLastLeafTest, PassesAllWithOnePath) {
  paths_.paths = 1;
  Arrive({0, 2});
  EXPECT_TRUE(Passes(1));
}

TEST_F(ThemisLastLeafTest, PassesThoseOfTrimmedPacketsAndOfUnknownFlows) {
  EXPECT_TRUE(Passes(1));
  Arrive({0, 2});
  EXPECT_TRUE(Passes(1, {}, Packet::kTrimmed));
}

// The leaf has not seen the flow's first packets, and cannot tell what it has forwarded.
TEST_F(ThemisLastLeafTest, PassesThoseOfFlowsOfWhichItHasNotSeenTheBeginning) {
  Arrive({100, 102});
  EXPECT_TRUE(Passes(101));
  EXPECT_TRUE(Passes(101, Time{} + 1_ms));
}

// The idle round trip of the bench is 16 us.
TEST_F(ThemisLastLeafTest, PassesForARoundTripAfterThePathsHaveChanged) {
  Arrive({0, 2});
  EXPECT_FALSE(Passes(1));
  paths_ = {.paths = 3, .set = 2, .is_again = false};
  Arrive({5, 1});
  EXPECT_EQ(Made(), 0);  // 5 is four packets after 1, but not on its path.
  Arrive({4});
  EXPECT_TRUE(Passes(3, Time{} + 15_us));
  EXPECT_FALSE(Passes(3, Time{} + 16_us));
  Forward(DataOf(7, paths_), Time{} + 16_us);
  EXPECT_EQ(Made(), 0);
  Forward(DataOf(6, paths_), Time{} + 16_us);
  EXPECT_EQ(Made(), 1);
}

TEST_F(ThemisLastLeafTest, PacketsSentAgainAndTrimmedOnesProveNothing) {
  Arrive({0, 2});
  EXPECT_FALSE(Passes(1));
  ThemisHeader again = paths_;
  again.is_again = true;
  Forward(DataOf(5, again));
  Packet trimmed = DataOf(9, paths_);
  trimmed.Set(Packet::kTrimmed);
  Forward(trimmed);
  EXPECT_EQ(Made(), 0);
  Arrive({13});
  EXPECT_EQ(Made(), 1);
}

// --- Whole networks ---

// Each spine has another delay.
Graph Skewed(int slowest_us) {
  return LeafSpineFrom(fmt::format(
      "{{leaves: 2, spines: 4, hosts_per_leaf: 2, host_link: {{rate: 100Gbps, delay: 1us}}, "
      "fabric_link: {{rate: 100Gbps, delay: 1us}}, asymmetry: [{{spines: [1], delay: 2us}}, "
      "{{spines: [2], delay: 1500ns}}, {{spines: [3], delay: {}us}}]}}",
      slowest_us));
}

const std::string kRepeat = "{kind: rocev2, cc: none, recovery: sr}";

TEST(ThemisTest, SkewWithoutLossCausesNoRepair) {
  for (const int slowest_us : {3, 6, 20}) {
    SCOPED_TRACE(slowest_us);
    for (const std::string balancer : {"themis", "rr_pkt"}) {
      Lab lab({.graph = Skewed(slowest_us), .transport = kRepeat, .balancer = balancer});
      lab.AddFlow(0, 2, 2'000'000);
      lab.Run();
      ASSERT_TRUE(lab.finished());
      const FlowRecord& record = lab.Record(0);
      EXPECT_GT(record.receiver.reordered_net, 0);
      if (balancer == "themis") {
        EXPECT_EQ(record.sender.retransmissions, 0);
        EXPECT_EQ(record.sender.nacks, 0);
        EXPECT_EQ(record.receiver.paths_used, 4);
      } else {
        EXPECT_GT(record.sender.retransmissions_spurious, 0);
      }
    }
  }
}

// Two flows share the last link, and nothing limits its queue: a packet for which a NACK asks may
// wait there behind hundreds of others.
TEST(ThemisTest, ALongQueueToTheHostCausesNoRepair) {
  Lab lab({.graph = Skewed(3), .transport = kRepeat, .balancer = "themis"});
  lab.AddFlow(0, 2, 4'000'000);
  lab.AddFlow(1, 2, 4'000'000);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  for (const FlowRecord& record : lab.records()) {
    EXPECT_GT(record.receiver.reordered_net, 0);
    EXPECT_EQ(record.sender.retransmissions, 0);
  }
}

// The links down to the receiver's leaf lose packets for a while; what is left of the flow then
// proves every loss.
TEST(ThemisTest, RepairsLossesAndNothingElse) {
  const Graph graph = Skewed(3);
  std::vector<LinkEvent> events;
  for (const double loss : {0.005, 0.0}) {
    for (uint32_t link = 0; link < graph.links.size(); ++link) {
      if (!graph.links[link].name.starts_with("leaf1-spine")) continue;
      events.push_back({.at = Time{} + (loss > 0 ? 0_us : 150_us),
                        .link = link,
                        .up = {},
                        .rate = {},
                        .delay = {},
                        .loss = loss,
                        .direction = LinkChange::Direction::kDown});
    }
  }
  int64_t repairs = 0;
  int without_timeout = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    Lab lab({.graph = graph,
             .transport = kRepeat,
             .balancer = "themis",
             .events = events,
             .seed = seed});
    lab.AddFlow(0, 2, 8'000'000);
    lab.Run(Time{} + 100_ms);
    ASSERT_TRUE(lab.finished());
    const SenderRecord& sender = lab.Record(0).sender;
    if (sender.timeouts > 0) continue;  // A repair has been lost, too.
    ++without_timeout;
    repairs += sender.retransmissions;
    EXPECT_EQ(sender.retransmissions_spurious, 0);
    EXPECT_EQ(sender.retransmissions, sender.nacks);
    EXPECT_EQ(lab.Record(0).receiver.duplicates, 0);
  }
  EXPECT_GE(without_timeout, 5);
  EXPECT_GT(repairs, 20);
}

std::string AllRecords(int threads) {
  return RecordsOfSixteenHosts({.graph = {},
                                .transport = "{kind: rocev2, recovery: sr, rto: 500us}",
                                .balancer = "themis",
                                .port = "{buffer: 60KB, ecn_above: 30KB}",
                                .threads = threads});
}

TEST(ThemisTest, ResultsDoNotDependOnThreads) {
  const std::string one = AllRecords(1);
  EXPECT_EQ(one, AllRecords(2));
  EXPECT_EQ(one, AllRecords(3));
}

TEST(ThemisTest, RefusesTransportsThatNeedEveryNack) {
  const std::string network =
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
      "workload: [{kind: permutation, size: 10KB}]\nlb: themis\ntransport: {kind: rocev2, "
      "recovery: ";
  for (const std::string recovery : {"gbn", "irn"}) {
    EXPECT_NE(ErrorsOf(network + recovery + "}\n").find("set transport.recovery: sr"),
              std::string::npos);
  }
  EXPECT_EQ(ErrorsOf(network + "sr}\n"), "");
}

}  // namespace heddle::themis_test
