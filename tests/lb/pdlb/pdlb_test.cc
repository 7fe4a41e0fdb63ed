// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lb/pdlb/estimator.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::pdlb_test {

constexpr HostId kRemote = 1;

// --- What delays tell ---

// 30 of 100 us and 10 of 300 us.
std::vector<uint32_t> QuarterIsSlow() {
  std::vector<uint32_t> samples(40, 100'000);
  std::fill_n(samples.begin() + 7, 10, 300'000);
  return samples;
}

TEST(PdlbEstimatorTest, AboveTheLeastDelayFindsWhatTwiceTheAverageMisses) {
  const PathContrast found = ContrastOf(QuarterIsSlow(), SlowRule::kAboveLeast, 1.4);
  EXPECT_DOUBLE_EQ(found.slow_share, 0.25);
  EXPECT_DOUBLE_EQ(found.slowness, 3);
  EXPECT_DOUBLE_EQ(found.fast_ns, 100'000);
  const PathContrast missed = ContrastOf(QuarterIsSlow(), SlowRule::kAboveAverage, 1.4);
  EXPECT_EQ(missed.slow_share, 0);
  EXPECT_EQ(missed.slowness, 1);
  EXPECT_DOUBLE_EQ(missed.fast_ns, 150'000);
}

// Some of eight paths are slow by just more or less than the published rule can tell.
TEST(PdlbEstimatorTest, TwiceTheAverageNeedsEverSlowerPaths) {
  const double needed[] = {7.0 / 3, 3, 5};
  for (uint32_t slow = 1; slow <= 4; ++slow) {
    const auto finds = [&](double slowness) {
      std::vector<uint32_t> samples(8, 1'000'000);
      std::fill_n(samples.begin(), slow, static_cast<uint32_t>(slowness * 1e6));
      return ContrastOf(samples, SlowRule::kAboveAverage, 1.4).slow_share > 0;
    };
    if (slow == 4) {
      EXPECT_FALSE(finds(1'000));
    } else {
      EXPECT_TRUE(finds(needed[slow - 1] + 0.01)) << slow;
      EXPECT_FALSE(finds(needed[slow - 1] - 0.01)) << slow;
    }
  }
}

// The least asymmetry that the paper tests: half of the paths, slower by half.
TEST(PdlbEstimatorTest, FindsThatHalfOfThePathsAreSlow) {
  const std::vector<uint32_t> samples = {100'000, 150'000, 100'000, 150'000, 100'000, 150'000};
  const PathContrast found = ContrastOf(samples, SlowRule::kAboveLeast, 1.4);
  EXPECT_DOUBLE_EQ(found.slow_share, 0.5);
  EXPECT_DOUBLE_EQ(found.slowness, 1.5);
}

TEST(PdlbEstimatorTest, AQueueCommonToAllPathsMakesNoneSlow) {
  const std::vector<uint32_t> even(20, 900'000);
  EXPECT_EQ(ContrastOf(even, SlowRule::kAboveLeast, 1.4).slow_share, 0);
  const std::vector<uint32_t> at_the_limit = {100, 140};
  EXPECT_EQ(ContrastOf(at_the_limit, SlowRule::kAboveLeast, 1.4).slow_share, 0);
}

TEST(PdlbEstimatorTest, AWindowKeepsTheLatest) {
  DelayWindow window;
  for (int i = 0; i < 3'000; ++i) window.Add(1'000_ps * i);
  ASSERT_EQ(window.size(), DelayWindow::kSamples);
  EXPECT_EQ(std::ranges::min(window.samples()), 3'000u - DelayWindow::kSamples);
  window.Clear();
  EXPECT_EQ(window.size(), 0u);
}

// --- One host ---

PathTable EightPaths() { return PathsOfWeights(std::vector<uint16_t>(8, 1)); }

TEST(PdlbTest, ACellIsSoManyPacketsAndItsNumberIsItsOwn) {
  const PathTable paths = EightPaths();
  for (const int size : {1, 7, 44}) {
    LbHost host("{kind: pdlb, granularity: " + std::to_string(size) + "}", paths);
    HostFlow flow = host.Start(kRemote);
    std::map<uint16_t, int> packets;
    std::vector<uint16_t> order;
    for (int i = 0; i < 1'000; ++i) {
      const uint16_t cell = host.Send(flow).entropy;
      if (packets[cell]++ == 0) order.push_back(cell);
      ASSERT_EQ(cell, order.back());  // No cell begins again.
    }
    EXPECT_EQ(packets.size(), static_cast<size_t>((1'000 + size - 1) / size));
    EXPECT_EQ(host.Count("cells"), static_cast<int64_t>(packets.size()) - 1);
  }
}

TEST(PdlbTest, ACellMayBeVeryLarge) {
  const PathTable paths = EightPaths();
  LbHost host("{kind: pdlb, granularity: 70000}", paths);
  HostFlow flow = host.Start(kRemote);
  const uint16_t first = host.Send(flow).entropy;
  for (int i = 1; i < 70'000; ++i) ASSERT_EQ(host.Send(flow).entropy, first);
  EXPECT_NE(host.Send(flow).entropy, first);
}

TEST(PdlbTest, AFlowThatBeginsWhileNoPathLivesIsCutToo) {
  PathTable paths = PathsOfWeights({});
  LbHost host("{kind: pdlb, granularity: 5}", paths);
  HostFlow flow = host.Start(kRemote);
  paths.Set(0, 1, {{0, 1}, {1, 1}});
  std::set<uint16_t> cells;
  for (int i = 0; i < 20; ++i) cells.insert(host.Send(flow).entropy);
  EXPECT_EQ(cells.size(), 4u);
}

TEST(PdlbTest, NoCellUsesTwoPaths) {
  const PathTable paths = EightPaths();
  LbHost host("{kind: pdlb, granularity: 5}", paths);
  LbSwitch leaf("pdlb", {.uplinks = std::vector<BitRate>(8, 10_Gbps)});
  HostFlow flow = host.Start(kRemote);
  std::map<uint16_t, PortIndex> port_of;
  std::vector<int64_t> counts(8);
  for (int i = 0; i < 20'000; ++i) {
    const Packet packet = host.Send(flow);
    const auto [entry, is_new] = port_of.emplace(packet.entropy, leaf.PortFor(packet));
    ASSERT_EQ(entry->second, leaf.PortFor(packet));
    counts[entry->second] += is_new ? 1 : 0;
  }
  EXPECT_LT(ChiSquare(counts, std::vector<double>(8, 1)), kChiSquare99[7]);
}

// Counts how often successive packets of one flow take each pair of ports.
std::vector<int64_t> PairsOfPorts(const std::string& settings, int granularity) {
  const PathTable paths = PathsOfWeights({1, 1, 1, 1});
  LbHost host("{kind: pdlb, granularity: " + std::to_string(granularity) + "}", paths);
  LbSwitch leaf(settings);
  std::vector<int64_t> pairs(16);
  HostFlow flow = host.Start(kRemote);
  PortIndex last = leaf.PortFor(host.Send(flow));
  for (int i = 0; i < 16'000; ++i) {
    const PortIndex port = leaf.PortFor(host.Send(flow));
    ++pairs[last * 4u + port];
    last = port;
  }
  return pairs;
}

TEST(PdlbTest, CellsOfOnePacketAreSprayedLikeRps) {
  const std::vector<double> even(16, 1);
  // 99 % of chi-square with 15 degrees of freedom.
  EXPECT_LT(ChiSquare(PairsOfPorts("pdlb", 1), even), 30.58);
  EXPECT_LT(ChiSquare(PairsOfPorts("rps", 1), even), 30.58);
}

TEST(PdlbTest, AFlowOfOneCellIsOnOnePathDrawnAtRandom) {
  const PathTable paths = PathsOfWeights({1, 1, 1, 1});
  LbHost host("{kind: pdlb, granularity: 44}", paths);
  LbSwitch leaf("pdlb");
  std::vector<int64_t> counts(4);
  for (FlowId id = 0; id < 4'000; ++id) {
    HostFlow flow = host.Start(kRemote, id);
    const PortIndex port = leaf.PortFor(host.Send(flow));
    for (int i = 1; i < 44; ++i) ASSERT_EQ(leaf.PortFor(host.Send(flow)), port);
    ++counts[port];
  }
  EXPECT_LT(ChiSquare(counts, {1, 1, 1, 1}), kChiSquare99[3]);
}

TEST(PdlbTest, CellsMayTakeAllPathsInTurn) {
  const PathTable paths = PathsOfWeights({1, 1, 1});
  LbHost host("{kind: pdlb, granularity: 2, cell_route: turns}", paths);
  HostFlow one = host.Start(kRemote, 0);
  std::vector<uint16_t> taken;
  for (int i = 0; i < 12; ++i) taken.push_back(host.Send(one).path);
  EXPECT_EQ(taken, (std::vector<uint16_t>{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
}

// --- The controller: a host that is told delays ---

class PdlbControllerTest : public testing::Test {
 protected:
  explicit PdlbControllerTest(const std::string& more = "")
      : paths_(EightPaths()), host_("{kind: pdlb, model_rate: 1Gbps" + more + "}", paths_) {}

  // ACKs of packets with these round trips, in microseconds.
  void Acks(const std::vector<int>& delays_us, Time at) {
    for (const int us : delays_us) {
      host_.At(at, [&](HostView& view, HostPolicy& policy) {
        Packet ack;
        ack.kind = PacketKind::kAck;
        ack.sent = at - 1_us * us;
        ack.SetScheme<uint32_t>(static_cast<uint32_t>(us) * 1'000 / 2);
        policy.OnAck(view, flow_, ack, {});
      });
    }
  }
  static std::vector<int> Quarter(int slow_us) {
    std::vector<int> delays(24, 100);
    delays.insert(delays.end(), 8, slow_us);
    return delays;
  }
  // The granularity in use, once all that is due before `at` has happened.
  int64_t GranularityAt(Time at) {
    host_.At(at, [](HostView&, HostPolicy&) {});
    return host_.Count("granularity");
  }

  const PathTable paths_;
  LbHost host_;
  HostFlow flow_ = host_.Start(kRemote);
};

TEST_F(PdlbControllerTest, RaisesAndLowersTheGranularityWithTheAsymmetry) {
  EXPECT_EQ(host_.Count("granularity"), 1);
  Acks(Quarter(300), Time{} + 90_us);
  EXPECT_EQ(GranularityAt(Time{} + 210_us), 27);  // The worked example of 1 Gbps.
  Acks(std::vector<int>(32, 100), Time{} + 290_us);
  EXPECT_EQ(GranularityAt(Time{} + 410_us), 1);
  EXPECT_EQ(host_.Count("evaluations"), 2);
  EXPECT_EQ(host_.Count("changes"), 2);
}

TEST_F(PdlbControllerTest, ACellEndsAtTheGranularityInUse) {
  Acks(Quarter(300), Time{} + 90_us);
  ASSERT_EQ(GranularityAt(Time{} + 210_us), 27);
  std::set<uint16_t> cells;
  for (int i = 0; i < 10; ++i) cells.insert(host_.Send(flow_, 1'460, Time{} + 220_us).entropy);
  EXPECT_EQ(cells.size(), 1u);
  Acks(std::vector<int>(32, 100), Time{} + 290_us);
  ASSERT_EQ(GranularityAt(Time{} + 410_us), 1);
  cells.insert(host_.Send(flow_, 1'460, Time{} + 420_us).entropy);
  EXPECT_EQ(cells.size(), 2u);
}

TEST_F(PdlbControllerTest, ExtendsAWindowOfTooFewSamples) {
  Acks({100, 100, 100, 100, 300, 100, 100}, Time{} + 90_us);
  EXPECT_EQ(GranularityAt(Time{} + 210_us), 1);
  EXPECT_EQ(host_.Count("evaluations"), 0);
  Acks({300}, Time{} + 290_us);
  EXPECT_EQ(GranularityAt(Time{} + 410_us), 27);
  EXPECT_EQ(host_.Count("evaluations"), 1);
}

TEST_F(PdlbControllerTest, ForgetsWhatIsStale) {
  Acks(Quarter(300), Time{} + 90_us);
  EXPECT_EQ(GranularityAt(Time{} + 210_us), 27);
  EXPECT_EQ(GranularityAt(Time{} + 9_ms), 27);
  EXPECT_EQ(GranularityAt(Time{} + 11_ms), 1);
}

class PdlbOneWayTest : public PdlbControllerTest {
 protected:
  PdlbOneWayTest() : PdlbControllerTest(", signal: owd") {}
};

TEST_F(PdlbOneWayTest, CountsTheOneWayDelayDouble) {
  Acks(Quarter(300), Time{} + 90_us);
  EXPECT_EQ(GranularityAt(Time{} + 210_us), 27);
}

class PdlbLiteralTest : public PdlbControllerTest {
 protected:
  PdlbLiteralTest() : PdlbControllerTest(", form: literal, slow_if: avg2x, sizes: powers") {}
};

TEST_F(PdlbLiteralTest, ThePublishedRuleMissesAQuarter) {
  Acks(Quarter(300), Time{} + 90_us);
  EXPECT_EQ(GranularityAt(Time{} + 210_us), 1);
  Acks(Quarter(600), Time{} + 290_us);
  EXPECT_EQ(GranularityAt(Time{} + 410_us), 44);  // All sizes: 34.
}

TEST(PdlbHostTest, SharesWhatItLearnsAmongTheHostsOfALeafOrNot) {
  for (const bool shares : {true, false}) {
    PathTable paths({0, 1, 0, 1}, 2);
    paths.Set(0, 1, {{0, 1}, {1, 1}, {2, 1}, {3, 1}});
    LbHost host(shares ? "{kind: pdlb}" : "{kind: pdlb, estimate_per: host}", paths);
    HostFlow taught = host.Start(1, 0);
    HostFlow other = host.Start(3, 1);
    host.At(Time{} + 90_us, [&](HostView& view, HostPolicy& policy) {
      for (int i = 0; i < 32; ++i) {
        Packet ack;
        ack.kind = PacketKind::kAck;
        ack.sent = view.now() - (i % 4 == 0 ? 60_us : 20_us);
        policy.OnAck(view, taught, ack, {});
      }
    });
    host.At(Time{} + 210_us, [](HostView&, HostPolicy&) {});
    std::set<uint16_t> cells;
    for (int i = 0; i < 10; ++i) cells.insert(host.Send(other, 1'460, Time{} + 220_us).entropy);
    EXPECT_EQ(cells.size(), shares ? 1u : 10u);
  }
}

// --- In a network ---

const char* const kFourPaths =
    "{leaves: 2, spines: 4, hosts_per_leaf: 2, host_link: {rate: 10Gbps, delay: 10us}, "
    "fabric_link: {rate: 10Gbps, delay: 10us}}";

int64_t CountAt(Lab& lab, HostId host, std::string_view name) {
  for (const HostPolicy::Counter& counter : lab.network().host(host).policy().Counters()) {
    if (counter.name == name) return counter.value;
  }
  ADD_FAILURE() << name;
  return -1;
}

// Returns when the first host's cells grow, after some of four paths have become slower at 5 ms.
// `before` becomes their largest size until then.
Time GrowsAt(const std::string& settings, std::vector<LinkEvent> events, int64_t* before) {
  Lab lab({.graph = LeafSpineFrom(kFourPaths),
           .transport = "{kind: dctcp, dupthresh: 1000, max_cwnd: 64}",
           .balancer = settings,
           .events = std::move(events)});
  lab.AddFlow(0, 2, 40'000'000);
  Time grown = kNever;
  lab.SampleEvery(1_us, [&](Time now) {
    const int64_t granularity = CountAt(lab, 0, "granularity");
    if (now < Time{} + 5_ms) *before = std::max(*before, granularity);
    if (now >= Time{} + 5_ms && granularity > 1) grown = std::min(grown, now);
  });
  lab.Run(Time{} + 10_ms);
  return grown;
}

std::vector<LinkEvent> SpinesGetSlower(const Graph& graph, const std::vector<std::string>& spines) {
  std::vector<LinkEvent> events;
  for (uint32_t l = 0; l < graph.links.size(); ++l) {
    for (const std::string& spine : spines) {
      if (!graph.links[l].name.ends_with(spine)) continue;
      events.push_back({.at = Time{} + 5_ms, .link = l, .up = {}, .rate = {}, .delay = 30_us});
    }
  }
  return events;
}

// The round trip of slow paths becomes twice that of the others, 160 us.
TEST(PdlbNetworkTest, TheStepResponseIsTwoPeriodsBeyondTheSlowRoundTrip) {
  const Graph graph = LeafSpineFrom(kFourPaths);
  for (const std::vector<std::string>& spines :
       {std::vector<std::string>{"spine0", "spine1"}, std::vector<std::string>{"spine2"}}) {
    for (const std::string settings :
         {"pdlb", "{kind: pdlb, signal: owd}", "{kind: pdlb, cell_route: turns}"}) {
      SCOPED_TRACE(fmt::format("{}, {} slow", settings, spines.size()));
      int64_t before = 0;
      const Time grown = GrowsAt(settings, SpinesGetSlower(graph, spines), &before);
      EXPECT_EQ(before, 1);
      EXPECT_GT(grown, Time{} + 5_ms);
      EXPECT_LE(grown, Time{} + 5_ms + 160_us + 2 * 100_us);
    }
  }
}

// Each data packet has an ACK; all other control packets are probes and their echoes.
TEST(PdlbNetworkTest, CountsProbesAndEchoesOfBothHosts) {
  Lab lab({.graph = LeafSpineFrom(kFourPaths), .balancer = "{kind: pdlb, collect: probes}"});
  lab.AddFlow(0, 2, 400'000);
  lab.Run();
  const int64_t probes = CountAt(lab, 0, "probes");
  const int64_t echoes = CountAt(lab, 2, "probes");
  EXPECT_GT(probes, 0);
  EXPECT_GT(echoes, 0);
  EXPECT_EQ(probes + echoes, lab.Packets().control_sent - lab.Packets().data_sent);
}

TEST(PdlbNetworkTest, ProbesFindSlowPathsToo) {
  int64_t before = 0;
  const Time grown =
      GrowsAt("{kind: pdlb, collect: probes, min_samples: 4}",
              SpinesGetSlower(LeafSpineFrom(kFourPaths), {"spine0", "spine1"}), &before);
  EXPECT_EQ(before, 1);
  EXPECT_LE(grown, Time{} + 5_ms + 160_us + 3 * 100_us);  // A probe waits for the period's end.
}

TEST(PdlbNetworkTest, ProbesOfEachPeriodTakeEachPathOnce) {
  class Watcher final : public SwitchPolicy {
   public:
    Watcher(SwitchPolicyPtr policy, std::vector<int>* probes)
        : policy_(std::move(policy)), probes_(probes) {}
    Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                      const Candidates& c) override {
      const Decision decision = policy_->OnPacket(view, packet, in_port, c);
      const bool leaves = packet.kind == PacketKind::kControl && packet.src == 0;
      if (leaves && view.FacesHost(in_port)) ++probes_->at(decision.port);
      return decision;
    }
    size_t StateBytes() const override { return policy_->StateBytes(); }

   private:
    SwitchPolicyPtr policy_;
    std::vector<int>* probes_;
  };
  const Graph graph = LeafSpineFrom(kFourPaths);
  std::vector<int> probes(16);
  const Chosen<LoadBalancer> pdlb = BalancerFrom("{kind: pdlb, collect: probes}");
  Lab lab({.graph = graph,
           .transport = "dctcp",
           .switch_policy =
               [&](SwitchId s) {
                 return std::make_unique<Watcher>(pdlb.settings->ForSwitch(s, 1), &probes);
               },
           .host_policy = [&](HostId h) { return pdlb.settings->ForHost(h, 1); }});
  lab.AddFlow(0, 2, 5'000'000);
  lab.Run();
  std::erase(probes, 0);
  ASSERT_EQ(probes.size(), 4u);
  EXPECT_GT(probes.front(), 3);
  EXPECT_EQ(std::ranges::count(probes, probes.front()), 4);
}

// A probe ahead of all queues would not see those that data meets; its echo goes as ACKs go.
TEST(PdlbNetworkTest, ProbesWaitWithDataAndEchoesGoAsAcksDo) {
  class Watcher final : public SwitchPolicy {
   public:
    explicit Watcher(std::set<std::pair<HostId, uint8_t>>* seen) : seen_(seen) {}
    Decision OnPacket(SwitchView&, const Packet& packet, PortIndex, const Candidates& c) override {
      if (packet.kind == PacketKind::kControl) seen_->insert({packet.src, packet.priority});
      return Decision::Forward(c.ports.front());
    }
    size_t StateBytes() const override { return 0; }

   private:
    std::set<std::pair<HostId, uint8_t>>* seen_;
  };
  std::set<std::pair<HostId, uint8_t>> seen;
  const Chosen<LoadBalancer> pdlb = BalancerFrom("{kind: pdlb, collect: probes}");
  Lab lab({.graph = LeafSpineFrom(kFourPaths),
           .transport = "{kind: dctcp, control_priority: 0}",
           .switch_policy = [&](SwitchId) { return std::make_unique<Watcher>(&seen); },
           .host_policy = [&](HostId h) { return pdlb.settings->ForHost(h, 1); }});
  lab.AddFlow(0, 2, 1'000'000);
  lab.Run();
  EXPECT_EQ(seen, (std::set<std::pair<HostId, uint8_t>>{{0, 1}, {2, 0}}));
}

TEST(PdlbNetworkTest, AcksReturnOverThePathOfTheirData) {
  class Watcher final : public HostPolicy {
   public:
    Watcher(HostPolicyPtr policy, std::set<std::pair<uint16_t, uint16_t>>* seen)
        : policy_(std::move(policy)), seen_(seen) {}
    void OnFlowStart(HostView& view, HostFlow& flow) override { policy_->OnFlowStart(view, flow); }
    void OnFlowEnd(HostView& view, HostFlow& flow) override { policy_->OnFlowEnd(view, flow); }
    void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
      policy_->OnSend(view, flow, packet);
    }
    void OnSendAck(HostView& view, const Packet& data, Packet& ack) override {
      policy_->OnSendAck(view, data, ack);
      ack.SetScheme(data.taken);
    }
    void OnAck(HostView& view, HostFlow& flow, const Packet& ack, const AckNews& news) override {
      seen_->insert({ack.Scheme<uint16_t>(), ack.taken});
      policy_->OnAck(view, flow, ack, news);
    }
    void OnTimer(HostView& view, uint32_t id) override { policy_->OnTimer(view, id); }
    size_t StateBytes() const override { return policy_->StateBytes(); }

   private:
    HostPolicyPtr policy_;
    std::set<std::pair<uint16_t, uint16_t>>* seen_;
  };
  for (const char* topology :
       {"{kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 2}", "{kind: fat_tree, k: 4}"}) {
    std::set<std::pair<uint16_t, uint16_t>> seen;
    const Chosen<LoadBalancer> pdlb = BalancerFrom("pdlb");
    const Graph graph = GraphFrom(topology);
    const HostId last = static_cast<HostId>(graph.hosts - 1);
    Lab lab({.graph = graph,
             .transport = "{kind: dctcp, dupthresh: 1000}",
             .switch_policy = [&](SwitchId s) { return pdlb.settings->ForSwitch(s, 1); },
             .host_policy =
                 [&](HostId h) {
                   return std::make_unique<Watcher>(pdlb.settings->ForHost(h, 1), &seen);
                 }});
    lab.AddFlow(0, last, 1'000'000);
    lab.Run();
    EXPECT_EQ(seen.size(), 4u) << topology;
    for (const auto& [data, ack] : seen) EXPECT_EQ(data, ack);
  }
}

TEST(PdlbNetworkTest, SurvivesThatAPathFails) {
  for (const char* settings : {"pdlb", "{kind: pdlb, cell_route: turns, granularity: 3}"}) {
    const Graph graph = LeafSpineFrom(kFourPaths);
    std::vector<LinkEvent> events;
    for (uint32_t l = 0; l < graph.links.size(); ++l) {
      if (graph.links[l].name == "leaf0-spine2") {
        events.push_back({.at = Time{} + 300_us, .link = l, .up = false, .rate = {}, .delay = {}});
      }
    }
    Lab lab({.graph = graph,
             .transport = "{kind: dctcp, dupthresh: 1000}",
             .balancer = settings,
             .events = std::move(events)});
    for (HostId h = 0; h < 2; ++h) lab.AddFlow(h, static_cast<HostId>(2 + h), 2'000'000);
    lab.Run(Time{} + 1_s);
    EXPECT_TRUE(lab.finished());
  }
}

TEST(PdlbNetworkTest, ResultsAreTheSameForEveryNumberOfThreads) {
  const Experiment experiment = ExperimentFrom(
      "name: pdlb\n"
      "topology: {kind: leaf_spine, leaves: 4, spines: 4, hosts_per_leaf: 4,"
      " asymmetry: [{spines: [1], delay: 20us}]}\n"
      "transport: dctcp\nlb: {kind: pdlb, collect: probes}\n"
      "workload: [{kind: permutation, size: 1MB}]\n");
  EXPECT_EQ(RunExperiment(experiment, 1).files, RunExperiment(experiment, 3).files);
}

}  // namespace heddle::pdlb_test
