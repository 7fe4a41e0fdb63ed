// SPDX-License-Identifier: Apache-2.0
// FLB in whole networks: notices, measured delays and rates.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lb/flb_header.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/paired_seeds.h"
#include "tests/support/watched_policy.h"
#include "transport/roce_sender.h"

namespace heddle {
namespace {

// Seven leaves of five hosts send to one host of the eighth, over eight spines; RoCE without
// congestion control.
const std::string kLossless = "{buffer: unlimited, ecn_above: unlimited, pfc: {classes: [3], ";
struct Incast {
  Incast(const std::string& balancer, int senders, const std::string& pfc = "xoff: 30KB",
         uint64_t seed = 1, int64_t bytes = 100'000)
      : Incast(LeafSpineFrom(
                   "{leaves: 8, spines: 8, hosts_per_leaf: 5, host_link: {rate: 40Gbps, delay: "
                   "500ns}, fabric_link: {rate: 40Gbps, delay: 500ns}}"),
               balancer, senders, pfc, seed, bytes) {}
  // To the last host of some other fabric.
  Incast(const Graph& graph, const std::string& balancer, int senders, const std::string& pfc,
         uint64_t seed, int64_t bytes)
      : hosts(static_cast<uint32_t>(graph.hosts)),
        lab({.graph = graph,
             .transport = "{kind: rocev2, cc: none}",
             .balancer = balancer,
             .port = kLossless + pfc + "}}",
             .seed = seed}) {
    for (int i = 0; i < senders; ++i) {
      lab.AddFlow(static_cast<HostId>(i), static_cast<HostId>(hosts - 1), bytes);
    }
  }
  int64_t Sum(std::string_view counter) {
    int64_t sum = 0;
    for (const auto& node : lab.network().switches()) {
      for (const auto& [name, value] : node->policy().Counters()) {
        if (name == counter) sum += value;
      }
    }
    return sum;
  }
  // Links between switches that were ever paused.
  int PausedFabricLinks() {
    int paused = 0;
    for (const Network::Egress& egress : lab.network().egresses()) {
      if (egress.vertex < hosts || egress.peer < hosts) continue;
      if (lab.network().PausesOf(egress, lab.end()).pauses > 0) ++paused;
    }
    return paused;
  }
  int64_t PausesOfAll() {
    int64_t pauses = 0;
    for (const Network::Egress& egress : lab.network().egresses()) {
      pauses += lab.network().PausesOf(egress, lab.end()).pauses;
    }
    return pauses;
  }

  const uint32_t hosts;
  Lab lab;
};

TEST(FlbNetworkTest, IncastPausesFewerLinksThanUnderEcmpAndSpraying) {
  const auto paused = [](const std::string& balancer) {
    return AtFiveSeeds([&](uint64_t seed) {
      Incast incast(balancer, 31, "xoff: 30KB", seed, 50'000);
      incast.lab.Run();
      EXPECT_TRUE(incast.lab.finished());
      return incast.PausedFabricLinks();
    });
  };
  const auto ecmp = paused("ecmp");
  EXPECT_TRUE(IsLess(paused("{kind: flb, isolate_above: 15KB}"), ecmp));
  EXPECT_TRUE(IsLess(ecmp, paused("rps")));
}

// Whatever an input holds lies in that egress queue, so it cannot reach twice the threshold first.
TEST(FlbNetworkTest, NotifiesBeforeTheFirstPause) {
  Incast incast("{kind: flb, isolate_above: 15KB}", 31, "xoff: 30KB");
  Time notified = kNever;
  Time paused = kNever;
  incast.lab.SampleEvery(100_ns, [&](Time now) {
    if (notified == kNever && incast.Sum("cnms_sent") > 0) notified = now;
    if (paused == kNever && incast.PausesOfAll() > 0) paused = now;
  });
  incast.lab.Run();
  EXPECT_LT(notified, paused);
  EXPECT_LT(paused, kNever);
}

TEST(FlbNetworkTest, TellsEachFlowAndReleasesAll) {
  Incast incast("{kind: flb, isolate_above: 15KB}", 31);
  int64_t most_isolated = 0;
  incast.lab.SampleEvery(
      1_us, [&](Time) { most_isolated = std::max(most_isolated, incast.Sum("isolated_flows")); });
  incast.lab.Run();
  EXPECT_GE(most_isolated, 31);
  // Each that is told is released in the end, by a packet that takes its way.
  EXPECT_GE(incast.Sum("cnms_sent"), 62);
  EXPECT_LE(incast.Sum("isolated_flows"), 0);
  EXPECT_EQ(incast.Sum("isolated_ports"), 0);
}

// As flows come to an incast one by one, those before are told of more of them, once in a round
// trip of 16 us at most, unless they are released in between.
TEST(FlbNetworkTest, TellsAgainWhenTheNumberOfFlowsHasChanged) {
  std::map<FlowId, std::vector<std::pair<Time, uint16_t>>> told;  // Of how many; 0: released.
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex) {
    if (view.tier() == 0 || packet.kind != PacketKind::kControl) return;
    const FlbControl control = packet.Scheme<FlbControl>();
    if (control.kind == FlbControl::kDelay) return;
    told[packet.flow].push_back({view.now(), control.flows});
  };
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 2, hosts_per_leaf: 6, host_link: {rate: 10Gbps, delay: 500ns}, "
               "fabric_link: {rate: 100Gbps, delay: 500ns}}"),
           .transport = "{kind: rocev2, cc: none}",
           .switch_policy = Watched("flb", look)});
  for (HostId src = 0; src < 6; ++src) lab.AddFlow(src, 6, 500'000, Time{} + 30_us * src);
  lab.Run();
  ASSERT_EQ(told.size(), 6u);
  std::set<uint16_t> of_the_first;
  for (const auto& [at, flows] : told[0]) of_the_first.insert(flows);
  EXPECT_EQ(of_the_first, (std::set<uint16_t>{0, 2, 3, 4, 5, 6}));
  for (const auto& [flow, notices] : told) {
    EXPECT_EQ(notices.back().second, 0);
    for (size_t i = 1; i < notices.size(); ++i) {
      if (notices[i].second == 0 || notices[i - 1].second == 0) continue;
      EXPECT_NE(notices[i].second, notices[i - 1].second);
      // Notices may take different spines, which are alike.
      EXPECT_GE(notices[i].first - notices[i - 1].first, 16_us - 10_ns);
    }
  }
}

// A base round trip of 16 us at 10 Gbps, which is what a policy alone believes of its fabric. Two
// senders fill the queue with 5 KB each microsecond.
TEST(FlbNetworkTest, NotifiesFromTheBytesOfARoundTripOn) {
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: 40Gbps, delay: 500ns}, "
               "fabric_link: {rate: 100Gbps, delay: 500ns}}"),
           .transport = "{kind: rocev2, cc: none}",
           .balancer = "{kind: flb}"});
  for (HostId src = 0; src < 2; ++src) lab.AddFlow(src, 2, 100'000);
  constexpr PortIndex kToHost2 = 0;
  constexpr size_t kDataClass = 3;
  int64_t queue = -1;
  lab.SampleEvery(100_ns, [&](Time now) {
    Switch& last = *lab.network().switches()[1];
    for (const auto& [name, value] : last.policy().Counters()) {
      if (name != "episodes" || value == 0 || queue >= 0) continue;
      queue = (*last.queued())[kToHost2].QueueAt(kDataClass, now).bytes;
    }
  });
  lab.Run();
  // Less the gaps between frames; with the sent part of one, and up to 100 ns later.
  EXPECT_GE(queue, 19'000);
  EXPECT_LE(queue, 24'000);
}

// Two senders of 40 Gbps to one host, 300 KB each: the queue grows by 5 KB each microsecond, and
// shrinks as fast when they are done. How long it is when the leaf where they begin isolates flows,
// and when it does so no longer, both about a microsecond late.
std::pair<int64_t, int64_t> QueuesOfAnEpisode(const std::string& balancer) {
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: 40Gbps, delay: 500ns}, "
               "fabric_link: {rate: 100Gbps, delay: 500ns}}"),
           .transport = "{kind: rocev2, cc: none}",
           .balancer = balancer,
           .port = "{buffer: unlimited, ecn_above: unlimited, memory: {model: dt, size: 10MB}}"});
  for (HostId src = 0; src < 2; ++src) lab.AddFlow(src, 2, 300'000);
  constexpr PortIndex kToHost2 = 0;
  constexpr size_t kDataClass = 3;
  std::pair<int64_t, int64_t> queues = {-1, -1};
  lab.SampleEvery(100_ns, [&](Time now) {
    const auto isolated = [&] {
      for (const auto& [name, value] : lab.network().switches()[0]->policy().Counters()) {
        if (name == "isolated_flows") return value;
      }
      return int64_t{-1};
    }();
    const int64_t queue =
        (*lab.network().switches()[1]->queued())[kToHost2].QueueAt(kDataClass, now).bytes;
    if (isolated > 0 && queues.first < 0) queues.first = queue;
    if (isolated == 0 && queues.first >= 0 && queues.second < 0) queues.second = queue;
  });
  lab.Run();
  return queues;
}

