// SPDX-License-Identifier: Apache-2.0
// FLB's leaves: which uplinks are isolated, and which packets move.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lb/flb/header.h"
#include "lb/flb/isolation.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_control.h"

namespace heddle::flb_test {

using Ports = std::vector<PortIndex>;

// --- How many uplinks are isolated, and which ---

class FlbIsolationTest : public testing::Test {
 protected:
  FlowId Add(int flows, uint16_t n, PortIndex port = 0) {
    for (int i = 0; i < flows; ++i) {
      isolation_.Add(next_, 0, n, port, uplinks_, Time{} + 1_us * (next_ + 1), rng_);
      ++next_;
    }
    return next_;
  }
  Ports Isolated() const {
    Ports isolated;
    for (const PortIndex port : uplinks_) {
      if (isolation_.IsIsolated(0, port)) isolated.push_back(port);
    }
    return isolated;
  }

  const Ports uplinks_ = {0, 1, 2, 3};
  FlbIsolation isolation_{64, 1, 4, 1};
  Rng rng_ = Rng::Stream(1, "test", 0);
  FlowId next_ = 0;
};

TEST_F(FlbIsolationTest, EachFlowNeedsItsShareOfALink) {
  for (int flows = 1; flows <= 15; ++flows) {
    EXPECT_EQ(FlbIsolation::Needed(flows / 15.0, 8), 1u) << flows;
  }
  double sum = 0;  // Added up one by one, with its rounding.
  for (int i = 0; i < 15; ++i) sum += 1.0 / 15;
  EXPECT_EQ(FlbIsolation::Needed(sum, 8), 1u);
  EXPECT_EQ(FlbIsolation::Needed(20 / 15.0, 8), 2u);
  EXPECT_EQ(FlbIsolation::Needed(31 / 31.0, 8), 1u);
  EXPECT_EQ(FlbIsolation::Needed(10 / 15.0 + 8 / 10.0, 8), 2u);
  EXPECT_EQ(FlbIsolation::Needed(100, 8), 7u);  // One remains for all others.
  EXPECT_EQ(FlbIsolation::Needed(100, 1), 0u);
}

TEST_F(FlbIsolationTest, TakesTheUplinkWithTheMostOfThem) {
  Add(1, 15, 2);
  EXPECT_EQ(Isolated(), Ports{2});
  Add(10, 15, 1);
  EXPECT_EQ(Isolated(), Ports{2});  // It stays.
  Add(5, 15, 1);                    // 16 of 1/15 each.
  EXPECT_EQ(Isolated(), (Ports{1, 2}));
}

// The number may shrink while an incast ends: then each needs more.
TEST_F(FlbIsolationTest, TheLatestNumberOfFlowsCounts) {
  Add(4, 31);
  ASSERT_EQ(Isolated().size(), 1u);
  for (FlowId flow = 0; flow < 4; ++flow) {
    isolation_.Add(flow, 0, 2, 0, uplinks_, Time{} + 100_us, rng_);
  }
  EXPECT_EQ(Isolated().size(), 2u);
}

TEST_F(FlbIsolationTest, AllItsFlowsAreOnIsolatedUplinks) {
  Add(20, 15, 0);
  Add(20, 15, 3);
  EXPECT_EQ(Isolated().size(), 3u);
  for (FlowId flow = 0; flow < 40; ++flow) {
    const FlbIsolation::Flow* its = isolation_.Find(flow, Time{} + 1_ms);
    ASSERT_NE(its, nullptr);
    EXPECT_TRUE(isolation_.IsIsolated(0, its->path));
  }
}

TEST_F(FlbIsolationTest, ReleasesThoseWithTheFewestFlows) {
  Add(16, 15, 0);
  const Ports both = Isolated();
  ASSERT_EQ(both.size(), 2u);
  for (FlowId flow = 10; flow < 16; ++flow) isolation_.Remove(flow);
  EXPECT_EQ(Isolated(), both);  // Until the next review.
  isolation_.Review(Time{}, uplinks_, rng_);
  EXPECT_EQ(Isolated(), Ports{0});
  for (FlowId flow = 0; flow < 10; ++flow) isolation_.Remove(flow);
  isolation_.Review(Time{}, uplinks_, rng_);
  EXPECT_TRUE(isolation_.is_idle());
}

TEST_F(FlbIsolationTest, ForgetsFlowsThatAreSilent) {
  Add(3, 15);
  isolation_.Review(Time{} + 3_us, uplinks_, rng_);
  EXPECT_EQ(isolation_.size(), 1u);
  isolation_.Review(Time{} + 4_us, uplinks_, rng_);
  EXPECT_TRUE(isolation_.is_idle());
}

TEST_F(FlbIsolationTest, AnotherUplinkReplacesOneThatHasFailed) {
  Add(3, 15, 1);
  ASSERT_EQ(Isolated(), Ports{1});
  isolation_.Review(Time{}, Ports{0, 2, 3}, rng_);
  const Ports now = Isolated();
  ASSERT_EQ(now.size(), 1u);
  EXPECT_NE(now.front(), 1);
  for (FlowId flow = 0; flow < 3; ++flow) {
    EXPECT_EQ(isolation_.Find(flow, Time{} + 1_ms)->path, now.front());
  }
  isolation_.Add(9, 0, 15, 2, Ports{0, 2, 3}, Time{} + 1_ms, rng_);
  EXPECT_EQ(Isolated(), now);
}

// Three uplinks that begin two paths each: 0 and 3, 1 and 4, 2 and 5.
class FlbWholePathsTest : public testing::Test {
 protected:
  using Paths = std::vector<uint16_t>;

