// SPDX-License-Identifier: Apache-2.0
// Scheduled events change links during a run. The tests check the effects to the picosecond where
// these can be computed, and to the last packet everywhere.

#include "topo/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "experiment/schedule_checks.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/thread_counts.h"

namespace heddle::schedule_test {

using testing::HasSubstr;

Time At(Duration since_start) { return Time{} + since_start; }

LinkEvent Down(Duration at, uint32_t link) { return {At(at), link, false, {}, {}}; }
LinkEvent Up(Duration at, uint32_t link) { return {At(at), link, true, {}, {}}; }
LinkEvent SetRate(Duration at, uint32_t link, BitRate rate) { return {At(at), link, {}, rate, {}}; }
LinkEvent SetDelay(Duration at, uint32_t link, Duration delay) {
  return {At(at), link, {}, {}, delay};
}
LinkEvent SetLoss(Duration at, uint32_t link, double probability) {
  return {At(at), link, {}, {}, {}, probability};
}

// Forty packets of 1538 bytes on the wire, sent at once over two links of 10 Gbps and 1 us.
FlowRecord Transfer(std::vector<LinkEvent> events, int64_t packets = 40) {
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .transport = "{kind: tcp, iw: 64}",
           .events = std::move(events)});
  lab.AddFlow(0, 1, packets * 1'460);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return lab.Record(0);
}

constexpr Duration kTx{1'230'400};

TEST(ScheduledRateTest, AppliesToPacketsThatHaveNotBegun) {
  EXPECT_EQ(FctRx(Transfer({})), 41 * kTx + 2_us);
  // The second link is busy from 1 us + kTx on. At that + 10.5 kTx its rate becomes a tenth: eleven
  // packets leave as before, 29 take ten times as long.
  const Duration change = 1_us + kTx + kTx * 21 / 2;
  EXPECT_EQ(FctRx(Transfer({SetRate(change, 1, 1_Gbps)})),
            1_us + kTx + 11 * kTx + 290 * kTx + 1_us);
  // A change at the very moment at which the twelfth begins has the same effect.
  EXPECT_EQ(FctRx(Transfer({SetRate(1_us + 12 * kTx, 1, 1_Gbps)})),
            1_us + kTx + 11 * kTx + 290 * kTx + 1_us);
  // The rate returns after 60.5 times kTx, in the middle of the sixth slow packet; all others wait
  // by then.
  const Duration back = 1_us + kTx + kTx * (11 + 55);
  EXPECT_EQ(FctRx(Transfer({SetRate(change, 1, 1_Gbps), SetRate(back, 1, 10_Gbps)})),
            1_us + kTx + 11 * kTx + 60 * kTx + 23 * kTx + 1_us);
}

TEST(ScheduledRateTest, CountsTheTimeThatLinksAreBusy) {
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .transport = "{kind: tcp, iw: 64}",
           .events = {SetRate(1_us + 12 * kTx, 1, 1_Gbps), SetRate(1_us + 72 * kTx, 1, 3_Gbps)}});
  lab.AddFlow(0, 1, 40 * 1'460);
  lab.Run();
  const FifoPort::Counters sent = lab.PortTo(2, 1).Committed();
  EXPECT_EQ(sent.packets, 40);
  EXPECT_EQ(sent.wire_bytes, 40 * 1'538);
  // 11 at full rate, 6 at a tenth, 23 at 3 Gbps.
  const int64_t at_3g = (23 * 1'538 * int64_t{8'000} + 2) / 3;
  EXPECT_EQ(sent.busy_ps, 11 * kTx.ps + 60 * kTx.ps + at_3g);
}

TEST(ScheduledDelayTest, AppliesToPacketsThatHaveNotBegunAndKeepsTheirOrder) {
  const Duration change = 1_us + 11 * kTx;
  EXPECT_EQ(FctRx(Transfer({SetDelay(change, 1, 50_us)})), 41 * kTx + 51_us);
  // Back to 1 us: what follows does not overtake the last of the slow ones, which left at
  // 1 us + 21 kTx and arrives 50 us later, after all others would.
  const FlowRecord flow =
      Transfer({SetDelay(change, 1, 50_us), SetDelay(1_us + 21 * kTx, 1, 1_us)});
  EXPECT_EQ(FctRx(flow), 1_us + 21 * kTx + 50_us);
  EXPECT_EQ(flow.receiver.reordered_seq, 0);
}

