// SPDX-License-Identifier: Apache-2.0
// Tests how ConWeave's leaves use replies or their absence, which packets they hold, and what hosts
// see. A leaf in the bench waits 16 us for a reply and 100 us after a mark.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fabric/around_policy.h"
#include "lb/conweave/header.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_control.h"

namespace heddle::conweave_test {

const std::string kConWeave = "{kind: conweave, busy_for: 100us}";

// --- The leaf where flows begin ---

class Source : public testing::Test {
 protected:
  explicit Source(const std::string& settings = kConWeave) : leaf_(settings) {}

  struct Sent {
    PortIndex port;
    ConWeaveHeader header;
    bool Has(ConWeaveHeader::Flag flag) const { return (header.flags & flag) != 0; }
  };

  Sent Send(Time at, FlowId flow = 1) {
    Packet packet = LbPacket(7);
    packet.flow = flow;
    Sent sent{};
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      sent.port = policy.OnPacket(view, packet, 4, view.CandidatesTo(1)).port;
      policy.OnEnqueue(view, packet, sent.port);
    });
    sent.header = packet.Scheme<ConWeaveHeader>();
    EXPECT_EQ(packet.path, sent.port);
    return sent;
  }
  void Hear(Time at, const ConWeaveControl& control, FlowId flow = 1) {
    const Packet packet = ControlPacket(control, flow);
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      EXPECT_EQ(policy.OnPacket(view, packet, 0, view.CandidatesTo(0)).kind,
                Decision::Kind::kConsume);
    });
  }

  LbSwitch leaf_;
};

using ConWeaveSourceTest = Source;

TEST_F(ConWeaveSourceTest, AsksAgainAfterEachReplyAndStays) {
  const Sent first = Send(Time{} + 1_us);
  EXPECT_TRUE(first.Has(ConWeaveHeader::kRequest));
  EXPECT_FALSE(Send(Time{} + 2_us).Has(ConWeaveHeader::kRequest));
  Hear(Time{} + 10_us, {ConWeaveControl::kReply, first.header.epoch, 0});
  const Sent next = Send(Time{} + 11_us);
  EXPECT_TRUE(next.Has(ConWeaveHeader::kRequest));
  EXPECT_EQ(next.header.epoch, first.header.epoch + 1);
  EXPECT_EQ(next.port, first.port);
  EXPECT_EQ(leaf_.Count("reroutes"), 0);
}

TEST_F(ConWeaveSourceTest, ALateReplyMakesItRerouteBehindATail) {
  const Sent first = Send(Time{} + 1_us);
  EXPECT_FALSE(Send(Time{} + 17_us).Has(ConWeaveHeader::kTail));  // Exactly the time there is.
  Sent tail = Send(Time{} + 18_us);
  // Two random paths of four are both the current one once in 16 times.
  for (int i = 0; !tail.Has(ConWeaveHeader::kTail) && i < 10; ++i) tail = Send(Time{} + 18_us);
  ASSERT_TRUE(tail.Has(ConWeaveHeader::kTail));
  EXPECT_EQ(tail.port, first.port);
  EXPECT_FALSE(tail.Has(ConWeaveHeader::kRerouted));
  const Sent rerouted = Send(Time{} + 19_us);
  EXPECT_NE(rerouted.port, first.port);
  EXPECT_TRUE(rerouted.Has(ConWeaveHeader::kRerouted));
  EXPECT_EQ(rerouted.header.tail, tail.header.sent);
  // The reply comes after all, and changes nothing.
  Hear(Time{} + 20_us, {ConWeaveControl::kReply, first.header.epoch, 0});
  EXPECT_TRUE(Send(Time{} + 100_us).Has(ConWeaveHeader::kRerouted));
  Hear(Time{} + 101_us, {ConWeaveControl::kClear, first.header.epoch, 0});
  const Sent after = Send(Time{} + 102_us);
  EXPECT_TRUE(after.Has(ConWeaveHeader::kRequest));
  EXPECT_FALSE(after.Has(ConWeaveHeader::kRerouted));
  EXPECT_EQ(after.port, rerouted.port);
}

