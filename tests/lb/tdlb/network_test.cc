// SPDX-License-Identifier: Apache-2.0
// TDLB in whole networks: notices, probes, and what innocent flows do.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabric/ecmp_hash.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"

namespace heddle::tdlb_network_test {

int64_t CountOf(Lab& lab, size_t node, std::string_view counter) {
  for (const auto& [name, value] : lab.network().switches()[node]->policy().Counters()) {
    if (name == counter) return value;
  }
  return 0;
}

int64_t Sum(Lab& lab, std::string_view counter) {
  int64_t sum = 0;
  for (size_t s = 0; s < lab.network().switches().size(); ++s) sum += CountOf(lab, s, counter);
  return sum;
}

// An incast from `senders` hosts of one leaf to one host of the other.
std::unique_ptr<Lab> IncastLab(const std::string& balancer, int senders, int64_t bytes) {
  auto lab = std::make_unique<Lab>(Lab::Plan{
      .graph = LeafSpineFrom(
          "{leaves: 2, spines: 8, hosts_per_leaf: 16, host_link: {rate: 10Gbps, delay: 1us}, "
          "fabric_link: {rate: 40Gbps, delay: 1us}}"),
      .transport = "{kind: tcp, iw: 1000, control_priority: 0, framing: ip1500}",
      .balancer = balancer,
      .port = "{buffer: unlimited, ecn_above: unlimited}"});
  for (int i = 0; i < senders; ++i) lab->AddFlow(static_cast<HostId>(i), 31, bytes);
  return lab;
}

constexpr PortIndex kToLastHost = 15;

int64_t QueueToLastHost(Lab& lab, Time now) {
  return (*lab.network().switches()[1]->queued())[kToLastHost].QueueAt(1, now).bytes;
}

TEST(TdlbNetworkTest, NotifiesOnlyOfQueuesAboveTheThreshold) {
  const auto with = [](int64_t threshold) {
    return IncastLab(fmt::format("{{kind: tdlb, detect_at: last_hop, check_every: 1us, "
                                 "congested_above: {}B}}",
                                 threshold),
                     16, 100'000);
  };
  int64_t longest = 0;
  const auto quiet = with(10'000'000);
  quiet->SampleEvery(100_ns,
                     [&](Time now) { longest = std::max(longest, QueueToLastHost(*quiet, now)); });
  quiet->Run();
  EXPECT_GT(longest, 1'000'000);
  for (const double share : {0.98, 1.02}) {
    const auto lab = with(static_cast<int64_t>(share * static_cast<double>(longest)));
    lab->Run();
    EXPECT_EQ(Sum(*lab, "episodes"), share < 1 ? 1 : 0);
    EXPECT_EQ(Sum(*lab, "cns_sent") > 0, share < 1);
  }
}

// The base round trip is 11.08 us here: 8 us of propagation, twice 1.2 and 0.3 us to send a packet
// of 1500 bytes, and 0.08 us for its ACK. Looks at the queue are 1 us apart, so that flows are told
// again after 12 us to the picosecond; the first time is less than a sample before `first`.
TEST(TdlbNetworkTest, NotifiesEachFlowOnceARoundTripWhileTheQueueIsLong) {
  constexpr Duration kSample = 100_ns;
  const auto lab = IncastLab(
      "{kind: tdlb, detect_at: last_hop, check_every: 1us, congested_above: 100KB}", 16, 100'000);
  std::optional<Time> first;
  std::map<Duration, int64_t> sent;  // The number of notices, by the time since the first.
  lab->SampleEvery(kSample, [&](Time now) {
    const int64_t notices = Sum(*lab, "cns_sent");
    if (!first && notices > 0) first = now;
    if (first) sent[now - *first] = notices;
  });
  lab->Run();
  EXPECT_EQ(Sum(*lab, "episodes"), 1);
  EXPECT_EQ(sent.at(0_us), 16);
  EXPECT_EQ(sent.at(12_us - kSample), 16);
  EXPECT_EQ(sent.at(12_us), 2 * 16);
  EXPECT_EQ(sent.at(24_us - kSample), 2 * 16);
  EXPECT_EQ(sent.at(24_us), 3 * 16);
  EXPECT_EQ(Sum(*lab, "congested_flows"), 0);  // Told of the end as well.
}

// Returns the queue of an incast at the time when the first leaf takes its flows for innocent
// again.
int64_t QueueWhenInnocent(const std::string& more) {
  const auto lab = IncastLab(
      "{kind: tdlb, detect_at: last_hop, check_every: 1us, congested_above: 100KB" + more + "}", 16,
      100'000);
  int64_t most = 0;
  int64_t queue = -1;
  lab->SampleEvery(100_ns, [&](Time now) {
    const int64_t congested = CountOf(*lab, 0, "congested_flows");
    most = std::max(most, congested);
    if (most < 16 || congested > 0 || queue >= 0) return;
    queue = QueueToLastHost(*lab, now);
  });
  lab->Run();
  EXPECT_EQ(most, 16);
  return queue;
}

// 10 Gbps drain 1.25 KB each microsecond, and the news takes three to come.
TEST(TdlbNetworkTest, AFlowIsInnocentAgainAtHalfTheQueueOrAsIsSet) {
  const int64_t half = QueueWhenInnocent("");
  EXPECT_LE(half, 50'000);
  EXPECT_GT(half, 42'000);
  const int64_t set = QueueWhenInnocent(", clear_below: 80KB");
  EXPECT_LE(set, 80'000);
  EXPECT_GT(set, 72'000);
}

// Flows of one leaf have no choice of paths.
TEST(TdlbNetworkTest, FlowsOfOneLeafAreNotToldOf) {
  Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 8}"),
           .transport = "{kind: tcp, iw: 1000, control_priority: 0}",
           .balancer = "{kind: tdlb, congested_above: 30KB}"});
  for (HostId src = 1; src < 8; ++src) lab.AddFlow(src, 0, 200'000);
  lab.Run();
  EXPECT_EQ(Sum(lab, "episodes"), 1);  // The queue is long,
  EXPECT_EQ(Sum(lab, "cns_sent"), 0);  // but nobody could do anything.
  EXPECT_EQ(Sum(lab, "congested_flows"), 0);
}

// Eight hosts of 10 Gbps send over two uplinks of 10 Gbps: the queues are at their leaf.
std::pair<int64_t, int64_t> CongestedAtUplinks(const std::string& detect_at, HostId leaf = 0) {
  Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 8, host_link: {rate: "
                                  "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}"),
           .transport = "{kind: tcp, iw: 1000, control_priority: 0}",
           .balancer = "{kind: tdlb, congested_above: 30KB, detect_at: " + detect_at + "}"});
  for (HostId host = 0; host < 8; ++host) {
    lab.AddFlow(static_cast<HostId>(8 * leaf + host), static_cast<HostId>(8 * (1 - leaf) + host),
                500'000);
  }
  int64_t most = 0;
  lab.SampleEvery(10_us,
                  [&](Time) { most = std::max(most, CountOf(lab, leaf, "congested_flows")); });
  lab.Run();
  return {most, Sum(lab, "cns_sent")};
}

TEST(TdlbNetworkTest, QueuesOfUplinksCountUnlessOnlyTheLastHopDoes) {
  EXPECT_EQ(CongestedAtUplinks("leaf_all"), (std::pair<int64_t, int64_t>{8, 0}));
  EXPECT_EQ(CongestedAtUplinks("leaf_all", 1), (std::pair<int64_t, int64_t>{8, 0}));
  EXPECT_EQ(CongestedAtUplinks("last_hop"), (std::pair<int64_t, int64_t>{0, 0}));
}

TEST(TdlbNetworkTest, ProbesMeasureEveryPathAndCostBytes) {
  const auto lab = IncastLab("{kind: tdlb, probe_every: 50us}", 1, 1'000'000);
  lab->Run();
  // Each leaf and round: 8 probes, 8 copies by spines, 8 echoes.
  const double rounds = Seconds(lab->end() - Time{}) / 50e-6;
  EXPECT_NEAR(static_cast<double>(Sum(*lab, "probes")), 2 * 24 * rounds, 2 * 24 * 2);
  EXPECT_EQ(Sum(*lab, "probe_bytes"), 64 * Sum(*lab, "probes"));
}

// A detour over other spines leads to the leaf that a spine has lost; probes must not take it.
TEST(TdlbNetworkTest, ProbesGoToTheLeavesThatASpineStillHasAndNoOther) {
  const Graph graph = LeafSpineFrom("{leaves: 3, spines: 2, hosts_per_leaf: 1}");
  std::vector<LinkEvent> events;
  for (uint32_t link = 0; link < graph.links.size(); ++link) {
    if (graph.links[link].name != "leaf1-spine0") continue;
    events.push_back({.at = Time{} + 1_ns, .link = link, .up = false, .rate = {}, .delay = {}});
  }
  ASSERT_EQ(events.size(), 1u);
  Lab lab({.graph = graph, .balancer = "tdlb", .events = std::move(events)});
  lab.AddFlow(0, 2, 1'000'000);
  lab.Run();
  // Leaves send probes and echoes; spines send copies to two ports.
  const double rounds = Seconds(lab.end() - Time{}) / 100e-6;
  const std::vector<double> expected = {2 + 3, 2 + 2, 2 + 3, 2 * 2, 3 * 2};
  for (size_t s = 0; s < expected.size(); ++s) {
    EXPECT_NEAR(static_cast<double>(CountOf(lab, s, "probes")), expected[s] * rounds, expected[s])
        << s;
  }
}

// A source port with which packets between these hosts take the first of two uplinks of leaf 0.
uint16_t PortToFirstSpine(HostId src, HostId dst, uint16_t dport) {
  Packet packet;
  for (uint16_t sport = 1'024;; ++sport) {
    packet.tuple_hash = TupleHash(src, dst, sport, dport);
    if (MapToRange(EcmpHash(packet, EcmpSalt(0, /*seed=*/1)), 2) == 0) return sport;
  }
}

// One of two paths carries four flows to one host, and datagrams to another, one each 123 us.
// Returns the number of reroutes, and the bytes of both that took the second path.
std::pair<int64_t, int64_t> Moved(const std::string& congested_above) {
  constexpr HostId kOther = 4;
  constexpr uint16_t kDiscard = 9;
  UdpSource innocent = Datagrams(0, kOther, 15, 100_Mbps, Time{} + 10_ms);
  innocent.sport = PortToFirstSpine(kOther, 15, kDiscard);
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 2, hosts_per_leaf: 8, host_link: {rate: 10Gbps, delay: 1us}, "
               "fabric_link: {rate: 100Gbps, delay: 1us}}"),
           .transport = "{kind: tcp, iw: 1000, control_priority: 0}",
           .balancer = "{kind: tdlb, place: hash, detect_at: last_hop, congested_above: " +
                       congested_above + "}",
           .background = {innocent}});
  for (HostId src = 0; src < 4; ++src) {
    FlowSpec flow;
    flow.src = src;
    flow.dst = 8;
    flow.dport = 80;
    flow.sport = PortToFirstSpine(src, 8, flow.dport);
    flow.size = 1'000'000;
    flow.start = Time{} + 1_ms;  // The other is there.
    lab.AddFlow(flow);
  }
  lab.Run();
  const FifoPort& second = lab.PortTo(lab.SwitchVertex(0), lab.SwitchVertex(3));
  return {Sum(lab, "reroutes"), second.Committed().payload_bytes};
}

TEST(TdlbNetworkTest, TheInnocentLeaveAPathOfCongestedFlowsWhichStay) {
  EXPECT_EQ(Moved("100KB"), (std::pair<int64_t, int64_t>{1, 0}));
  EXPECT_EQ(Moved("10MB"), (std::pair<int64_t, int64_t>{0, 0}));  // No queue is so long.
}

TEST(TdlbNetworkTest, OnAnIdleSymmetricNetworkNobodyMoves) {
  const auto lab = IncastLab("tdlb", 3, 200'000);
  lab->Run();
  EXPECT_EQ(Sum(*lab, "reroutes"), 0);
}

// One of four paths is 100 us slower. Windows of few packets make flowlet gaps of all lengths.
int64_t Reordered(const std::string& balancer) {
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 4, hosts_per_leaf: 8, host_link: {rate: 10Gbps, delay: 1us}, "
               "fabric_link: {rate: 10Gbps, delay: 20us}, asymmetry: [{spines: [1], delay: "
               "120us}]}"),
           .transport = "{kind: dctcp, max_cwnd: 3, delack_count: 2, delack_timeout: 130us}",
           .balancer = balancer});
  for (HostId h = 0; h < 8; ++h) {
    for (int i = 0; i < 4; ++i) lab.AddFlow(h, static_cast<HostId>(8 + h), 150'000);
  }
  lab.Run(Time{} + 1_s);
  int64_t reordered = 0;
  for (const FlowRecord& record : lab.records()) reordered += record.receiver.reordered_net;
  return reordered;
}

TEST(TdlbNetworkTest, ItsTimeoutFollowsTheSpreadSoNothingIsReordered) {
  EXPECT_EQ(Reordered("{kind: tdlb, reroute: always, place: hash}"), 0);
  EXPECT_GT(Reordered("{kind: letflow, gap: 100us}"), 0);
}

// Both links of one of two spines get 50 us longer after 1 ms, and as short as before after 3 ms:
// on their way probes take 100 us more, and 202 us there and back.
TEST(TdlbNetworkTest, AfterAStepTheTimeoutFollowsWithinAProbeAndARoundTrip) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {delay: "
      "500ns}, fabric_link: {delay: 500ns}}\nlb: {kind: tdlb, probe_every: 100us}\n"
      "workload: [{kind: permutation, size: 1KB, cross_rack: true, start: 5ms}]\n"
      "schedule: [{at: 1ms, switches: [spine1], delay: 50500ns}, {at: 3ms, switches: [spine1], "
      "delay: 500ns}]\nmeasure: {record: {lb: 5us}}\n"));
  const CsvTable series(run.files.series.at("series_lb.csv"));
  std::map<std::string, std::vector<std::pair<double, double>>> timeouts;  // us, by leaf.
  for (size_t row = 0; row < series.rows.size(); ++row) {
    ASSERT_EQ(series.At(row, "gauge").substr(0, 10), "timeout_ns");
    timeouts[series.At(row, "node")].emplace_back(series.Real(row, "time_ns") / 1e3,
                                                  series.Real(row, "value") / 1e3);
  }
  ASSERT_EQ(timeouts.size(), 2u);
  for (const auto& [leaf, values] : timeouts) {
    for (const auto& [at, timeout] : values) {
      const bool is_short = at <= 1'100 || (at > 3'000 + 100 + 202 + 5 && at <= 5'000);
      const bool is_long = at > 1'000 + 100 + 202 + 5 && at <= 3'000;
      if (is_short) {
        EXPECT_LT(timeout, 2) << leaf << " at " << at;
      }
      if (is_long) {
        EXPECT_NEAR(timeout, 100, 1) << leaf << " at " << at;
      }
    }
  }
}

