// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lb/ecmp_hash.h"
#include "lb/path_delays.h"
#include "lb/tdlb_control.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"

namespace heddle {
namespace {

constexpr Time kNow = Time{} + 1_ms;

// --- Delays and the timeout that follows from them ---

PathDelays Delays(PathDelays::Memory memory, size_t paths = 3) {
  return PathDelays(std::vector<Duration>(paths, 10_us), 500_us, 1_us, memory);
}

TEST(PathDelaysTest, TheTimeoutIsTheSpreadOfAllPaths) {
  PathDelays delays = Delays(PathDelays::Memory::kAll);
  delays.Learn(0, 40_us, kNow);
  delays.Learn(1, 44_us, kNow);
  delays.Learn(2, 70_us, kNow);
  EXPECT_EQ(delays.Timeout(kNow), 30_us);
  EXPECT_EQ(delays.Queueing(2), 0_us);
  delays.Learn(2, 75_us, kNow);
  EXPECT_EQ(delays.Queueing(2), 5_us);
}

TEST(PathDelaysTest, TheFastestMayBecomeTheSlowest) {
  const auto timeouts = [](PathDelays::Memory memory) {
    PathDelays delays = Delays(memory);
    std::vector<Duration> found;
    const auto learn = [&](size_t path, Duration delay) {
      delays.Learn(path, delay, kNow);
      found.push_back(delays.Timeout(kNow));
    };
    learn(0, 40_us);
    learn(1, 50_us);
    learn(2, 70_us);
    found.clear();
    learn(0, 80_us);
    learn(1, 50_us);
    learn(2, 70_us);
    learn(0, 80_us);
    return found;
  };
  EXPECT_EQ(timeouts(PathDelays::Memory::kAll), std::vector<Duration>(4, 30_us));
  // As published: -10 us, here the floor, until the others have been measured again.
  EXPECT_EQ(timeouts(PathDelays::Memory::kFastestAndSlowest),
            (std::vector<Duration>{1_us, 20_us, 20_us, 30_us}));
}

TEST(PathDelaysTest, EqualDelaysHaveTheFloor) {
  PathDelays delays = Delays(PathDelays::Memory::kAll);
  for (size_t path = 0; path < 3; ++path) delays.Learn(path, 20_us, kNow);
  EXPECT_EQ(delays.Timeout(kNow), 1_us);
}

TEST(PathDelaysTest, BeforeAnythingIsMeasuredPropagationCounts) {
  PathDelays delays({5_us, 25_us}, 500_us, 1_us, PathDelays::Memory::kAll);
  EXPECT_EQ(delays.Timeout(kNow), 20_us);
  delays.Learn(0, 7_us, kNow);
  EXPECT_EQ(delays.Timeout(kNow), 1_us);  // Nothing is known of the other.
}

TEST(PathDelaysTest, StaleDelaysDoNotCount) {
  PathDelays delays = Delays(PathDelays::Memory::kAll);
  delays.Learn(0, 400_us, kNow);
  delays.Learn(1, 50_us, kNow + 300_us);
  delays.Learn(2, 60_us, kNow + 300_us);
  EXPECT_EQ(delays.Timeout(kNow + 500_us), 350_us);
  EXPECT_EQ(delays.Timeout(kNow + 500_us + 1_ps), 10_us);
}

TEST(PathDelaysTest, AFailedPathStartsAnew) {
  PathDelays delays = Delays(PathDelays::Memory::kAll);
  delays.Learn(0, 400_us, kNow);
  delays.Forget(0);
  EXPECT_EQ(delays.Of(0), 10_us);
  EXPECT_EQ(delays.Queueing(0), 0_us);
}

TEST(PathDelaysTest, AFailedPathIsNeitherTheFastestNorTheSlowest) {
  PathDelays delays = Delays(PathDelays::Memory::kFastestAndSlowest);
  delays.Learn(0, 40_us, kNow);
  delays.Learn(1, 50_us, kNow);
  delays.Learn(2, 400_us, kNow);
  delays.Forget(1);
  EXPECT_EQ(delays.Timeout(kNow), 360_us);
  delays.Forget(2);
  delays.Learn(0, 40_us, kNow);
  delays.Learn(1, 55_us, kNow);
  EXPECT_EQ(delays.Timeout(kNow), 15_us);
}

// --- One leaf ---

class TdlbLeafTest : public testing::Test {
 protected:
  explicit TdlbLeafTest(const std::string& settings = "{kind: tdlb, stale: 1s}")
      : leaf_(settings, {.uplinks = std::vector<BitRate>(3, 100_Gbps)}) {}