TEST_F(ConWeaveSourceTest, WhenOtherPathsAreBusyItStays) {
  const Sent first = Send(Time{} + 1_us);
  for (uint16_t path = 0; path < 4; ++path) {
    if (path != first.port) Hear(Time{} + 2_us, {ConWeaveControl::kNotify, 0, path});
  }
  for (int i = 0; i < 20; ++i) {
    const Sent sent = Send(Time{} + 18_us + 1_us * i);
    ASSERT_EQ(sent.port, first.port);
    ASSERT_FALSE(sent.Has(ConWeaveHeader::kTail));
  }
  EXPECT_EQ(leaf_.Count("no_better_path"), 20);
  Time at = Time{} + 102_us;
  while (leaf_.Count("reroutes") == 0 && at < Time{} + 130_us) Send(at += 1_us);
  EXPECT_EQ(leaf_.Count("reroutes"), 1);
}

TEST_F(ConWeaveSourceTest, AfterInactivityItTakesAnyPathThatIsNotBusy) {
  std::set<PortIndex> used;
  Time at;
  for (int i = 0; i < 50; ++i) {
    at += 300_us + 1_ps;
    used.insert(Send(at).port);
  }
  EXPECT_EQ(used.size(), 4u);
  EXPECT_EQ(leaf_.Count("reroutes"), 0);
}

TEST_F(ConWeaveSourceTest, AcksAreHashed) {
  LbSwitch ecmp("ecmp");
  for (const uint32_t tuple : RandomTuples(1, 100)) {
    Packet ack = LbPacket(tuple);
    ack.kind = PacketKind::kAck;
    EXPECT_EQ(leaf_.PortFor(ack), ecmp.PortFor(ack));
  }
}

// A flow leaves its path, and `control` clears it. 400 flows begin `later` after that; returns how
// many begin on the left path.
class ConWeaveUnseenTest : public Source {
 protected:
  explicit ConWeaveUnseenTest(const std::string& unseen = ", unseen_busy_for: 10ms")
      : Source("{kind: conweave, busy_for: 100us" + unseen + "}") {}

  int BegunOnTheLeftPath(ConWeaveControl::Kind control, Duration later) {
    const Sent first = Send(Time{} + 1_us);
    for (int i = 0; leaf_.Count("reroutes") == 0 && i < 10; ++i) Send(Time{} + 18_us);
    Hear(Time{} + 100_us, {control, first.header.epoch, 0});
    int begun = 0;
    for (FlowId flow = 2; flow < 402; ++flow) {
      begun += Send(Time{} + 100_us + later, flow).port == first.port ? 1 : 0;
    }
    return begun;
  }
};

// A flow takes the left path only if both of its two samples are that path, one time in 64.
TEST_F(ConWeaveUnseenTest, APathOverWhichNothingHasComeIsLeftAlone) {
  EXPECT_LT(BegunOnTheLeftPath(ConWeaveControl::kClearUnseen, 9'999_us), 20);
}
TEST_F(ConWeaveUnseenTest, ThatEndsWhenTheTimeIsOver) {
  EXPECT_NEAR(BegunOnTheLeftPath(ConWeaveControl::kClearUnseen, 10_ms), 100, 30);
}
TEST_F(ConWeaveUnseenTest, APathThatWasOnlyLateIsTakenAgain) {
  EXPECT_NEAR(BegunOnTheLeftPath(ConWeaveControl::kClear, 1_us), 100, 30);
}

class ConWeavePublishedTest : public ConWeaveUnseenTest {
 protected:
  ConWeavePublishedTest() : ConWeaveUnseenTest("") {}
};

TEST_F(ConWeavePublishedTest, NoPathIsLeftAlone) {
  EXPECT_NEAR(BegunOnTheLeftPath(ConWeaveControl::kClearUnseen, 1_us), 100, 30);
}

// --- The leaf where they end ---

class Sink : public testing::Test {
 protected:
  Decision::Kind Arrive(Time at, uint8_t flags, uint16_t sent, uint16_t tail = 0, uint8_t epoch = 1,
                        bool marked = false) {
    Packet packet = LbPacket(9);
    packet.flow = 5;
    packet.src = 1;
    packet.dst = 0;
    packet.path = 2;
    if (marked) packet.Set(Packet::kCe);
    packet.SetScheme(
        ConWeaveHeader{static_cast<uint8_t>(flags | ConWeaveHeader::kStamped), epoch, sent, tail});
    Decision::Kind kind{};
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      kind = policy.OnPacket(view, packet, 0, view.CandidatesTo(0)).kind;
    });
    return kind;
  }
  int64_t Controls() const { return leaf_.Count("probes"); }

  LbSwitch leaf_{kConWeave};
};
using ConWeaveSinkTest = Sink;
constexpr Decision::Kind kForward = Decision::Kind::kForward;

