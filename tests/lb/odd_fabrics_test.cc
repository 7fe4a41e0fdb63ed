// SPDX-License-Identifier: Apache-2.0
// Schemes whose leaves measure paths, in fabrics that are not as usual: a leaf without hosts, links
// in parallel, links between spines, a leaf that is cut off, and fabrics that are too large.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lb/flb/header.h"
#include "settings/diagnostics.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"
#include "tests/support/settings_from.h"
#include "tests/support/watched_policy.h"

namespace heddle::odd_fabrics_test {

int64_t CountOf(Lab& lab, size_t node, std::string_view counter) {
  for (const auto& [name, value] : lab.network().switches()[node]->policy().Counters()) {
    if (name == counter) return value;
  }
  ADD_FAILURE() << counter;
  return -1;
}

constexpr Channel kLink{10_Gbps, 1_us};

// --- Probes ---

// Two leaves with a host each, and a third with none, which has nobody to measure paths for.
TEST(OddFabricsTest, ALeafWithoutHostsSendsNoProbes) {
  for (const std::string balancer : {"tdlb", "best_nexthop"}) {
    SCOPED_TRACE(balancer);
    Graph graph{.hosts = 2, .switches = {}, .links = {}};
    graph.switches = {{"leaf0", 0}, {"leaf1", 0}, {"leaf2", 0}, {"spine", 1}};
    for (size_t leaf = 0; leaf < 3; ++leaf) {
      if (leaf < 2) graph.Connect(graph.VertexOfHost(leaf), graph.VertexOfSwitch(leaf), kLink);
      graph.Connect(graph.VertexOfSwitch(leaf), graph.VertexOfSwitch(3), kLink);
    }
    Lab lab({.graph = graph, .balancer = balancer});
    lab.AddFlow(0, 1, 1'000'000);
    lab.Run();
    EXPECT_TRUE(lab.finished());
    EXPECT_GT(CountOf(lab, 0, "probes"), 0);
    EXPECT_EQ(CountOf(lab, 2, "probes"), 0);
  }
}

// Runs a flow from the first host to the last, and compares the probes of switches in one round of
// 100 us.
void ExpectProbes(const std::string& balancer, const Graph& graph,
                  const std::vector<double>& in_a_round) {
  SCOPED_TRACE(balancer);
  Lab lab({.graph = graph, .balancer = balancer});
  lab.AddFlow(0, static_cast<HostId>(graph.hosts - 1), 2'000'000);
  lab.Run();
  const double rounds = Seconds(lab.end() - Time{}) / 100e-6;
  EXPECT_GT(rounds, 10);
  for (size_t s = 0; s < in_a_round.size(); ++s) {
    EXPECT_NEAR(static_cast<double>(CountOf(lab, s, "probes")), in_a_round[s] * rounds,
                in_a_round[s])
        << s;
  }
}

// Each leaf sends a probe over both of its links. The spine copies it to the three others, one of
// which leads back to the leaf: that copy has no echo. The other leaf's four copies have.
TEST(OddFabricsTest, AProbeThatComesBackOverAParallelLinkHasNoEcho) {
  ExpectProbes(
      "tdlb",
      LeafSpineFrom("{leaves: 2, spines: 1, hosts_per_leaf: 1, links_per_pair: 2, host_link: "
                    "{rate: 10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}"),
      {2 + 4, 2 + 4, 4 * 3});
}

// Packets do not go from one spine to another. A copy does, and is copied no further: each spine
// copies the two leaves' probes to the other leaf and to the other spine. TDLB's have echoes.
TEST(OddFabricsTest, AProbeFromAnotherSpineIsNotCopied) {
  Graph graph{.hosts = 2, .switches = {}, .links = {}};
  graph.switches = {{"leaf0", 0}, {"leaf1", 0}, {"spine0", 1}, {"spine1", 1}};
  for (size_t leaf = 0; leaf < 2; ++leaf) {
    graph.Connect(graph.VertexOfHost(leaf), graph.VertexOfSwitch(leaf), kLink);
    for (size_t spine = 2; spine < 4; ++spine) {
      graph.Connect(graph.VertexOfSwitch(leaf), graph.VertexOfSwitch(spine), kLink);
    }
  }
  graph.Connect(graph.VertexOfSwitch(2), graph.VertexOfSwitch(3), kLink);
  ExpectProbes("tdlb", graph, {2 + 2, 2 + 2, 2 * 2, 2 * 2});
  ExpectProbes("best_nexthop", graph, {2, 2, 2 * 2, 2 * 2});
}

// --- A leaf that is cut off ---

// Leaf 1 sends datagrams to leaf 0, which answers none of them, until its only link fails. Returns
// how many control packets leaf 0 sends in the 100 us after it: it cannot tell leaf 1 anything.
int64_t SentAfterTheCut(const std::string& balancer, Duration cut,
                        std::vector<UdpSource> background) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 1, hosts_per_leaf: 2, host_link: {rate: 10Gbps, delay: 1us}, "
      "fabric_link: {rate: 40Gbps, delay: 20us}}");
  std::vector<LinkEvent> events;
  for (uint32_t link = 0; link < graph.links.size(); ++link) {
    if (graph.links[link].name != "leaf1-spine0") continue;
    events.push_back({.at = Time{} + cut, .link = link, .up = false, .rate = {}, .delay = {}});
  }
  EXPECT_EQ(events.size(), 1u);
  Lab lab({.graph = graph,
           .balancer = balancer,
           .background = std::move(background),
           .events = events});
  lab.AddFlow(0, 1, 1'000, Time{} + 2_ms);  // Keeps the lab going.
  int64_t before = -1;
  int64_t sent = -1;
  lab.SampleEvery(1_us, [&](Time now) {
    if (now == Time{} + cut) before = CountOf(lab, 0, "probes");
    if (now == Time{} + cut + 100_us) sent = CountOf(lab, 0, "probes") - before;
  });
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_GT(before, 0);
  return sent;
}