// ACKs have piled up behind a packet on a link that is slow for a while. When it is fast again data
// can follow earlier than the host thought, and nothing else tells it.
TEST(ScheduledRateTest, ThatRisesLetsAHostSendEarlierThanItThought) {
  Graph graph = Line({{40_Gbps, 1_us}, {40_Gbps, 1_us}});
  graph.links[0].a_to_b.rate = 1_Gbps;  // The link of host 0 to its switch.
  Lab lab({.graph = graph,
           .transport = "{kind: tcp, iw: 64}",
           .switch_policy = Scripted({DropAt(0, Data(1, 59)).Times(1)}),
           .events = {SetRate(30_us, 0, 1_Mbps), SetRate(200_us, 0, 1_Gbps)}});
  lab.AddFlow(0, 1, 100 * 1'460);
  lab.AddFlow(1, 0, 60 * 1'460);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_LT(FctRx(lab.Record(0)), 20_ms);
}

TEST(LinkDownTest, LosesWhatIsQueuedAndOnTheWayAndWhatFollows) {
  // By 10 us, 29 packets have reached the switch (one every 307.6 ns after 1 us), five have crossed
  // the second link (the k-th at 3.3076 us + k * 1230.4 ns), and three of their ACKs have come back
  // over it (2067.2 ns later).
  Lab lab({.graph = Line({{40_Gbps, 1_us}, {10_Gbps, 2_us}}),
           .transport = "{kind: tcp, iw: 64}",
           .events = {Down(10_us, 1), Up(5_ms, 1)}});
  const FlowId flow = lab.AddFlow(0, 1, 40 * 1'460);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  const FlowRecord& record = lab.Record(flow);
  EXPECT_EQ(lab.Drops(DropReason::kLinkDown), (29 - 5) + (5 - 3));
  EXPECT_EQ(lab.Drops(DropReason::kNoRoute), 40 - 29);
  // After the timeout, the first of the two whose ACKs were lost comes twice.
  EXPECT_EQ(record.sender.retransmissions_loss, 35);
  EXPECT_EQ(record.sender.retransmissions_spurious, 1);
  EXPECT_EQ(record.receiver.duplicates, 1);
  EXPECT_EQ(record.sender.timeouts, 1);
  EXPECT_GT(FctRx(record), 10_ms);
  EXPECT_LT(FctRx(record), 11_ms);
}

TEST(LinkDownTest, OfAHostStopsItAndIsRepaired) {
  Lab lab({.graph = Star(3, {10_Gbps, 1_us}), .events = {Down(20_us, 0), Up(3_ms, 0)}});
  lab.AddFlow(0, 1, 1'000'000);
  lab.AddFlow(2, 1, 1'000'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_EQ(lab.Record(1).sender.timeouts, 0);
  EXPECT_GT(lab.Record(0).sender.timeouts, 0);
  EXPECT_GT(lab.Drops(DropReason::kLinkDown), 0);
  EXPECT_EQ(lab.Record(0).sender.retransmissions_spurious, lab.Record(0).receiver.duplicates);
}

TEST(LinkDownTest, NoPacketCrossesTheLinkWhileItIsDown) {
  for (const char* balancer :
       {"{kind: ecmp}", "{kind: rps}", "{kind: letflow, gap: 1us}", "{kind: presto}"}) {
    SCOPED_TRACE(balancer);
    const Graph graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 4}");
    const uint32_t link = 8 + 1;  // leaf0-spine1.
    Lab lab(
        {.graph = graph, .balancer = balancer, .events = {Down(100_us, link), Up(300_us, link)}});
    for (HostId h = 0; h < 4; ++h) lab.AddFlow(h, static_cast<HostId>(4 + h), 3'000'000);
    FifoPort& port = lab.PortTo(lab.SwitchVertex(0), lab.SwitchVertex(3));
    std::vector<int64_t> sent;
    lab.SampleEvery(100_us, [&](Time now) { sent.push_back(port.SentBy(now).packets); });
    lab.Run();
    EXPECT_TRUE(lab.finished());
    ASSERT_GT(sent.size(), 5u);
    if (std::string(balancer) != "{kind: ecmp}") {
      EXPECT_GT(sent[1], 0);
      EXPECT_GT(sent[5], sent[3]);  // It is used again.
    }
    EXPECT_LE(sent[2] - sent[1], 1);  // A packet may leave at the very end.
    EXPECT_EQ(sent[3], sent[2]);
  }
}

TEST(LinkDownTest, UntilRoutesConvergePacketsAreLost) {
  const auto run = [](const std::string& convergence) {
    return RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\nlb: rps\n"
        "workload: [{kind: permutation, size: 2MB, cross_rack: true}]\n"
        "schedule: [{at: 200us, switches: [spine1], state: down}]\n"
        "routing: {convergence: " +
        convergence + "}\n"));
  };
  const auto lost = [](const FinishedRun& finished) {
    return finished.result.packets.dropped[static_cast<size_t>(DropReason::kLinkDown)];
  };
  const FinishedRun at_once = run("0ps");
  const FinishedRun late = run("1ms");
  EXPECT_GT(lost(at_once), 0);
  EXPECT_GT(lost(late), lost(at_once));
  EXPECT_EQ(at_once.result.unfinished, 0);
  EXPECT_EQ(late.result.unfinished, 0);
}

// The direct link takes 20 us. When it fails, packets take two links of 1 us instead.
TEST(LinkDownTest, ADetourMayBeFasterThanTheShortestPath) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: custom, hosts: 2, switches: [{name: s0}, {name: s1}, {name: s2}],\n"
      "  link: {rate: 10Gbps, delay: 1us}, links: [{a: host0, b: s0}, {a: host1, b: s1},\n"
      "  {a: s0, b: s1, delay: 20us}, {a: s0, b: s2}, {a: s2, b: s1}]}\n"
      "lb: ecmp\nworkload: [{kind: permutation, size: 1460B, start: 50us}]\n"
      "schedule: [{at: 10us, links: [s0-s1], state: down}]\nmeasure: {warm_up: 0ps}\n"));
  const CsvTable flows(run.files.flows);
  ASSERT_EQ(flows.rows.size(), 2u);
  for (size_t f = 0; f < 2; ++f) {
    EXPECT_EQ(flows.Real(f, "fct_rx_ns"), 4 * (1'000 + 1'230.4));
    EXPECT_EQ(flows.Real(f, "ideal_rx_ns"), 22'000 + 3 * 1'230.4);
  }
}