TEST_F(ConWeaveSinkTest, AnswersRequestsAndTellsOfMarksNowAndThen) {
  EXPECT_EQ(Arrive(Time{} + 1_us, ConWeaveHeader::kRequest, 0), kForward);
  EXPECT_EQ(Controls(), 1);
  for (int i = 0; i < 10; ++i) Arrive(Time{} + 2_us + 10_us * i, 0, 0, 0, 1, /*marked=*/true);
  EXPECT_EQ(Controls(), 2);
  Arrive(Time{} + 102_us, 0, 0, 0, 1, true);
  EXPECT_EQ(Controls(), 3);
}

TEST_F(ConWeaveSinkTest, BehindTheTailNothingIsHeld) {
  EXPECT_EQ(Arrive(Time{} + 1_us, ConWeaveHeader::kTail, 10), kForward);
  EXPECT_EQ(Controls(), 1);  // CLEAR.
  EXPECT_EQ(Arrive(Time{} + 2_us, ConWeaveHeader::kRerouted, 11, 10), kForward);
  EXPECT_EQ(leaf_.Count("held"), 0);
}

// The host should already have the packets of an earlier epoch.
TEST_F(ConWeaveSinkTest, PacketsOfOldEpochsPass) {
  EXPECT_EQ(Arrive(Time{} + 1_us, 0, 10, 0, 3), kForward);
  EXPECT_EQ(Arrive(Time{} + 2_us, ConWeaveHeader::kRerouted, 11, 10, 2), kForward);
  EXPECT_EQ(Arrive(Time{} + 2_us, ConWeaveHeader::kRequest, 11, 10, 2), kForward);
  EXPECT_EQ(Controls(), 0);
}

// --- A flow whose replies never come ---

// The CLEAR comes 10 us after each TAIL; then the next request has 16 us.
TEST_F(ConWeaveSourceTest, ReroutesAreAsFarApartAsTheDrainAndAReply) {
  std::vector<Time> tails;
  uint8_t epoch = 0;
  for (Time at = Time{} + 1_us; at < Time{} + 5_ms; at += 1_us) {
    const Sent sent = Send(at);
    if (sent.Has(ConWeaveHeader::kTail)) tails.push_back(at);
    if (sent.Has(ConWeaveHeader::kTail)) epoch = sent.header.epoch;
    if (tails.empty() || at != tails.back() + 10_us) continue;
    Hear(at, {ConWeaveControl::kClear, epoch, 0});
  }
  ASSERT_GT(tails.size(), 100u);
  for (size_t i = 1; i < tails.size(); ++i) ASSERT_GE(tails[i] - tails[i - 1], 26_us);
}

// --- In networks ---

// Counts TAILs and CLEARs at the spines.
struct Passed {
  int64_t tails = 0;
  int64_t clears = 0;
};

// A spine under ConWeave that loses every TAIL.
class LosesTails final : public AroundSwitchPolicy {
 public:
  LosesTails(SwitchPolicyPtr scheme, Passed& passed)
      : AroundSwitchPolicy(std::move(scheme)), passed_(passed) {}

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    if (packet.kind == PacketKind::kControl) {
      const ConWeaveControl control = packet.Scheme<ConWeaveControl>();
      passed_.clears +=
          control.kind == ConWeaveControl::kClear || control.kind == ConWeaveControl::kClearUnseen
              ? 1
              : 0;
    }
    if (packet.kind == PacketKind::kData &&
        (packet.Scheme<ConWeaveHeader>().flags & ConWeaveHeader::kTail) != 0) {
      ++passed_.tails;
      return Decision::Discard();
    }
    return AroundSwitchPolicy::OnPacket(view, packet, in_port, candidates);
  }

 private:
  Passed& passed_;
};