TEST(OddFabricsTest, MeasurementsOfALeafThatIsCutOffAreNotSent) {
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(SentAfterTheCut("flb", 1_ms + 4_us * i, {Datagrams(0, 2, 0, 4_Gbps)}), 0) << i;
  }
}

// Two flows of 4 and 8 Gbps have filled the queue to host 0, which takes longer than that to
// drain. Meanwhile leaf 0 sends a probe of its own.
TEST(OddFabricsTest, FlowsOfALeafThatIsCutOffAreNotToldThatTheyCongest) {
  EXPECT_LE(SentAfterTheCut("{kind: tdlb, congested_above: 30KB, clear_below: 1KB}", 1_ms,
                            {Datagrams(0, 2, 0, 4_Gbps), Datagrams(1, 3, 0, 8_Gbps)}),
            1);
}

// --- A way back that is dead, in three tiers ---

// Edge 0 receives datagrams, and tells of their delays over the paths that these have taken. When
// one of its two uplinks fails, what it tells goes over the other one: such a packet names no path,
// as its path is dead. The j-th upper switch of a pod sees paths whose first digit is j.
TEST(OddFabricsTest, AControlPacketThatCannotReturnOverItsPathNamesNone) {
  const Graph graph = GraphFrom("{kind: fat_tree, k: 4}");
  int64_t unnamed = 0;
  for (const std::string agg : {"agg0", "agg1"}) {
    std::vector<LinkEvent> events;
    for (uint32_t link = 0; link < graph.links.size(); ++link) {
      if (graph.links[link].name != "edge0-" + agg) continue;
      events.push_back({.at = Time{} + 1_ms, .link = link, .up = false, .rate = {}, .delay = {}});
    }
    ASSERT_EQ(events.size(), 1u);
    const auto look = [&](SwitchView& view, const Packet& packet, PortIndex) {
      if (view.tier() != 1 || packet.kind != PacketKind::kControl || packet.hops != 1) return;
      if (packet.src > 1) return;  // Edge 0 has hosts 0 and 1.
      const bool is_second = graph.switches[view.id()].name == "agg1";
      if (packet.path == kNoPath) {
        ++unnamed;
      } else {
        EXPECT_EQ(packet.path % 2, is_second ? 1 : 0);
      }
    };
    std::vector<UdpSource> sources;
    for (uint32_t id = 0; id < 4; ++id) {
      sources.push_back(
          Datagrams(id, static_cast<HostId>(12 + id), static_cast<HostId>(id % 2), 1_Gbps));
    }
    Lab lab({.graph = graph,
             .switch_policy = Watched(
                 "flb", look, {.tiers = 3, .leaves = 8, .leaf_uplinks = 2, .above_uplinks = 2}),
             .background = sources,
             .events = events});
    lab.AddFlow(0, 1, 1'000, Time{} + 1'200_us);  // Keeps the lab going.
    lab.Run();
    EXPECT_TRUE(lab.finished());
  }
  EXPECT_GT(unnamed, 0);
}