TEST(ScheduleTest, GivesTheSameBytesForAnyNumberOfThreads) {
  for (const char* lb : {"ecmp", "rps", "letflow", "presto"}) {
    SCOPED_TRACE(lb);
    const Experiment experiment = ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 4}\n"
        "lb: " +
        std::string(lb) +
        "\n"
        "workload: [{kind: poisson, sizes: websearch, load: 0.6, duration: 2ms}]\n"
        "schedule:\n"
        "  - {at: 300us, links: [leaf0-spine1], state: down}\n"
        "  - {at: 400us, random_links: 2, rate: 1Gbps}\n"
        "  - {at: 700us, switches: [spine0], state: down}\n"
        "  - {at: 900us, links: [leaf0-spine1], state: up}\n"
        "  - {at: 1ms, links: [leaf1-spine1], delay: 20us}\n"
        "  - {at: 1ms, links: [host3-leaf0], rate: 3Gbps}\n"
        "  - {at: 1500us, switches: [spine0], state: up}\n"
        "routing: {convergence: 50us}\nmeasure: {unfinished: drop, t_max: 50ms}\n");
    const FinishedRun one = RunExperiment(experiment, 1);
    EXPECT_GT(one.result.packets.dropped[static_cast<size_t>(DropReason::kLinkDown)], 0);
    for (const int threads : ThreadCounts({2, 3})) {
      EXPECT_EQ(RunExperiment(experiment, threads).files, one.files) << threads;
    }
  }
}