// A byte takes a nanosecond, so the delay of the first path is a number of whole ones; that of the
// second is half of one more, besides 38 us. Delays are rounded down, if clocks make one of the two
// negative as well, so that the difference is the same by all clocks.
TEST(TdlbNetworkTest, DelaysAreRoundedDownByAnyClocks) {
  for (const std::string clocks : {"", ", clock_spread: 200us", ", clock_spread: 1ms"}) {
    Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 1, fabric_link: {rate: "
                                    "8Gbps, delay: 1us}, asymmetry: [{spines: [1], delay: "
                                    "20000250ps}]}"),
             .balancer = "{kind: tdlb" + clocks + "}"});
    lab.AddFlow(0, 1, 1'000, Time{} + 2_ms);
    lab.Run(Time{} + 1_ms);
    for (const size_t leaf : {0, 1}) {
      for (const auto& gauge : lab.network().switches()[leaf]->policy().Gauges(Time{} + 1_ms)) {
        EXPECT_DOUBLE_EQ(gauge.value, 38'000) << gauge.name << clocks;
      }
    }
  }
}

// --- Three tiers ---

// Each edge sends 2 probes in a round of 200 us to its pod's upper switches. Each of these sends 1
// to the other edge and 2 to cores, each core sends 3 to other pods, and each upper switch there
// sends 2 to edges. Every probe that arrives has an echo.
TEST(TdlbFatTreeTest, ProbesMeasureEveryPathToEveryOtherEdge) {
  Lab lab({.graph = GraphFrom("{kind: fat_tree, k: 4}"), .balancer = "tdlb"});
  lab.AddFlow(0, 15, 1'000'000);
  lab.Run();
  const double arrive = 2 * (1 + 2 * 3 * 2);
  const double each = 2 + 2 * (1 + 2 + 2 * (3 + 3 * 2)) + arrive;
  const double rounds = Seconds(lab.end() - Time{}) / 200e-6;
  EXPECT_NEAR(static_cast<double>(Sum(lab, "probes")), 8 * each * rounds, 8 * each * 1.5);
}

