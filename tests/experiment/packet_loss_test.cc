// SPDX-License-Identifier: Apache-2.0
// Links and switches lose packets by schedule. The tests check how many, which and when, and how
// transports and statistics handle the losses.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "fabric/switch_faults.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/thread_counts.h"
#include "topo/schedule.h"

namespace heddle::packet_loss_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Time At(Duration since_start) { return Time{} + since_start; }

SwitchEvent DropAt(SwitchId id, double probability) { return {Time{}, id, probability}; }

std::vector<bool> Only(HostId host, size_t hosts) {
  std::vector<bool> chosen(hosts, false);
  chosen[host] = true;
  return chosen;
}

int64_t Lost(const FinishedRun& run, DropReason reason) {
  return run.result.packets.dropped[static_cast<size_t>(reason)];
}

// Hosts 0 and 1 under leaf0, 2 and 3 under leaf1. Datagrams from 0 to 2 and from 1 to 3 for 20 ms,
// one each 2460.8 ns; flows begin when they have ended.
std::string WithDatagrams(const std::string& schedule) {
  return "topology: {kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 2}\nlb: ecmp\n"
         "workload: [{kind: permutation, size: 1B, start: 21ms}]\n"
         "background: [{from: [0, 1], to: [2, 3], rate: 5Gbps, jitter: 0, stop: 20ms}]\n"
         "schedule: [" +
         schedule + ", {at: 20500us, switches: [leaf0, leaf1], loss: 0}]\n";
}

// Within four standard deviations of a binomial distribution.
void ExpectShare(int64_t lost, double all, double probability) {
  EXPECT_NEAR(static_cast<double>(lost), all * probability,
              4 * std::sqrt(all * probability * (1 - probability)));
}

