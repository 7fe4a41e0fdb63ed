// SPDX-License-Identifier: Apache-2.0
// FLB in networks of three tiers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lb/flb/header.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/lossless_incast.h"
#include "tests/support/paired_seeds.h"
#include "tests/support/watched_policy.h"

namespace heddle::flb_fat_tree_test {

std::string FatTree(const std::string& more = "") {
  return "{kind: fat_tree, k: 4, host_link: {rate: 10Gbps, delay: 1us}, edge_link: {rate: 10Gbps, "
         "delay: 1us}, core_link: {rate: 10Gbps, delay: 1us}" +
         more + "}";
}
FabricShape FatTreeShape(size_t core_links = 2) {
  return {.tiers = 3, .leaves = 8, .leaf_uplinks = 2, .above_uplinks = core_links};
}

// Returns the least delays in nanoseconds that edge 0 is told of its paths, while flows from there
// to `dst` look for the best.
std::map<int, uint32_t> ToldDelays(const std::string& graph, const FabricShape& shape, HostId dst) {
  std::map<int, uint32_t> told;
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex in_port) {
    const uint32_t news = packet.Scheme<FlbHeader>().news;
    if (view.id() != 0 || packet.kind != PacketKind::kAck) return;
    if (view.FacesHost(in_port) || news == 0) return;
    const auto [known, is_new] = told.emplace(static_cast<int>(news & 0xff) - 1, news >> 8);
    if (!is_new) known->second = std::min(known->second, news >> 8);
  };
  Lab lab({.graph = GraphFrom(graph),
           .transport = "{kind: tcp}",
           .switch_policy = Watched("flb", look, shape)});
  for (int i = 0; i < 60; ++i) lab.AddFlow(0, dst, 14'600);  // Full packets.
  lab.Run();
  return told;
}

// A full packet takes 1.2304 us and 1 us on each of four links, and 5 us more on each of the two of
// a slow core: path 2 goes by core 1, the second one that aggregation switch 0 is linked to.
TEST(FlbFatTreeTest, BetweenPodsTheDelayOfEachPathIsMeasured) {
  const auto told =
      ToldDelays(FatTree(", asymmetry: [{cores: [1], delay: 6us}]"), FatTreeShape(), 15);
  ASSERT_EQ(told.size(), 4u);
  for (const auto& [path, ns] : told) EXPECT_NEAR(ns, path == 2 ? 18'921.6 : 8'921.6, 1) << path;
}

TEST(FlbFatTreeTest, WithinAPodPathsAreThoseOfTheUplinks) {
  const auto told = ToldDelays(FatTree(), FatTreeShape(), 2);
  ASSERT_EQ(told.size(), 2u);
  for (const auto& [path, ns] : told) EXPECT_NEAR(ns, 4'460.8, 1) << path;
}

TEST(FlbFatTreeTest, SwitchesAboveMayHaveMoreUplinksThanLeavesOrFewer) {
  for (const size_t core_links : {1u, 3u}) {
    const auto told = ToldDelays(FatTree(", core_links_per_agg: " + std::to_string(core_links)),
                                 FatTreeShape(core_links), 15);
    std::vector<int> paths;
    for (const auto& [path, ns] : told) paths.push_back(path);
    EXPECT_EQ(paths,
              core_links == 1 ? (std::vector<int>{0, 1}) : (std::vector<int>{0, 1, 2, 3, 4, 5}));
  }
}

// The links of core 0 become slow after 1 ms. Returns core 0's share of the bytes that flows from
// one pod to another send from 1.5 ms on.
TEST(FlbFatTreeTest, FlowsLeaveACoreThatHasBecomeSlow) {
  std::map<SwitchId, int> packets;
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex) {
    if (view.tier() != 2 || packet.kind != PacketKind::kData) return;
    if (view.now() > Time{} + 1'500_us) ++packets[view.id()];
  };
  const Graph graph = GraphFrom(FatTree());
  std::vector<LinkEvent> events = LongerLinksOf(graph, "core0", Time{} + 1_ms, 30_us);
  ASSERT_EQ(events.size(), 4u);
  Lab lab({.graph = graph,
           .transport = "{kind: dctcp}",
           .switch_policy = Watched("flb", look, FatTreeShape()),
           .events = std::move(events)});
  for (int i = 0; i < 300; ++i) {
    lab.AddFlow(static_cast<HostId>(i % 4), static_cast<HostId>(8 + i % 8), 10'000,
                Time{} + 10_us * i);
  }
  lab.Run();
  int all = 0;
  for (const auto& [core, count] : packets) all += count;
  EXPECT_GT(all, 1'000);
  EXPECT_LT(packets[16], all / 50);
  for (SwitchId core = 17; core < 20; ++core) EXPECT_GT(packets[core], all / 10) << core;
}

// One source alone, whose packets are up to tens of microseconds apart, while a core is 20 us
// slower than the others: it moves, and nothing is overtaken.
TEST(FlbFatTreeTest, StaticDelaysReorderNothingBehindASlowCore) {
  int64_t reroutes = 0;
  for (uint32_t source = 0; source < 12; ++source) {
    std::vector<uint32_t> arrived;
    const auto look = [&](SwitchView& view, const Packet& packet, PortIndex) {
      if (packet.kind == PacketKind::kDatagram && view.IsAttached(packet.dst)) {
        arrived.push_back(packet.seq);
      }
    };
    UdpSource datagrams = Datagrams(source, 0, 15, 400_Mbps, Time{} + 10_ms);
    datagrams.pattern.kind = UdpPattern::Kind::kPoisson;
    Lab lab({.graph = GraphFrom(FatTree(", asymmetry: [{cores: [0], delay: 11us}]")),
             .switch_policy = Watched("flb", look, FatTreeShape()),
             .background = {datagrams}});
    lab.AddFlow(12, 14, 1'000, Time{} + 10'500_us);  // Keeps the lab going.
    lab.Run();
    EXPECT_GT(arrived.size(), 200u);
    EXPECT_TRUE(std::ranges::is_sorted(arrived));
    for (const auto& [name, value] : lab.network().switches()[0]->policy().Counters()) {
      if (name == "reroutes") reroutes += value;
    }
  }
  EXPECT_GT(reroutes, 0);
}

// Eight edge switches of four hosts each, of which all send to the last.
const std::string kWideFatTree =
    "{kind: fat_tree, k: 4, hosts_per_edge: 4, host_link: {rate: 40Gbps, delay: 500ns}, edge_link: "
    "{rate: 40Gbps, delay: 500ns}, core_link: {rate: 40Gbps, delay: 500ns}}";

TEST(FlbFatTreeTest, IncastPausesFewerLinksThanUnderEcmp) {
  const auto paused = [](const std::string& balancer) {
    return AtSeeds(10, [&](uint64_t seed) {
      LosslessIncast incast(GraphFrom(kWideFatTree), balancer, 31, "xoff: 30KB", seed, 50'000);
      incast.lab.Run();
      EXPECT_TRUE(incast.lab.finished());
      return incast.PausedFabricLinks();
    });
  };
  EXPECT_TRUE(IsLess(paused("{kind: flb, isolate_above: 15KB}"), paused("ecmp")));
}

// Three hosts of edge 0 take part in an incast; the fourth sends datagrams to other pods. The test
// records what the upper switches see of both while the same path is isolated at edge 0.
TEST(FlbFatTreeTest, CongestedFlowsShareAPathWhoseUplinkOthersLeave) {
  std::vector<std::pair<Time, uint16_t>> congested;
  std::vector<std::pair<Time, uint16_t>> others;
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex) {
    if (view.tier() != 1 || packet.src > 3 || packet.hops != 1) return;
    if (packet.kind == PacketKind::kData) congested.push_back({view.now(), packet.path});
    if (packet.kind == PacketKind::kDatagram) others.push_back({view.now(), packet.path});
  };
  Lab lab({.graph = GraphFrom(kWideFatTree),
           .transport = "{kind: rocev2, cc: none}",
           .port = kLossless + "xoff: 30KB}}",
           .switch_policy = Watched("{kind: flb, isolate_above: 15KB}", look, FatTreeShape()),
           .background = {Datagrams(0, 3, 12, 2_Gbps), Datagrams(1, 3, 20, 2_Gbps)}});
  for (HostId src = 0; src < 28; ++src) {
    if (src != 3) lab.AddFlow(src, 31, 100'000);
  }
  Time begin = kNever;
  Time end = kNever;
  lab.SampleEvery(1_us, [&](Time now) {
    for (const auto& [name, value] : lab.network().switches()[0]->policy().Counters()) {
      if (name != "isolated_flows") continue;
      if (value == 3 && begin == kNever) begin = now;
      if (value < 3 && begin < kNever && end == kNever) end = now;
    }
  });
  lab.Run(Time{} + 2_ms);
  // All packets queued before have left their leaf by then.
  const auto seen_in = [&](const std::vector<std::pair<Time, uint16_t>>& seen) {
    std::map<uint16_t, int> packets;
    for (const auto& [at, path] : seen) {
      if (at > begin + 50_us && at < end) ++packets[path];
    }
    return packets;
  };
  ASSERT_GT(end - begin, 200_us);
  const auto together = seen_in(congested);
  ASSERT_EQ(together.size(), 1u);
  EXPECT_GT(together.begin()->second, 20);
  int64_t innocent = 0;
  for (const auto& [path, packets] : seen_in(others)) {
    EXPECT_NE(path % 2, together.begin()->first % 2);
    innocent += packets;
  }
  EXPECT_GT(innocent, 20);
}

std::string ErrorsWithCoreLinks(int core_links) {
  return ErrorsOf(
      "topology: {kind: fat_tree, k: 4, core_links_per_agg: " + std::to_string(core_links) +
      "}\nlb: flb\nworkload: [{kind: permutation, size: 1MB}]\n");
}

TEST(FlbFatTreeTest, ALeafHasUpTo255Paths) {
  EXPECT_EQ(ErrorsWithCoreLinks(127), "");
  EXPECT_THAT(ErrorsWithCoreLinks(128),
              testing::HasSubstr("lb: flb numbers the paths of a leaf in 8 bits, so 256 are too "
                                 "many: 2 uplinks times 128 of the switches above; with up to 255 "
                                 "it runs, or use drill"));
}

}  // namespace heddle::flb_fat_tree_test