// Random changes at random times: the lab checks that no packet is lost track of, and that no flow
// is faster than the network was at the start.
TEST(ScheduleTest, LosesTrackOfNoPacketWhateverHappens) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "test", 0);
    const Graph graph = LeafSpineFrom("{leaves: 3, spines: 3, hosts_per_leaf: 2}");
    std::vector<LinkEvent> events;
    std::vector<SwitchEvent> faults;
    const auto any_switch = [&] { return static_cast<SwitchId>(rng.Below(6)); };
    Duration at{0};
    for (int i = 0; i < 30; ++i) {
      at += Duration{static_cast<int64_t>(rng.Below(30'000'000))};
      const uint32_t link = rng.Below(static_cast<uint32_t>(graph.links.size()));
      const BitRate rate = graph.links[link].a_to_b.rate;
      switch (rng.Below(7)) {
        case 0:
          events.push_back(Down(at, link));
          break;
        case 1:
          events.push_back(Up(at, link));
          break;
        case 2:
          events.push_back(SetRate(at, link, BitRate{rate.bps / (1 + rng.Below(7))}));
          break;
        case 3:
          events.push_back(SetLoss(at, link, rng.Below(10) / 20.0));
          break;
        case 4:
          faults.push_back({At(at), any_switch(), rng.Below(10) / 20.0});
          break;
        case 5:
          faults.push_back({At(at),
                            any_switch(),
                            {},
                            Blackhole{.hash_to = Blackhole::kAll / 3, .until = At(1_ms)}});
          break;
        default:
          events.push_back(SetDelay(
              at, link, graph.links[link].a_to_b.delay + Duration{rng.Below(9) * 3'000'001}));
      }
    }
    for (uint32_t link = 0; link < graph.links.size(); ++link) {
      events.push_back(Up(1_ms, link));
      events.push_back(SetLoss(1_ms, link, 0));
    }
    for (SwitchId s = 0; s < 6; ++s) faults.push_back({At(1_ms), s, 0.0});
    const char* balancers[] = {"{kind: ecmp}", "{kind: rps}", "{kind: letflow}", "{kind: presto}"};
    Lab lab({.graph = graph,
             .balancer = balancers[seed % 4],
             .port = "{buffer: 20pkts, ecn_above: 10pkts}",
             .events = std::move(events),
             .faults = std::move(faults)});
    for (HostId h = 0; h < 6; ++h) lab.AddFlow(h, static_cast<HostId>((h + 2) % 6), 800'000);
    lab.Run();
    EXPECT_TRUE(lab.finished());
    for (const FlowRecord& flow : lab.records()) {
      EXPECT_EQ(flow.sender.retransmissions,
                flow.sender.retransmissions_loss + flow.sender.retransmissions_spurious);
    }
  }
}

// Half of the spines, with all their links; which half, the seed says.
TEST(ScheduleTest, DrawsSwitchesOfTheHighestTier) {
  const auto spines_down = [](int seed) {
    const Experiment experiment = ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 3, spines: 8, hosts_per_leaf: 2}\nlb: ecmp\n"
        "workload: [{kind: permutation, size: 1KB}]\nschedule: [{at: 1us, random_switches: 4, "
        "state: "
        "down}]\nseed: " +
        std::to_string(seed) + "\n");
    std::map<VertexId, int> links_of_switch;
    for (const LinkEvent& event : experiment.events) {
      const Graph::Link& link = experiment.graph.links[event.link];
      ++links_of_switch[link.b];
    }
    return links_of_switch;
  };
  std::set<std::map<VertexId, int>> halves;
  for (int seed = 1; seed <= 10; ++seed) {
    const std::map<VertexId, int> half = spines_down(seed);
    EXPECT_EQ(half, spines_down(seed));
    EXPECT_EQ(half.size(), 4u);
    for (const auto& [vertex, links] : half) {
      EXPECT_GE(vertex.index(), 6u + 3u) << "not a spine";
      EXPECT_EQ(links, 3);
    }
    halves.insert(half);
  }
  EXPECT_GT(halves.size(), 5u);
}

