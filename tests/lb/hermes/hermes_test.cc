// SPDX-License-Identifier: Apache-2.0
// Tests how Hermes judges ACKs and probes, and when that moves a flow. A host in the bench assumes
// an idle round trip of 16 us and a one-hop delay of 78 us: a path is fast below 35.5 us, slow
// above 133 us, and better by more than 78 us.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::hermes_test {

// lb/hermes/hermes.cc writes this header.
struct Header {
  uint16_t path;
  uint8_t kind;
  bool marked;
  uint32_t delay_ns = 0;
};
constexpr uint8_t kEcho = 1;
constexpr uint8_t kReply = 3;

class Sender {
 public:
  explicit Sender(const std::string& settings, size_t paths = 3, HostId id = 0)
      : table_(PathsOfWeights(std::vector<uint16_t>(paths, 1))), host_(settings, table_, id) {
    flow = host_.Start(1);
    host_.At({}, [&](HostView&, HostPolicy& its) { hermes = &its; });
  }

  // Many ACKs of packets that took `path`.
  void Hear(uint16_t path, Duration rtt, bool marked, int64_t acked = 1'460) {
    for (int i = 0; i < 200; ++i) {
      Packet ack = LbPacket(1);
      ack.kind = PacketKind::kAck;
      ack.sent = now - rtt;
      ack.SetScheme(Header{path, kEcho, marked});
      host_.At(now, [&](HostView& view, HostPolicy& policy) {
        policy.OnAck(view, flow, ack, {acked, 0, rtt, false});
      });
    }
  }
  void Tell(const Packet& ack) {
    host_.At(now, [&](HostView& view, HostPolicy& policy) {
      policy.OnAck(view, flow, ack, {1'460, 0, 20_us, false});
    });
  }
  void Good(uint16_t path) { Hear(path, 20_us, false); }
  void Congested(uint16_t path) { Hear(path, 200_us, true); }

  // Sends `packets` of 1460 bytes, one each `interval`. Returns the paths they took, in order,
  // without repetitions. With `retransmit_each`, one of so many packets repeats the one before.
  std::vector<uint16_t> Send(int packets, Duration interval, int retransmit_each = 0) {
    std::vector<uint16_t> moves;
    for (int i = 0; i < packets; ++i) {
      now += interval;
      const bool again = retransmit_each > 0 && i % retransmit_each == 0;
      const uint16_t path = again ? SendAgain(next_ - 1) : SendSegment(next_++, 0);
      if (moves.empty() || moves.back() != path) moves.push_back(path);
    }
    return moves;
  }
  uint16_t SendAgain(uint32_t segment) { return SendSegment(segment, Packet::kRetransmission); }
  uint16_t Path() { return Send(1, 10_us).front(); }
  void TimeOut() {
    host_.At(now, [&](HostView& view, HostPolicy& policy) {
      policy.OnLoss(view, flow, LossSign::kTimeout);
    });
  }
  int64_t Count(std::string_view counter) const { return host_.Count(counter); }
  HostFlow& Restart() {
    next_ = 0;
    return flow = host_.Start(1, 2, now);
  }

  Time now = Time{} + 1_ms;
  HostFlow flow;
  HostPolicy* hermes = nullptr;

 private:
  uint16_t SendSegment(uint32_t segment, uint8_t flags) {
    Packet packet = LbPacket(1);
    packet.dst = 1;
    packet.seq = segment;
    packet.flags |= flags;
    host_.At(now, [&](HostView& view, HostPolicy& policy) { policy.OnSend(view, flow, packet); });
    return packet.path;
  }

  const PathTable table_;
  LbHost host_;
  uint32_t next_ = 0;  // Segment.
};

const std::string kHermes = "{kind: hermes, probe_interval: 10s}";  // It sends no probes.
constexpr int kS = 600'000 / 1'460;                                 // Packets until S.

TEST(HermesTest, NewFlowsTakeGoodPathsThenGrayOnes) {
  Sender sender(kHermes);
  sender.Good(1);
  sender.Congested(2);
  EXPECT_EQ(sender.Path(), 1);  // 0 is unknown, so gray.
  Sender other(kHermes);
  other.Congested(1);
  other.Hear(2, 60_us, true);  // Neither fast nor slow.
  std::set<uint16_t> used;
  for (int i = 0; i < 30; ++i) {
    other.Restart();
    used.insert(other.Path());
  }
  EXPECT_EQ(used, (std::set<uint16_t>{0, 2}));
}

TEST(HermesTest, OfGoodPathsTheOneThatThisHostUsesLeast) {
  Sender sender(kHermes);
  for (uint16_t path = 0; path < 3; ++path) sender.Good(path);
  std::set<uint16_t> used;
  for (int flow = 0; flow < 3; ++flow) {
    sender.Restart();
    used.insert(sender.Send(10, 1_us).front());
  }
  EXPECT_EQ(used.size(), 3u);
}

TEST(HermesTest, AFlowLeavesACongestedPathOnlyAfterSBytes) {
  Sender sender(kHermes);
  sender.Good(0);
  ASSERT_EQ(sender.Path(), 0);
  sender.Congested(0);
  sender.Good(1);
  EXPECT_EQ(sender.Send(kS - 2, 10_us).size(), 1u);
  EXPECT_EQ(sender.Send(10, 10_us).back(), 1);
  EXPECT_EQ(sender.Count("reroutes"), 1);
}

TEST(HermesTest, AtMostOneMoveForEachSBytes) {
  Sender sender(kHermes);
  sender.Good(0);
  sender.Path();
  for (int step = 0; step < 6; ++step) {
    // Whichever path the flow is on becomes congested; the next one is good.
    const uint16_t here = sender.Path();
    for (uint16_t path = 0; path < 3; ++path) sender.Good(path);
    sender.Congested(here);
    sender.Send(kS / 2, 10_us);
  }
  // Seven packets and three times S.
  EXPECT_GE(sender.Count("reroutes"), 2);
  EXPECT_LE(sender.Count("reroutes"), 3);
}

TEST(HermesTest, AFastFlowStays) {
  Sender sender(kHermes);
  sender.Good(0);
  sender.Send(5 * kS, 200_ns);  // 60 Gbps, above 30% of 100.
  sender.Congested(0);
  sender.Good(1);
  EXPECT_EQ(sender.Send(5 * kS, 200_ns), (std::vector<uint16_t>{0}));
  EXPECT_EQ(sender.Send(5 * kS, 5_us).back(), 1);  // Slower, it goes.
}

TEST(HermesTest, AFlowMovesOnlyToWhatIsNotablyBetter) {
  for (const auto& [rtt, marked, moves] :
       {std::tuple(130_us, false, false), std::tuple(110_us, false, true),
        std::tuple(110_us, true, false)}) {
    Sender sender(kHermes, 2);
    sender.Good(0);
    ASSERT_EQ(sender.Path(), 0);
    sender.Congested(0);
    sender.Hear(1, rtt, marked);  // Gray.
    EXPECT_EQ(sender.Send(2 * kS, 10_us).size(), moves ? 2u : 1u) << rtt.ps << marked;
  }
  // Nobody knows whether an unknown path is better.
  Sender sender(kHermes, 2);
  sender.Good(0);
  ASSERT_EQ(sender.Path(), 0);
  sender.Congested(0);
  EXPECT_EQ(sender.Send(2 * kS, 10_us).size(), 1u);
}

TEST(HermesTest, AfterThreeTimeoutsWithoutAnAckAPathHasFailed) {
  Sender sender(kHermes, 2);
  sender.Good(0);  // New flows prefer path 0.
  for (int timeout = 0; timeout < 3; ++timeout) {
    ASSERT_EQ(sender.Path(), 0);
    sender.TimeOut();
  }
  EXPECT_EQ(sender.Path(), 1);
  EXPECT_EQ(sender.Count("failed_paths"), 1);
  for (int flow = 0; flow < 20; ++flow) {
    sender.Restart();
    EXPECT_EQ(sender.Path(), 1);
  }
  sender.now += 10_s;  // It may have been mended.
  sender.Restart();
  EXPECT_EQ(sender.Path(), 0);
}

TEST(HermesTest, WhereAllPathsHaveFailedAFlowStaysUntilItTimesOut) {
  Sender sender(kHermes, 2);
  for (int timeout = 0; timeout < 12; ++timeout) {
    sender.Path();
    sender.TimeOut();
  }
  ASSERT_EQ(sender.Count("failed_paths"), 2);
  EXPECT_EQ(sender.Send(200, 10_us).size(), 1u);
  std::set<uint16_t> used;
  for (int timeout = 0; timeout < 20; ++timeout) {
    sender.TimeOut();
    used.insert(sender.Path());
  }
  EXPECT_EQ(used.size(), 2u);
}

TEST(HermesTest, AnAckEndsARowOfTimeouts) {
  Sender sender(kHermes, 2);
  sender.Good(0);
  for (int timeout = 0; timeout < 6; ++timeout) {
    ASSERT_EQ(sender.Path(), 0);
    sender.TimeOut();
    if (timeout % 2 == 1) sender.Good(0);
  }
  EXPECT_EQ(sender.Count("failed_paths"), 0);
}

TEST(HermesTest, RetransmissionsWithoutCongestionAreAFailure) {
  Sender silent(kHermes, 2);
  silent.Good(0);
  silent.Path();
  EXPECT_EQ(silent.Send(1'500, 10_us, 50).back(), 1);  // 2%, noticed when an epoch ends.
  EXPECT_EQ(silent.Count("failed_paths"), 1);
  Sender congested("{kind: hermes, probe_interval: 10s, sent_above: 100MB}", 2);
  congested.Good(0);
  congested.Path();
  congested.Congested(0);
  congested.Send(1'990, 10_us, 50);
  EXPECT_EQ(congested.Count("failed_paths"), 0);
  Sender few(kHermes, 2);
  few.Good(0);
  few.Path();
  few.Send(1'990, 10_us, 150);  // Below 1%.
  EXPECT_EQ(few.Count("failed_paths"), 0);
}

// A flow that has just moved learns of losses on its old path.
TEST(HermesTest, WhatIsSentAgainWasLostOnThePathThatItTookFirst) {
  Sender sender(kHermes, 2);
  sender.Good(0);
  sender.Path();
  sender.Send(kS, 10_us);
  sender.Congested(0);
  sender.Good(1);
  ASSERT_EQ(sender.Send(10, 10_us).back(), 1);
  sender.Good(0);
  for (uint32_t lost = 100; lost < 140; ++lost) sender.SendAgain(lost);
  sender.Send(1'500, 10_us);
  EXPECT_EQ(sender.Count("failed_paths"), 0);
  sender.SendAgain(140);  // Ends the epoch of path 0.
  EXPECT_EQ(sender.Count("failed_paths"), 1);
  for (int flow = 0; flow < 20; ++flow) {
    sender.Restart();
    EXPECT_EQ(sender.Path(), 1);
  }
}

// The congestion at the end of the epoch makes no difference.
TEST(HermesTest, LossesCountByWhetherThePathWasCongestedThen) {
  const auto failed = [](bool congested_then, bool congested_later) {
    Sender sender("{kind: hermes, probe_interval: 10s, sent_above: 100MB}", 2);
    sender.Good(0);
    sender.Path();
    if (congested_then) sender.Congested(0);
    sender.Send(400, 10_us, 20);
    sender.Good(0);
    if (congested_later) sender.Congested(0);
    sender.Send(1'000, 10_us);
    return sender.Count("failed_paths");
  };
  EXPECT_EQ(failed(true, false), 0);
  EXPECT_EQ(failed(false, true), 1);
  EXPECT_EQ(failed(false, false), 1);
}

// Hosts 0 and 2 are on one leaf. Only the one whose packets are lost on path 0 can tell.
TEST(HermesTest, FresherDelaysOfOthersDoNotUndoAFailure) {
  Sender loses(kHermes, 2);
  Sender measures(kHermes, 2, /*id=*/2);
  loses.Good(0);
  loses.Path();
  loses.Send(1'500, 10_us, 50);
  ASSERT_EQ(loses.Count("failed_paths"), 1);
  measures.now = loses.now;
  measures.Good(0);
  const std::vector<HostPolicy*> hosts = {loses.hermes, measures.hermes};
  const std::vector<SwitchId> leaves = {0, 0};
  const auto rack = BalancerFrom(kHermes).settings->ForFabric({{}, hosts, leaves}, 1);
  rack->Act(rack->Next());
  for (Sender* sender : {&loses, &measures}) {
    sender->Restart();
    EXPECT_EQ(sender->Path(), 1);
  }
}

TEST(HermesTest, ProbesTheBestOfTheRoundBeforeAgain) {
  const size_t paths = 64;  // A random probe hardly ever takes a given path.
  const PathTable table = PathsOfWeights(std::vector<uint16_t>(paths, 1));
  LbHost host("{kind: hermes, probe_interval: 500us}", table);
  const auto probes_until = [&](Time at) {
    host.At(at, [](HostView&, HostPolicy&) {});
    return host.Count("probes");
  };
  EXPECT_EQ(probes_until(Time{} + 500_us), 2);
  EXPECT_EQ(probes_until(Time{} + 1000_us), 4);  // No replies: nothing is best.
  Packet reply;
  reply.kind = PacketKind::kControl;
  reply.src = 1;
  for (uint16_t path = 0; path < paths; ++path) {
    reply.SetScheme(Header{path, kReply, false});
    host.At(Time{} + 1001_us,
            [&](HostView& view, HostPolicy& policy) { policy.OnControl(view, reply); });
  }
  EXPECT_EQ(probes_until(Time{} + 1500_us), 7);
  EXPECT_EQ(probes_until(Time{} + 2000_us), 10);
}

// --- As in the authors' ns-3 code ---

std::string With(const std::string& settings) {
  return "{kind: hermes, probe_interval: 10s, " + settings + "}";
}

// A host without measurements assumes a delay of 8 us one way: fast is below 27.5 us.
TEST(HermesNs3Test, OneWayDelaysAreThoseThatReceiversTell) {
  Sender sender(With("delay: one_way"));
  const auto hear = [&](uint16_t path, uint32_t ns) {
    Packet ack = LbPacket(1);
    ack.kind = PacketKind::kAck;
    ack.sent = sender.now - 1_ms;
    ack.SetScheme(Header{path, kEcho, false, ns});
    sender.Tell(ack);
  };
  hear(0, 28'000);
  hear(1, 27'000);
  hear(2, 28'000);
  EXPECT_EQ(sender.Path(), 1);
}

TEST(HermesNs3Test, ReceiversMeasureThem) {
  const PathTable table = PathsOfWeights({1, 1});
  LbHost host("hermes", table);
  Packet data = LbPacket(1);
  data.path = 1;
  data.sent = Time{} + 10_us;
  Packet ack = LbPacket(1);
  host.At(Time{} + 52_us,
          [&](HostView& view, HostPolicy& policy) { policy.OnSendAck(view, data, ack); });
  EXPECT_EQ(ack.Scheme<Header>().delay_ns, 42'000u);
}

TEST(HermesNs3Test, WithoutEcnMarksDoNotCount) {
  Sender sender(With("use_ecn: false"));
  sender.Hear(0, 20_us, true);
  EXPECT_EQ(sender.Path(), 0);
  sender.Hear(0, 200_us, false);
  sender.Good(1);
  EXPECT_EQ(sender.Send(2 * kS, 10_us).back(), 1);
}

TEST(HermesNs3Test, OfGoodPathsThoseOfTheLowestLevelCount) {
  Sender sender(With("level: 10us"));
  sender.Hear(0, 22_us, false);
  sender.Hear(1, 19_us, false);
  sender.Hear(2, 25_us, false);
  std::set<uint16_t> used;
  for (int flow = 0; flow < 20; ++flow) {
    sender.Restart();
    used.insert(sender.Path());
  }
  EXPECT_EQ(used, std::set<uint16_t>{1});
}

// Each of 1000 flows that may move tries once within the time.
TEST(HermesNs3Test, AFlowTriesNowAndThenAndMovesByTheThrowOfACoin) {
  int moved = 0;
  Sender sender(With("move: 0.5, try_every: 10s, sent_above: 0B"), 2);
  for (int flow = 0; flow < 1'000; ++flow) {
    sender.Good(0);
    sender.Congested(1);
    sender.Restart();
    ASSERT_EQ(sender.Path(), 0);
    sender.Congested(0);
    sender.Good(1);
    moved += sender.Send(20, 10_us).back() == 1 ? 1 : 0;
  }
  EXPECT_NEAR(moved, 500, ThreeSigma(1'000, 0.5));
}

TEST(HermesNs3Test, AfterASilenceAFlowMayMoveHoweverLittleItHasSent) {
  for (const auto& [silence, path] :
       {std::pair(5_ms, uint16_t{0}), std::pair(5_ms + 1_ps, uint16_t{1})}) {
    Sender sender(With("idle_moves: 5ms"), 2);
    sender.Good(0);
    ASSERT_EQ(sender.Path(), 0);
    sender.Congested(0);
    sender.Good(1);
    EXPECT_EQ(sender.Path(), 0);
    EXPECT_EQ(sender.Send(1, silence).front(), path);
  }
}

TEST(HermesNs3Test, FailuresMayGoUnnoticed) {
  Sender sender(With("failures: false"), 2);
  sender.Good(0);
  for (int timeout = 0; timeout < 5; ++timeout) {
    ASSERT_EQ(sender.Path(), 0);
    sender.TimeOut();
  }
  sender.Send(1'500, 10_us, 50);
  EXPECT_EQ(sender.Count("failed_paths"), 0);
}

TEST(HermesNs3Test, ProbesMayBeOfRandomPathsOnly) {
  const FinishedRun run = RunExperiment(
      ExperimentFrom("topology: {kind: leaf_spine, leaves: 2, spines: 8, hosts_per_leaf: 2}\n"
                     "lb: {kind: hermes, probe_best: false}\n"
                     "workload: [{kind: permutation, size: 10MB, cross_rack: true}]\n"));
  const double rounds = Seconds(run.result.end - Time{}) / 500e-6;
  EXPECT_NEAR(static_cast<double>(Counted(run, "probes")), 2 * 2 * rounds, 4);
}

// --- In a network ---

std::string Network(const std::string& lb, const std::string& more = "") {
  return "topology: {kind: leaf_spine, leaves: 3, spines: 4, hosts_per_leaf: 4}\nlb: " + lb +
         "\ntransport: {kind: dctcp, min_rto: 1ms}\n"
         "workload: [{kind: permutation, size: 1MB, cross_rack: true}]\n"
         "measure: {unfinished: drop, t_max: 60ms}\n" +
         more;
}

TEST(HermesTest, OneHostARackSendsUpToThreeProbesToEachOtherRack) {
  const FinishedRun run = RunExperiment(ExperimentFrom(Network("hermes")));
  const CsvTable lb(run.files.lb);
  int64_t probers = 0;
  const double rounds = Seconds(run.result.end - Time{}) / 500e-6;
  for (size_t row = 0; row < lb.rows.size(); ++row) {
    if (lb.At(row, "counter") != "probes") continue;
    ++probers;
    EXPECT_LE(static_cast<double>(lb.Integer(row, "value")), 2 * 3 * (rounds + 1));
    EXPECT_GE(static_cast<double>(lb.Integer(row, "value")), 2 * 2 * (rounds - 1));
  }
  EXPECT_EQ(probers, 3);
}

TEST(HermesTest, FlowsEscapeABlackholeThatHashingDoesNot) {
  const std::string blackhole =
      "schedule: [{at: 0ps, switches: [spine1], blackhole: {from: [0, 1, 2, 3]}}]\n";
  const auto unfinished = [&](const std::string& lb) {
    return RunExperiment(ExperimentFrom(Network(lb, blackhole))).result.unfinished;
  };
  EXPECT_GT(unfinished("ecmp"), 0);
  EXPECT_EQ(unfinished("hermes"), 0);
}

// One of four spines silently drops 2% of all packets. Each host sends a flow of 1.6 ms or more
// each 5 ms.
FinishedRun RunWithSilentDrops(const std::string& lb, const std::string& limit = "1s") {
  std::string flows;
  for (int start = 0; start < 100; start += 5) {
    flows +=
        "  - {kind: permutation, size: 200KB, cross_rack: true, start: " + std::to_string(start) +
        "ms}\n";
  }
  return RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 4, host_link: {rate: "
      "1Gbps, delay: 1us}, fabric_link: {rate: 1Gbps, delay: 1us}}\nlb: " +
      lb + "\ntransport: {kind: dctcp, min_rto: 1ms}\nworkload:\n" + flows +
      "measure: {unfinished: drop, t_max: " + limit +
      "}\nschedule: [{at: 0ps, switches: [spine1], drop: 0.02}]\n"));
}

// An epoch has 10 ms, and ends with the next packet.
TEST(HermesTest, ASilentDropOfTwoPercentIsNoticedWithinTwoEpochs) {
  EXPECT_EQ(Counted(RunWithSilentDrops("hermes", "9ms"), "failed_paths"), 0);
  EXPECT_GT(Counted(RunWithSilentDrops("hermes", "20ms"), "failed_paths"), 0);
}

TEST(HermesTest, FlowsFinishSoonerWhereASilentDropIsNoticed) {
  const FinishedRun notices = RunWithSilentDrops("hermes");
  const FinishedRun ignores = RunWithSilentDrops("{kind: hermes, failures: false}");
  EXPECT_EQ(notices.result.unfinished + ignores.result.unfinished, 0);
  EXPECT_EQ(Counted(ignores, "failed_paths"), 0);
  EXPECT_LT(MeanFct(notices.result), MeanFct(ignores.result));
}

TEST(HermesTest, HostsOfARackLearnFromEachOther) {
  // Without sharing only the first host of a rack hears of probes.
  const auto state = [](const std::string& lb) {
    return RunExperiment(ExperimentFrom(Network(lb))).files.flows;
  };
  EXPECT_NE(state("hermes"), state("{kind: hermes, share: false}"));
}

}  // namespace heddle::hermes_test