  uint16_t Add(FlowId flow, uint16_t path, uint16_t n = 31) {
    isolation_.Add(flow, 0, n, path, all_, Time{} + 1_us, rng_);
    return isolation_.Find(flow, Time{} + 1_us)->path;
  }
  Paths Isolated() const {
    Paths isolated;
    std::ranges::copy_if(all_, std::back_inserter(isolated),
                         [&](uint16_t path) { return isolation_.IsIsolated(0, path); });
    return isolated;
  }
  Paths Closed() const {
    Paths closed;
    std::ranges::copy_if(all_, std::back_inserter(closed),
                         [&](uint16_t path) { return isolation_.IsClosed(0, path); });
    return closed;
  }

  const Paths all_ = {0, 1, 2, 3, 4, 5};
  FlbIsolation isolation_{64, 1, 3, 2};
  Rng rng_ = Rng::Stream(1, "test", 0);
};

TEST_F(FlbWholePathsTest, AnIsolatedPathClosesAllOverItsUplink) {
  EXPECT_EQ(Add(1, 4), 4);
  EXPECT_EQ(Isolated(), Paths{4});
  EXPECT_EQ(Closed(), (Paths{1, 4}));
  isolation_.Remove(1);
  isolation_.Review(Time{}, all_, rng_);
  EXPECT_EQ(Isolated(), Paths{});
  EXPECT_EQ(Closed(), Paths{});
}

TEST_F(FlbWholePathsTest, FlowsShareThePathOverTheirUplink) {
  Add(1, 4);
  EXPECT_EQ(Add(2, 1), 4);
  EXPECT_EQ(Add(3, 5), 4);
  Add(4, 5, 1);  // It needs a link of its own.
  EXPECT_EQ(Isolated(), (Paths{4, 5}));
  for (FlowId flow = 10; flow < 20; ++flow) {
    EXPECT_EQ(Add(flow, 1), 4);
    EXPECT_EQ(Add(flow + 10, 2), 5);
  }
}

TEST_F(FlbWholePathsTest, OneUplinkRemainsForOthersHoweverManyPathsThereAre) {
  for (FlowId flow = 0; flow < 12; ++flow) Add(flow, static_cast<uint16_t>(flow % 6), 1);
  const Paths isolated = Isolated();
  ASSERT_EQ(isolated.size(), 2u);
  EXPECT_NE(isolated[0] % 3, isolated[1] % 3);
  EXPECT_EQ(Closed().size(), 4u);
  EXPECT_EQ(isolation_.isolated_uplinks(), 2u);
}

// The paths to a leaf below the same switches differ by the uplink alone.
TEST_F(FlbWholePathsTest, TheIsolatedPathIsFoundByItsUplink) {
  Add(1, 4);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(isolation_.AnyOf(0, Paths{0, 1, 2}, rng_), 4);
  for (int i = 0; i < 10; ++i) EXPECT_NE(isolation_.AnyOf(0, Paths{0, 2}, rng_), 4);
}

TEST_F(FlbWholePathsTest, AnUplinkThatFailsIsReplacedWithAllItsPaths) {
  for (FlowId flow = 0; flow < 5; ++flow) Add(flow, 4);
  isolation_.Review(Time{}, Paths{0, 2, 3, 5}, rng_);
  const Paths now = Isolated();
  ASSERT_EQ(now.size(), 1u);
  EXPECT_NE(now[0] % 3, 1);
  EXPECT_EQ(Closed().size(), 2u);
  for (FlowId flow = 0; flow < 5; ++flow) {
    EXPECT_EQ(isolation_.Find(flow, Time{} + 1_us)->path, now[0]);
  }
}

// --- One leaf ---

class FlbLeafTest : public testing::Test {
 protected:
  explicit FlbLeafTest(const std::string& settings = "flb", size_t remote_leaves = 1)
      : leaf_(settings, {.remote_leaves = remote_leaves}) {}

