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
#include <utility>
#include <vector>

#include "lb/flb/header.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/lossless_incast.h"
#include "tests/support/paired_seeds.h"
#include "tests/support/watched_policy.h"
#include "transport/rdma/roce_sender.h"

namespace heddle::flb_network_test {

TEST(FlbNetworkTest, IncastPausesFewerLinksThanUnderEcmpAndSpraying) {
  const auto paused = [](const std::string& balancer) {
    return AtFiveSeeds([&](uint64_t seed) {
      LosslessIncast incast(balancer, 31, "xoff: 30KB", seed, 50'000);
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
  LosslessIncast incast("{kind: flb, isolate_above: 15KB}", 31, "xoff: 30KB");
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
  LosslessIncast incast("{kind: flb, isolate_above: 15KB}", 31);
  int64_t most_isolated = 0;
  incast.lab.SampleEvery(
      1_us, [&](Time) { most_isolated = std::max(most_isolated, incast.Sum("isolated_flows")); });
  incast.lab.Run();
  EXPECT_GE(most_isolated, 31);
  // Every notified flow is released in the end, by a packet that takes the same path.
  EXPECT_GE(incast.Sum("cnms_sent"), 62);
  EXPECT_EQ(incast.Sum("cnms_taken"), incast.Sum("cnms_sent"));  // Nothing is lost.
  EXPECT_LE(incast.Sum("isolated_flows"), 0);
  EXPECT_EQ(incast.Sum("isolated_ports"), 0);
}

// A queue's table tells 16 of 31 flows apart: it releases and counts the flows that it forgets.
TEST(FlbNetworkTest, WhatATableForgetsIsReleased) {
  LosslessIncast incast("{kind: flb, isolate_above: 15KB, queue_flows: 16}", 31);
  incast.lab.Run();
  EXPECT_TRUE(incast.lab.finished());
  EXPECT_GT(incast.Sum("table_evictions"), 0);
  EXPECT_EQ(incast.Sum("isolated_flows"), 0);
  EXPECT_EQ(incast.Sum("isolated_ports"), 0);
}

// Flows join an incast one by one. The switch tells the earlier flows of the new number of flows,
// at most once in a round trip of 16 us, unless it releases them in between.
TEST(FlbNetworkTest, TellsAgainWhenTheNumberOfFlowsHasChanged) {
  std::map<FlowId, std::vector<std::pair<Time, uint16_t>>> told;  // Flows told; 0: released.
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

// Two senders fill the queue with 5 KB each microsecond. Returns the queue length when flows are
// notified.
int64_t QueueWhenNotified(const FabricShape& fabric) {
  const Chosen<LoadBalancer> flb = BalancerFrom("flb", fabric);
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: 40Gbps, delay: 500ns}, "
               "fabric_link: {rate: 100Gbps, delay: 500ns}}"),
           .transport = "{kind: rocev2, cc: none}",
           .switch_policy = [&](SwitchId id) { return flb.settings->ForSwitch(id, /*seed=*/1); }});
  for (HostId src = 0; src < 2; ++src) lab.AddFlow(src, 2, 100'000);
  constexpr PortIndex kToHost2 = 0;
  constexpr size_t kDataClass = 3;
  int64_t queue = -1;
  lab.SampleEvery(100_ns, [&](Time now) {
    Switch& last = *lab.network().switches()[1];
    for (const auto& [name, value] : last.policy().Counters()) {
      if (name != "cnms_sent" || value == 0 || queue >= 0) continue;
      queue = (*last.queued())[kToHost2].QueueAt(kDataClass, now).bytes;
    }
  });
  lab.Run();
  return queue;
}

// A base round trip of 16 us at 10 Gbps, which is what a policy alone believes of its fabric.
TEST(FlbNetworkTest, NotifiesFromTheBytesOfARoundTripOn) {
  // Less the gaps between frames; with the sent part of one, and up to 100 ns later.
  const int64_t queue = QueueWhenNotified({});
  EXPECT_GE(queue, 19'000);
  EXPECT_LE(queue, 24'000);
}

TEST(FlbNetworkTest, NotifiesAtTheLatestFromHalfOfWhatPausesAnInput) {
  const int64_t queue = QueueWhenNotified({.pause_above = 20_KB});
  EXPECT_GE(queue, 9'000);
  EXPECT_LE(queue, 14'000);
  EXPECT_EQ(QueueWhenNotified({.pause_above = 40_KB}), QueueWhenNotified({}));
}

// A queue that ECN marks keep up is no sign of congestion. The threshold is at most halfway from
// there to a pause.
TEST(FlbNetworkTest, BesideMarksItNotifiesFromAsMuchAboveTheirThresholdOn) {
  const int64_t plain = QueueWhenNotified({});
  const int64_t beside = QueueWhenNotified({.marked_above = 30_KB});
  EXPECT_NEAR(static_cast<double>(beside - plain), 30'000, 1'500);
  const int64_t halfway = QueueWhenNotified({.marked_above = 40_KB, .pause_above = 60_KB});
  EXPECT_GE(halfway, 49'000);
  EXPECT_LE(halfway, 54'000);
}

// DCQCN's marking begins at 100 KB at 100 Gbps, and a base round trip is 105 KB. With IRN, which
// needs no order, there is no warning about reordering.
std::string WarningsWith(const std::string& lb, const std::string& cc,
                         const std::string& xoff = "auto") {
  Diagnostics diagnostics;
  LoadExperimentsFromText(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: "
      "100Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: 1us}, port: {pfc: {classes: "
      "[3], xoff: " +
          xoff + "}}}\ntransport: {kind: rocev2, recovery: irn, cc: " + cc + "}\nlb: " + lb +
          "\nworkload: [{kind: permutation, size: 1MB}]\n",
      "test.yaml", ".", {{}, std::nullopt}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  return diagnostics.warnings().empty() ? "" : diagnostics.warnings().front();
}
TEST(FlbNetworkTest, AThresholdWhereMarksKeepQueuesIsWarnedOf) {
  EXPECT_THAT(WarningsWith("{kind: flb, isolate_above: 105KB}", "dcqcn"),
              testing::AllOf(
                  testing::HasSubstr("lb.isolate_above: K is 105KB, and marking begins at 100KB"),
                  testing::HasSubstr("or set more than 150KB")));
  EXPECT_EQ(WarningsWith("{kind: flb, isolate_above: 151KB}", "dcqcn"), "");
  EXPECT_EQ(WarningsWith("{kind: flb, isolate_above: 105KB, isolate: false}", "dcqcn"), "");
  EXPECT_EQ(WarningsWith("{kind: flb, isolate_above: 105KB}", "none"), "");
  EXPECT_EQ(WarningsWith("flb", "dcqcn"), "");
  // K is 125 KB there, which nobody can raise as long as pauses begin so early.
  EXPECT_EQ(WarningsWith("flb", "dcqcn", "150KB"), "");
}

// Notices travel in the class of ACKs, so a pause of the data class does not delay them.
TEST(FlbNetworkTest, NoticesTravelInAClassThatIsNotPaused) {
  int64_t notices = 0;
  const auto look = [&](SwitchView&, const Packet& packet, PortIndex) {
    if (packet.kind == PacketKind::kData) {
      ASSERT_EQ(packet.priority, 3);
    }
    if (packet.kind != PacketKind::kControl) return;
    if (packet.Scheme<FlbControl>().kind == FlbControl::kDelay) return;
    ++notices;
    ASSERT_EQ(packet.priority, 0);
  };
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 2, hosts_per_leaf: 4, host_link: {rate: 10Gbps, delay: 500ns}, "
               "fabric_link: {rate: 100Gbps, delay: 500ns}}"),
           .transport = "{kind: rocev2, cc: none}",
           .switch_policy = Watched("flb", look)});
  for (HostId src = 0; src < 4; ++src) lab.AddFlow(src, 4, 500'000);
  lab.Run();
  EXPECT_GT(notices, 8);
}

// Two senders of 40 Gbps to one host, 300 KB each: the queue grows by 5 KB each microsecond, and
// shrinks as fast when they are done. Returns the queue length when the first leaf isolates flows,
// and when it no longer does, both about a microsecond late.
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
    LosslessIncast incast(isolates ? "{kind: flb, isolate_above: 15KB}"
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

// One flow from another leaf and four from the receiver's leaf share the receiver's link of 100
// Mbps: the uplink of the first flow is paused for milliseconds. Records how often its leaf sees no
// packet of it for longer than one, and the spines that its packets take.
struct Silences {
  int count = 0;
  std::set<SwitchId> spines;
};
Silences BehindLongPauses(const std::string& balancer) {
  Silences silences;
  Time last = kNever;
  const auto look = [&](SwitchView& view, const Packet& packet, PortIndex in_port) {
    if (packet.kind != PacketKind::kData || packet.src != 0) return;
    if (view.tier() > 0) silences.spines.insert(view.id());
    if (view.tier() > 0 || !view.FacesHost(in_port)) return;
    if (last != kNever && view.now() - last > 1_ms) ++silences.count;
    last = view.now();
  };
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 2, hosts_per_leaf: 6, host_link: {rate: 10Gbps, delay: 500ns}, "
               "fabric_link: {rate: 10Gbps, delay: 500ns}, asymmetry: [{links: [host6-leaf1], "
               "rate: 100Mbps}]}"),
           .transport = "{kind: rocev2, cc: none, rto: never}",
           .port = kLossless + "xoff: 100KB}}",
           .switch_policy = Watched(balancer, look)});
  lab.AddFlow(0, 6, 2'000'000);
  for (HostId src = 7; src < 11; ++src) lab.AddFlow(src, 6, 2'000'000);
  lab.Run(Time{} + 60_ms);
  return silences;
}

// A forgotten flow would be treated as new and given the other spine, where its packets would wait
// beside those that wait already.
TEST(FlbNetworkTest, AFlowThatWaitsForAPauseToEndIsNotForgotten) {
  const Silences known = BehindLongPauses("{kind: flb, isolate: false}");
  EXPECT_GT(known.count, 10);
  EXPECT_EQ(known.spines.size(), 1u);
  const Silences forgotten = BehindLongPauses("{kind: flb, isolate: false, held_age: 1ms}");
  EXPECT_GT(forgotten.count, 10);
  EXPECT_EQ(forgotten.spines.size(), 2u);
}

TEST(FlbNetworkTest, BelowTheThresholdNobodyIsTold) {
  LosslessIncast incast("{kind: flb, isolate_above: 15KB}", 1);
  incast.lab.Run();
  EXPECT_EQ(incast.Sum("cnms_sent"), 0);
}

// Short flows, or the given background, go from leaf 0 to leaf 1. The links of spine 0, the
// shortest path of the built fabric, become slower after 1 ms. Returns the share of spine 0 in the
// bytes sent from 1.5 ms to 3 ms.
double ShareOverSpine0(const std::vector<UdpSource>& background) {
  const Graph graph = LeafSpineFrom(
      "{leaves: 2, spines: 3, hosts_per_leaf: 4, host_link: {rate: 10Gbps, delay: 1us}, "
      "fabric_link: {rate: 10Gbps, delay: 5us}, asymmetry: [{spines: [0], delay: 1us}]}");
  std::vector<LinkEvent> events = LongerLinksOf(graph, "spine0", Time{} + 1_ms, 30_us);
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

// The times at which each of two paths is measured, while one flow sends 1 MB over both: spines see
// the stamps.
using StampTimes = std::array<std::vector<Time>, 2>;
void NoteStamp(StampTimes& stamped, const SwitchView& view, const Packet& packet) {
  if (view.tier() == 0 || packet.kind != PacketKind::kData) return;
  if (packet.Scheme<FlbHeader>().stamp != 0) stamped[view.id() - 2u].push_back(view.now());
}
void SendOverTwoPaths(std::function<SwitchPolicyPtr(SwitchId)> watched_flb) {
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

// Nobody answers these datagrams, so leaves send each other packets of their own.
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

// Flows that were told early are told again when more flows have come: after a few round trips each
// has its share of the last link, or is paused by rate control.
TEST(FlbRateControlTest, EachFlowOfAnIncastGoesOnAtItsShare) {
  LosslessIncast incast("{kind: flb, isolate_above: 15KB, rate_control: true}", 31);
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

// The paper's setting has a window of a bandwidth-delay product, so the flows told early queue
// nothing when the others come. Some senders are in the receiver's rack. No flow sends at more than
// 1/31 once the first queue has drained.
TEST(FlbRateControlTest, WhoIsPausedHearsOfAllOthersToo) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 8, spines: 8, hosts_per_leaf: 5, host_link: {rate: "
      "40Gbps, delay: 500ns}, fabric_link: {rate: 40Gbps, delay: 500ns}, port: {buffer: unlimited, "
      "ecn_above: unlimited, memory: {model: dt, size: 22MB}, pfc: {classes: [3], xoff: 256KB}}}\n"
      "transport: {kind: rocev2, cc: none, window: bdp}\nlb: {kind: flb, rate_control: true}\n"
      "workload: [{kind: incast, fan_in: 31, bytes_each: 200KB, queries: 1}]\n"
      "measure: {warm_up: 0us, record: {flows: {size_at_least: 1B, every: 2us}}}\n"));
  const CsvTable rates(run.files.series.at("series_flow.csv"));
  int limited = 0;
  for (size_t row = 0; row < rates.rows.size(); ++row) {
    const int64_t at_us = rates.Integer(row, "time_ns") / 1'000;
    if (at_us < 130 || at_us > 1'000 || rates.At(row, "rate_bps").empty()) continue;
    const double rate = rates.Real(row, "rate_bps");
    ASSERT_LE(rate, 40e9 / 31 + 1) << at_us;
    limited += rate > 0 ? 1 : 0;
  }
  EXPECT_GT(limited, 1'000);
}

TEST(FlbRateControlTest, IncastPausesLessThanWithoutAndFinishes) {
  const auto pauses = [](const std::string& balancer) {
    LosslessIncast incast(balancer, 31);
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

}  // namespace heddle::flb_network_test