TEST(FlbNetworkTest, TheThresholdMayBeAShareOfTheMemory) {
  const auto [begin, end] = QueuesOfAnEpisode("{kind: flb, isolate_share: 0.01}");
  EXPECT_GE(begin, 100'000);
  EXPECT_LE(begin, 110'000);
  EXPECT_LT(end, 100'000);  // Released below the same.
  EXPECT_GT(end, 90'000);
}

TEST(FlbNetworkTest, FlowsAreReleasedBelowAThresholdOfItsOwn) {
  const auto [begin, end] =
      QueuesOfAnEpisode("{kind: flb, isolate_above: 100KB, release_below: 40KB}");
  EXPECT_GE(begin, 100'000);
  EXPECT_LE(begin, 110'000);
  EXPECT_LT(end, 40'000);
  EXPECT_GT(end, 30'000);
}

TEST(FlbNetworkTest, WithoutIsolationNobodyIsToldButFlowsMove) {
  for (const bool isolates : {false, true}) {
    Incast incast(isolates ? "{kind: flb, isolate_above: 15KB}"
                           : "{kind: flb, isolate_above: 15KB, isolate: false}",
                  31);
    int64_t isolated = 0;
    incast.lab.SampleEvery(
        1_us, [&](Time) { isolated = std::max(isolated, incast.Sum("isolated_ports")); });
    incast.lab.Run();
    EXPECT_EQ(incast.Sum("episodes") > 0, isolates);
    EXPECT_EQ(incast.Sum("cnms_sent") > 0, isolates);
    EXPECT_EQ(isolated > 0, isolates);
    EXPECT_GT(incast.Sum("reroutes"), 0) << isolates;
  }
}

TEST(FlbNetworkTest, BelowTheThresholdNobodyIsTold) {
  Incast incast("{kind: flb, isolate_above: 15KB}", 1);
  incast.lab.Run();
  EXPECT_EQ(incast.Sum("cnms_sent"), 0);
}

// After 1 ms the links of a switch above get longer.
std::vector<LinkEvent> SlowLinksOf(const Graph& graph, std::string_view upper) {
  std::vector<LinkEvent> events;
  for (uint32_t link = 0; link < graph.links.size(); ++link) {
    if (!graph.links[link].name.ends_with(upper)) continue;
    events.push_back({.at = Time{} + 1_ms, .link = link, .up = {}, .rate = {}, .delay = 30_us});
  }
  return events;
}

// Short flows, or what is in the background, from leaf 0 to leaf 1. After 1 ms the links of spine
// 0, over which the way was shortest when the fabric was built, get slower. What of the bytes sent
// from 1.5 ms to 3 ms went over it.
double ShareOverSpine0(const std::vector<UdpSource>& background) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 3, hosts_per_leaf: 4, host_link: {rate: 10Gbps, delay: 1us}, "
      "fabric_link: {rate: 10Gbps, delay: 5us}, asymmetry: [{spines: [0], delay: 1us}]}");
  std::vector<LinkEvent> events = SlowLinksOf(graph, "spine0");
  EXPECT_EQ(events.size(), 2u);
  Lab lab({.graph = graph,
           .transport = "{kind: dctcp}",
           .balancer = "flb",
           .background = background,
           .events = std::move(events)});
  for (int i = 0; i < 150 && background.empty(); ++i) {
    lab.AddFlow(static_cast<HostId>(i % 4), static_cast<HostId>(4 + i % 4), 10'000,
                Time{} + 20_us * i);
  }
  lab.AddFlow(4, 5, 1'000, Time{} + 3'100_us);  // Keeps the lab going.
  std::array<int64_t, 3> before = {};
  std::array<int64_t, 3> after = {};
  lab.SampleEvery(1'500_us, [&](Time) {
    std::swap(before, after);
    for (SwitchId spine = 0; spine < 3; ++spine) {
      FifoPort& up =
          lab.PortTo(lab.SwitchVertex(0), lab.SwitchVertex(static_cast<SwitchId>(2 + spine)));
      after[spine] = up.Committed().wire_bytes;
    }
  });
  lab.Run(Time{} + 3'050_us);
  int64_t all = 0;
  for (size_t spine = 0; spine < 3; ++spine) all += after[spine] - before[spine];
  EXPECT_GT(all, 15'000);
  return static_cast<double>(after[0] - before[0]) / static_cast<double>(all);
}

TEST(FlbNetworkTest, AcksBringMeasuredDelaysBack) { EXPECT_LT(ShareOverSpine0({}), 0.01); }

// When each of two paths is measured, while one flow sends 1 MB over both: spines see the stamps.
using StampTimes = std::array<std::vector<Time>, 2>;
void NoteStamp(StampTimes& stamped, const SwitchView& view, const Packet& packet) {
  if (view.tier() == 0 || packet.kind != PacketKind::kData) return;
  if (packet.Scheme<FlbHeader>().stamp != 0) stamped[view.id() - 2u].push_back(view.now());
}
void SendOverTwoPaths(std::function<std::unique_ptr<SwitchPolicy>(SwitchId)> watched_flb) {
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 2, hosts_per_leaf: 1, host_link: {rate: 10Gbps, delay: 1us}, "
               "fabric_link: {rate: 10Gbps, delay: 5us}}"),
           .transport = "{kind: tcp, iw: 1000}",
           .switch_policy = std::move(watched_flb)});
  lab.AddFlow(0, 1, 1'000'000);
  lab.Run();
}

// The next full packet after the interval is stamped.
void ExpectMeasuredEach(Duration interval, const StampTimes& stamped) {
  for (const std::vector<Time>& times : stamped) {
    for (size_t i = 1; i < times.size(); ++i) {
      EXPECT_GE(times[i] - times[i - 1], interval);
      EXPECT_LT(times[i] - times[i - 1], interval + 1'231_ns);
    }
  }
}

// Between leaves a full packet takes 2 x (1.2304 + 5) us. The base round trip is 16 us here, so a
// path is measured each 32 us.
TEST(FlbNetworkTest, ADelayIsMeasuredTwiceInFourRoundTripsAndIsThatOfThePacket) {
  StampTimes stamped;
  std::vector<uint32_t> told_ns;
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex in_port) {
    NoteStamp(stamped, view, packet);
    const uint32_t news = packet.Scheme<FlbHeader>().news;
    if (view.tier() == 0 && packet.kind == PacketKind::kAck && !view.FacesHost(in_port) &&
        news != 0) {
      told_ns.push_back(news >> 8);
    }
  };
  SendOverTwoPaths(Watched("flb", look));
  ExpectMeasuredEach(32_us, stamped);
  ASSERT_GT(stamped[0].size() + stamped[1].size(), 20u);
  EXPECT_GE(told_ns.size() + 1, stamped[0].size() + stamped[1].size());
  for (const uint32_t ns : told_ns) EXPECT_NEAR(ns, 12'460.8, 1);
}

TEST(FlbNetworkTest, ADelayIsMeasuredAsOftenAsIsSet) {
  StampTimes stamped;
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex) {
    NoteStamp(stamped, view, packet);
  };
  SendOverTwoPaths(Watched("{kind: flb, stamp_every: 100us}", look));
  EXPECT_GT(stamped[0].size() + stamped[1].size(), 6u);
  ExpectMeasuredEach(100_us, stamped);
}

// Of datagrams that nobody answers: leaves tell each other by packets of their own.
TEST(FlbNetworkTest, WhereNothingReturnsLeavesTellOfDelaysThemselves) {
  const UdpSource source = Datagrams(0, 0, 4, 100_Mbps, Time{} + 4_ms);
  EXPECT_LT(ShareOverSpine0({source}), 0.01);
}

// --- With rate control ---

TEST(FlbRateControlTest, AFlowPausesThenHasItsShareThenIsFree) {
  // One flow at 40 Gbps; a policy at its leaf tells its host what another leaf would.
  class Teller final : public SwitchPolicy {
   public:
    Decision OnPacket(SwitchView&, const Packet&, PortIndex, const Candidates& c) override {
      return Decision::Forward(c.ports.front());
    }
    void Attach(SwitchView& view) override {
      for (uint32_t i = 0; i < 3; ++i) view.SetTimer(Time{} + 50_us + 10_us * i, i);
    }
    void OnTimer(SwitchView& view, uint32_t id) override {
      if (!view.IsAttached(0)) return;
      Packet cnm;
      cnm.kind = PacketKind::kControl;
      cnm.bytes = 64;
      cnm.flow = 0;
      cnm.src = 1;
      const bool last = id == 2;
      const uint16_t flows = id == 0 ? 31 : 10;  // The most counts.
      cnm.SetScheme(FlbControl{last ? FlbControl::kReleased : FlbControl::kCongested, 0, flows, 0});
      view.SendControl(cnm, view.CandidatesTo(0).ports.front());
    }
    size_t StateBytes() const override { return 1; }
  };
  const Chosen<LoadBalancer> flb = BalancerFrom("{kind: flb, rate_control: true}");
  Lab lab({.graph = Line(2, {40_Gbps, 1_us}),
           .transport = "{kind: rocev2, cc: none}",
           .switch_policy = [](SwitchId) { return std::make_unique<Teller>(); },
           .host_policy = [&](HostId h) { return flb.settings->ForHost(h, 1); }});
  lab.AddFlow(0, 1, 50'000'000);
  std::vector<double> rates;
  lab.SampleEvery(1_us, [&](Time) {
    const RoceSender* sender = lab.QueuePair(0);
    rates.push_back(sender == nullptr ? -1 : *sender->state().rate);
  });
  lab.Run(Time{} + 2_ms);
  EXPECT_EQ(rates[49], 40e9);
  for (size_t us = 53; us < 70; ++us) EXPECT_EQ(rates[us], 0) << us;
  // The timer of recovery looks at the last notice: 71 us.
  for (size_t us = 73; us < 1'070; ++us) ASSERT_NEAR(rates[us], 40e9 / 31, 1) << us;
  EXPECT_EQ(rates[1'074], 40e9);
}

// Those that are told early are told again when more have come: after a few round trips each has
// its share of the last link, or pauses.
TEST(FlbRateControlTest, EachFlowOfAnIncastGoesOnAtItsShare) {
  Incast incast("{kind: flb, isolate_above: 15KB, rate_control: true}", 31);
  std::vector<int> at_share(31, 0);
  int64_t pauses = -1;
  int samples = 0;
  incast.lab.SampleEvery(10_us, [&](Time now) {
    if (now < Time{} + 150_us || now > Time{} + 650_us) return;
    ++samples;
    if (pauses < 0) pauses = incast.PausesOfAll();
    for (FlowId flow = 0; flow < 31; ++flow) {
      ASSERT_NE(incast.lab.QueuePair(flow), nullptr);
      const double rate = *incast.lab.QueuePair(flow)->state().rate;
      if (rate == 0) continue;
      ASSERT_NEAR(rate, 40e9 / 31, 1) << flow << " at " << now.ps;
      ++at_share[flow];
    }
    ASSERT_EQ(incast.PausesOfAll(), pauses);  // No link is paused any more.
  });
  incast.lab.Run();
  ASSERT_EQ(samples, 51);
  for (const int times : at_share) EXPECT_GT(times, samples / 2);
  // 31 times 100 KB at 40 Gbps are 620 us, and 8% headers.
  for (const FlowRecord& record : incast.lab.records()) {
    EXPECT_GT(FctRx(record), 620_us);
    EXPECT_LT(FctRx(record), 750_us);
  }
}

TEST(FlbRateControlTest, IncastPausesLessThanWithoutAndFinishes) {
  const auto pauses = [](const std::string& balancer) {
    Incast incast(balancer, 31);
    incast.lab.Run(Time{} + 1_s);
    EXPECT_TRUE(incast.lab.finished());
    return incast.PausesOfAll();
  };
  EXPECT_LT(pauses("{kind: flb, isolate_above: 15KB, rate_control: true}"),
            pauses("{kind: flb, isolate_above: 15KB}"));
}

TEST(FlbRateControlTest, NeedsATransportWithRates) {
  EXPECT_THAT(ErrorsOf("topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
                       "transport: dctcp\nlb: {kind: flb, rate_control: true}\n"
                       "workload: [{kind: permutation, size: 1MB}]\n"),
              testing::HasSubstr("use transport: rocev2"));
}

// --- Three tiers ---

std::string FatTree(const std::string& more = "") {
  return "{kind: fat_tree, k: 4, host_link: {rate: 10Gbps, delay: 1us}, edge_link: {rate: 10Gbps, "
         "delay: 1us}, core_link: {rate: 10Gbps, delay: 1us}" +
         more + "}";
}
FabricShape FatTreeShape(size_t core_links = 2) {
  return {.tiers = 3, .leaves = 8, .leaf_uplinks = 2, .above_uplinks = core_links};
}

// The least delays in nanoseconds that edge 0 is told of its paths, while flows from there to
// `dst` look for the best.
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

// After 1 ms the links of core 0 become slow: the share of it in what flows from one pod to another
// send from 1.5 ms on.
TEST(FlbFatTreeTest, FlowsLeaveACoreThatHasBecomeSlow) {
  std::map<SwitchId, int> packets;
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex) {
    if (view.tier() != 2 || packet.kind != PacketKind::kData) return;
    if (view.now() > Time{} + 1'500_us) ++packets[view.id()];
  };
  const Graph graph = GraphFrom(FatTree());
  std::vector<LinkEvent> events = SlowLinksOf(graph, "core0");
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
    return AtFiveSeeds([&](uint64_t seed) {
      Incast incast(GraphFrom(kWideFatTree), balancer, 31, "xoff: 30KB", seed, 50'000);
      incast.lab.Run();
      EXPECT_TRUE(incast.lab.finished());
      return incast.PausedFabricLinks();
    });
  };
  EXPECT_TRUE(IsLess(paused("{kind: flb, isolate_above: 15KB}"), paused("ecmp")));
}

// Three hosts of edge 0 take part in an incast, the fourth sends datagrams to other pods. What the
// switches above see of both while the same path is isolated at edge 0.
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
  // What was queued before has left its leaf by then.
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

}  // namespace
}  // namespace heddle
