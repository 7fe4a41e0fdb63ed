// SPDX-License-Identifier: Apache-2.0
// Hosts with several links: routes to each of them, flows spread over NICs, and what failures
// leave.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "lb/parts/load_balancer.h"
#include "network/ideal_fct.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
#include "topo/routing.h"

namespace heddle::multihomed_test {

using testing::ElementsAre;

// Leaves a and b with hosts 0 to 3, each on both of them; leaf c with host 4; two spines.
const std::string kPairOfLeaves =
    "{kind: custom, hosts: 5, link: {rate: 10Gbps, delay: 1us}, switches: [{name: a}, {name: b}, "
    "{name: c}, {name: p}, {name: q}], links: [{a: host0, b: a}, {a: host0, b: b}, {a: host1, b: "
    "a}, "
    "{a: host1, b: b}, {a: host2, b: a}, {a: host2, b: b}, {a: host3, b: a}, {a: host3, b: b}, "
    "{a: host4, b: c}, {a: a, b: p}, {a: a, b: q}, {a: b, b: p}, {a: b, b: q}, {a: c, b: p}, "
    "{a: c, b: q}]}";

// Two planes that share nothing but the hosts, as networks of GPU servers have.
const std::string kTwoPlanes =
    "{kind: custom, hosts: 4, link: {rate: 10Gbps, delay: 1us}, switches: [{name: a}, {name: b}], "
    "links: [{a: host0, b: a}, {a: host0, b: b}, {a: host1, b: a}, {a: host1, b: b}, {a: host2, b: "
    "a}, {a: host2, b: b}, {a: host3, b: a}, {a: host3, b: b}]}";

enum : SwitchId { kA, kB, kC, kP, kQ };

size_t Ways(const Routing& routing, SwitchId s, HostId to) {
  return routing.TableOf(s).Towards(to).size();
}

TEST(MultihomedRoutingTest, FindsAllShortestPathsOverAllLinks) {
  const Graph graph = GraphFrom(kPairOfLeaves);
  const Routing routing(graph);
  EXPECT_EQ(Ways(routing, kP, 0), 2u);  // Through a or b.
  EXPECT_EQ(Ways(routing, kC, 0), 2u);  // Through p or q.
  EXPECT_EQ(Ways(routing, kA, 0), 1u);  // Straight down.
  EXPECT_EQ(Ways(routing, kA, 4), 2u);
  EXPECT_EQ(routing.PathsBetween(4, 0).size(), 4u);
  EXPECT_EQ(routing.PathsBetween(0, 4).size(), 4u);
  EXPECT_EQ(routing.PathsBetween(0, 1).size(), 2u);  // Through a or b, no spine.
  EXPECT_THAT(routing.FirstHops(0, 1), ElementsAre(0, 1));
  EXPECT_TRUE(routing.Unreachable().empty());
  EXPECT_EQ(routing.leaves(), 2u);
}

TEST(MultihomedRoutingTest, GoesRoundALinkThatIsDown) {
  Graph graph = GraphFrom(kPairOfLeaves);
  graph.links[0].up = false;  // host0-a
  const Routing routing(graph);
  EXPECT_EQ(Ways(routing, kP, 0), 1u);  // Through b only,
  EXPECT_EQ(Ways(routing, kP, 1), 2u);  // which says nothing of other hosts.
  EXPECT_EQ(Ways(routing, kA, 0), 2u);  // Up again.
  EXPECT_THAT(routing.FirstHops(0, 1), ElementsAre(1));
  EXPECT_THAT(routing.FirstHops(1, 0), ElementsAre(1));
}

TEST(MultihomedRoutingTest, KnowsNearerLinksFromFartherOnes) {
  // Host 0 on a and c; c is next to host 1, a is not.
  const Graph graph = GraphFrom(
      "{kind: custom, hosts: 2, link: {rate: 10Gbps, delay: 1us}, switches: [{name: a}, {name: b}, "
      "{name: c}], links: [{a: host0, b: a}, {a: host0, b: c}, {a: host1, b: c}, {a: a, b: b}, {a: "
      "b, b: c}]}");
  const Routing routing(graph);
  EXPECT_THAT(routing.FirstHops(0, 1), ElementsAre(1));
  EXPECT_EQ(routing.PathsBetween(0, 1).size(), 1u);
}

Lab::Plan PlanOf(const std::string& graph, std::vector<LinkEvent> events = {}) {
  return {
      .graph = GraphFrom(graph), .transport = "{kind: tcp, iw: 64}", .events = std::move(events)};
}

constexpr int kFlows = 400;

// Each flow keeps its NIC, and the NICs share the flows: of 400, 200 +- 4 sigma each.
TEST(MultihomedTest, SpreadsFlowsOverNicsByTheirHash) {
  std::vector<std::set<SwitchId>> leaves(kFlows);
  Lab::Plan plan = PlanOf(kPairOfLeaves);
  std::vector<Rule> rules;
  for (const SwitchId s : {kA, kB}) {
    rules.push_back(
        WatchAt(s, Anything(PacketKind::kData),
                [&, s](const SwitchView&, const Packet& p) { leaves[p.flow].insert(s); }));
  }
  plan.switch_policy = Scripted(std::move(rules));
  Lab lab(std::move(plan));
  for (int i = 0; i < kFlows; ++i) lab.AddFlow(static_cast<HostId>(i % 4), 4, 30'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  int through_a = 0;
  for (const std::set<SwitchId>& used : leaves) {
    ASSERT_EQ(used.size(), 1u);
    through_a += *used.begin() == kA ? 1 : 0;
  }
  EXPECT_NEAR(through_a, kFlows / 2, 4 * 10);
}

TEST(MultihomedTest, CarriesAsMuchAsItsLinksTogether) {
  Lab lab(PlanOf(kTwoPlanes));
  const int64_t size = 10'000'000;
  for (int i = 0; i < 16; ++i) lab.AddFlow(0, 1, size);
  lab.Run();
  // 16 flows of 8.43 ms each; over one link they would take 135 ms, over two at least 67.4.
  EXPECT_LT(lab.end(), Time{} + 110_ms);
  EXPECT_GT(lab.end(), Time{} + 67_ms);
  for (const uint32_t leaf : {0u, 1u}) {
    EXPECT_GT(lab.PortTo(0, 4 + leaf).Committed().payload_bytes, size);
  }
}

TEST(MultihomedTest, OutlivesTheFailureOfALink) {
  const Duration failure = 30_us;
  Lab lab(PlanOf(kTwoPlanes, {{Time{} + failure, 0, false, {}, {}}}));  // host0-a
  int64_t before = 0;
  for (int i = 0; i < 20; ++i) lab.AddFlow(0, 1, 200'000);
  for (int i = 0; i < 20; ++i) lab.AddFlow(2, 0, 200'000);
  lab.SampleEvery(failure, [&](Time now) {
    if (now == Time{} + failure) before = lab.PortTo(0, 4).SentBy(now).packets;
  });
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_GT(before, 0);
  EXPECT_LE(lab.PortTo(0, 4).Committed().packets, before + 1) << "a packet on a dead link";
}

TEST(MultihomedTest, ReachesItsIdealAlone) {
  for (const std::string& graph : {kPairOfLeaves, kTwoPlanes}) {
    Lab lab(PlanOf(graph));
    lab.AddFlow(0, 1, 50'000);
    lab.Run();
    const Graph built = GraphFrom(graph);
    const Routing routing(built);
    IdealFct ideal(routing, TransportFrom("{kind: tcp, iw: 64}").settings->sizes());
    EXPECT_EQ(FctRx(lab.Record(0)), ideal.Of(0, 1, 50'000).rx);
  }
}

// The queue pairs of one plane are paused, those of the other are not.
TEST(MultihomedTest, IsPausedLinkByLink) {
  Lab::Plan plan = PlanOf(
      "{kind: custom, hosts: 4, link: {rate: 10Gbps, delay: 1us}, switches: [{name: a}, {name: "
      "b}], "
      "links: [{a: host0, b: a}, {a: host0, b: b}, {a: host1, b: a}, {a: host2, b: a}, {a: host3, "
      "b: "
      "b}]}");
  plan.transport = "{kind: rocev2, cc: none}";
  plan.port = "{memory: {model: broadcom_mmu, size: 2MB}, pfc: {classes: [3]}}";
  Lab lab(std::move(plan));
  lab.AddFlow(0, 1, 2'000'000);
  lab.AddFlow(2, 1, 2'000'000);
  lab.AddFlow(0, 3, 2'000'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_EQ(lab.Drops(DropReason::kHeadroom), 0);
  EXPECT_GT(lab.network().host(0).PausesUntil(0, lab.end()).pauses, 0);
  EXPECT_EQ(lab.network().host(0).PausesUntil(1, lab.end()).pauses, 0);
  EXPECT_EQ(lab.Record(2).sender.pause_blocked, 0_ps);
  EXPECT_GT(lab.Record(0).sender.pause_blocked, 0_ps);
}

// Racks are switches that share hosts, and a host offers its share of all its links.
TEST(MultihomedTest, OffersLoadOnAllItsLinks) {
  const Experiment experiment =
      ExperimentFrom("topology: " + kPairOfLeaves +
                     "\nworkload: [{kind: permutation, size: 1KB}]\nlb: ecmp\ntransport: dctcp\n");
  EXPECT_THAT(experiment.stage.leaf_of_host, ElementsAre(0, 0, 0, 0, 1));
  EXPECT_THAT(experiment.stage.uplink_bps, ElementsAre(40'000'000'000, 20'000'000'000));
  EXPECT_EQ(experiment.stage.host_rate[0], 20_Gbps);
  EXPECT_EQ(experiment.stage.host_rate[4], 10_Gbps);
}

// Two leaves, each with two hosts of two links to it, and two spines.
std::string OnPairsOfLinks(const std::string& lb) {
  return "topology: {kind: custom, hosts: 4, link: {rate: 10Gbps, delay: 1us}, switches: [{name: "
         "a}, {name: b}, {name: p}, {name: q}], links: [{a: host0, b: a}, {a: host0, b: a}, {a: "
         "host1, b: a}, {a: host1, b: a}, {a: host2, b: b}, {a: host2, b: b}, {a: host3, b: b}, "
         "{a: "
         "host3, b: b}, {a: a, b: p}, {a: a, b: q}, {a: b, b: p}, {a: b, b: q}]}\n"
         "transport: {kind: rocev2, recovery: irn}\n"
         "workload: [{kind: permutation, size: 300KB}, {kind: incast, fan_in: 3, bytes_each: "
         "90KB}]\n"
         "lb: " +
         lb + "\n";
}

// Schemes keep state by leaf, which the links of single hosts must not mix up.
TEST(MultihomedTest, SeveralLinksToOneSwitchServeEveryLoadBalancer) {
  int ran = 0;
  for (const std::string& lb : LoadBalancers().Names()) {
    if (!ErrorsOf(OnPairsOfLinks(lb)).empty()) continue;  // The scheme needs another network.
    SCOPED_TRACE(lb);
    const Experiment experiment = ExperimentFrom(OnPairsOfLinks(lb));
    const FinishedRun run = RunExperiment(experiment, 1);
    EXPECT_EQ(run.result.unfinished, 0);
    EXPECT_EQ(run.result.flows_finished, 7);
    EXPECT_EQ(RunExperiment(experiment, 2).files, run.files);
    ++ran;
  }
  EXPECT_GE(ran, 25);
}

// The last switch picks a link of the host by the hash of the flow: each flow keeps to one, and
// many use both alike.
TEST(MultihomedTest, TheLastSwitchSpreadsFlowsByTheirHash) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: custom, hosts: 2, link: {rate: 10Gbps, delay: 1us}, switches: [{name: a}], "
      "links: [{a: host0, b: a}, {a: host1, b: a}, {a: host1, b: a}]}\n"
      "transport: {kind: rocev2, recovery: irn}\nlb: rps\n"
      "workload: [{kind: incast, fan_in: 1, bytes_each: 20KB, receiver: 1, queries: 400, period: "
      "30us}]\n"));
  const CsvTable links(run.files.links);
  std::vector<int64_t> packets;
  for (size_t row = 0; row < links.rows.size(); ++row) {
    if (links.At(row, "peer") == "host1") packets.push_back(links.Integer(row, "payload_bytes"));
  }
  ASSERT_EQ(packets.size(), 2u);
  EXPECT_EQ(packets[0] + packets[1], 400 * 20'000);
  EXPECT_EQ(packets[0] % 20'000, 0);
  EXPECT_NEAR(static_cast<double>(packets[0]) / 20'000, 200, 4 * 10);
}

// Two groups of three leaves, each with two hosts that have a link to all three, and two spines.
std::string OnThreeLeaves(const std::string& lb, const std::string& failed) {
  std::string links;
  const auto add = [&](const std::string& a, const std::string& b) {
    links += fmt::format("{}{{a: {}, b: {}}}", links.empty() ? "" : ", ", a, b);
  };
  for (const char* leaf : {"l0", "l1", "l2", "m0", "m1", "m2"}) {
    for (int host = leaf[0] == 'l' ? 0 : 2, i = 0; i < 2; ++i) {
      add(fmt::format("host{}", host + i), leaf);
    }
    for (const char* spine : {"s0", "s1"}) add(leaf, spine);
  }
  return "topology: {kind: custom, hosts: 4, link: {rate: 10Gbps, delay: 1us}, switches: [{name: "
         "l0, tier: 0}, {name: l1, tier: 0}, {name: l2, tier: 0}, {name: m0, tier: 0}, {name: m1, "
         "tier: 0}, {name: m2, tier: 0}, {name: s0, tier: 1}, {name: s1, tier: 1}], links: [" +
         links + "]}\nworkload: [{kind: permutation, size: 1MB}]\nschedule: [{at: 100us, links: [" +
         failed +
         "], state: down}]\nrouting: {convergence: 100us}\nmeasure: {t_max: 1s}\nlb: " + lb + "\n";
}

// Next hops towards a host that has lost a link are not those towards its leaf.
TEST(MultihomedTest, EveryLoadBalancerOutlivesTheFailureOfALink) {
  int ran = 0;
  for (const std::string& lb : LoadBalancers().Names()) {
    if (!ErrorsOf(OnThreeLeaves(lb, "host0-l0")).empty()) continue;
    for (const char* failed : {"host0-l0", "host1-l0", "host2-m1"}) {
      SCOPED_TRACE(lb + ", " + failed);
      const FinishedRun run = RunExperiment(ExperimentFrom(OnThreeLeaves(lb, failed)), 1);
      EXPECT_EQ(run.result.unfinished, 0);
      EXPECT_EQ(run.result.flows_finished, 4);
    }
    ++ran;
  }
  EXPECT_GE(ran, 25);
}

// After the new routes, the first host of leaf 0 has lost a link; then leaf 1 notices another
// failure by itself.
TEST(MultihomedTest, ALeafNoticesAFailureAfterThatOfAHostsLink) {
  for (const char* lb : {"drill", "wcmp", "{kind: rps, weights: capacity}", "flare", "amr"}) {
    for (const char* failed : {"host0-leaf0", "host1-leaf0"}) {
      SCOPED_TRACE(fmt::format("{}, {}", lb, failed));
      const FinishedRun run = RunExperiment(ExperimentFrom(fmt::format(
          "topology: {{kind: planes, planes: 2, leaves: 2, spines: 4, hosts_per_leaf: 4}}\nlb: {}\n"
          "workload: [{{kind: permutation, size: 1MB, cross_rack: true}}]\n"
          "schedule: [{{at: 1us, links: [{}], state: down}}, "
          "{{at: 200us, links: [leaf1-spine0], state: down}}]\n"
          "routing: {{detect: 10us, convergence: 100us}}\nmeasure: {{t_max: 1s}}\n",
          lb, failed)));
      EXPECT_EQ(run.result.unfinished, 0);
    }
  }
}

}  // namespace heddle::multihomed_test