TEST(LinkLossTest, TakesItsShareOfWhatCrossesTheLinkAndOfNothingElse) {
  // The far end is a switch, a switch, and a host.
  for (const char* link : {"host0-leaf0", "leaf0-spine0", "host2-leaf1"}) {
    SCOPED_TRACE(link);
    const FinishedRun run =
        RunExperiment(ExperimentFrom(WithDatagrams(fmt::format("{{at: 0ps, links: [{}], loss: "
                                                               "0.1}}",
                                                               link))));
    const CsvTable udp(run.files.udp);
    const int64_t lost = udp.Integer(0, "pkts_sent") - udp.Integer(0, "pkts_received");
    const int64_t others = udp.Integer(1, "pkts_sent") - udp.Integer(1, "pkts_received");
    EXPECT_EQ(udp.Integer(0, "pkts_sent"), 8'128);  // 20 ms / 2460.8 ns, rounded up.
    ExpectShare(lost, 8'128, 0.1);
    if (std::string(link) == "leaf0-spine0") {
      ExpectShare(others, 8'128, 0.1);
    } else {
      EXPECT_EQ(others, 0);
    }
    EXPECT_EQ(Lost(run, DropReason::kCorrupt), lost + others);
    EXPECT_EQ(run.result.packets.dropped_total(), lost + others);
    EXPECT_EQ(run.result.unfinished, 0);
  }
}

TEST(LinkLossTest, BeginsAndEndsOnTime) {
  // At 5 ms the 2031st datagram is on the first link: 2032 arrive until 10 ms.
  const FinishedRun all = RunExperiment(ExperimentFrom(WithDatagrams(
      "{at: 5ms, links: [host0-leaf0], loss: 1}, {at: 10ms, links: [host0-leaf0], loss: 0}")));
  EXPECT_NEAR(static_cast<double>(Lost(all, DropReason::kCorrupt)), 5e6 / 2460.8, 1);
  const FinishedRun some = RunExperiment(ExperimentFrom(WithDatagrams(
      "{at: 5ms, links: [host0-leaf0], loss: 0.2}, {at: 10ms, links: [host0-leaf0], loss: 0}")));
  ExpectShare(Lost(some, DropReason::kCorrupt), 5e6 / 2460.8, 0.2);
}

TEST(LinkLossTest, DrawsForEachLinkAlone) {
  const std::string one = "{at: 0ps, links: [host0-leaf0], loss: 0.1}";
  const FinishedRun alone = RunExperiment(ExperimentFrom(WithDatagrams(one)));
  const FinishedRun both = RunExperiment(
      ExperimentFrom(WithDatagrams(one + ", {at: 0ps, links: [host1-leaf0], loss: 0.3}")));
  const CsvTable before(alone.files.udp);
  const CsvTable after(both.files.udp);
  EXPECT_EQ(before.rows[0], after.rows[0]);
  EXPECT_NE(before.rows[1], after.rows[1]);
  EXPECT_EQ(RunExperiment(ExperimentFrom(WithDatagrams(one))).files, alone.files);
}

TEST(LinkLossTest, SparesThePausesOfLinks) {
  // Without a pause a queue pair would send on at line rate, beyond what headroom holds, which
  // stops the run.
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology:\n  kind: leaf_spine\n  leaves: 2\n  spines: 1\n  hosts_per_leaf: 4\n"
      "  port: {memory: {model: dt, size: 3MB}, pfc: {classes: [3], xoff: 30KB}}\n"
      "transport: {kind: rocev2, cc: none, recovery: irn, window: none, rto: 500us}\nlb: ecmp\n"
      "workload: [{kind: incast, fan_in: 6, bytes_each: 500KB, queries: 2, period: 2ms}]\n"
      "schedule: [{at: 0ps, switches: [leaf0, leaf1], loss: 0.05}]\n"));
  EXPECT_GT(Lost(run, DropReason::kCorrupt), 0);
  EXPECT_EQ(Lost(run, DropReason::kCorrupt), run.result.packets.dropped_total());
  EXPECT_EQ(run.result.unfinished, 0);
}

// --- What a switch drops by chance ---

Graph TwoSpines() { return LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 4}"); }
constexpr SwitchId kSpine0 = 2;

FlowSpec FromHost0To4(uint16_t sport, int64_t size) {
  FlowSpec spec;
  spec.dst = 4;
  spec.sport = sport;
  spec.size = size;
  return spec;
}

// A source port with which ECMP sends the data of a flow from 0 to 4 over spine 0 and the ACKs over
// spine 1: what spine 0 drops is data alone.
uint16_t PortOverSpine0(const std::string& transport) {
  for (uint16_t sport = 1'000; sport < 1'100; ++sport) {
    Lab lab({.graph = TwoSpines(), .transport = transport});
    lab.AddFlow(FromHost0To4(sport, 10));
    lab.Run();
    const VertexId spine = lab.SwitchVertex(kSpine0);
    if (lab.PortTo(spine, lab.SwitchVertex(1)).Committed().packets > 0 &&
        lab.PortTo(spine, lab.SwitchVertex(0)).Committed().packets == 0) {
      return sport;
    }
  }
  ADD_FAILURE() << "no port";
  return 0;
}

// Hermes's case: one spine drops 2 % of all packets. Every loss is repaired by one retransmission,
// and known to have been one.
TEST(RandomDropTest, IsRepairedAndCountedAsLoss) {
  for (const char* transport : {"{kind: tcp, recovery: sack}", "{kind: tcp, recovery: newreno}",
                                "{kind: rocev2, recovery: irn}", "{kind: rocev2, recovery: gbn}"}) {
    SCOPED_TRACE(transport);
    Lab lab({.graph = TwoSpines(), .transport = transport, .faults = {DropAt(kSpine0, 0.02)}});
    lab.AddFlow(FromHost0To4(PortOverSpine0(transport), 4'000'000));
    lab.Run();
    ASSERT_TRUE(lab.finished());
    const FlowRecord& flow = lab.Record(0);
    const int64_t drops = lab.Drops(DropReason::kRandom);
    ExpectShare(drops, static_cast<double>(flow.sender.packets_sent), 0.02);
    EXPECT_EQ(lab.Packets().dropped_total(), drops);
    EXPECT_EQ(flow.sender.retransmissions_loss, drops);
    EXPECT_EQ(flow.receiver.packets + drops, flow.sender.packets_sent);
  }
}

TEST(RandomDropTest, LeavesWhatGoesAnotherWayAlone) {
  Lab lab({.graph = TwoSpines(), .faults = {DropAt(kSpine0, 1)}});
  for (HostId h = 0; h < 4; ++h) {
    for (int i = 0; i < 4; ++i) lab.AddFlow(h, static_cast<HostId>(4 + h), 30'000);
  }
  lab.Run(At(100_ms));
  int finished = 0;
  for (const FlowRecord& flow : lab.records()) {
    if (flow.receiver.done == kNever || flow.sender.done == kNever) continue;
    ++finished;
    EXPECT_EQ(flow.sender.retransmissions, 0);
  }
  EXPECT_GT(finished, 0);
  EXPECT_LT(finished, 16);
}

TEST(RandomDropTest, BeginsAndEndsOnTime) {
  const FinishedRun run = RunExperiment(ExperimentFrom(WithDatagrams(
      "{at: 5ms, switches: [spine0], drop: 1}, {at: 10ms, switches: [spine0], drop: 0}")));
  EXPECT_NEAR(static_cast<double>(Lost(run, DropReason::kRandom)), 2 * 5e6 / 2460.8, 2);
  EXPECT_EQ(Lost(run, DropReason::kRandom), run.result.packets.dropped_total());
}

// --- Blackholes ---

Lab::Plan PairLost(const std::string& balancer) {
  return {
      .graph = TwoSpines(),
      .transport = "{kind: tcp, min_rto: 1ms}",
      .balancer = balancer,
      .faults = {{Time{}, kSpine0, std::nullopt, Blackhole{.from = Only(0, 8), .to = Only(4, 8)}}}};
}

// Eight flows from 0 to 4, then two each between pairs with one of these hosts.
void AddPairs(Lab& lab) {
  for (int i = 0; i < 8; ++i) lab.AddFlow(0, 4, 30'000);
  for (int i = 0; i < 2; ++i) {
    lab.AddFlow(0, 5, 30'000);
    lab.AddFlow(1, 4, 30'000);
    lab.AddFlow(4, 0, 30'000);
  }
}

bool IsPair(const FlowRecord& flow) { return flow.spec.src == 0 && flow.spec.dst == 4; }

// Data of the pair goes one way or the other, and so do the ACKs of flows from 4 to 0: without
// them a flow sends all it may over and over again, and all of it arrives.
TEST(BlackholeTest, OfAPairTakesTheFlowsThatEcmpSendsThere) {
  Lab lab(PairLost("{kind: ecmp}"));
  AddPairs(lab);
  lab.Run(At(100_ms));
  int lost = 0;
  for (const FlowRecord& flow : lab.records()) {
    SCOPED_TRACE(Describe(flow));
    const bool arrived = flow.receiver.done != kNever;
    if (IsPair(flow)) {
      lost += arrived ? 0 : 1;
      EXPECT_EQ(flow.receiver.packets > 0, arrived);  // All or nothing.
      EXPECT_EQ(flow.sender.retransmissions > 0, !arrived);
    } else if (flow.spec.src == 4) {
      EXPECT_EQ(flow.receiver.packets, flow.sender.packets_sent);
      EXPECT_EQ(flow.sender.retransmissions > 0, !arrived);
    } else {
      EXPECT_TRUE(arrived);
      EXPECT_EQ(flow.sender.retransmissions, 0);
    }
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, 8);
  EXPECT_GT(lab.Drops(DropReason::kBlackhole), 0);
}

// Packet spraying sends packets of every flow of the pair into the blackhole, so each loses some.
TEST(BlackholeTest, OfAPairTakesHalfOfWhatIsSprayedOverTwoSpines) {
  Lab lab(PairLost("{kind: rps}"));
  AddPairs(lab);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  int64_t sent = 0;
  int64_t received = 0;
  for (const FlowRecord& flow : lab.records()) {
    if (!IsPair(flow)) continue;
    EXPECT_GT(flow.sender.retransmissions_loss, 0);
    sent += flow.sender.packets_sent;
    received += flow.receiver.packets;
  }
  ExpectShare(sent - received, static_cast<double>(sent), 0.5);
}

TEST(BlackholeTest, EndsAndFlowsRecover) {
  Lab lab({.graph = Line(2, {10_Gbps, 1_us}),
           .transport = "{kind: tcp, min_rto: 1ms}",
           .faults = {{Time{}, 0, std::nullopt,
                       Blackhole{.from = Only(0, 2), .to = Only(1, 2), .until = At(5_ms)}}}});
  lab.AddFlow(0, 1, 100 * 1'460);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  const FlowRecord& flow = lab.Record(0);
  EXPECT_GT(FctRx(flow), 5_ms);
  EXPECT_EQ(flow.sender.retransmissions_loss, lab.Drops(DropReason::kBlackhole));
  EXPECT_EQ(flow.sender.retransmissions_spurious, 0);
  EXPECT_GT(flow.sender.timeouts, 0);
  // The time that a packet needs after the last timeout; timeouts double.
  EXPECT_LT(FctRx(flow), 5_ms + 10_ms * (1 << flow.sender.timeouts));
}

TEST(BlackholeTest, OfHashesTakesTheFlowsThatHaveThem) {
  Lab lab({.graph = Star(8, {10_Gbps, 1_us}),
           .faults = {{Time{}, 0, std::nullopt, Blackhole{.hash_to = Blackhole::kAll / 4}}}});
  for (int i = 0; i < 64; ++i) {
    lab.AddFlow(static_cast<HostId>(i % 8), static_cast<HostId>((i + 3) % 8), 5'000);
  }
  lab.Run(At(100_ms));
  int lost = 0;
  for (const FlowRecord& flow : lab.records()) {
    const FlowSpec& spec = flow.spec;
    const bool data = TupleHash(spec.src, spec.dst, spec.sport, spec.dport) < 1u << 30;
    EXPECT_EQ(flow.receiver.done == kNever, data);
    lost += data ? 1 : 0;
  }
  EXPECT_GT(lost, 0);
}

TEST(BlackholeTest, OfALinkTakesWhatComesInOverIt) {
  const auto run = [](const char* link) {
    return RunExperiment(ExperimentFrom(
        "topology: {kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 2}\nlb: ecmp\n"
        "workload: [{kind: permutation, size: 1B, start: 3ms}]\n"
        "background: [{from: [0, 3], to: [2, 1], rate: 5Gbps, jitter: 0, stop: 2ms}]\n"
        "schedule: [{at: 0ps, switches: [spine0], blackhole: {until: 2500us, links: [" +
        std::string(link) + "]}}]\n"));
  };
  const FinishedRun left = run("leaf0-spine0");
  EXPECT_EQ(CsvTable(left.files.udp).Integer(0, "pkts_received"), 0);
  EXPECT_EQ(CsvTable(left.files.udp).Integer(1, "pkts_received"), 813);
  EXPECT_EQ(Lost(left, DropReason::kBlackhole), 813);
  const FinishedRun right = run("leaf1-spine0");
  EXPECT_EQ(CsvTable(right.files.udp).Integer(0, "pkts_received"), 813);
  EXPECT_EQ(CsvTable(right.files.udp).Integer(1, "pkts_received"), 0);
  EXPECT_EQ(left.result.unfinished + right.result.unfinished, 0);
}

TEST(BlackholeTest, OfAShareOfPairsKeepsToIt) {
  const Blackhole half{.pairs = Blackhole::kAll / 2, .salt = 7};
  int taken = 0;
  for (HostId src = 0; src < 100; ++src) {
    for (HostId dst = 0; dst < 100; ++dst) {
      Packet packet;
      packet.src = src;
      packet.dst = dst;
      packet.tuple_hash = src;
      const bool takes = half.Takes(packet, 0, Time{});
      taken += takes ? 1 : 0;
      packet.tuple_hash = 99;
      EXPECT_EQ(half.Takes(packet, 1, At(1_s)), takes);
    }
  }
  ExpectShare(taken, 10'000, 0.5);
}

// --- Whole runs ---

const std::string kPlain = "{buffer: 60KB, ecn_above: 20KB}";
const std::string kPausing = "{memory: {model: dt, size: 9MB}, pfc: {classes: [3]}}";

std::string Whole(const std::string& port, const std::string& transport, const std::string& lb) {
  return "topology: {kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 4, port: " + port +
         "}\ntransport: " + transport + "\nlb: " + lb +
         "\nworkload: [{kind: poisson, sizes: small, load: 0.5, flows: 200}]\n"
         "background: [{from: [0], to: [9], rate: 1Gbps, via: spine1}]\n"
         "measure: {unfinished: drop, t_max: 60ms}\n";
}

TEST(PacketLossTest, CostsNothingWhereNothingIsLost) {
  for (const std::string& lb : LoadBalancers().Names()) {
    for (const bool pauses : {false, true}) {
      SCOPED_TRACE(lb + (pauses ? " pauses" : ""));
      const std::string roce =
          lb == "themis" ? "{kind: rocev2, cc: dcqcn, recovery: sr}" : "{kind: rocev2, cc: dcqcn}";
      const std::string yaml = pauses ? Whole(kPausing, roce, lb) : Whole(kPlain, "dctcp", lb);
      const Experiment faulty = ExperimentFrom(
          yaml +
          "schedule:\n"
          "  - {at: 0ps, switches: [leaf0, leaf1, leaf2, spine0, spine1, spine2], drop: 0}\n"
          "  - {at: 0ps, switches: [leaf0, leaf1, leaf2], loss: 0}\n"
          "  - {at: 1us, switches: [leaf0, spine2], blackhole: {from: [2], to: [2]}}\n");
      const FinishedRun sound = RunExperiment(ExperimentFrom(yaml));
      const FinishedRun run = RunExperiment(faulty);
      EXPECT_EQ(run.files, sound.files);
      EXPECT_EQ(run.result.packets.hops, sound.result.packets.hops);
      EXPECT_EQ(run.result.policies, sound.result.policies);
    }
  }
}

TEST(PacketLossTest, GivesTheSameBytesForAnyNumberOfThreads) {
  for (const char* transport :
       {"{kind: dctcp, min_rto: 500us}", "{kind: rocev2, recovery: irn, cc: dcqcn}",
        "{kind: rocev2, rto: 500us}"}) {
    for (const char* lb : {"ecmp", "rps", "letflow", "presto"}) {
      SCOPED_TRACE(std::string(transport) + " " + lb);
      const Experiment experiment =
          ExperimentFrom(Whole(kPlain, transport, lb) +
                         "schedule:\n"
                         "  - {at: 0ps, random_links: 3, loss: 0.02}\n"
                         "  - {at: 10us, links: [host3-leaf0, host9-leaf2], loss: 0.05}\n"
                         "  - {at: 20us, switches: [spine1], drop: 0.02}\n"
                         "  - {at: 50us, links: [leaf0-spine2], state: down}\n"
                         "  - {at: 90us, links: [leaf0-spine2], state: up, loss: 0.01}\n"
                         "  - {at: 30us, switches: [spine0, leaf1], blackhole: {from: [0, 1, 2], "
                         "share_of_pairs: 0.3, until: 2ms}}\n"
                         "  - {at: 3ms, switches: [spine1], drop: 0}\n");
      const FinishedRun one = RunExperiment(experiment, 1);
      EXPECT_GT(Lost(one, DropReason::kCorrupt), 0);
      EXPECT_GT(Lost(one, DropReason::kRandom), 0);
      EXPECT_GT(Lost(one, DropReason::kBlackhole), 0);
      EXPECT_EQ(one.result.unfinished, 0);
      for (const int threads : ThreadCounts({2, 3})) {
        EXPECT_EQ(RunExperiment(experiment, threads).files, one.files) << threads;
      }
      EXPECT_EQ(RunExperiment(experiment, 1, NetworkPlan::Ports::kQueued).files, one.files);
    }
  }
}

TEST(PacketLossTest, SaysWhatIsWrong) {
  const auto errors = [](const std::string& entry) {
    return ErrorsOf(
        "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\nlb: ecmp\n"
        "workload: [{kind: permutation, size: 1KB}]\nschedule: [{at: 1us, " +
        entry + "}]\n");
  };
  EXPECT_THAT(errors("links: [leaf0-spine0], loss: 1.5"), HasSubstr("is out of range"));
  EXPECT_THAT(errors("links: [leaf0-spine0], drop: 0.1"), HasSubstr("name these in switches"));
  EXPECT_THAT(errors("switches: [spine0], random_links: 1, drop: 0.1"),
              HasSubstr("schedule[0].random_links: drop and blackhole concern switches"));
  EXPECT_THAT(errors("switches: [spine0], drop: 0.1, loss: 0.1"), HasSubstr("make two entries"));
  EXPECT_THAT(errors("switches: [spine0], blackhole: {from: [0]}, state: down"),
              HasSubstr("schedule[0].blackhole: concerns switches"));
  EXPECT_THAT(errors("switches: [spin0], drop: 0.1"), HasSubstr("no switch with links"));
  EXPECT_THAT(errors("switches: [spine0], blackhole: {}"), HasSubstr("nothing changes"));
  EXPECT_THAT(errors("switches: [spine0], blackhole: {until: 5us}"),
              AllOf(HasSubstr("no packet falls into it"), Not(HasSubstr("nothing changes"))));
  EXPECT_THAT(errors("switches: [spine0], blackhole: {from: [0], until: 1us}"),
              HasSubstr("ends when it begins"));
  EXPECT_THAT(errors("switches: [spine0], blackhole: {from: [0, 4]}"),
              HasSubstr("blackhole.from[1]: there is no host 4; hosts are 0 to 3"));
  EXPECT_THAT(errors("switches: [spine0], blackhole: {hash_from: 0.5, hash_to: 0.5}"),
              HasSubstr("hash_to: is not above hash_from"));
  EXPECT_THAT(errors("switches: [spine0], blackhole: {links: [leaf0-spine9]}"),
              HasSubstr("blackhole.links[0]: no link is called \"leaf0-spine9\""));
  EXPECT_THAT(errors("switches: [spine0, spine1], blackhole: {links: [leaf0-spine0]}"),
              HasSubstr("none of these links leads to spine1"));
}

}  // namespace heddle::packet_loss_test
