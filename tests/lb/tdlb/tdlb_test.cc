// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lb/tdlb/control.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_control.h"

namespace heddle::tdlb_test {

constexpr Time kNow = Time{} + 1_ms;

// --- One leaf ---

class TdlbLeafTest : public testing::Test {
 protected:
  explicit TdlbLeafTest(const std::string& settings = "{kind: tdlb, place: hash, stale: 1s}",
                        BitRate uplinks = 100_Gbps)
      : leaf_(settings, {.uplinks = std::vector<BitRate>(3, uplinks)}) {}

  void Control(const TdlbControl& control, FlowId flow, Time at) {
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      Packet packet = ControlPacket(control, flow);
      packet.tuple_hash = LbPacket(flow).tuple_hash;
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
  TdlbAgeTest() : TdlbLeafTest("{kind: tdlb, place: hash, stale: 1s, notification_age: 300us}") {}
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
  // The flow's path is marked now, and the one that has come back is not.
  Learn({40_us, 44_us, 42_us}, kNow + 3_us);
  const FlowId other = FlowsOn(port == 0 ? 1 : 0, 1, kNow + 3_us).front();
  EXPECT_NE(Send(other, kNow + 500_us), port);
  for (FlowId flow = 1'000; flow < 1'050; ++flow) ASSERT_NE(Send(flow, kNow + 500_us), port);
  EXPECT_EQ(Send(flows[1], kNow + 500_us), 2);
  Clear(flows[0], kNow + 600_us);
  EXPECT_EQ(FlowsOn(port, 1, kNow + 600_us).size(), 1u);
}

// A packet of 1500 bytes takes 120 ns on the uplinks; echoes tell whole nanoseconds.
class TdlbQueueTest : public TdlbLeafTest {
 protected:
  TdlbQueueTest() : TdlbLeafTest("{kind: tdlb, place: hash, stale: 1s, congested_above: 10KB}") {}