constexpr std::string_view kSlowCore =
    "{kind: fat_tree, k: 4, host_link: {rate: 10Gbps, delay: 1us}, edge_link: {rate: 10Gbps, "
    "delay: 1us}, core_link: {rate: 10Gbps, delay: 1us}, asymmetry: [{cores: [1], delay: 51us}]}";

// One of four paths to other pods is 100 us longer. The two paths within a pod are unaffected.
TEST(TdlbFatTreeTest, TheTimeoutIsTheSpreadOfWholePaths) {
  for (const std::string probe : {"echo", "hula"}) {
    const FinishedRun run = RunExperiment(
        ExperimentFrom(fmt::format("topology: {}\nlb: {{kind: tdlb, probe: {}}}\n"
                                   "workload: [{{kind: permutation, size: 1KB, start: 3ms}}]\n"
                                   "measure: {{record: {{lb: 10us}}}}\n",
                                   kSlowCore, probe)));
    const CsvTable series(run.files.series.at("series_lb.csv"));
    const std::string of_edge0 = series.At(0, "node");
    int compared = 0;
    for (size_t row = 0; row < series.rows.size(); ++row) {
      if (series.At(row, "node") != of_edge0 || series.Real(row, "time_ns") < 1e6) continue;
      const bool is_near = series.At(row, "gauge") == "timeout_ns[1]";
      EXPECT_NEAR(series.Real(row, "value"), is_near ? 1'200 : 100'000, is_near ? 100 : 1'500)
          << probe << series.At(row, "gauge");
      ++compared;
    }
    EXPECT_GE(compared, 7 * 200);
  }
}

// All flows between the pods' hosts have windows of few packets, which make flowlet gaps of all
// lengths. Returns the number of late packets, and of reroutes.
std::pair<int64_t, int64_t> ReorderedBetweenPods(const std::string& balancer) {
  Lab lab({.graph = GraphFrom(std::string(kSlowCore)),
           .transport = "{kind: dctcp, max_cwnd: 3, delack_count: 2, delack_timeout: 130us}",
           .balancer = balancer});
  for (HostId h = 0; h < 8; ++h) {
    for (int i = 0; i < 4; ++i) lab.AddFlow(h, static_cast<HostId>(8 + h), 150'000);
  }
  lab.Run(Time{} + 1_s);
  EXPECT_TRUE(lab.finished());
  int64_t reordered = 0;
  for (const FlowRecord& record : lab.records()) reordered += record.receiver.reordered_net;
  return {reordered, Sum(lab, "reroutes")};
}

TEST(TdlbFatTreeTest, MovesFlowsBetweenWholePathsAndReordersNothing) {
  const auto [reordered, reroutes] =
      ReorderedBetweenPods("{kind: tdlb, reroute: always, place: hash}");
  EXPECT_EQ(reordered, 0);
  EXPECT_GT(reroutes, 8);  // Each flow that was hashed to the slow core moves at least once.
  EXPECT_GT(ReorderedBetweenPods("{kind: letflow, gap: 60us}").first, 0);
}

// Eight flows of one edge congest the port of a host in another pod, and are told of; the leaf
// where they begin marks whole paths, and all notices come back over these.
TEST(TdlbFatTreeTest, NotifiesLeavesOfOtherPods) {
  Lab lab({.graph = GraphFrom("{kind: fat_tree, k: 8}"),
           .transport = "{kind: tcp, iw: 1000, control_priority: 0}",
           .balancer = "{kind: tdlb, detect_at: last_hop, congested_above: 30KB}",
           .port = "{buffer: unlimited, ecn_above: unlimited}"});
  for (HostId src = 0; src < 4; ++src) {
    lab.AddFlow(src, 127, 200'000);
    lab.AddFlow(src, 127, 200'000);
  }
  int64_t most = 0;
  lab.SampleEvery(5_us, [&](Time) { most = std::max(most, CountOf(lab, 0, "congested_flows")); });
  lab.Run();
  EXPECT_EQ(most, 8);
  EXPECT_EQ(Sum(lab, "cns_taken"), Sum(lab, "cns_sent"));
  EXPECT_EQ(Sum(lab, "congested_flows"), 0);
}

}  // namespace heddle::tdlb_network_test