// A leaf releases held packets when the TAIL should have come. It clears the flow once, and the
// flow moves on.
TEST(ConWeaveTest, WhenTailsAreLostWhatIsHeldGoesOnAfterAllAndIsClearedOnce) {
  Passed passed;
  const Chosen<LoadBalancer> conweave = BalancerFrom("conweave");
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 4, hosts_per_leaf: 8, host_link: {rate: 10Gbps, delay: 1us}, "
               "fabric_link: {rate: 20Gbps, delay: 1us}, asymmetry: [{links: [leaf1-spine1], rate: "
               "5Gbps}]}"),
           .transport = "{kind: dctcp, min_rto: 5ms}",
           .port = "{buffer: 1MB, ecn_above: 97500B}",
           .switch_policy = [&](SwitchId id) {
             SwitchPolicyPtr its = conweave.settings->ForSwitch(id, 1);
             if (id >= 2) its = std::make_unique<LosesTails>(std::move(its), passed);
             return its;
           }});
  for (HostId h = 0; h < 8; ++h) lab.AddFlow(h, static_cast<HostId>(8 + h), 5'000'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_GT(passed.tails, 10);
  int64_t lost = 0;
  for (const auto& its : lab.network().switches()) {
    for (const auto& counter : its->policy().Counters()) {
      lost += counter.name == "tails_lost" ? counter.value : 0;
    }
  }
  EXPECT_GT(lost, 10);
  EXPECT_LE(lost, passed.tails);
  EXPECT_EQ(passed.clears, lost);
}

// A spine under ConWeave that silently swallows all data.
class SwallowsData final : public AroundSwitchPolicy {
 public:
  SwallowsData(SwitchPolicyPtr scheme, int64_t& swallowed)
      : AroundSwitchPolicy(std::move(scheme)), swallowed_(swallowed) {}

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    if (packet.kind != PacketKind::kData) {
      return AroundSwitchPolicy::OnPacket(view, packet, in_port, candidates);
    }
    ++swallowed_;
    return Decision::Discard();
  }

 private:
  int64_t& swallowed_;
};

// Returns how many packets one of four spines swallows until 200 flows have finished.
int64_t SwallowedUnder(const std::string& lb) {
  int64_t swallowed = 0;
  const Chosen<LoadBalancer> conweave = BalancerFrom(lb);
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 4, hosts_per_leaf: 4, host_link: {rate: 10Gbps, delay: 1us}, "
               "fabric_link: {rate: 10Gbps, delay: 1us}}"),
           .transport = "{kind: rocev2, recovery: irn, window: bdp, rto: 1ms}",
           .port = "{buffer: 1MB, ecn_above: 97500B}",
           .switch_policy = [&](SwitchId id) {
             SwitchPolicyPtr its = conweave.settings->ForSwitch(id, 1);
             if (id == 3) its = std::make_unique<SwallowsData>(std::move(its), swallowed);
             return its;
           }});
  for (int i = 0; i < 200; ++i) {
    lab.AddFlow(static_cast<HostId>(i % 4), static_cast<HostId>(4 + i / 4 % 4), 200'000,
                Time{} + 100_us * i);
  }
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return swallowed;
}

TEST(ConWeaveTest, FlowsKeepAwayFromADeadPathWhereThatIsRemembered) {
  const int64_t forgotten = SwallowedUnder("conweave");
  const int64_t remembered = SwallowedUnder("{kind: conweave, unseen_busy_for: 10ms}");
  EXPECT_GT(remembered, 0);
  EXPECT_LT(remembered, forgotten / 2);
}

const std::string kUnequal =
    "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 8, host_link: {rate: "
    "10Gbps, delay: 1us}, fabric_link: {rate: 20Gbps, delay: 1us}, asymmetry: [{links: "
    "[leaf1-spine1], rate: 5Gbps}]PORT}\n";

FinishedRun RunUnequal(const std::string& lb, bool lossless, const std::string& load = "0.4") {
  std::string topology = kUnequal;
  topology.replace(topology.find("PORT"), 4,
                   lossless ? ", port: {memory: {model: dt, size: 9MB}, pfc: {classes: [3]}}" : "");
  return RunExperiment(ExperimentFrom(
      topology + "transport: " +
      (lossless ? "{kind: rocev2, rto: 10ms}" : "{kind: dctcp, min_rto: 5ms}") + "\nlb: " + lb +
      "\nworkload: [{kind: poisson, sizes: websearch, load: " + load + ", flows: 150}]\n"));
}