  // Makes a queue at uplink 0 that stays long for 12 us, more than the 10 us between two checks.
  // Returns the number of episodes.
  int64_t Episodes() {
    leaf_.At(kNow, [](SwitchView& view, SwitchPolicy&) {
      for (int i = 0; i < 110; ++i) view.SendAsData(LbPacket(7), 0);
    });
    leaf_.At(kNow + 12_us,
             [](SwitchView& view, SwitchPolicy&) { EXPECT_GT(view.Unsent(0), 10_KB); });
    EXPECT_EQ(leaf_.Count("congested_flows"), leaf_.Count("episodes"));
    return leaf_.Count("episodes");
  }
  void LearnOf(uint16_t path, Duration delay) {
    Control({TdlbControl::kEcho, 0, path, static_cast<int32_t>(delay.ps / 1'000)}, 0, kNow);
  }
};

TEST_F(TdlbQueueTest, WithoutAnyMeasurementALongQueueOfAnUplinkIsNoEpisode) {
  EXPECT_EQ(Episodes(), 0);
}

TEST_F(TdlbQueueTest, NeitherIsItIfItsPathIsNotDelayed) {
  LearnOf(0, 10_us);
  LearnOf(0, 10_us);
  EXPECT_EQ(Episodes(), 0);
}

TEST_F(TdlbQueueTest, NorIfByOnePacket) {
  LearnOf(0, 10_us);
  LearnOf(0, 10_us + 120_ns);
  EXPECT_EQ(Episodes(), 0);
}

TEST_F(TdlbQueueTest, ByMoreThanOnePacketItIs) {
  LearnOf(0, 10_us);
  LearnOf(0, 10_us + 121_ns);
  EXPECT_EQ(Episodes(), 1);
}

TEST_F(TdlbQueueTest, DelaysOfPathsOverOtherUplinksDoNotCount) {
  LearnOf(1, 10_us);
  LearnOf(1, 400_us);
  EXPECT_EQ(Episodes(), 0);
}

// Flows of two hosts may have the same number. The mark is on the path that this host's flow has
// now, not on the one where its packets wait.
TEST_F(TdlbQueueTest, AMarkIsOnThePathOfTheHostsOwnFlow) {
  LearnOf(0, 10_us);
  LearnOf(0, 400_us);
  Packet packet = LbPacket(0);
  packet.src = 5;
  PortIndex its = 0;
  while (its == 0) {
    packet.flow = ++packet.tuple_hash;
    its = leaf_.PortFor(packet, kNow);
  }
  leaf_.At(kNow, [&](SwitchView& view, SwitchPolicy&) {
    for (int i = 0; i < 110; ++i) view.SendAsData(packet, 0);
  });
  leaf_.At(kNow + 12_us, [](SwitchView&, SwitchPolicy&) {});
  ASSERT_EQ(leaf_.Count("congested_flows"), 1);
  std::set<PortIndex> ports;
  for (FlowId flow = 1'000; flow < 1'050; ++flow) ports.insert(Send(flow, kNow + 12_us));
  EXPECT_EQ(ports, (std::set<PortIndex>{0, its == 1 ? PortIndex{2} : PortIndex{1}}));
}

// At 100 Mbps a byte leaves every 80 ns, and queues are looked at eight times as often.
class TdlbClearTest : public TdlbLeafTest {
 protected:
  TdlbClearTest()
      : TdlbLeafTest(
            "{kind: tdlb, place: hash, stale: 1s, congested_above: 10KB, "
            "check_every: 10ns}",
            100_Mbps) {}
};

// Ten packets of 1500 bytes drain. An episode ends when the queue has half of the 10 KB.
TEST_F(TdlbClearTest, AnEpisodeEndsWhenTheQueueIsDownToTheThreshold) {
  constexpr int64_t kClear = 5'000;
  Learn({10_us}, kNow);
  Learn({10_us + 400_us}, kNow);
  leaf_.At(kNow, [](SwitchView& view, SwitchPolicy&) {
    for (int i = 0; i < 10; ++i) view.SendAsData(LbPacket(7), 0);
  });
  std::map<int64_t, int> seen;  // By length of the queue.
  int64_t before = 0;
  for (Time at = kNow + 700_us; at < kNow + 900_us; at += 20_ns) {
    int64_t queue = 0;
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy&) { queue = view.Unsent(0).count; });
    // With a queue of the same length, at least one check has been made.
    if (queue == std::exchange(before, queue)) {
      ++seen[queue];
      ASSERT_EQ(leaf_.Count("congested_flows"), queue > kClear ? 1 : 0) << queue << " bytes";
    }
  }
  EXPECT_GT(seen[kClear + 1], 0);
  EXPECT_GT(seen[kClear], 0);
  EXPECT_EQ(leaf_.Count("episodes"), 1);
}

class TdlbDefaultTest : public TdlbLeafTest {
 protected:
  TdlbDefaultTest() : TdlbLeafTest("{kind: tdlb, place: hash}") {}
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
      : TdlbLeafTest("{kind: tdlb, place: hash, stale: 1s, table: " + table + "}") {}

  // Returns the port of an innocent flow of the slowest path after a gap of 20 us, which is less
  // than the spread of the delays.
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
  TdlbHulaTest() : TdlbLeafTest("{kind: tdlb, place: hash, stale: 1s, probe: hula}") {}

  // A probe from leaf 1, sent `delay` ago.
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
  TdlbStaleTest() : TdlbLeafTest("{kind: tdlb, place: hash, stale: 500us}") {}
};

// A path's probes may be lost before routing knows that a link has failed.
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
  TdlbAlwaysTest() : TdlbLeafTest("{kind: tdlb, place: hash, stale: 1s, reroute: always}") {}
};

TEST_F(TdlbAlwaysTest, AsPublishedEveryFlowletMayMove) {
  Learn({40_us, 44_us, 70_us}, kNow);
  const FlowId flow = FlowsOn(2, 1, kNow).front();
  EXPECT_EQ(Send(flow, kNow + 30_us), 2);
  EXPECT_EQ(Send(flow, kNow + 60_us + 1_ps), 0);
}

// --- Where flows begin ---

// Uplinks of 100 Gbps send a packet in 120 ns: delays that differ by no more are the same.
class TdlbPlaceTest : public TdlbLeafTest {
 protected:
  explicit TdlbPlaceTest(const std::string& more = "")
      : TdlbLeafTest("{kind: tdlb, stale: 1s" + more + "}") {}