  void Control(const TdlbControl& control, FlowId flow, Time at) {
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      Packet packet = LbPacket(flow);
      packet.kind = PacketKind::kControl;
      packet.bytes = 64;
      packet.flow = flow;
      packet.src = 1;
      packet.dst = 0;
      packet.SetScheme(control);
      const PortIndex down = 3;
      EXPECT_EQ(policy.OnPacket(view, packet, 0, {1, 1, {&down, 1}}).kind,
                Decision::Kind::kConsume);
    });
  }
  void Learn(const std::vector<Duration>& delays, Time at) {
    for (size_t path = 0; path < delays.size(); ++path) {
      Control({TdlbControl::kEcho, 0, static_cast<uint16_t>(path),
               static_cast<int32_t>(delays[path].ps / 1'000)},
              0, at);
    }
  }
  void Congest(FlowId flow, Time at) { Control({TdlbControl::kCongested, 0, 0, 0}, flow, at); }
  void Clear(FlowId flow, Time at) { Control({TdlbControl::kCleared, 0, 0, 0}, flow, at); }

  PortIndex Send(FlowId flow, Time at, std::span<const PortIndex> live) {
    Packet packet = LbPacket(flow);
    packet.flow = flow;
    return leaf_.PortFor(packet, at, live);
  }
  PortIndex Send(FlowId flow, Time at) { return Send(flow, at, leaf_.uplinks()); }

  // `count` flows that the hash puts on `port`, all of which have sent a packet at `at`.
  std::vector<FlowId> FlowsOn(PortIndex port, size_t count, Time at) {
    std::vector<FlowId> flows;
    while (flows.size() < count) {
      const FlowId flow = next_++;
      if (Send(flow, at) == port) flows.push_back(flow);
    }
    return flows;
  }

  LbSwitch leaf_;
  FlowId next_ = 1;
};

TEST_F(TdlbLeafTest, AnInnocentFlowLeavesAMarkedPathAtAGapBeyondTheTimeout) {
  Learn({40_us, 44_us, 70_us}, kNow);
  const std::vector<FlowId> flows = FlowsOn(2, 2, kNow);
  Congest(flows[0], kNow);
  EXPECT_EQ(Send(flows[1], kNow + 20_us), 2);
  EXPECT_EQ(Send(flows[1], kNow + 50_us), 2);  // Exactly the timeout of 30 us.
  EXPECT_EQ(Send(flows[1], kNow + 85_us), 0);  // The fastest.
  EXPECT_EQ(leaf_.Count("reroutes"), 1);
}

TEST_F(TdlbLeafTest, OnAnUnmarkedPathItStaysWhateverItsGaps) {
  Learn({40_us, 44_us, 70_us}, kNow);
  const FlowId flow = FlowsOn(2, 1, kNow).front();
  for (int i = 1; i < 10; ++i) EXPECT_EQ(Send(flow, kNow + 400_us * i), 2);
}

// f1 to f4 fill the queue to one host, f5 goes to another over the same path.
TEST_F(TdlbLeafTest, CongestedFlowsNeverMoveUntilTheyAreCleared) {
  Learn({40_us, 44_us, 42_us}, kNow);
  const std::vector<FlowId> flows = FlowsOn(0, 5, kNow);
  for (int i = 0; i < 4; ++i) Congest(flows[static_cast<size_t>(i)], kNow);
  Time at = kNow;
  for (int i = 1; i <= 8; ++i) {
    at += 100_us;
    for (size_t f = 0; f < 4; ++f) ASSERT_EQ(Send(flows[f], at), 0);
  }
  EXPECT_EQ(Send(flows[4], at), 2);  // Its gap is 800 us.
  // One is cleared: it is innocent among others that congest its path.
  Clear(flows[0], at);
  EXPECT_EQ(Send(flows[0], at + 100_us), 2);
  for (size_t f = 1; f < 4; ++f) Clear(flows[f], at);
  EXPECT_EQ(Send(flows[1], at + 200_us), 0);  // Nobody marks the path any more.
}

TEST_F(TdlbLeafTest, NewFlowsAvoidMarkedPathsAndFallBackIfAllAre) {
  Learn({40_us, 44_us, 42_us}, kNow);
  for (const PortIndex port : std::vector<PortIndex>{0, 1}) {
    Congest(FlowsOn(port, 1, kNow).front(), kNow);
  }
  for (FlowId flow = 1'000; flow < 1'050; ++flow) ASSERT_EQ(Send(flow, kNow), 2);
  Congest(1'000, kNow);
  for (FlowId flow = 2'000; flow < 2'050; ++flow) {
    const PortIndex port = Send(flow, kNow);
    ASSERT_EQ(port, 0);  // The fastest of all.
  }
}

TEST_F(TdlbLeafTest, ANotificationAges) {
  Learn({40_us, 44_us, 42_us}, kNow);
  const std::vector<FlowId> flows = FlowsOn(1, 2, kNow);
  Congest(flows[0], kNow);
  EXPECT_EQ(leaf_.Count("congested_flows"), 1);
  leaf_.At(kNow + 1'020_us, [](SwitchView&, SwitchPolicy&) {});
  EXPECT_EQ(leaf_.Count("congested_flows"), 0);
  EXPECT_EQ(Send(flows[1], kNow + 1'100_us), 1);
}

class TdlbAgeTest : public TdlbLeafTest {
 protected:
  TdlbAgeTest() : TdlbLeafTest("{kind: tdlb, stale: 1s, notification_age: 300us}") {}
};

TEST_F(TdlbAgeTest, ANotificationCountsForAsLongAsIsSet) {
  Learn({40_us, 44_us, 42_us}, kNow);
  Congest(FlowsOn(1, 1, kNow).front(), kNow);
  leaf_.At(kNow + 299_us, [](SwitchView&, SwitchPolicy&) {});
  EXPECT_EQ(leaf_.Count("congested_flows"), 1);
  leaf_.At(kNow + 311_us, [](SwitchView&, SwitchPolicy&) {});  // Looked at each 10 us.
  EXPECT_EQ(leaf_.Count("congested_flows"), 0);
}

TEST_F(TdlbLeafTest, FlowletsOnAFailedPathArePlacedAtOnce) {
  Learn({40_us, 44_us, 42_us}, kNow);
  const FlowId flow = FlowsOn(2, 1, kNow).front();
  const std::vector<PortIndex> live = {0, 1};
  const PortIndex port = Send(flow, kNow + 1_ps, live);
  EXPECT_NE(port, 2);
  EXPECT_EQ(Send(flow, kNow + 2_ps, live), port);
  EXPECT_EQ(leaf_.Count("reroutes"), 1);
}

TEST_F(TdlbLeafTest, AMarkFollowsItsFlowOffAFailedPath) {
  Learn({40_us, 44_us, 42_us}, kNow);
  const std::vector<FlowId> flows = FlowsOn(2, 2, kNow);
  Congest(flows[0], kNow);
  const std::vector<PortIndex> live = {0, 1};
  const PortIndex port = Send(flows[0], kNow + 1_us, live);
  Congest(flows[0], kNow + 2_us);
  // Its path is marked now, and the one that has come back is not.
  Learn({40_us, 44_us, 42_us}, kNow + 3_us);
  const FlowId other = FlowsOn(port == 0 ? 1 : 0, 1, kNow + 3_us).front();
  EXPECT_NE(Send(other, kNow + 500_us), port);
  for (FlowId flow = 1'000; flow < 1'050; ++flow) ASSERT_NE(Send(flow, kNow + 500_us), port);
  EXPECT_EQ(Send(flows[1], kNow + 500_us), 2);
  Clear(flows[0], kNow + 600_us);
  EXPECT_EQ(FlowsOn(port, 1, kNow + 600_us).size(), 1u);
}

class TdlbDefaultTest : public TdlbLeafTest {
 protected:
  TdlbDefaultTest() : TdlbLeafTest("tdlb") {}
};

TEST_F(TdlbDefaultTest, DelaysCountForFiveProbes) {
  Learn({40_us, 44_us, 70_us}, kNow);
  const std::vector<FlowId> flows = FlowsOn(2, 2, kNow + 470_us);
  Congest(flows[0], kNow + 470_us);
  EXPECT_EQ(Send(flows[1], kNow + 490_us), 2);  // Less than their spread.
  EXPECT_NE(Send(flows[1], kNow + 510_us), 2);  // 500 us have passed.
}

// The fastest path becomes the slowest. As published the timeout is negative, here one packet.
class TdlbMinmaxTest : public TdlbLeafTest {
 protected:
  explicit TdlbMinmaxTest(const std::string& table = "minmax")
      : TdlbLeafTest("{kind: tdlb, stale: 1s, table: " + table + "}") {}

  // Where an innocent flow of the slowest path is after a pause of 20 us, which is less than the
  // delays differ by.
  PortIndex AfterAPause() {
    Learn({40_us, 50_us, 70_us}, kNow);
    const std::vector<FlowId> flows = FlowsOn(2, 2, kNow);
    Congest(flows[0], kNow);
    Learn({80_us}, kNow);
    return Send(flows[1], kNow + 20_us);
  }
};
class TdlbFullTest : public TdlbMinmaxTest {
 protected:
  TdlbFullTest() : TdlbMinmaxTest("full") {}
};

TEST_F(TdlbMinmaxTest, AsPublishedFlowletsEndTooSoonWhenTheFastestBecomesTheSlowest) {
  EXPECT_EQ(AfterAPause(), 1);
}

TEST_F(TdlbFullTest, KnowingAllDelaysTheyDoNot) { EXPECT_EQ(AfterAPause(), 2); }

class TdlbHulaTest : public TdlbLeafTest {
 protected:
  TdlbHulaTest() : TdlbLeafTest("{kind: tdlb, stale: 1s, probe: hula}") {}

  // From leaf 1, `delay` ago.
  void Probe(PortIndex port, Duration delay, Time at) {
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      Packet probe;
      probe.kind = PacketKind::kControl;
      probe.bytes = 64;
      probe.src = probe.dst = 1;
      probe.sent = at - delay;
      probe.SetScheme(TdlbControl{TdlbControl::kProbe, 0, 0, 0});
      const auto kind = policy.OnPacket(view, probe, port, view.CandidatesTo(1)).kind;
      EXPECT_EQ(kind, Decision::Kind::kConsume);
    });
  }
};

TEST_F(TdlbHulaTest, AsPublishedADelayIsUsedWhereItWasMeasured) {
  Probe(0, 40_us, kNow);
  Probe(1, 44_us, kNow);
  Probe(2, 70_us, kNow);
  const std::vector<FlowId> flows = FlowsOn(2, 2, kNow);
  Congest(flows[0], kNow);
  EXPECT_EQ(Send(flows[1], kNow + 30_us), 2);
  EXPECT_EQ(Send(flows[1], kNow + 60_us + 1_ps), 0);
}

class TdlbStaleTest : public TdlbLeafTest {
 protected:
  TdlbStaleTest() : TdlbLeafTest("{kind: tdlb, stale: 500us}") {}
};

// Its probes may be lost where routing does not know yet that a link has failed.
TEST_F(TdlbStaleTest, APathThatIsNotHeardOfIsTheLastChoice) {
  Learn({40_us, 44_us, 70_us}, kNow);
  const std::vector<FlowId> flows = FlowsOn(2, 2, kNow);
  for (const uint16_t path : {uint16_t{1}, uint16_t{2}}) {
    Control({TdlbControl::kEcho, 0, path, 50'000}, 0, kNow + 550_us);
  }
  Congest(flows[0], kNow + 550_us);
  EXPECT_EQ(Send(flows[1], kNow + 560_us), 1);
}

class TdlbAlwaysTest : public TdlbLeafTest {
 protected:
  TdlbAlwaysTest() : TdlbLeafTest("{kind: tdlb, stale: 1s, reroute: always}") {}
};

TEST_F(TdlbAlwaysTest, AsPublishedEveryFlowletMayMove) {
  Learn({40_us, 44_us, 70_us}, kNow);
  const FlowId flow = FlowsOn(2, 1, kNow).front();
  EXPECT_EQ(Send(flow, kNow + 30_us), 2);
  EXPECT_EQ(Send(flow, kNow + 60_us + 1_ps), 0);
}

// --- In a network ---

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

// `senders` hosts of one leaf, with a host link each, to one host of the other.
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

TEST(TdlbNetworkTest, NotifiesEachFlowOnceARoundTripWhileTheQueueIsLong) {
  const std::string settings =
      "{kind: tdlb, detect_at: last_hop, check_every: 1us, congested_above: ";
  const auto above = IncastLab(settings + "100KB}", 16, 100'000);
  int64_t first = 0;
  Time since = kNever;
  int64_t later = 0;
  above->SampleEvery(1_us, [&](Time now) {
    const int64_t sent = Sum(*above, "cns_sent");
    if (sent > 0 && since == kNever) {
      since = now;
      first = sent;
    }
    if (since != kNever && now < since + 7_us) later = sent;
  });
  above->Run();
  EXPECT_EQ(Sum(*above, "episodes"), 1);
  EXPECT_EQ(first, 16);
  EXPECT_EQ(later, 16);                        // The base round trip is 16 us in the lab->
  EXPECT_GT(Sum(*above, "cns_sent"), 2 * 16);  // Told again, and of the end.
  EXPECT_EQ(Sum(*above, "congested_flows"), 0);
}

// The queue of an incast when the leaf where it begins holds its flows for innocent again.
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

// There is no path to choose between them.
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

// Eight hosts of 10 Gbps over two uplinks of 10 Gbps: the queues are where flows begin.
std::pair<int64_t, int64_t> CongestedAtUplinks(const std::string& detect_at) {
  Lab lab({.graph = LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 8, host_link: {rate: "
                                  "10Gbps, delay: 1us}, fabric_link: {rate: 10Gbps, delay: 1us}}"),
           .transport = "{kind: tcp, iw: 1000, control_priority: 0}",
           .balancer = "{kind: tdlb, congested_above: 30KB, detect_at: " + detect_at + "}"});
  for (HostId src = 0; src < 8; ++src) lab.AddFlow(src, static_cast<HostId>(8 + src), 500'000);
  int64_t most = 0;
  lab.SampleEvery(10_us, [&](Time) { most = std::max(most, CountOf(lab, 0, "congested_flows")); });
  lab.Run();
  return {most, Sum(lab, "cns_sent")};
}

TEST(TdlbNetworkTest, QueuesOfUplinksCountUnlessOnlyTheLastHopDoes) {
  EXPECT_EQ(CongestedAtUplinks("leaf_all"), (std::pair<int64_t, int64_t>{8, 0}));
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

// To the leaf that a spine has lost there is a detour over others, which probes must not take.
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
  // Of leaves what they send and what they echo, of spines copies for two ports.
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

// Of two paths one carries four flows to one host, and datagrams to another, one each 123 us. What
// of both went over the second path: reroutes, and bytes of the flows.
std::pair<int64_t, int64_t> Moved(const std::string& congested_above) {
  constexpr HostId kOther = 4;
  constexpr uint16_t kDiscard = 9;
  UdpSource innocent = Datagrams(0, kOther, 15, 100_Mbps, Time{} + 10_ms);
  innocent.sport = PortToFirstSpine(kOther, 15, kDiscard);
  Lab lab(
      {.graph = LeafSpineFrom(
           "{leaves: 2, spines: 2, hosts_per_leaf: 8, host_link: {rate: 10Gbps, delay: 1us}, "
           "fabric_link: {rate: 100Gbps, delay: 1us}}"),
       .transport = "{kind: tcp, iw: 1000, control_priority: 0}",
       .balancer = "{kind: tdlb, detect_at: last_hop, congested_above: " + congested_above + "}",
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

// Of four paths one is 100 us slower. Windows of few packets make pauses of all lengths.
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
  EXPECT_EQ(Reordered("{kind: tdlb, reroute: always}"), 0);
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

TEST(TdlbNetworkTest, IsForTwoTiers) {
  EXPECT_THAT(ErrorsOf("topology: {kind: fat_tree, k: 4}\nlb: tdlb\n"
                       "workload: [{kind: permutation, size: 1MB}]\n"),
              testing::HasSubstr("lb: tdlb is for two tiers"));
}

}  // namespace
}  // namespace heddle
