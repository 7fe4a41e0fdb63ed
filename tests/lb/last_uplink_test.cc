// SPDX-License-Identifier: Apache-2.0
// Leaves have two uplinks, one of which fails for a while. Timers, and the memory of a flow, must
// continue on the other one.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/watched_policy.h"

namespace heddle::last_uplink_test {

Graph TwoSpines() {
  return LeafSpineFrom(
      "{leaves: 2, spines: 2, hosts_per_leaf: 8, host_link: {rate: 10Gbps, delay: 1us}, "
      "fabric_link: {rate: 40Gbps, delay: 1us}}");
}

std::vector<LinkEvent> Outage(const Graph& graph, const std::string& name, Duration from,
                              Duration to) {
  std::vector<LinkEvent> events;
  for (uint32_t link = 0; link < graph.links.size(); ++link) {
    if (graph.links[link].name != name) continue;
    events.push_back({.at = Time{} + from, .link = link, .up = false, .rate = {}, .delay = {}});
    events.push_back({.at = Time{} + to, .link = link, .up = true, .rate = {}, .delay = {}});
  }
  EXPECT_EQ(events.size(), 2u);
  return events;
}

// Eight hosts send datagrams without a pause to eight others.
std::vector<UdpSource> Sources(BitRate rate, UdpPattern::Kind pattern) {
  std::vector<UdpSource> sources;
  for (uint32_t id = 0; id < 8; ++id) {
    sources.push_back(Datagrams(id, static_cast<HostId>(id), static_cast<HostId>(8 + id), rate));
    sources.back().pattern.kind = pattern;
  }
  return sources;
}

class LastUplinkTest : public testing::TestWithParam<std::string> {};

// 12 us between packets, and an outage of 100 us: no flowlet ends, so none of those that have left
// spine 1 goes back to it.
TEST_P(LastUplinkTest, FlowletsStayWhereTheOutageHasSentThem) {
  std::array<int, 2> before = {};
  std::array<int, 2> after = {};
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex) {
    if (view.tier() == 0 || packet.kind != PacketKind::kDatagram) return;
    std::array<int, 2>& passed = view.now() < Time{} + 1_ms ? before : after;
    if (view.now() > Time{} + 1'010_us || &passed == &before) ++passed[view.id() - 2u];
  };
  const Graph graph = TwoSpines();
  Lab lab({.graph = graph,
           .switch_policy = Watched(GetParam(), look),
           .background = Sources(1_Gbps, UdpPattern::Kind::kCbr),
           .events = Outage(graph, "leaf0-spine1", 1_ms, 1'100_us)});
  lab.AddFlow(8, 9, 1'000, Time{} + 3_ms);  // Keeps the lab going.
  lab.Run();
  EXPECT_GT(before[1], 50);
  EXPECT_EQ(after[1], 0);
  EXPECT_GT(after[0], 1'000);
}

INSTANTIATE_TEST_SUITE_P(Schemes, LastUplinkTest,
                         testing::Values("letflow", "{kind: lq_flowlet, gap: 500us}",
                                         "{kind: flare, gap: 500us}", "conga",
                                         "{kind: hula, gap: 500us}", "tdlb"),
                         [](const auto& tested) { return std::to_string(tested.index); });

class LastUplinkOrderTest : public testing::TestWithParam<std::string> {};

// Spines are alike, so what is predicted is right: the outage loses packets, and no more.
TEST_P(LastUplinkOrderTest, NothingIsOvertakenWhenTheOtherOneIsBack) {
  std::map<HostId, std::vector<uint32_t>> arrived;
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex) {
    if (packet.kind != PacketKind::kDatagram || view.tier() > 0) return;
    if (view.IsAttached(packet.dst)) arrived[packet.src].push_back(packet.seq);
  };
  const Graph graph = TwoSpines();
  std::vector<LinkEvent> events;
  for (int round = 1; round < 10; ++round) {
    for (const LinkEvent& event :
         Outage(graph, "leaf0-spine1", 300_us * round, 300_us * round + 100_us)) {
      events.push_back(event);
    }
  }
  Lab lab({.graph = graph,
           .switch_policy = Watched(GetParam(), look),
           .background = Sources(4_Gbps, UdpPattern::Kind::kPoisson),
           .events = events});
  lab.AddFlow(8, 9, 1'000, Time{} + 3_ms);
  lab.Run();
  ASSERT_EQ(arrived.size(), 8u);
  for (const auto& [src, packets] : arrived) {
    EXPECT_GT(packets.size(), 500u);
    EXPECT_TRUE(std::ranges::is_sorted(packets)) << src;
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, LastUplinkOrderTest,
                         testing::Values("qdaps", "{kind: tr, telemetry: vclock}"),
                         [](const auto& tested) { return std::to_string(tested.index); });

// Spine 0 becomes slow, then its link to leaf 0 fails, and it is quick again when that comes back:
// it looks as it did when idle, so that it is tried.
TEST(LastUplinkMemoryTest, FlbForgetsHowSlowAnUplinkWas) {
  std::array<int, 2> packets = {};
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex) {
    if (view.tier() == 0 || packet.kind != PacketKind::kData || packet.src > 7) return;
    if (view.now() > Time{} + 2_ms) ++packets[view.id() - 2u];
  };
  const Graph graph = TwoSpines();
  std::vector<LinkEvent> events = LongerLinksOf(graph, "spine0", Time{} + 500_us, 50_us);
  for (const LinkEvent& event : Outage(graph, "leaf0-spine0", 1_ms, 1'200_us)) {
    events.push_back(event);
  }
  for (const LinkEvent& event : LongerLinksOf(graph, "spine0", Time{} + 1'100_us, 1_us)) {
    events.insert(events.end() - 1, event);
  }
  Lab lab({.graph = graph,
           .transport = "{kind: dctcp}",
           .switch_policy = Watched("flb", look),
           .events = events});
  for (int i = 0; i < 400; ++i) {
    lab.AddFlow(static_cast<HostId>(i % 8), static_cast<HostId>(8 + i % 8), 15'000,
                Time{} + 10_us * i);
  }
  lab.Run();
  EXPECT_GT(packets[0], (packets[0] + packets[1]) / 5);
}

}  // namespace heddle::last_uplink_test