TEST(ScheduleTest, SaysWhatIsWrong) {
  const auto errors = [](const std::string& schedule) {
    return ErrorsOf(
        "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\nlb: ecmp\n"
        "workload: [{kind: permutation, size: 1KB}]\nschedule: [" +
        schedule + "]\n");
  };
  EXPECT_THAT(errors("{at: 1us, state: down}"), HasSubstr("names no link"));
  EXPECT_THAT(errors("{at: 1us, links: [leaf0-spine0]}"), HasSubstr("nothing changes"));
  EXPECT_THAT(errors("{at: 1us, links: [leaf0-spine7], state: up}"),
              HasSubstr("no link is called \"leaf0-spine7\""));
  EXPECT_THAT(errors("{at: 1us, switches: [spin0], state: up}"), HasSubstr("no switch with links"));
  EXPECT_THAT(errors("{at: 1us, random_links: 5, state: up}"), HasSubstr("there are only 4"));
  EXPECT_THAT(errors("{at: 1us, random_switches: 3, state: up}"), HasSubstr("there are only 2"));
  EXPECT_THAT(errors("{at: 1us, links: [leaf0-spine0], rate: 1Tbps}"),
              HasSubstr("rate: leaf0-spine0 has 10Gbps in the topology, and a change must not make "
                        "a link better"));
  EXPECT_THAT(errors("{at: 1us, links: [leaf0-spine0], delay: 1ns}"),
              HasSubstr("delay: leaf0-spine0 has 1us in the topology, and a change must not"));
  EXPECT_THAT(errors("{links: [leaf0-spine0], state: down}"), HasSubstr("at: is missing"));
}

Experiment Scheduled(const std::string& schedule, const std::string& routing = "{}") {
  return ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\nlb: ecmp\n"
      "workload: [{kind: permutation, size: 1KB}]\nschedule: [" +
      schedule + "]\nrouting: " + routing + "\n");
}

TEST(ScheduleTest, WarnsOfARepairOfWhatHasNotFailed) {
  const auto warnings = [](const std::string& schedule) {
    return testing::PrintToString(Scheduled(schedule).warnings);
  };
  const std::string up = "{at: 5us, links: [leaf0-spine0, leaf1-spine0], state: up}";
  EXPECT_THAT(warnings(up), HasSubstr("schedule[0].state: up changes nothing: none of these links "
                                      "has been down before"));
  EXPECT_THAT(warnings("{at: 1us, links: [leaf0-spine1], state: down}, " + up),
              HasSubstr("schedule[1].state: up changes nothing"));
  EXPECT_THAT(warnings(up + ", {at: 6us, links: [leaf0-spine0], state: down}"),
              HasSubstr("schedule[0].state: up changes nothing"));
  // One of the two links is enough, whatever has taken it down.
  EXPECT_EQ(warnings("{at: 1us, links: [leaf0-spine0], state: down}, " + up), "{}");
  EXPECT_EQ(warnings("{at: 5us, switches: [spine0], state: down}, " + up), "{}");
  EXPECT_EQ(
      warnings("{at: 1us, links: [leaf1-spine0], flap: {down: 1us, up: 1us, until: 9us}}, " + up),
      "{}");
}

TEST(ScheduleTest, SaysWhenRoutingKnowsOfFailures) {
  const std::string down = "{at: 1us, links: [leaf0-spine0], state: down}";
  EXPECT_EQ(NoticeOfFailures(Scheduled(down)),
            "routing knows of them at once (routing.convergence is 0ps)");
  EXPECT_EQ(NoticeOfFailures(Scheduled(down, "{convergence: 100us}")),
            "routing knows of them after 100us");
  EXPECT_EQ(NoticeOfFailures(Scheduled(down, "{convergence: 100us, detect: 10us}")),
            "routing knows of them after 100us, the ends of a link after 10us");
  EXPECT_EQ(
      NoticeOfFailures(Scheduled("{at: 1us, links: [leaf0-spine0], state: down, silent: true}")),
      "nobody knows of them (silent)");
  EXPECT_EQ(NoticeOfFailures(Scheduled("{at: 1us, links: [leaf0-spine0], rate: 1Gbps}")), "");
}

}  // namespace heddle::schedule_test
