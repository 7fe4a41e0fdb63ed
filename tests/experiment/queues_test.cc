// SPDX-License-Identifier: Apache-2.0
// Whole experiments with classes, a shared buffer and marking at dequeue. The tests check drops and
// their reasons, the effects of a failing link, and the queues that load balancers see. All port
// kinds must write the same bytes.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "experiment/results.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/memory_peaks.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/thread_counts.h"

namespace heddle::queues_test {

using testing::HasSubstr;
using Ports = NetworkPlan::Ports;

int64_t Dropped(const FinishedRun& run, DropReason reason) {
  return run.result.packets.dropped[static_cast<size_t>(reason)];
}

// Eight hosts on two leaves; all but one answer the one, while flows go to and fro.
Experiment Incast(const std::string& port, const std::string& transport = "dctcp") {
  return ExperimentFrom(
      fmt::format("topology: {{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, "
                  "fabric_link: {{rate: 40Gbps}}, port: {}}}\n"
                  "transport: {}\nlb: rps\nworkload:\n"
                  "  - {{kind: poisson, sizes: small, load: 0.4, flows: 100}}\n"
                  "  - {{kind: incast, fan_in: 7, bytes_each: 60KB, queries: 4, period: 300us}}\n",
                  port, transport));
}

void ExpectTheSameWithAnyNumberOfThreads(const Experiment& experiment, const FinishedRun& one) {
  for (const int threads : ThreadCounts({2, 3})) {
    EXPECT_EQ(one.files, RunExperiment(experiment, threads).files) << threads << " threads";
  }
}

// --- Classes ---

TEST(ClassesTest, ServedLateOrAsEventsTheyGiveTheSameBytes) {
  for (const char* scheduler : {"strict", "strict0_rr", "dwrr"}) {
    for (const char* control : {"0", "4"}) {
      for (const char* marking : {"auto", "red"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", scheduler, control, marking));
        const Experiment experiment =
            Incast(fmt::format("{{buffer: 60KB, ecn_above: 20KB, red: {{min: 5KB, max: 50KB}}, "
                               "scheduler: {}, quanta: [1B, 9KB, 1KB, 1KB, 300B], marking: {}}}",
                               scheduler, marking),
                   fmt::format("{{kind: dctcp, control_priority: {}, min_rto: 1ms}}", control));
        const FinishedRun run = RunExperiment(experiment);
        EXPECT_EQ(run.result.unfinished, 0);
        EXPECT_GT(run.result.packets.marked, 0);
        EXPECT_GT(Dropped(run, DropReason::kTail), 0);
        ExpectTheSameWithAnyNumberOfThreads(experiment, run);
        EXPECT_EQ(run.files, RunExperiment(experiment, 2, Ports::kEager).files);
      }
    }
  }
}

// Two hosts send to each other at full rate over three switches. From switch to switch a packet of
// class 0 takes the link's delay, its own transmission and that of the packet in front of it, at
// most.
TEST(ClassesTest, ControlIsNotHeldUpByData) {
  std::map<std::tuple<FlowId, uint32_t, int>, Time> seen;  // By flow, sequence number, switch.
  std::vector<Rule> rules;
  Duration longest{0};
  int64_t crossings = 0;
  for (int s = 0; s < 3; ++s) {
    for (const FlowId flow : {0u, 1u}) {
      const int before = flow == 0 ? s + 1 : s - 1;  // ACKs of flow 0 come from host 1.
      rules.push_back(WatchAt(static_cast<SwitchId>(s), AllAcks(flow),
                              [&, s, flow, before](const SwitchView& view, const Packet& ack) {
                                seen[{flow, ack.seq, s}] = view.now();
                                const auto from = seen.find({flow, ack.seq, before});
                                if (from == seen.end()) return;
                                longest = std::max(longest, view.now() - from->second);
                                ++crossings;
                              }));
    }
  }
  Lab lab({.graph = Line(4, {10_Gbps, 1_us}),
           .transport = "{kind: rocev2, cc: none}",
           .port = "{buffer: 20KB}",
           .switch_policy = Scripted(rules)});
  lab.AddFlow(0, 1, 3'000'000);
  lab.AddFlow(1, 0, 3'000'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_GT(crossings, 5'000);
  const Duration own = SerializationDelay(84_B, 10_Gbps);
  const Duration full = SerializationDelay(1'106_B, 10_Gbps);
  EXPECT_LE(longest, 1_us + own + full);
  EXPECT_GT(longest, 1_us + own + full / 2);
}

// --- Memory ---

TEST(MemoryTest, EachModelDropsForItsOwnReasonAndCountsIt) {
  struct Case {
    const char* port;
    DropReason reason;
  };
  for (const Case& c :
       {Case{"{buffer: 60KB}", DropReason::kTail},
        Case{"{memory: {model: dt, size: 100KB}}", DropReason::kThreshold},
        Case{"{memory: {model: hpcc_mmu, size: 250KB}}", DropReason::kIngress},
        Case{"{memory: {model: broadcom_mmu, size: 120KB}}", DropReason::kThreshold}}) {
    SCOPED_TRACE(c.port);
    const Experiment experiment = Incast(c.port, "{kind: tcp, min_rto: 1ms, iw: 40}");
    const FinishedRun run = RunExperiment(experiment);
    EXPECT_EQ(run.result.unfinished, 0);
    const int64_t dropped = Dropped(run, c.reason);
    EXPECT_GT(dropped, 0);
    EXPECT_EQ(run.result.packets.dropped_total(), dropped);
    EXPECT_THAT(SummaryJson(experiment, run.result, {}),
                HasSubstr(fmt::format("\"dropped_{}\": {}",
                                      kDropReasonNames[static_cast<size_t>(c.reason)], dropped)));
    ExpectTheSameWithAnyNumberOfThreads(experiment, run);
  }
}

// Two senders to one receiver never overflow a buffer that is large enough, whatever the model.
TEST(MemoryTest, WithRoomEnoughAllModelsAreAlike) {
  const auto run = [](const std::string& port) {
    return RunExperiment(Incast(port, "{kind: dctcp, control_priority: 0}"));
  };
  const RunFiles alone = run("{buffer: unlimited}").files;
  for (const char* model : {"dt, alpha: 8", "hpcc_mmu, alpha: 1", "broadcom_mmu"}) {
    const FinishedRun shared =
        run(fmt::format("{{buffer: unlimited, memory: {{size: 64MB, model: {}}}}}", model));
    EXPECT_EQ(shared.result.packets.dropped_total(), 0);
    EXPECT_EQ(shared.files, alone) << model;
  }
}

// --- Marking ---

TEST(MarkingTest, BetweenEqualLengthsIsAStepAtThatLength) {
  const std::string red =
      "{ecn_above: 90KB, marking: red, mark_at: enqueue, red: {min: 30KB, max: "
      "30KB}}";
  const FinishedRun step = RunExperiment(Incast("{ecn_above: 30KB}"));
  EXPECT_GT(step.result.packets.marked, 0);
  EXPECT_EQ(RunExperiment(Incast(red)).files, step.files);
}

TEST(MarkingTest, ByChanceDependsOnTheSeedAlone) {
  const std::string port = "{red: {min: 5KB, max: 100KB, probability: 0.5}}";
  const std::string rdma = "{kind: rocev2, recovery: irn, cc: dcqcn}";
  const Experiment experiment = Incast(port, rdma);
  const FinishedRun run = RunExperiment(experiment);
  EXPECT_GT(run.result.packets.marked, 0);
  ExpectTheSameWithAnyNumberOfThreads(experiment, run);
  EXPECT_EQ(run.files, RunExperiment(experiment, 1, Ports::kEager).files);
}

// --- Links that fail ---

LinkEvent Down(Duration at, uint32_t link) { return {Time{} + at, link, false, {}, {}}; }
LinkEvent Up(Duration at, uint32_t link) { return {Time{} + at, link, true, {}, {}}; }

// The case of LinkDownTest.LosesWhatIsQueuedAndOnTheWayAndWhatFollows, which explains the numbers.
// Seven of the 29 packets that have reached the switch have left it (the k-th at 1.3076 us + k *
// 1230.4 ns), so 22 occupy the shared buffer.
TEST(QueuedLinkDownTest, LosesWhatIsQueuedAndReleasesItsMemory) {
  for (const char* port :
       {"{buffer: unlimited}", "{memory: {model: dt}}", "{memory: {model: hpcc_mmu, alpha: 1}}",
        "{memory: {model: broadcom_mmu}}"}) {
    SCOPED_TRACE(port);
    MemoryPeaks peaks;
    Lab lab({.graph = Line({{40_Gbps, 1_us}, {10_Gbps, 2_us}}),
             .transport = "{kind: tcp, iw: 64}",
             .port = port,
             .switch_policy = peaks.AroundEcmp(),
             .events = {Down(10_us, 1), Up(5_ms, 1)},
             .ports = Ports::kEager});
    const SharedMemory* memory = lab.network().switches()[0]->queued()->memory();
    if (memory != nullptr) peaks.Watch(*memory, 2);
    const FlowId flow = lab.AddFlow(0, 1, 40 * 1'460);
    lab.Run();
    EXPECT_TRUE(lab.finished());
    EXPECT_EQ(lab.Drops(DropReason::kLinkDown), (29 - 5) + (5 - 3));
    EXPECT_EQ(lab.Drops(DropReason::kNoRoute), 40 - 29);
    EXPECT_EQ(lab.Record(flow).sender.retransmissions_loss, 35);
    if (memory == nullptr) continue;
    EXPECT_EQ(memory->used(), 0);
    EXPECT_EQ(peaks.used(), 22 * 1'518);
  }
}

// Random changes at random times: the lab checks that no packet and no byte of memory is lost track
// of, and that no flow is faster than it can be.
TEST(QueuedLinkDownTest, KeepsItsBooksWhateverHappens) {
  const char* ports[] = {
      "{buffer: 30KB}", "{scheduler: dwrr, buffer: 20pkts, ecn_above: 10pkts, mark_at: dequeue}",
      "{memory: {model: dt, size: 120KB}}", "{memory: {model: hpcc_mmu, size: 400KB}}",
      "{memory: {model: broadcom_mmu, size: 200KB}}"};
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "test", 0);
    const Graph graph = LeafSpineFrom("{leaves: 3, spines: 3, hosts_per_leaf: 2}");
    std::vector<LinkEvent> events;
    Duration at{0};
    for (int i = 0; i < 30; ++i) {
      at += Duration{static_cast<int64_t>(rng.Below(30'000'000))};
      const uint32_t link = rng.Below(static_cast<uint32_t>(graph.links.size()));
      const BitRate rate{graph.links[link].a_to_b.rate.bps / (1 + rng.Below(7))};
      const uint32_t what = rng.Below(3);
      events.push_back(what == 0 ? Down(at, link) : Up(at, link));
      if (what == 2) events.back() = {Time{} + at, link, {}, rate, {}};
    }
    for (uint32_t link = 0; link < graph.links.size(); ++link) events.push_back(Up(1_ms, link));
    Lab lab({.graph = graph,
             .transport = "{kind: dctcp, control_priority: 0, min_rto: 1ms}",
             .balancer = seed % 2 == 0 ? "{kind: rps}" : "{kind: letflow}",
             .port = ports[seed % 5],
             .events = std::move(events),
             .ports = seed % 3 == 0 ? Ports::kEager : Ports::kCheapest});
    for (HostId h = 0; h < 6; ++h) lab.AddFlow(h, static_cast<HostId>((h + 2) % 6), 600'000);
    lab.AddFlow(0, 1, 1, Time{} + 1_s);  // So that needless copies have left when the run ends.
    lab.Run();
    EXPECT_TRUE(lab.finished());
    for (const auto& s : lab.network().switches()) {
      EXPECT_EQ(s->queued()->waiting(), 0);
      if (s->queued()->memory() != nullptr) {
        EXPECT_EQ(s->queued()->BytesInMemory(kNever), 0);
      }
    }
  }
}

// --- What load balancers see ---

// Takes the port with the least wait, and remembers all it saw.
class LeastWait final : public SwitchPolicy {
 public:
  using Seen = std::vector<std::tuple<Time, Duration, int64_t, int64_t>>;
  explicit LeastWait(Seen& seen) : seen_(seen) {}
  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView& view, const Packet&, PortIndex, const Candidates& c) override {
    PortIndex best = c.ports.front();
    for (const PortIndex port : c.ports) {
      seen_.emplace_back(view.now(), view.QueueingDelay(port), view.Unsent(port).count,
                         view.QueuedPackets(port));
      if (view.QueueingDelay(port) < view.QueueingDelay(best)) best = port;
    }
    return Decision::Forward(best);
  }
  size_t StateBytes() const override { return 0; }

 private:
  Seen& seen_;
};

TEST(QueueViewTest, IsTheSameForAllKindsOfPorts) {
  for (const char* rate : {"10Gbps", "7Gbps", "3Gbps"}) {
    SCOPED_TRACE(rate);
    const auto look = [&](Ports ports) {
      std::map<SwitchId, LeastWait::Seen> seen;
      Lab lab({.graph = LeafSpineFrom(fmt::format(
                   "{{leaves: 2, spines: 3, hosts_per_leaf: 4, fabric_link: {{rate: {}, delay: "
                   "1us}}}}",
                   rate)),
               .port = "{buffer: 40KB, ecn_above: unlimited}",
               .switch_policy = [&](SwitchId id) { return std::make_unique<LeastWait>(seen[id]); },
               .ports = ports});
      for (HostId h = 0; h < 4; ++h) {
        lab.AddFlow(h, static_cast<HostId>(7 - h), 400'000);
        lab.AddFlow(static_cast<HostId>(4 + h), h, 300'000);
      }
      lab.Run();
      EXPECT_GT(lab.Drops(DropReason::kTail), 0);
      return seen;
    };
    const auto fifo = look(Ports::kCheapest);
    EXPECT_EQ(fifo, look(Ports::kQueued));
    EXPECT_EQ(fifo, look(Ports::kEager));
  }
}

// Sends a packet of its own to the next switch before each data packet, and now and then to all.
// Remembers what leaves.
class SendingWatcher final : public SwitchPolicy {
 public:
  using Seen = std::vector<std::tuple<Time, PortIndex, PacketKind>>;
  explicit SendingWatcher(Seen& seen) : seen_(seen) {}
  void Attach(SwitchView& view) override { view.SetTimer(Time{} + 10_us, 0); }
  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex,
                    const Candidates& c) override {
    last_dst_ = packet.dst;
    if (packet.kind == PacketKind::kData) Send(view, c.ports.front());
    return Decision::Forward(c.ports.front());
  }
  void OnTimer(SwitchView& view, uint32_t) override {
    for (PortIndex port = static_cast<PortIndex>(view.ports()); port-- > 0;) Send(view, port);
    if (view.now() < Time{} + 200_us) view.SetTimer(view.now() + 10_us, 0);
  }
  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    EXPECT_FALSE(sends_) << "shown a transmission while it sends";
    seen_.emplace_back(view.now(), port, packet.kind);
  }
  size_t StateBytes() const override { return 0; }

 private:
  void Send(SwitchView& view, PortIndex port) {
    if (view.FacesHost(port)) return;
    Packet own;
    own.kind = PacketKind::kControl;
    own.bytes = 100;
    own.dst = last_dst_;
    own.hops = kMaxHops - 1;  // The next switch drops it.
    sends_ = true;
    view.SendControl(own, port);
    sends_ = false;
  }

  Seen& seen_;
  HostId last_dst_ = 0;
  bool sends_ = false;
};

TEST(QueueViewTest, TransmissionsAreShownInTheSameOrderForAllKindsOfPorts) {
  const auto look = [&](Ports ports) {
    std::map<SwitchId, SendingWatcher::Seen> seen;
    Lab lab(
        {.graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 2}"),
         .switch_policy = [&](SwitchId id) { return std::make_unique<SendingWatcher>(seen[id]); },
         .ports = ports});
    for (HostId h = 0; h < 2; ++h) lab.AddFlow(h, static_cast<HostId>(3 - h), 100'000);
    lab.Run();
    return seen;
  };
  const auto fifo = look(Ports::kCheapest);
  EXPECT_GT(fifo.at(0).size(), 300u);
  EXPECT_EQ(fifo, look(Ports::kQueued));
  EXPECT_EQ(fifo, look(Ports::kEager));
}

}  // namespace heddle::queues_test
