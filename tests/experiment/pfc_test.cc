// SPDX-License-Identifier: Apache-2.0
// Tests priority flow control, from a single switch to trees of pauses and to deadlock.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "experiment/warnings.h"
#include "network/deadlock.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/memory_peaks.h"

namespace heddle::pfc_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Channel k100G{100_Gbps, 1_us};
// 1000 bytes of payload, 1048 as buffered and on the wire; nothing slows it down.
constexpr const char* kLineRate = "{kind: rocev2, framing: ns3_rdma, cc: none}";

PauseTotals Sum(Lab& lab) {
  PauseTotals sum;
  for (const Network::Egress& egress : lab.network().egresses()) {
    const PauseTotals pauses = lab.network().PausesOf(egress, lab.end());
    sum.paused += pauses.paused;
    sum.pauses += pauses.pauses;
    sum.resumes += pauses.resumes;
    sum.pauses_sent += pauses.pauses_sent;
    sum.resumes_sent += pauses.resumes_sent;
  }
  return sum;
}

const SharedMemory& MemoryOf(Lab& lab, size_t s = 0) {
  return *lab.network().switches()[s]->queued()->memory();
}

// --- Zero loss ---

// 16 hosts send to one at line rate; if `both_ways` it sends to all of them, so that pause frames
// wait for full packets. `peaks` watches the switch's memory; null: nobody does.
std::unique_ptr<Lab> LineRateIncast(const std::string& pfc, bool both_ways,
                                    MemoryPeaks* peaks = nullptr) {
  auto lab = std::make_unique<Lab>(
      Lab::Plan{.graph = Star(17, k100G),
                .transport = kLineRate,
                .port = fmt::format("{{buffer: unlimited, pfc: {{classes: [3], {}}}}}", pfc),
                .switch_policy = peaks == nullptr ? nullptr : peaks->AroundEcmp()});
  if (peaks != nullptr) peaks->Watch(MemoryOf(*lab), 17);
  for (HostId h = 1; h <= 16; ++h) lab->AddFlow(h, 0, 500'000);
  for (HostId h = 1; h <= 16 && both_ways; ++h) lab->AddFlow(0, h, 500'000);
  lab->Run(Time{} + 20_ms);
  return lab;
}

TEST(ZeroLossTest, HoldsWithTheHeadroomOfTheFormula) {
  for (const bool both_ways : {false, true}) {
    MemoryPeaks peaks;
    const auto lab = LineRateIncast("xoff: 100KB", both_ways, &peaks);
    EXPECT_TRUE(lab->finished());
    EXPECT_EQ(lab->Packets().dropped_total(), 0);
    EXPECT_LE(peaks.headroom(), 28'228);
    EXPECT_GT(peaks.headroom(), 25'000);  // At least the packets in flight.
    EXPECT_EQ(lab->network().switches()[0]->queued()->BytesInMemory(kNever), 0);
  }
}

TEST(ZeroLossTest, NeedsTheHeadroom) {
  const auto lab = LineRateIncast("xoff: 100KB, headroom: 20KB, allow_loss: true", false);
  EXPECT_GT(lab->Drops(DropReason::kHeadroom), 0);
  EXPECT_EQ(lab->Drops(DropReason::kHeadroom), lab->Packets().dropped_total());
}

TEST(ZeroLossTest, HoldsWhenSendersReactLate) {
  MemoryPeaks peaks;
  const auto lab = LineRateIncast("xoff: 100KB, response: 2us", false, &peaks);
  EXPECT_EQ(lab->Packets().dropped_total(), 0);
  EXPECT_LE(peaks.headroom(), 28'228 + 25'000);
  EXPECT_GT(peaks.headroom(), 50'000);
}

// 200 quanta are 1.024 us: a pause ends long before the queue has drained.
TEST(ZeroLossTest, HoldsWithPausesThatExpireAndAreRefreshed) {
  const auto forever = LineRateIncast("xoff: 100KB", false);
  for (const char* refresh : {"timer", "timer, refresh_interval: 900ns"}) {
    MemoryPeaks peaks;
    const auto lab =
        LineRateIncast(std::string("xoff: 100KB, quanta: 200, refresh: ") + refresh, false, &peaks);
    EXPECT_TRUE(lab->finished());
    EXPECT_EQ(lab->Packets().dropped_total(), 0);
    EXPECT_LE(peaks.headroom(), 28'228);
    EXPECT_GT(peaks.headroom(), 0);
    EXPECT_GT(Sum(*lab).pauses, 2 * Sum(*forever).pauses);
    EXPECT_EQ(Sum(*lab).paused, Sum(*forever).paused);  // Without a gap.
  }
}

TEST(ZeroLossTest, IsOverWhenPausesExpire) {
  for (const char* refresh : {"never", "timer, refresh_interval: 2us"}) {
    const auto lab = LineRateIncast(
        std::string("xoff: 100KB, quanta: 200, allow_loss: true, refresh: ") + refresh, false);
    EXPECT_GT(lab->Drops(DropReason::kHeadroom), 0) << refresh;
  }
}

// 65,535 quanta are 335.5 us, longer than the queue takes to drain: nobody sees the end of them.
TEST(PauseTest, LastsLongerThanItMustWithTheLongestPause) {
  const auto forever = LineRateIncast("xoff: 100KB", false);
  const auto lab =
      LineRateIncast("xoff: 100KB, quanta: 65535, refresh: never, allow_loss: true", false);
  EXPECT_EQ(lab->end(), forever->end());
  EXPECT_EQ(Sum(*lab).paused, Sum(*forever).paused);
  EXPECT_EQ(Sum(*lab).pauses, Sum(*forever).pauses);
}

class ModelTest : public testing::TestWithParam<const char*> {};

TEST_P(ModelTest, LosesNothing) {
  MemoryPeaks peaks;
  Lab lab({.graph = Star(17, k100G),
           .transport = kLineRate,
           .port = fmt::format("{{memory: {}, pfc: {{classes: [3]}}}}", GetParam()),
           .switch_policy = peaks.AroundEcmp()});
  peaks.Watch(MemoryOf(lab), 17);
  for (HostId h = 1; h <= 16; ++h) lab.AddFlow(h, 0, 1'000'000);
  lab.Run();
  EXPECT_EQ(lab.Packets().dropped_total(), 0);
  EXPECT_GT(Sum(lab).pauses, 0);
  EXPECT_EQ(Sum(lab).pauses, Sum(lab).resumes);
  EXPECT_EQ(Sum(lab).pauses, Sum(lab).pauses_sent);
  EXPECT_LE(peaks.used(), 4'000'000);
  EXPECT_GT(peaks.used(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, ModelTest,
                         testing::Values("{model: dt, size: 4MB}",
                                         "{model: dt, size: 2MB, alpha: 8}",
                                         "{model: hpcc_mmu, size: 4MB}",
                                         "{model: broadcom_mmu, size: 4MB}"));

// --- Two senders share: S8 ---

// The port of a host's only link.
const Network::Egress& NicOf(Lab& lab, HostId host) {
  return *std::ranges::find(lab.network().egresses(), lab.HostVertex(host),
                            &Network::Egress::vertex);
}

TEST(PauseTest, LetsTwoSendersShareEvenly) {
  Lab lab({.graph = Star(3, k100G),
           .transport = kLineRate,
           .port = "{buffer: unlimited, marking: step, ecn_above: unlimited, pfc: {classes: [3], "
                   "xoff: 50KB}}"});
  lab.AddFlow(1, 0, 100'000'000);
  lab.AddFlow(2, 0, 100'000'000);
  lab.Run(Time{} + 2_ms);
  for (const HostId sender : {HostId{1}, HostId{2}}) {
    const Network::Egress& nic = NicOf(lab, sender);
    const FifoPort::Counters sent = nic.fifo->SentBy(lab.end());
    EXPECT_NEAR(static_cast<double>(sent.wire_bytes) * 8 / 100e9 / 2e-3, 0.5, 0.005);
    const PauseTotals pauses = lab.network().PausesOf(nic, lab.end());
    EXPECT_NEAR(Seconds(pauses.paused) / 2e-3, 0.5, 0.01);
    EXPECT_EQ(pauses.paused, pauses.blocked);  // It always has something to send.
    EXPECT_GT(pauses.pauses, 10);
    EXPECT_LE(pauses.pauses - pauses.resumes, 1);
    EXPECT_GE(pauses.pauses, pauses.resumes);
    // The queue pair counts the same pause time as its NIC, except for a pause that still lasts.
    const double blocked = Seconds(lab.Record(sender - 1).sender.pause_blocked);
    EXPECT_NEAR(blocked, Seconds(pauses.blocked), 20e-6);
  }
}

// A flow counts the time in which its NIC is paused and it has something to send, whatever its
// transport is.
TEST(PauseTest, FlowsOfAllTransportsCountThePausesOfTheirNics) {
  for (const std::string kind :
       {"{kind: tcp, ecn: off", "{kind: dctcp", "{kind: mptcp, subflows: 2", "{kind: mprdma",
        "{kind: uet", "{kind: rocev2, cc: none"}) {
    SCOPED_TRACE(kind);
    Lab lab({.graph = Star(3, k100G),
             .transport = kind + ", priority: 3}",
             .port = "{buffer: unlimited, marking: step, ecn_above: unlimited, pfc: {classes: [3], "
                     "xoff: 20KB}}"});
    lab.AddFlow(1, 0, 3'000'000);
    lab.AddFlow(2, 0, 3'000'000);
    lab.Run(Time{} + 50_ms);
    for (const HostId sender : {HostId{1}, HostId{2}}) {
      const Duration blocked = lab.network().PausesOf(NicOf(lab, sender), lab.end()).blocked;
      EXPECT_GT(blocked, 20_us);
      EXPECT_NEAR(Seconds(lab.Record(sender - 1).sender.pause_blocked), Seconds(blocked), 20e-6);
    }
  }
}

// Some flows begin to wait during a pause that lasts until the run is cut off.
TEST(PauseTest, UnfinishedFlowsCountThePauseUnderWay) {
  int paused = 0;
  for (const std::string t_max : {"300us", "333us", "371us", "411us"}) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 8, port: {buffer: "
        "unlimited, ecn_above: unlimited, marking: step, pfc: {classes: [3], xoff: 20KB}}}\n"
        "transport: {kind: rocev2, cc: none}\nlb: ecmp\n"
        "workload: [{kind: incast, fan_in: 14, bytes_each: 300KB, queries: 20, period: 37us}]\n"
        "measure: {warm_up: 0ps, unfinished: inf, t_max: " +
        t_max + "}\n"));
    EXPECT_GT(run.result.unfinished, 0);
    const CsvTable flows(run.files.flows);
    for (size_t f = 0; f < flows.rows.size(); ++f) {
      const double blocked_ns = flows.Real(f, "pause_blocked_ns");
      EXPECT_GE(blocked_ns, 0) << f;
      EXPECT_LE(blocked_ns * 1e3, run.result.end.ps - flows.Integer(f, "start_ps")) << f;
      paused += blocked_ns > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(paused, 300);
}

// --- Who is hit: S9 ---

// Hosts 0 and 1 on the first switch, 2..5 on the second. 1, 4 and 5 send to 3; 0 sends to 2 and
// shares only the link between the switches with the crowd.
double VictimShare(const std::string& pfc) {
  Graph graph{.hosts = 6, .switches = {{"s0", 0}, {"s1", 0}}, .links = {}};
  for (size_t h = 0; h < graph.hosts; ++h) {
    graph.Connect(graph.VertexOfHost(h), graph.VertexOfSwitch(h < 2 ? 0 : 1), k100G);
  }
  graph.Connect(graph.VertexOfSwitch(0), graph.VertexOfSwitch(1), k100G);
  Lab lab(
      {.graph = graph, .transport = kLineRate, .port = fmt::format("{{buffer: 200KB, {}}}", pfc)});
  for (const HostId h : std::vector<HostId>{1, 4, 5}) lab.AddFlow(h, 3, 100'000'000);
  const FlowId victim = lab.AddFlow(0, 2, 100'000'000);
  lab.Run(Time{} + 2_ms);
  return static_cast<double>(lab.Record(victim).receiver.packets) * 1048 * 8 / 100e9 / 2e-3;
}

TEST(PauseTest, HitsFlowsThatOnlyShareALink) {
  // Without pauses the other sender, whose packets are dropped, leaves it most of the link.
  EXPECT_GT(VictimShare("marking: step, ecn_above: unlimited"), 0.9);
  // With PFC pauses the link carries a third of what host 3 can take for the other sender, and no
  // more than that for the victim, whose packets wait in the same queue.
  EXPECT_NEAR(VictimShare("marking: step, ecn_above: unlimited, pfc: {classes: [3]}"), 1.0 / 3,
              0.03);
}

TEST(PauseTest, LeavesOtherClassesAlone) {
  const std::string yaml =
      "topology: {kind: leaf_spine, leaves: 1, spines: 1, hosts_per_leaf: 4, host_link: {rate: "
      "100Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: 1us}, port: {buffer: 400KB, pfc: "
      "{classes: [3]}}}\n"
      "transport: {kind: rocev2, cc: none}\nlb: ecmp\n"
      "workload: [{kind: incast, fan_in: 3, bytes_each: 5MB, queries: 1, receiver: 0}]\n"
      "background: [{from: [1], to: [2], rate: 10Gbps, priority: 2, jitter: 0}]\n"
      "measure: {warm_up: 0ps}\n";
  const FinishedRun run = RunExperiment(ExperimentFrom(yaml));
  // Host 1 is paused, again and again.
  EXPECT_GT(CsvTable(run.files.links).Integer(1, "paused_ps"), 100'000'000);
  // Its datagrams wait for one packet on the host's link and one on the other's, at most.
  const CsvTable udp(run.files.udp);
  EXPECT_EQ(udp.Integer(0, "pkts_lost"), 0);
  EXPECT_GT(udp.Integer(0, "pkts_sent"), 500);
  EXPECT_LE(udp.Real(0, "max_delay_ns"), 2 * (1'000 + 2 * 1'106 * 0.08));
}

// --- The tree of pauses that theory predicts ---

std::set<std::string> PausedLinks(const std::string& lb) {
  const Experiment experiment = ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 32, spines: 4, hosts_per_leaf: 1, host_link: {rate: "
      "40Gbps, delay: 1us}, fabric_link: {rate: 40Gbps, delay: 1us}, port: {buffer: unlimited, "
      "pfc: {classes: [3], xoff: 30KB}}}\n"
      "transport: {kind: rocev2, cc: none, recovery: irn, bdp: 10MB, rto_low: 50ms, rto_high: "
      "100ms}\n"
      "lb: " +
      lb +
      "\nworkload: [{kind: incast, fan_in: 31, bytes_each: 4MB, queries: 1}]\n"
      "measure: {warm_up: 0ps, unfinished: drop, t_max: 3ms}\n");
  const FinishedRun run = RunExperiment(experiment);
  EXPECT_EQ(run.result.packets.dropped_total(), 0);
  const CsvTable links(run.files.links);
  std::set<std::string> paused;
  for (size_t l = 0; l < links.rows.size(); ++l) {
    if (links.Integer(l, "pause_rx") == 0) continue;
    paused.insert(links.At(l, "tier") + " " + links.At(l, "node") + " " + links.At(l, "peer"));
  }
  return paused;
}

std::map<std::string, int> CountByTier(const std::set<std::string>& links) {
  std::map<std::string, int> count;
  for (const std::string& link : links) ++count[link.substr(0, link.find(' '))];
  return count;
}

TEST(PauseTreeTest, Has31UplinksAndTheSpinePortsBehindThemUnderEcmp) {
  const std::set<std::string> paused = PausedLinks("ecmp");
  const std::map<std::string, int> count = CountByTier(paused);
  std::set<std::string> spines;
  for (const std::string& link : paused) {
    if (link.starts_with("leaf_up")) spines.insert(link.substr(link.rfind(' ') + 1));
  }
  EXPECT_EQ(count.at("leaf_up"), 31);
  EXPECT_EQ(count.at("host_up"), 31);
  EXPECT_EQ(count.at("spine_down"), static_cast<int>(spines.size()));
}

TEST(PauseTreeTest, HasAllUplinksUnderSpraying) {
  const std::map<std::string, int> count = CountByTier(PausedLinks("rps"));
  EXPECT_EQ(count.at("leaf_up"), 31 * 4);
  EXPECT_EQ(count.at("host_up"), 31);
  EXPECT_EQ(count.at("spine_down"), 4);
}

// --- Deadlock: S10 ---

// A ring of `switches` with a host on each, which sends to the one two switches on.
std::unique_ptr<Lab> Ring(uint32_t switches, const std::string& watchdog = "{}") {
  Graph graph{.hosts = switches, .switches = {}, .links = {}};
  for (uint32_t s = 0; s < switches; ++s) graph.switches.push_back({fmt::format("s{}", s), 0});
  const auto at = [&](size_t s) { return graph.VertexOfSwitch(s); };
  for (uint32_t s = 0; s < switches; ++s) graph.Connect(graph.VertexOfHost(s), at(s), k100G);
  for (uint32_t s = 0; s < switches; ++s) graph.Connect(at(s), at((s + 1) % switches), k100G);
  auto lab = std::make_unique<Lab>(
      Lab::Plan{.graph = graph,
                .transport = "{kind: rocev2, framing: ns3_rdma, cc: none, rto: 500us}",
                .port = fmt::format("{{buffer: unlimited, pfc: {{classes: [3], xoff: 50KB, "
                                    "watchdog: {}}}}}",
                                    watchdog)});
  for (uint32_t h = 0; h < switches; ++h) {
    lab->AddFlow(static_cast<HostId>(h), static_cast<HostId>((h + 2) % switches), 50'000'000);
  }
  return lab;
}

TEST(DeadlockTest, IsFoundWhereBuffersDependOnEachOtherInACircle) {
  const auto lab = Ring(5);
  lab->Run(Time{} + 12_ms);
  EXPECT_FALSE(lab->finished());
  EXPECT_EQ(lab->Packets().dropped_total(), 0);
  const std::vector<std::string> circle = FindDeadlock(lab->network(), lab->end(), 10_ms);
  // Port 0 leads to the host. Switch 0 reaches the next by port 1, the others by port 2.
  EXPECT_THAT(circle, ElementsAre("s0 port 1", "s1 port 2", "s2 port 2", "s3 port 2", "s4 port 2"));
}

// Refreshed pauses last as if they never expired; those that are not end, and the circle with them.
TEST(DeadlockTest, OutlastsPausesOnlyIfTheyAreRefreshed) {
  for (const bool refreshed : {true, false}) {
    const auto lab = Ring(
        5, refreshed ? "{}, quanta: 1000" : "{}, quanta: 1000, refresh: never, allow_loss: true");
    lab->Run(Time{} + 12_ms);
    EXPECT_EQ(FindDeadlock(lab->network(), lab->end(), 10_ms).size(), refreshed ? 5u : 0u);
    EXPECT_EQ(lab->Packets().dropped_total() > 0, !refreshed);
  }
}

TEST(DeadlockTest, DoesNotHappenWherePathsAreShort) {
  // The shortest path in a ring of three never passes two links.
  const auto lab = Ring(3);
  lab->Run();
  EXPECT_TRUE(lab->finished());
  EXPECT_TRUE(FindDeadlock(lab->network(), lab->end(), 0_ps).empty());
}

TEST(WatchdogTest, BreaksADeadlockAtThePriceOfLoss) {
  const auto received = [](Lab& lab) {
    int64_t bytes = 0;
    for (size_t h = 0; h < 5; ++h) bytes += lab.network().host(h).payload_received();
    return bytes;
  };
  const auto stuck = Ring(5);
  stuck->Run(Time{} + 4_ms);
  for (const char* action : {"drop", "forward"}) {
    const auto lab =
        Ring(5, fmt::format("{{detect: 500us, poll: 100us, restore: 300us, action: {}}}", action));
    lab->Run(Time{} + 4_ms);
    EXPECT_GT(lab->Packets().storms, 0) << action;
    // Go-back-N starts again from what was dropped, and ends in the same circle.
    const bool drops = std::string(action) == "drop";
    EXPECT_EQ(lab->Drops(DropReason::kWatchdog) > 0, drops);
    EXPECT_GE(received(*lab), (drops ? 1 : 2) * received(*stuck)) << action;
  }
}

TEST(WatchdogTest, LeavesShortPausesAlone) {
  Lab lab({.graph = Star(3, k100G),
           .transport = kLineRate,
           .port = "{buffer: unlimited, pfc: {classes: [3], xoff: 50KB, watchdog: {detect: 100us, "
                   "poll: 10us}}}"});
  lab.AddFlow(1, 0, 20'000'000);
  lab.AddFlow(2, 0, 20'000'000);
  lab.Run();
  EXPECT_GT(Sum(lab).pauses, 100);
  EXPECT_EQ(lab.Packets().storms, 0);
  EXPECT_EQ(lab.Packets().dropped_total(), 0);
}

FinishedRun RunRing(const std::string& action) {
  const TemporaryFolder folder;
  std::string flows = "src,dst,size_bytes,start_ps\n";
  std::string links;
  std::string names;
  for (int s = 0; s < 5; ++s) {
    flows += fmt::format("{},{},20000000,0\n", s, (s + 2) % 5);
    names += fmt::format("{}{{name: s{}}}", s == 0 ? "" : ", ", s);
    links += fmt::format("{0}{{a: host{1}, b: s{1}}}, {{a: s{1}, b: s{2}}}", s == 0 ? "" : ", ", s,
                         (s + 1) % 5);
  }
  const Experiment experiment = ExperimentFrom(fmt::format(
      "topology: {{kind: custom, hosts: 5, switches: [{}], links: [{}], link: {{rate: 100Gbps, "
      "delay: 1us}}, port: {{buffer: unlimited, pfc: {{classes: [3], xoff: 50KB, deadlock_check: "
      "100us, deadlock_time: 500us, deadlock_action: {}}}}}}}\n"
      "transport: {{kind: rocev2, cc: none, rto: 50ms}}\nlb: ecmp\n"
      "workload: [{{kind: flows, file: {}}}]\nmeasure: {{warm_up: 0ps, t_max: 3ms}}\n",
      names, links, action, folder.Write("flows.csv", flows).string()));
  FinishedRun run = RunExperiment(experiment);
  EXPECT_EQ(RunExperiment(experiment, 2).files, run.files);
  EXPECT_FALSE(IsComplete(experiment, run.result));
  EXPECT_THAT(WarningsOf(experiment, run.result, Summarise(experiment, run.result)),
              Contains(HasSubstr("DEADLOCK at 600us: paused ports wait for each other: s0 port")));
  return run;
}

TEST(DeadlockTest, EndsTheRunUnlessItIsOnlyToBeReported) {
  EXPECT_LT(RunRing("abort").result.end, Time{} + 1_ms);
  EXPECT_EQ(RunRing("report").result.end, Time{} + 3_ms);
}

// The smallest pause frame takes less time than any packet, and no window may be longer.
TEST(PfcTest, PauseFramesMayBeSmallerThanPackets) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 4, spines: 2, hosts_per_leaf: 4, host_link: {rate: "
      "10Gbps, delay: 10ns}, fabric_link: {rate: 10Gbps, delay: 10ns}, port: {buffer: 40KB, pfc: "
      "{classes: [3], frame: 1B}}}\n"
      "transport: {kind: rocev2, cc: none, framing: ns3_rdma}\nlb: ecmp\n"
      "workload: [{kind: incast, fan_in: 12, bytes_each: 100KB, senders: other_racks, queries: 4, "
      "period: 10us}]\n"));
  EXPECT_EQ(run.result.unfinished, 0);
  EXPECT_GT(run.result.packets.control_sent, 0);
}

// --- Links that fail or change ---

// An incast to host 0, over links to two of four spines that fail for a while.
std::string IncastWithFailure(const std::string& state) {
  const std::string links = "links: [leaf0-spine0, leaf0-spine1, leaf1-spine0, leaf1-spine1], ";
  return "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 4, host_link: {rate: "
         "25Gbps}, fabric_link: {rate: 25Gbps}, port: {buffer: 200KB, pfc: {classes: [3]}}}\n"
         "transport: {kind: rocev2, cc: none, rto: 1ms}\n"
         "lb: ecmp\n"
         "workload: [{kind: incast, fan_in: 3, bytes_each: 1MB, queries: 20, period: 500us, "
         "receiver: 0}]\n"
         "measure: {t_max: 300ms, unfinished: drop}\n"
         "schedule: [{at: 300us, " +
         links + state + ", state: down}, {at: 400us, " + links + state + ", state: up}]\n";
}

// A pause does not outlast the direction of the link that could end it, and is asked for again when
// the direction is back.
TEST(PauseTest, EndsIfALinkFailsInOneDirection) {
  for (const char* state : {"direction: up", "direction: down", "direction: both"}) {
    for (const char* silent : {", silent: true", ""}) {
      SCOPED_TRACE(std::string(state) + silent);
      const FinishedRun run =
          RunExperiment(ExperimentFrom(IncastWithFailure(std::string(state) + silent)));
      EXPECT_EQ(run.result.unfinished, 0);
      EXPECT_GT(run.result.packets.dropped[static_cast<size_t>(DropReason::kLinkDown)], 0);
    }
  }
}

// The leaf cannot pause host 1 while the direction to it is down, and does so soon after.
TEST(PauseTest, HoldsAgainAfterTheRepair) {
  const TemporaryFolder folder;
  const std::string flows = folder
                                .Write("flows.csv",
                                       "src,dst,bytes,start\n1,0,2000000,0us\n2,0,2000000,0us\n"
                                       "3,0,2000000,0us\n1,7,100000,50ms\n")
                                .string();
  for (const int at : {30, 90, 120, 150, 200}) {
    SCOPED_TRACE(at);
    const std::string link = "links: [host1-leaf0], direction: down, silent: true, state: ";
    const FinishedRun run = RunExperiment(ExperimentFrom(fmt::format(
        "topology: {{kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, host_link: {{rate: "
        "25Gbps}}, fabric_link: {{rate: 25Gbps}}, port: {{buffer: 200KB, pfc: {{classes: "
        "[3]}}}}}}\n"
        "transport: {{kind: rocev2, cc: none, rto: 1ms}}\nlb: ecmp\n"
        "workload: [{{kind: flows, file: {0}}}]\nmeasure: {{t_max: 300ms, unfinished: drop}}\n"
        "schedule: [{{at: {1}us, {2}down}}, {{at: {3}us, {2}up}}]\n",
        flows, at, link, at + 10)));
    EXPECT_EQ(run.result.unfinished, 0);
    // At 25 Gbps, 30 packets arrive in the 10 us of the outage, and a few more in a round trip.
    EXPECT_LT(run.result.packets.dropped[static_cast<size_t>(DropReason::kHeadroom)], 45);
  }
}

// A pause frame may wait for a packet that began at the lower rate, and a pause that was asked for
// at the lower rate ends sooner at the higher one.
TEST(PauseTest, LosesNothingWhenARateChanges) {
  const TemporaryFolder folder;
  const std::string flows =
      folder.Write("flows.csv", "src,dst,bytes,start\n0,1,2000000,0us\n2,0,2000000,0us\n").string();
  const auto lost = [&](const std::string& delay, const std::string& port, int at) {
    const FinishedRun run = RunExperiment(ExperimentFrom(fmt::format(
        "topology: {{kind: custom, hosts: 3, switches: [{{name: s0}}], link: {{rate: 25Gbps, "
        "delay: "
        "{}}}, links: [{{a: host0, b: s0}}, {{a: host1, b: s0, rate: 500Mbps}}, {{a: host2, b: "
        "s0}}], port: {{{}}}}}\n"
        "transport: {{kind: rocev2, cc: none, rto: 10ms}}\nlb: ecmp\n"
        "workload: [{{kind: flows, file: {}}}]\nmeasure: {{t_max: 60ms, unfinished: drop}}\n"
        "schedule: [{{at: 0us, links: [host0-s0], rate: 1Gbps}}, {{at: {}us, links: [host0-s0], "
        "rate: 25Gbps}}]\n",
        delay, port, flows, at)));
    return run.result.packets.dropped[static_cast<size_t>(DropReason::kHeadroom)];
  };
  for (const int at : {5'021, 5'133, 5'217, 5'245}) {
    EXPECT_EQ(lost("1us", "buffer: 200KB, pfc: {classes: [3]}", at), 0) << at;
  }
  for (int at = 10'000; at < 10'700; at += 53) {
    EXPECT_EQ(lost("100us", "buffer: 1MB, pfc: {classes: [3], quanta: 5000}", at), 0) << at;
  }
  EXPECT_EQ(lost("100us", "buffer: 1MB, pfc: {classes: [3], quanta: 5000}", 10'583), 0);
}

}  // namespace heddle::pfc_test