  // Returns the uplinks of this number of new flows.
  std::vector<PortIndex> Begin(int flows, Time at) {
    std::vector<PortIndex> ports;
    for (int i = 0; i < flows; ++i) ports.push_back(Send(next_++, at));
    return ports;
  }
};
class TdlbPlaceAlwaysTest : public TdlbPlaceTest {
 protected:
  TdlbPlaceAlwaysTest() : TdlbPlaceTest(", reroute: always") {}
};
class TdlbPlaceByHashTest : public TdlbPlaceTest {
 protected:
  TdlbPlaceByHashTest() : TdlbPlaceTest(", place: hash") {}
};

TEST_F(TdlbPlaceTest, ANewFlowIsInnocentAndTakesTheFastestPath) {
  Learn({44_us, 40_us, 42_us}, kNow);
  EXPECT_EQ(Begin(20, kNow), std::vector<PortIndex>(20, 1));
  Congest(Begin(1, kNow).empty() ? 0 : next_ - 1, kNow);  // Marks that path.
  EXPECT_EQ(Begin(20, kNow), std::vector<PortIndex>(20, 2));
}

TEST_F(TdlbPlaceAlwaysTest, AsWellWhereEveryFlowletMayMove) {
  Learn({44_us, 40_us, 42_us}, kNow);
  EXPECT_EQ(Begin(20, kNow), std::vector<PortIndex>(20, 1));
}

TEST_F(TdlbPlaceTest, PathsAlikeWithinAPacketTakeTurns) {
  Learn({40_us + 120_ns, 41_us, 40_us}, kNow);
  const std::vector<PortIndex> ports = Begin(20, kNow);
  EXPECT_NE(ports[0], 1);
  for (size_t i = 0; i < ports.size(); ++i) EXPECT_EQ(ports[i], i % 2 == 0 ? ports[0] : ports[1]);
  EXPECT_EQ(ports[0] + ports[1], 2);
  // The path that was given longest ago goes first.
  Learn({40_us, 40_us, 40_us}, kNow);
  EXPECT_EQ(Begin(3, kNow), (std::vector<PortIndex>{1, ports[0], ports[1]}));
  Learn({40_us + 121_ns, 41_us, 40_us}, kNow);
  EXPECT_EQ(Begin(4, kNow), std::vector<PortIndex>(4, 2));
}

// A path that has failed and come back has no measured delay, and is the last choice.
TEST_F(TdlbPlaceTest, APathThatComesBackIsUnknown) {
  Learn({44_us, 42_us, 40_us}, kNow);
  EXPECT_EQ(Begin(20, kNow), std::vector<PortIndex>(20, 2));
  Send(next_++, kNow + 1_us, std::vector<PortIndex>{0, 1});
  EXPECT_EQ(Begin(20, kNow + 2_us), std::vector<PortIndex>(20, 1));
}

TEST_F(TdlbPlaceTest, AFlowThatWasSilentForLongBeginsAnew) {
  Learn({40_us, 44_us, 42_us}, kNow);
  EXPECT_EQ(Begin(1, kNow).front(), 0);
  Learn({46_us, 44_us, 42_us}, kNow + 5_ms);
  EXPECT_EQ(Send(1, kNow + 5_ms), 0);
  EXPECT_EQ(Send(1, kNow + 10_ms + 1_ps), 2);
}

TEST_F(TdlbPlaceByHashTest, ByHashDelaysSayNothing) {
  Learn({44_us, 40_us, 42_us}, kNow);
  std::vector<PortIndex> ports = Begin(50, kNow);
  std::ranges::sort(ports);
  EXPECT_EQ(ports.front(), 0);
  EXPECT_EQ(ports.back(), 2);
}

}  // namespace heddle::tdlb_test