// --- Fabrics that are too large ---

std::string ErrorsFor(const std::string& balancer, const FabricShape& fabric) {
  const Chosen<LoadBalancer> chosen = KindFrom(balancer, LoadBalancers());
  Diagnostics diagnostics;
  chosen.settings->Prepare(fabric, "lb", diagnostics);
  return diagnostics.ok() ? "" : diagnostics.Report();
}

TEST(OddFabricsTest, FlbAndTdlbAreForTwoOrThreeTiers) {
  for (const std::string balancer : {"flb", "tdlb"}) {
    for (const int tiers : {2, 3}) EXPECT_EQ(ErrorsFor(balancer, {.tiers = tiers}), "");
    EXPECT_THAT(ErrorsFor(balancer, {.tiers = 4}),
                testing::HasSubstr("lb: " + balancer + " is for two or three tiers; use drill"));
  }
}

// A byte has 255 numbers besides the one for none.
TEST(OddFabricsTest, FlbNumbersAtMost255Paths) {
  EXPECT_EQ(ErrorsFor("flb", {.leaf_uplinks = 255}), "");
  EXPECT_THAT(ErrorsFor("flb", {.leaf_uplinks = 256}),
              testing::HasSubstr("a leaf may have 255 uplinks"));
  EXPECT_EQ(ErrorsFor("flb", {.tiers = 3, .leaf_uplinks = 17, .above_uplinks = 15}), "");
  EXPECT_THAT(ErrorsFor("flb", {.tiers = 3, .leaf_uplinks = 16, .above_uplinks = 16}),
              testing::HasSubstr("so 256 are too many: 16 uplinks times 16 of the switches above; "
                                 "with up to 255 it runs"));
}

// --- FLB's threshold K ---

// A base round trip of 16 us at 10 Gbps is 20 KB. K is that much above the length at which marking
// begins, or above 0 if pauses come before marks; but at most halfway from there to a pause.
TEST(OddFabricsTest, FlbIsolatesByPausesWhereMarksComeLaterThanThese) {
  const auto threshold = [](Bytes marked, Bytes pause) {
    const Chosen<LoadBalancer> chosen =
        KindFrom("{kind: flb, isolate_above: 1KB}", LoadBalancers());
    Diagnostics diagnostics;
    chosen.settings->Prepare({.marked_above = marked, .pause_above = pause}, "lb", diagnostics);
    EXPECT_EQ(diagnostics.warnings().size(), 1u);
    const std::string warning = diagnostics.warnings().empty() ? "" : diagnostics.warnings()[0];
    const std::string before = "makes K ";
    const size_t at = warning.find(before);
    return at == std::string::npos ? warning
                                   : warning.substr(at + before.size())
                                         .substr(0, warning.find(',', at) - at - before.size());
  };
  EXPECT_EQ(threshold(300_KB, 100_KB), "20KB");
  EXPECT_EQ(threshold(300_KB, 30_KB), "15KB");
  EXPECT_EQ(threshold(100_KB, 100_KB), "20KB");
  EXPECT_EQ(threshold(30_KB, 100_KB), "50KB");
  EXPECT_EQ(threshold(80_KB, 100_KB), "90KB");
}

}  // namespace heddle::odd_fabrics_test