int64_t Sum(const FinishedRun& run, const std::string& column) {
  const CsvTable flows(run.files.flows);
  int64_t sum = 0;
  for (size_t row = 0; row < flows.rows.size(); ++row) sum += flows.Integer(row, column);
  return sum;
}

// If packets are held for long enough, hosts see them in order.
TEST(ConWeaveTest, HostsSeePacketsInOrder) {
  const FinishedRun run =
      RunUnequal("{kind: conweave, resume_default: 5ms, resume_extra: 5ms}", /*lossless=*/true);
  EXPECT_GT(Counted(run, "reroutes"), 5);
  EXPECT_GT(Counted(run, "held"), 0);
  EXPECT_EQ(Counted(run, "not_held"), 0);
  EXPECT_EQ(Counted(run, "tails_lost"), 0);
  EXPECT_EQ(Sum(run, "reordered_net"), 0);
  EXPECT_EQ(run.result.unfinished, 0);
}

// The default holds packets for long enough if all paths are alike.
TEST(ConWeaveTest, OnASymmetricFabricHostsSeePacketsInOrderByDefault) {
  for (const char* seed : {"1", "2", "3"}) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 4, spines: 4, hosts_per_leaf: 8, host_link: {rate: "
        "10Gbps, delay: 1us}, fabric_link: {rate: 20Gbps, delay: 1us}, port: {memory: {model: dt, "
        "size: 9MB}, pfc: {classes: [3]}}}\ntransport: {kind: rocev2, rto: 10ms}\nlb: conweave\n"
        "workload: [{kind: poisson, sizes: websearch, load: 0.6, flows: 200}]\n",
        {std::string("seed=") + seed}));
    EXPECT_GT(Counted(run, "reroutes"), 5);
    EXPECT_GT(Counted(run, "held"), 50);
    EXPECT_EQ(Sum(run, "reordered_net"), 0);
  }
}

TEST(ConWeaveTest, WithoutQueuesToHoldThemPacketsPassOutOfOrder) {
  const FinishedRun run = RunUnequal("{kind: conweave, queue_packets: 1}", /*lossless=*/true);
  EXPECT_GT(Counted(run, "not_held"), 0);
  EXPECT_GT(Sum(run, "reordered_net"), 0);
}

TEST(ConWeaveTest, FlowsLeaveTheSlowPath) {
  EXPECT_LT(RunUnequal("conweave", false).result.end, RunUnequal("ecmp", false).result.end);
}

TEST(ConWeaveTest, AnIdleFabricIsNotReroutedIn) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 2, host_link: {rate: "
      "10Gbps, delay: 1us}, fabric_link: {rate: 40Gbps, delay: 1us}}\nlb: conweave\n"
      "workload: [{kind: incast, fan_in: 1, bytes_each: 500KB, queries: 5, period: 2ms}]\n"));
  EXPECT_EQ(Counted(run, "reroutes"), 0);
  EXPECT_GT(Counted(run, "epochs"), 20);
}

// A request is answered once in a round trip, and a flow moves at most once for each request.
TEST(ConWeaveTest, AFlowMovesAtMostOnceAnEpoch) {
  const FinishedRun run = RunUnequal("conweave", true);
  EXPECT_LT(Counted(run, "reroutes"), Counted(run, "epochs"));
}

// Held packets use the buffer allowance of their input and pause the input, as queued packets do:
// nothing is lost when they are all released at once. The slow spine makes flows change paths.
TEST(ConWeaveTest, WhatIsHeldPausesLosslessInputs) {
  for (const char* seed : {"1", "2", "3"}) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        "seed: " + std::string(seed) +
        "\ntopology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, host_link: {rate: "
        "10Gbps, delay: 500ns}, fabric_link: {rate: 10Gbps, delay: 1us}, asymmetry: [{spines: [1], "
        "rate: 3Gbps, delay: 20us}], port: {buffer: 100KB, ecn_above: 20KB, pfc: {classes: [3]}}}\n"
        "transport: {kind: rocev2, cc: dcqcn}\nlb: conweave\n"
        "workload: [{kind: permutation, size: 2MB, cross_rack: true}]\n"));
    EXPECT_EQ(run.result.packets.dropped[static_cast<size_t>(DropReason::kHeadroom)], 0);
    EXPECT_EQ(run.result.unfinished, 0);
    EXPECT_GT(Counted(run, "held"), 0);
  }
}

}  // namespace heddle::conweave_test
