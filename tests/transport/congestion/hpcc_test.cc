// SPDX-License-Identifier: Apache-2.0
// Tests HPCC: single steps, telemetry from switches, and flows that share a port.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/support/controls_from.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/thread_counts.h"
#include "transport/rdma/roce_sender.h"

namespace heddle::hpcc_test {

constexpr Time At(Duration since_start) { return Time{} + since_start; }

// --- Steps ---

// One flow at 100 Gbps over a round trip of 10 us, so a link holds 125,000 bytes; in packets of
// 1000. What `hops` ports tell is set by hand.
struct Flow {
  explicit Flow(const std::string& settings = "", uint8_t hops = 1)
      : control(RateControlFrom("{kind: hpcc" + settings + "}")) {
    state.line = state.rate = 100e9;
    state.packet_bits = 8'000;
    state.base_rtt = 10_us;
    state.told = &told;
    now.hops = hops;
    now.mbps.fill(100'000);
    control->Start(state);
    Ack();  // The first one is only kept.
  }
  void Ack() {
    control->OnAck(state, {.now = Time{},
                           .rtt = 10_us,
                           .packets = 1,
                           .payload_bytes = 1'000,
                           .links = 2,
                           .next_expected = next_expected,
                           .next_to_send = next_to_send,
                           .telemetry = &now});
  }
  // An ACK after `time`, in which each port has sent `bytes`.
  void Ack(uint32_t bytes, Duration time = 10_us) {
    for (size_t hop = 0; hop < now.hops; ++hop) {
      now.sent_bytes[hop] += bytes;
      now.at[hop] += time;
    }
    Ack();
  }
  // The same for a packet that was sent after the last update.
  void AckOfNewRound(uint32_t bytes, Duration time = 10_us) {
    next_expected = next_to_send + 1;
    next_to_send = next_expected + 100;
    Ack(bytes, time);
  }
  double window() const { return state.rate * 10e-6 / 8; }  // Bytes.

  std::unique_ptr<const RateControl> control;
  Telemetry told;
  Telemetry now;
  RateState state;
  uint32_t next_expected = 1;
  uint32_t next_to_send = 100;
};

constexpr double kIncrease = 62.5;  // 125,000 x 0.05 / 100.

// Utilisation 1.9: the line rate, and a queue of 0.9 bandwidth-delay products.
TEST(HpccTest, FollowsThePaperStepByStep) {
  Flow flow;
  EXPECT_EQ(flow.state.rate, 100e9);
  EXPECT_EQ(flow.state.window, 125);
  flow.now.queue_bytes[0] = flow.told.queue_bytes[0] = 112'500;
  flow.AckOfNewRound(125'000);
  EXPECT_NEAR(flow.window(), 62'500 + kIncrease, 1e-6);
  EXPECT_EQ(flow.state.window, 63);
  EXPECT_NEAR(flow.state.rate, 50.05e9, 1);
  flow.now.queue_bytes[0] = 0;  // The shorter of two queue lengths counts.
  flow.AckOfNewRound(62'500);
  EXPECT_NEAR(flow.window(), 62'500 + 2 * kIncrease, 1e-6);
}

TEST(HpccTest, ReactsToEachAckFromTheSameReferenceUntilARoundHasPassed) {
  Flow flow;
  flow.AckOfNewRound(125'000);  // Utilisation 1.
  const double reference = 125'000 * 0.95 + kIncrease;
  EXPECT_NEAR(flow.window(), reference, 1e-6);
  for (int i = 0; i < 20; ++i) flow.Ack(125'000);
  EXPECT_NEAR(flow.window(), reference * 0.95 + kIncrease, 1e-6);
  flow.Ack(62'500);
  EXPECT_NEAR(flow.window(), reference + kIncrease, 1e-6);
  flow.AckOfNewRound(125'000);
  EXPECT_NEAR(flow.window(), reference * 0.95 + kIncrease, 1e-6);
  flow.AckOfNewRound(125'000);
  EXPECT_NEAR(flow.window(), (reference * 0.95 + kIncrease) * 0.95 + kIncrease, 1e-6);
}

// Algorithm 1: a new reference is taken when ack.seq > lastUpdateSeq. The ACK that asks for just
// the packet that was next at the last update covers only what was sent before it.
TEST(HpccTest, AnAckUpToTheLastUpdateKeepsTheReference) {
  Flow flow;
  flow.AckOfNewRound(125'000);  // Utilisation 1; next_to_send is kept as the last update.
  const double reference = 125'000 * 0.95 + kIncrease;
  flow.next_expected = flow.next_to_send;
  flow.Ack(125'000);
  flow.Ack(62'500);
  EXPECT_NEAR(flow.window(), reference + kIncrease, 1e-6);
  ++flow.next_expected;
  flow.Ack(125'000);
  const double next = reference * 0.95 + kIncrease;
  EXPECT_NEAR(flow.window(), next, 1e-6);
  flow.Ack(62'500);
  EXPECT_NEAR(flow.window(), next + kIncrease, 1e-6);
}

// An ACK a quarter of a round trip after the one before moves the average by a quarter.
TEST(HpccTest, AveragesOverARoundTrip) {
  Flow flow;
  flow.AckOfNewRound(250'000);  // Utilisation 2.
  const double reference = 125'000 * 0.475 + kIncrease;
  flow.Ack(31'250, 2'500_ns);  // 1, so 1.75 on average.
  EXPECT_NEAR(flow.window(), reference * 0.95 / 1.75 + kIncrease, 1e-6);
  flow.Ack(2'500'000, 100_us);  // 2, and nothing is left of what was before.
  EXPECT_NEAR(flow.window(), reference * 0.95 / 2 + kIncrease, 1e-6);
}

TEST(HpccTest, FollowsTheUtilisationAfterSomeAdditiveSteps) {
  Flow flow(", max_stage: 3");
  flow.AckOfNewRound(1'250'000);  // 10.
  const double cut = 125'000 * 0.095 + kIncrease;
  for (int stage = 1; stage <= 3; ++stage) {
    flow.AckOfNewRound(62'500);
    EXPECT_NEAR(flow.window(), cut + stage * kIncrease, 1e-6);
  }
  flow.AckOfNewRound(62'500);
  EXPECT_NEAR(flow.window(), (cut + 3 * kIncrease) * 1.9 + kIncrease, 1e-6);
  Flow eager(", max_stage: 0");
  eager.AckOfNewRound(1'250'000);
  eager.AckOfNewRound(62'500);
  EXPECT_NEAR(eager.window(), cut * 1.9 + kIncrease, 1e-6);
}

// At eta itself the window follows, though nothing is to change, and stages begin anew: in the next
// round below it the window only grows by the increase, 125,000 x 1/2 / 100, and then it doubles.
TEST(HpccTest, AdditiveStepsBeginAnewAtEta) {
  Flow flow(", eta: 0.5, max_stage: 1");
  flow.now.mbps.fill(65'536);  // Utilisations are exact.
  flow.Ack();
  flow.AckOfNewRound(163'840);  // Utilisation 2 with eta 1/2: a quarter of the window.
  double window = 31'250 + 625;
  EXPECT_NEAR(flow.window(), window, 1e-6);
  for (int i = 0; i < 3; ++i) {
    flow.AckOfNewRound(40'960);
    EXPECT_NEAR(flow.window(), window += 625, 1e-6);
  }
  flow.AckOfNewRound(20'480);
  EXPECT_NEAR(flow.window(), window += 625, 1e-6);
  flow.AckOfNewRound(20'480);
  EXPECT_NEAR(flow.window(), 2 * window + 625, 1e-6);
}

TEST(HpccTest, HeedsTheBusiestLink) {
  Flow flow("", 3);
  flow.now.queue_bytes[1] = flow.told.queue_bytes[1] = 112'500;
  flow.AckOfNewRound(125'000);
  EXPECT_NEAR(flow.window(), 62'500 + kIncrease, 1e-6);
  Flow slow("", 2);
  slow.now.mbps[1] = slow.told.mbps[1] = 40'000;
  slow.AckOfNewRound(50'000);  // Two fifths of one link, all of the other.
  EXPECT_NEAR(slow.window(), 125'000 * 0.95 + kIncrease, 1e-6);
}

TEST(HpccTest, CountersMayWrap) {
  Flow flow;
  flow.now.sent_bytes[0] = flow.told.sent_bytes[0] = 0xffff'ff00;
  flow.AckOfNewRound(250'000);
  EXPECT_NEAR(flow.window(), 125'000 * 0.475 + kIncrease, 1e-6);
}

TEST(HpccTest, ComparesOnlyReadingsOfTheSameLinks) {
  const auto unmoved = [](auto change) {
    Flow flow;
    change(flow.now);
    flow.AckOfNewRound(250'000);
    EXPECT_EQ(flow.state.rate, 100e9);
    flow.AckOfNewRound(250'000);  // Now there is one before it.
    EXPECT_LT(flow.state.rate, 50e9);
  };
  unmoved([](Telemetry& now) { now.path = 7; });
  unmoved([](Telemetry& now) { now.hops = 2; });
  unmoved([](Telemetry& now) { now.mbps[0] = 50'000; });
}

// Two readings of one instant measure nothing, either, even of one link among several.
TEST(HpccTest, IgnoresAnAckThatAnotherHasOvertaken) {
  for (const Duration later : {Duration{-1}, Duration{0}}) {
    for (const size_t same : {0u, 1u}) {
      Flow flow("", 2);
      flow.AckOfNewRound(250'000);
      const double window = flow.window();
      const Telemetry told = flow.told;
      flow.now.at[1 - same] += 10_us - later;
      flow.AckOfNewRound(1'000, later);
      EXPECT_EQ(flow.window(), window);
      EXPECT_EQ(flow.told.at, told.at);
    }
  }
}

TEST(HpccTest, StaysWithinItsBounds) {
  Flow flow;
  for (int i = 0; i < 100; ++i) flow.AckOfNewRound(1'250'000);
  EXPECT_GE(flow.state.rate, 100e6);
  EXPECT_EQ(flow.state.window, 1);
  for (int i = 0; i < 100; ++i) flow.AckOfNewRound(1'000);
  EXPECT_EQ(flow.state.rate, 100e9);
  Flow bounded(", min_rate: 30Gbps");
  for (int i = 0; i < 100; ++i) bounded.AckOfNewRound(1'250'000);
  EXPECT_NEAR(bounded.state.rate, 30e9, 1);
}

TEST(HpccTest, IncreasesBySizeOrRate) {
  const auto after_cut = [](const std::string& settings) {
    Flow flow(settings);
    flow.AckOfNewRound(250'000);
    return flow.window() - 125'000 * 0.475;
  };
  EXPECT_NEAR(after_cut(""), kIncrease, 1e-6);
  EXPECT_NEAR(after_cut(", flows: 50"), 2 * kIncrease, 1e-6);
  EXPECT_NEAR(after_cut(", w_ai: 80B"), 80, 1e-6);
  EXPECT_NEAR(after_cut(", ai_rate: 50Mbps"), 62.5, 1e-6);
}

TEST(HpccTest, TakesTheRoundTripThatIsSet) {
  Flow flow(", base_rtt: 20us");
  EXPECT_EQ(flow.state.window, 250);
}

// --- What switches tell ---

// Three packets of 1090 bytes wait for 10 Gbps at the first switch and for nothing at the second:
// 87.2 ns on the wire from the host, 872 ns from a switch. Their ACKs bring back what they were
// told, in a class of their own or in that of data.
TEST(TelemetryTest, IsOfTheInstantAtWhichAPacketBeginsToLeave) {
  for (const int control : {0, 3}) {
    SCOPED_TRACE(control);
    Lab lab({.graph = Line({{100_Gbps, 1_us}, {10_Gbps, 1_us}, {10_Gbps, 1_us}}),
             .transport = fmt::format("{{kind: rocev2, framing: ns3_rdma, cc: hpcc, "
                                      "control_priority: {}}}",
                                      control)});
    lab.AddFlow(0, 1, 3'000);
    lab.Run();
    EXPECT_TRUE(lab.finished());
    const Duration arrival = 1'087'200_ps;
    for (uint32_t i = 0; i < 3; ++i) {
      SCOPED_TRACE(i);
      const Telemetry& there = lab.PortTo(3, 1).wire().Extra(i);
      const Telemetry& back = lab.PortTo(2, 0).wire().Extra(i);
      ASSERT_EQ(there.hops, 2);
      EXPECT_EQ(there.at[0], At(arrival + 872_ns * i));
      EXPECT_EQ(there.at[1], At(arrival + 872_ns * i + 1'872_ns));
      EXPECT_EQ(there.queue_bytes[0], i == 1 ? 1'090u : 0u);
      EXPECT_EQ(there.queue_bytes[1], 0u);
      for (const size_t hop : {0, 1}) {
        EXPECT_EQ(there.sent_bytes[hop], 1'090 * i);
        EXPECT_EQ(there.mbps[hop], 10'000u);
        EXPECT_EQ(back.at[hop], there.at[hop]);
        EXPECT_EQ(back.queue_bytes[hop], there.queue_bytes[hop]);
      }
      EXPECT_EQ(back.hops, 2);
      EXPECT_EQ(back.path, there.path);
    }
  }
}

TEST(TelemetryTest, TakesRoomOnlyWhereItIsAskedFor) {
  const auto wire_memory = [](const std::string& cc) {
    Lab lab(
        {.graph = Line(2, {10_Gbps, 1_us}),
         .transport = "{kind: rocev2, framing: ns3_rdma, control_priority: 3, cc: " + cc + "}"});
    EXPECT_EQ(lab.network().switches()[0]->queued() != nullptr, cc == "hpcc");
    EXPECT_EQ(lab.PortTo(0, 2).wire().carries_telemetry(), cc == "hpcc");
    lab.AddFlow(0, 1, 3'000);
    lab.Run();
    EXPECT_EQ(lab.PortTo(0, 2).Committed().wire_bytes, cc == "hpcc" ? 3'270 : 3'144);
    return lab.PortTo(0, 2).wire().memory_bytes();
  };
  EXPECT_EQ(wire_memory("hpcc") - wire_memory("none"), 16 * sizeof(Telemetry));
}

// --- In a network ---

constexpr Channel k100G{100_Gbps, 1_us};
constexpr const char* kHpcc = "{kind: rocev2, framing: ns3_rdma, cc: hpcc}";

// The most bytes that wait for host 0 at switch 0, without the packet being sent, and the bytes
// that the port sends, both from `from` on.
struct Watch {
  int64_t longest = 0;
  int64_t sum = 0;  // Over samples.
  int64_t busy_before = 0;
};
void WatchPort(Lab& lab, SwitchId s, PortIndex port, Time from, Watch& watch) {
  lab.SampleEvery(1_us, [&lab, &watch, s, port, from](Time now) {
    QueuedPort& queue = (*lab.network().switches()[s]->queued())[port];
    if (now <= from) watch.busy_before = queue.out().Committed().busy_ps;
    if (now < from) return;
    watch.longest = std::max(watch.longest, queue.waiting() * 1'090);
    watch.sum += queue.waiting() * 1'090;
  });
}

TEST(HpccTest, ALoneFlowSettlesAtEtaWithoutAQueue) {
  Lab lab({.graph = Line(4, k100G), .transport = kHpcc});
  lab.AddFlow(0, 1, 1'000'000'000);
  Watch watch;
  WatchPort(lab, 0, 1, At(1_ms), watch);
  lab.Run(At(3_ms));
  const double busy = static_cast<double>(lab.PortTo(2, 3).Committed().busy_ps - watch.busy_before);
  EXPECT_NEAR(busy / 2e9, 0.95, 0.02);
  EXPECT_EQ(watch.longest, 0);
}

TEST(HpccTest, SharesAPortAndKeepsItsQueueShort) {
  Lab lab({.graph = Dumbbell(2, k100G, k100G), .transport = kHpcc});
  lab.AddFlow(0, 2, 1'000'000'000);
  lab.AddFlow(1, 3, 1'000'000'000, At(200_us));
  Watch watch;
  WatchPort(lab, 0, 2, At(2_ms), watch);
  lab.Run(At(10_ms));
  EXPECT_EQ(lab.Packets().dropped_total(), 0);
  EXPECT_LT(watch.longest, 11'000);  // A round trip holds 104,000 bytes.
  const double first = lab.QueuePair(0)->rate().rate;
  const double both = first + lab.QueuePair(1)->rate().rate;
  EXPECT_NEAR(both, 95e9, 5e9);
  EXPECT_NEAR(first / both, 0.5, 0.05);
}

// 16 to 1 on one switch with PFC: the queue of the receiver, in bytes, on average over 2 ms.
int64_t MeanQueueOfIncast(const std::string& cc) {
  Lab lab({.graph = Star(17, k100G),
           .transport = "{kind: rocev2, framing: ns3_rdma, cc: " + cc + "}",
           .port = "{buffer: unlimited, ecn_above: 100KB, pfc: {classes: [3], xoff: 500KB}}"});
  for (HostId h = 1; h <= 16; ++h) lab.AddFlow(h, 0, 2'000'000);
  Watch watch;
  WatchPort(lab, 0, 0, At(100_us), watch);
  lab.Run(At(2'100_us));
  EXPECT_EQ(lab.Packets().dropped_total(), 0) << cc;
  if (cc == "hpcc") {
    EXPECT_GT(lab.PortTo(17, 0).Committed().busy_ps - watch.busy_before, (1'800_us).ps);
  }
  return watch.sum / 2'000;
}

TEST(HpccTest, KeepsTheQueueOfAnIncastFarShorterThanDcqcn) {
  const int64_t hpcc = MeanQueueOfIncast("hpcc");
  const int64_t dcqcn = MeanQueueOfIncast("dcqcn");
  EXPECT_LT(hpcc, 5'000);
  EXPECT_GT(dcqcn, 100 * hpcc);
}

// An experiment in which links fail and change, datagrams share the ports, and switches pause: the
// same for every number of threads, whether ports are served late or at once.
TEST(HpccTest, GivesTheSameResultsForAnyNumberOfThreads) {
  const std::string fabric =
      "topology: {kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 4, host_link: {rate: "
      "25Gbps, delay: 200ns}, fabric_link: {rate: 40Gbps, delay: 1us}";
  const std::string rest =
      "}\nlb: rps\ntransport: {kind: rocev2, recovery: irn, cc: hpcc, resequencing: {kind: "
      "timeout, timeout: 20us}}\n"
      "background: [{from: [0], to: [11], rate: 2Gbps}]\n"
      "schedule:\n- {at: 50us, links: [leaf0-spine1], state: down}\n"
      "- {at: 90us, links: [leaf0-spine1], state: up}\n"
      "- {at: 70us, links: [leaf1-spine2], rate: 10Gbps}\n"
      "workload: [{kind: poisson, sizes: small, load: 0.5, flows: 300}, {kind: incast, fan_in: 8, "
      "bytes_each: 40KB, queries: 3, period: 100us}]\nmeasure: {unfinished: inf}\n";
  for (const std::string port : {"", ", port: {pfc: {classes: [3]}, memory: {model: dt}}"}) {
    SCOPED_TRACE(port);
    const Experiment experiment = ExperimentFrom(fabric + port + rest);
    EXPECT_EQ(ExperimentFrom(experiment.Resolved()).Resolved(), experiment.Resolved());
    const FinishedRun alone = RunExperiment(experiment, 1);
    EXPECT_GT(alone.result.packets.datagrams_sent, 0);
    for (const int threads : ThreadCounts({1, 2, 3})) {
      for (const auto ports : {NetworkPlan::Ports::kCheapest, NetworkPlan::Ports::kEager}) {
        EXPECT_EQ(RunExperiment(experiment, threads, ports).files, alone.files)
            << threads << " threads";
      }
    }
  }
}

}  // namespace heddle::hpcc_test