  void Control(const FlbControl& control, FlowId flow, Time at) {
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      const PortIndex down = 4;
      EXPECT_EQ(policy.OnPacket(view, ControlPacket(control, flow), 0, {1, 1, {&down, 1}}).kind,
                Decision::Kind::kConsume);
    });
  }
  void Delays(const std::vector<Duration>& delays, Time at = {}) {
    for (size_t path = 0; path < delays.size(); ++path) {
      Control({FlbControl::kDelay, static_cast<uint8_t>(path), 0,
               static_cast<int32_t>(delays[path].ps / 1'000)},
              0, at);
    }
  }
  void Congest(FlowId flow, uint16_t n, Time at) {
    Control({FlbControl::kCongested, 0, n, 0}, flow, at);
  }
  void Release(FlowId flow, Time at) { Control({FlbControl::kReleased, 0, 0, 0}, flow, at); }

  PortIndex Send(FlowId flow, Time at) { return Send(flow, at, leaf_.uplinks()); }
  PortIndex Send(FlowId flow, Time at, std::span<const PortIndex> live) {
    Packet packet = LbPacket(flow);
    packet.flow = flow;
    return leaf_.PortFor(packet, at, live);
  }
  // A flow on port 0, whose last packet left now.
  void StartOnPort0(FlowId flow, Time at = {}) {
    Delays({1_us, 2_us, 2_us, 2_us}, at);
    ASSERT_EQ(Send(flow, at), 0);
  }

  LbSwitch leaf_;
};

TEST_F(FlbLeafTest, ANewFlowTakesTheQuickestPath) {
  Delays({30_us, 22_us, 27_us, 29_us});
  EXPECT_EQ(Send(1, {}), 1);
}

TEST_F(FlbLeafTest, PathsAlikeWithinTwoNanosecondsTakeTurnsWithNewFlows) {
  Delays({20'002_ns, 20'000_ns, 20'003_ns, 20'001_ns});
  Ports ports;
  for (FlowId flow = 1; flow <= 9; ++flow) ports.push_back(Send(flow, {}));
  EXPECT_EQ((std::set<PortIndex>(ports.begin(), ports.begin() + 3)),
            (std::set<PortIndex>{0, 1, 3}));
  for (size_t i = 3; i < ports.size(); ++i) EXPECT_EQ(ports[i], ports[i - 3]);
  // The path that was given longest ago goes first.
  Delays({20'000_ns, 20'000_ns, 20'000_ns, 20'000_ns});
  EXPECT_EQ(Send(10, {}), 2);
  EXPECT_EQ(Send(11, {}), ports[0]);
}

TEST_F(FlbLeafTest, AFlowThatMovesFindsPathsAlikeWithinTwoNanoseconds) {
  std::set<PortIndex> ports;
  for (FlowId flow = 1; flow <= 40; ++flow) {
    StartOnPort0(flow, Time{} + 100_us * flow);
    Delays({30_us, 20'002_ns, 20'003_ns, 20'000_ns}, Time{} + 100_us * flow);
    ports.insert(Send(flow, Time{} + 100_us * flow + 20_us));
  }
  EXPECT_EQ(ports, (std::set<PortIndex>{1, 3}));
}

TEST_F(FlbLeafTest, AFlowMovesToTheQuickestPathOnWhichItOvertakesNothing) {
  const std::vector<std::pair<Duration, PortIndex>> worked = {
      {5_us, 2}, {10_us, 1}, {500_ns, 0}, {1_us, 0}, {1'500_ns, 3}};
  FlowId flow = 0;
  for (const auto& [ahead, port] : worked) {
    const Time at = Time{} + 1_ms * ++flow;
    StartOnPort0(flow, at);
    Delays({30_us, 22_us, 27_us, 29_us}, at);
    EXPECT_EQ(Send(flow, at + ahead), port) << ahead.ps;
  }
}

TEST_F(FlbLeafTest, AQuickerPathIsTakenExactlyAtTheGapThatLetsIt) {
  StartOnPort0(1);
  Delays({30_us, 22_us, 40_us, 40_us});
  Time at;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(Send(1, at += 300_ns), 0);
  EXPECT_EQ(Send(1, at += 10_us), 1);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(Send(1, at += 300_ns), 1);
  EXPECT_EQ(leaf_.Count("reroutes"), 1);
}

// Stamps may report delays of 20,000.999 and 10,000.001 ns as 20,000 and 10,001 ns: a packet that
// leaves 10,000.5 ns after the one before would overtake it by half a nanosecond.
TEST_F(FlbLeafTest, WhatStampsDoNotTellIsLeftOfTheGap) {
  StartOnPort0(1);
  Delays({20'000_ns, 10'001_ns, 40_us, 40_us});
  EXPECT_EQ(Send(1, Time{} + 10'000'500_ps), 0);
  EXPECT_EQ(Send(1, Time{} + 10'000'500_ps + 10'001_ns), 1);  // Then it would not.
}

// A gap counts as the ticks within it, whatever there is on either side.
class FlbTickTest : public FlbLeafTest {
 protected:
  FlbTickTest() : FlbLeafTest("{kind: flb, gap_tick: 4us}") {}

  // Returns the port after a flowlet gap. The flow sends packets at these two times, first on port
  // 0, which is 3 us slower than port 1.
  PortIndex AfterAGap(Duration from, Duration to) {
    StartOnPort0(1, Time{} + from);
    Delays({30_us, 27_us, 40_us, 40_us}, Time{} + from);
    return Send(1, Time{} + to);
  }
};
TEST_F(FlbTickTest, AGapWithoutATickIsNone) { EXPECT_EQ(AfterAGap(4_us, 7'999_ns), 0); }
TEST_F(FlbTickTest, AGapWithATickIsAWholeOne) { EXPECT_EQ(AfterAGap(3'999_ns, 4_us), 1); }

TEST_F(FlbLeafTest, AmongEqualPathsNobodyMoves) {
  Delays({20_us, 20_us, 20_us, 20_us});
  const PortIndex port = Send(1, {});
  for (int i = 1; i < 500; ++i) ASSERT_EQ(Send(1, Time{} + 1_us * i * (i % 7)), port);
}

// Whatever the delays of four paths and the gaps, as long as the delays stay: `begin(flow, at)`
// puts a flow on the first path, `learn(delays, at)` tells the leaf, and `send(flow, at)` is the
// path taken.
template <class Begin, class Learn, class Send>
void ExpectThatNothingIsOvertaken(const Begin& begin, const Learn& learn, const Send& send) {
  Rng rng = Rng::Stream(1, "delays", 0);
  Time at;
  for (FlowId flow = 0; flow < 50; ++flow) {
    std::vector<Duration> delays;
    for (int path = 0; path < 4; ++path) delays.push_back(1_ns * (1'000 + rng.Below(200'000)));
    at += 2_ms;
    begin(flow, at);
    learn(delays, at);
    Time arrival = at + delays[0];
    for (int i = 0; i < 100; ++i) {
      at += rng.ExponentialDuration(20e6);
      const Time next = at + delays[send(flow, at)];
      ASSERT_GT(next, arrival);
      arrival = next;
    }
  }
}

TEST_F(FlbLeafTest, StaticDelaysAreNeverReordered) {
  ExpectThatNothingIsOvertaken(
      [&](FlowId flow, Time at) { StartOnPort0(flow, at); },
      [&](const std::vector<Duration>& delays, Time at) { Delays(delays, at); },
      [&](FlowId flow, Time at) { return Send(flow, at); });
  EXPECT_GT(leaf_.Count("reroutes"), 50);
}

TEST_F(FlbLeafTest, AFlowSilentForAMillisecondIsNew) {
  StartOnPort0(1);
  Delays({30_us, 40_us, 40_us, 25_us});
  EXPECT_EQ(Send(1, Time{} + 1_us), 0);
  EXPECT_EQ(Send(1, Time{} + 1_ms + 2_us), 3);
  EXPECT_EQ(leaf_.Count("reroutes"), 0);  // It has begun again.
}

TEST_F(FlbLeafTest, AFlowWhoseUplinkFailsIsNewAndThePathComesBackUnmeasured) {
  StartOnPort0(1);
  Delays({1_us, 20_us, 10_us, 30_us});
  EXPECT_EQ(Send(1, Time{} + 1_ns, Ports{1, 2, 3}), 2);
  EXPECT_EQ(leaf_.Count("reroutes"), 1);
  // The bench knows nothing of its uplinks, so an unmeasured delay is 0: the best.
  EXPECT_EQ(Send(2, Time{} + 1_us), 0);
}

TEST_F(FlbLeafTest, IsolatesAFlowFromAllOthersUntilItIsReleased) {
  StartOnPort0(1);
  for (FlowId flow = 2; flow < 40; ++flow) Send(flow, Time{} + 1_us);
  Delays({30_us, 20_us, 20_us, 20_us}, Time{} + 1_us);  // They would overtake, and must leave.
  Congest(1, 31, Time{} + 2_us);
  for (int i = 0; i < 20; ++i) {
    const Time at = Time{} + 3_us + 1_us * i;
    ASSERT_EQ(Send(1, at), 0);
    for (FlowId flow = 2; flow < 80; ++flow) ASSERT_NE(Send(flow, at), 0) << flow;
  }
  EXPECT_EQ(leaf_.Count("isolated_ports"), 1);
  EXPECT_GT(leaf_.Count("forced_evictions"), 0);
  Release(1, Time{} + 30_us);
  // The review comes once a base round trip, which is 16 us here.
  leaf_.At(Time{} + 50_us, [](SwitchView&, SwitchPolicy&) {});
  EXPECT_EQ(leaf_.Count("isolated_ports"), 0);
  Delays({1_us, 20_us, 20_us, 20_us}, Time{} + 50_us);
  EXPECT_EQ(Send(99, Time{} + 50_us), 0);
}

// The flow waits for its release, or for the end of the pause that it has caused.
TEST_F(FlbLeafTest, AnIsolatedFlowThatIsSilentStaysIsolated) {
  StartOnPort0(1);
  Congest(1, 31, Time{} + 2_us);
  Delays({30_us, 20_us, 20_us, 20_us}, Time{} + 2_us);
  for (int ms = 5; ms <= 95; ms += 30) EXPECT_EQ(Send(1, Time{} + 1_ms * ms), 0);
  EXPECT_EQ(leaf_.Count("isolated_flows"), 1);
  EXPECT_NE(Send(2, Time{} + 96_ms), 0);
}

// The flow is known when it is released. A new flow would forget what it must not overtake.
TEST_F(FlbLeafTest, AFlowKeepsItsPlaceWhileItIsIsolated) {
  StartOnPort0(1);
  Congest(1, 31, Time{} + 2_us);
  EXPECT_EQ(Send(1, Time{} + 5_ms), 0);
  Release(1, Time{} + 5'010_us);
  Delays({60_us, 10_us, 70_us, 70_us}, Time{} + 5'010_us);
  EXPECT_EQ(Send(1, Time{} + 5'040_us), 0);  // 40 us behind, 50 us quicker.
  EXPECT_EQ(Send(1, Time{} + 5'100_us), 1);
  EXPECT_EQ(leaf_.Count("reroutes"), 1);
}

TEST_F(FlbLeafTest, AnIsolationThatNobodyConfirmsEndsAfterATenthOfASecond) {
  StartOnPort0(1);
  Congest(1, 31, Time{} + 2_us);
  leaf_.At(Time{} + 100_ms, [](SwitchView&, SwitchPolicy&) {});
  EXPECT_EQ(leaf_.Count("isolated_flows"), 1);
  leaf_.At(Time{} + 100'030_us, [](SwitchView&, SwitchPolicy&) {});
  EXPECT_EQ(leaf_.Count("isolated_flows"), 0);
}

class FlbHeldTest : public FlbLeafTest {
 protected:
  FlbHeldTest() : FlbLeafTest("{kind: flb, held_age: 1us}") {}
};

TEST_F(FlbHeldTest, OrAfterTheAgeOfAllFlowsWhereThatIsLonger) {
  StartOnPort0(1);
  Congest(1, 31, Time{} + 2_us);
  leaf_.At(Time{} + 900_us, [](SwitchView&, SwitchPolicy&) {});
  EXPECT_EQ(leaf_.Count("isolated_flows"), 1);
  leaf_.At(Time{} + 1'030_us, [](SwitchView&, SwitchPolicy&) {});
  EXPECT_EQ(leaf_.Count("isolated_flows"), 0);
}

class FlbStrictTest : public FlbLeafTest {
 protected:
  FlbStrictTest() : FlbLeafTest("{kind: flb, evict: strict}") {}
};

TEST_F(FlbStrictTest, OthersLeaveWhenTheyOvertakeNothing) {
  StartOnPort0(1);
  StartOnPort0(2);
  Congest(1, 31, {});
  Delays({30_us, 22_us, 15_us, 15_us});
  EXPECT_EQ(Send(2, Time{} + 1_us), 0);
  EXPECT_EQ(Send(2, Time{} + 10_us), 1);  // 8 us quicker, 9 us behind.
  EXPECT_EQ(leaf_.Count("forced_evictions"), 0);
}

class FlbQueueingTest : public FlbLeafTest {
 protected:
  FlbQueueingTest() : FlbLeafTest("{kind: flb, compare: queueing}") {}
};

TEST_F(FlbQueueingTest, ComparedByQueueingALongPathLooksAsGoodAsAShortOne) {
  Delays({20_us, 90_us, 20_us, 20_us});
  Delays({30_us, 90_us, 40_us, 40_us});
  EXPECT_EQ(Send(1, {}), 1);
}

// Flows to leaf 2 while one to leaf 1 is isolated on uplink 0.
class FlbUplinkTest : public FlbLeafTest {
 protected:
  explicit FlbUplinkTest(const std::string& scope = "uplink")
      : FlbLeafTest("{kind: flb, scope: " + scope + "}", 2) {}

  std::set<PortIndex> UsedTo(HostId leaf) {
    std::set<PortIndex> used;
    for (FlowId flow = 100; flow < 200; ++flow) {
      Packet packet = LbPacket(flow);
      packet.flow = flow + 1'000u * leaf;
      packet.dst = leaf;
      used.insert(leaf_.PortFor(packet, Time{} + 3_us));
    }
    return used;
  }
  void IsolateOneTo1() {
    StartOnPort0(1);
    Congest(1, 31, Time{} + 2_us);
    Delays({5_us, 5_us, 5_us, 5_us}, Time{} + 2_us);
  }
};
class FlbPathTest : public FlbUplinkTest {
 protected:
  FlbPathTest() : FlbUplinkTest("path") {}
};

TEST_F(FlbUplinkTest, AnUplinkIsIsolatedFromFlowsToAllLeaves) {
  IsolateOneTo1();
  EXPECT_EQ(UsedTo(1), (std::set<PortIndex>{1, 2, 3}));
  EXPECT_EQ(UsedTo(2), (std::set<PortIndex>{1, 2, 3}));
  EXPECT_EQ(leaf_.Count("isolated_ports"), 1);
}

TEST_F(FlbPathTest, APathIsIsolatedFromFlowsToItsLeafOnly) {
  IsolateOneTo1();
  EXPECT_EQ(UsedTo(1), (std::set<PortIndex>{1, 2, 3}));
  EXPECT_EQ(UsedTo(2), (std::set<PortIndex>{0, 1, 2, 3}));
  EXPECT_EQ(leaf_.Count("isolated_ports"), 1);
}

// --- One leaf below two tiers: four paths, of which 0 and 2 begin with uplink 0 ---

// A leaf that is `links` links away from the other leaf.
class FlbFatTreeLeafTest : public testing::Test {
 protected:
  explicit FlbFatTreeLeafTest(int links = 4)
      : leaf_("flb", {.uplinks = std::vector<BitRate>(2, 100_Gbps),
                      .ways = std::vector<Way>(2, {10_us, 100_Gbps, 100_Gbps, 375_KB, links}),
                      .fabric = {.tiers = 3, .leaf_uplinks = 2, .above_uplinks = 2}}) {}

  void Control(const FlbControl& control, FlowId flow, Time at) {
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      policy.OnPacket(view, ControlPacket(control, flow), 0, view.CandidatesTo(0));
    });
  }
  void Delays(const std::vector<Duration>& delays, Time at = {}) {
    for (size_t path = 0; path < delays.size(); ++path) {
      Control({FlbControl::kDelay, static_cast<uint8_t>(path), 0,
               static_cast<int32_t>(delays[path].ps / 1'000)},
              0, at);
    }
  }

  // Returns the packet as it leaves; the path that it names is over the port that it takes.
  Packet Sent(const Packet& given, Time at) {
    Packet packet = given;
    leaf_.At(at, [&](SwitchView& view, SwitchPolicy& policy) {
      const PortIndex from_host = 2;
      const Decision decision = policy.OnPacket(view, packet, from_host, view.CandidatesTo(1));
      EXPECT_EQ(decision.kind, Decision::Kind::kForward);
      policy.OnEnqueue(view, packet, decision.port);
      EXPECT_EQ(decision.port, packet.path % 2);
    });
    return packet;
  }
  uint16_t PathOf(FlowId flow, Time at) {
    Packet packet = LbPacket(flow);
    packet.flow = flow;
    return Sent(packet, at).path;
  }

  LbSwitch leaf_;
};
class FlbNearLeafTest : public FlbFatTreeLeafTest {
 protected:
  FlbNearLeafTest() : FlbFatTreeLeafTest(2) {}
};

TEST_F(FlbFatTreeLeafTest, ANewFlowTakesTheQuickestOfAllPaths) {
  Delays({30_us, 22_us, 20_us, 29_us});
  EXPECT_EQ(PathOf(1, Time{} + 1_us), 2);
  Delays({40_us, 40_us, 40_us, 21_us}, Time{} + 2_us);
  EXPECT_EQ(PathOf(1, Time{} + 20_us), 2);  // 19 us quicker, 19 us behind: too little.
  EXPECT_EQ(PathOf(1, Time{} + 40_us), 3);
}

TEST_F(FlbFatTreeLeafTest, StaticDelaysAreNeverReordered) {
  ExpectThatNothingIsOvertaken(
      [&](FlowId flow, Time at) {
        Delays({1_us, 9_us, 9_us, 9_us}, at);
        ASSERT_EQ(PathOf(flow, at), 0);
      },
      [&](const std::vector<Duration>& delays, Time at) { Delays(delays, at); },
      [&](FlowId flow, Time at) { return PathOf(flow, at); });
  EXPECT_GT(leaf_.Count("reroutes"), 50);
}

// Four full packets of 1524 bytes at 100 Gbps, one after the other, and 10 us: 10,487.68 ns, of
// which stamps tell 10,487. The others are slower, or quicker, by more than 2 ns.
TEST_F(FlbFatTreeLeafTest, APathThatIsNotMeasuredLooksIdle) {
  const Time at = Time{} + 1_us;
  Delays({10'490_ns, 10'490_ns, 10'490_ns}, at);
  for (FlowId flow = 0; flow < 20; ++flow) EXPECT_EQ(PathOf(flow, at), 3);
  Delays({10'484_ns, 10'490_ns, 10'490_ns}, at);
  for (FlowId flow = 20; flow < 40; ++flow) EXPECT_EQ(PathOf(flow, at), 0);
}

// Flows begin together when only one path has been measured: as an idle one, in whole nanoseconds
// on either side.
TEST_F(FlbFatTreeLeafTest, AMeasuredPathThatIsIdleIsLikeOneThatIsNotMeasured) {
  const Time at = Time{} + 1_us;
  for (const Duration measured : {10'485_ns, 10'487_ns, 10'489_ns}) {
    Delays({measured}, at);
    std::multiset<uint16_t> paths;
    for (FlowId flow = 0; flow < 8; ++flow) {
      paths.insert(PathOf(1'000 * static_cast<FlowId>(measured.ps / 1'000) + flow, at));
    }
    EXPECT_EQ(paths, (std::multiset<uint16_t>{0, 0, 1, 1, 2, 2, 3, 3})) << measured.ps;
  }
}

TEST_F(FlbFatTreeLeafTest, OthersLeaveAllPathsOverTheUplinkOfAnIsolatedOne) {
  Delays({9_us, 9_us, 9_us, 1_us});
  ASSERT_EQ(PathOf(1, {}), 3);
  Control({FlbControl::kCongested, 0, 31, 0}, 1, Time{} + 1_us);
  Delays({9_us, 1_us, 9_us, 2_us}, Time{} + 1_us);
  for (FlowId flow = 2; flow < 100; ++flow) {
    EXPECT_EQ(PathOf(flow, Time{} + 2_us) % 2, 0) << flow;
    EXPECT_EQ(PathOf(1, Time{} + 2_us), 3);
  }
  EXPECT_EQ(leaf_.Count("isolated_ports"), 1);
}

TEST_F(FlbFatTreeLeafTest, APinnedDatagramIsMeasuredIfThatIsAPathOfTheLeaf) {
  for (const uint16_t path : std::vector<uint16_t>{3, 4, 77}) {
    Packet pinned = LbPacket(8);
    pinned.kind = PacketKind::kDatagram;
    pinned.path = path;
    leaf_.At(Time{} + 5_us, [&](SwitchView& view, SwitchPolicy& policy) {
      policy.OnEnqueue(view, pinned, path % 2);
    });
    EXPECT_EQ(pinned.path, path);
    EXPECT_EQ(pinned.Scheme<FlbHeader>().stamp != 0, path == 3);
  }
}

TEST_F(FlbNearLeafTest, ToANearLeafPathsDifferInTheUplinkAlone) {
  Delays({9_us, 5_us, 1_us, 1_us});
  EXPECT_EQ(PathOf(1, {}), 1);
  Control({FlbControl::kCongested, 0, 31, 0}, 1, Time{} + 1_us);
  Delays({9_us, 1_us}, Time{} + 1_us);
  for (FlowId flow = 2; flow < 50; ++flow) {
    EXPECT_EQ(PathOf(flow, Time{} + 2_us), 0);
    EXPECT_EQ(PathOf(1, Time{} + 2_us), 1);
  }
}

}  // namespace heddle::flb_test
