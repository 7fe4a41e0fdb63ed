// SPDX-License-Identifier: Apache-2.0
// Which packets fall into a blackhole, condition by condition; and which packets a faulty switch
// drops at all.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "fabric/switch.h"
#include "fabric/switch_faults.h"

namespace heddle::blackhole_test {

constexpr PortIndex kIn = 2;
constexpr Time kNow = Time{} + 5_us;

Packet From1To3(uint32_t hash = 500) {
  Packet packet;
  packet.src = 1;
  packet.dst = 3;
  packet.tuple_hash = hash;
  return packet;
}
bool Takes(const Blackhole& hole, const Packet& packet = From1To3()) {
  return hole.Takes(packet, kIn, kNow);
}

TEST(BlackholeTest, WithoutConditionsTakesEverything) {
  EXPECT_TRUE(Takes({}));
  EXPECT_TRUE(Takes({}, From1To3(0)));
  EXPECT_TRUE(Takes({}, From1To3(0xffff'ffff)));
}

TEST(BlackholeTest, TakesPacketsOfItsHostsAndPorts) {
  EXPECT_TRUE(Takes({.from = {false, true, false, false}}));
  EXPECT_FALSE(Takes({.from = {true, false, true, true}}));
  EXPECT_TRUE(Takes({.to = {false, false, false, true}}));
  EXPECT_FALSE(Takes({.to = {true, true, true, false}}));
  EXPECT_TRUE(Takes({.in_ports = {false, false, true}}));
  EXPECT_FALSE(Takes({.in_ports = {true, true, false}}));
  // All conditions must hold.
  EXPECT_FALSE(Takes({.from = {false, true, false, false}, .to = {true, true, true, false}}));
  EXPECT_FALSE(Takes({.from = {false, true, false, false}, .in_ports = {true, true, false}}));
}

TEST(BlackholeTest, TakesHashesFromItsFirstToTheOneBeforeItsEnd) {
  const Blackhole hole{.hash_from = 500, .hash_to = 600};
  EXPECT_FALSE(Takes(hole, From1To3(499)));
  EXPECT_TRUE(Takes(hole, From1To3(500)));
  EXPECT_TRUE(Takes(hole, From1To3(599)));
  EXPECT_FALSE(Takes(hole, From1To3(600)));
}

TEST(BlackholeTest, ClosesAtItsEnd) {
  EXPECT_TRUE(Takes({.until = kNow + 1_ps}));
  EXPECT_FALSE(Takes({.until = kNow}));
  EXPECT_FALSE(Takes({.until = kNow - 1_ps}));
}

// A pair is always taken or never, in one direction, and another salt takes other pairs.
TEST(BlackholeTest, TakesAShareOfThePairs) {
  const auto taken = [](double share, uint64_t salt) {
    std::vector<bool> pairs;
    const Blackhole hole{
        .pairs = static_cast<uint64_t>(share * static_cast<double>(Blackhole::kAll)), .salt = salt};
    for (HostId src = 0; src < 100; ++src) {
      for (HostId dst = 0; dst < 100; ++dst) {
        Packet packet = From1To3();
        packet.src = src;
        packet.dst = dst;
        pairs.push_back(Takes(hole, packet));
      }
    }
    return pairs;
  };
  const auto count = [](const std::vector<bool>& pairs, const std::function<bool(size_t)>& is) {
    int n = 0;
    for (size_t i = 0; i < pairs.size(); ++i) n += is(i) ? 1 : 0;
    return n;
  };
  const std::vector<bool> first = taken(0.3, 1);
  EXPECT_EQ(first, taken(0.3, 1));
  EXPECT_NEAR(count(first, [&](size_t i) { return first[i]; }), 3'000, 4 * 46);
  // A larger share takes all pairs that a smaller one takes.
  const std::vector<bool> more = taken(0.6, 1);
  EXPECT_EQ(count(first, [&](size_t i) { return first[i] && !more[i]; }), 0);
  EXPECT_NEAR(count(more, [&](size_t i) { return more[i]; }), 6'000, 4 * 49);
  // Independent: both take 9 % of all pairs, and both directions of a pair.
  const std::vector<bool> other = taken(0.3, 2);
  EXPECT_NEAR(count(first, [&](size_t i) { return first[i] && other[i]; }), 900, 4 * 29);
  const auto reversed = [](size_t i) { return i % 100 * 100 + i / 100; };
  EXPECT_NEAR(count(first, [&](size_t i) { return first[i] && first[reversed(i)]; }), 900, 6 * 29);
}

// --- All faults of a switch ---

struct Scheme final : SwitchPolicy {
  Scheme(int& count, bool always) : asked(count), asks_always(always) {}
  Packets asked_about() const override {
    return asks_always ? Packets::kEvery : Packets::kWithChoice;
  }
  Decision OnPacket(SwitchView&, const Packet&, PortIndex, const Candidates& c) override {
    ++asked;
    return Decision::Forward(c.ports.back());
  }
  size_t StateBytes() const override { return 0; }
  int& asked;
  const bool asks_always;
};

// Damage counts before a blackhole, and that before chance. The scheme decides about the rest if it
// would be asked anyway.
TEST(SwitchFaultsTest, CountAPacketOnceAndLeaveTheRestToTheScheme) {
  for (int faults = 0; faults < 16; ++faults) {
    for (const bool always : {false, true}) {
      int asked = 0;
      const RandomLoss none(Rng::Stream(1, "test", 0));
      SwitchFaults policy(std::make_unique<Scheme>(asked, always),
                          std::vector<LinkLoss>(3, LinkLoss(none, Rng::Stream(1, "test", 1))),
                          none);
      EXPECT_EQ(policy.asked_about(), SwitchPolicy::Packets::kEvery);
      policy.link((faults & 1) != 0 ? kIn : 1).SetEvery(1);
      if ((faults & 2) != 0) policy.Open({.to = {true, true, true, false}});
      if ((faults & 4) != 0) policy.Open({});
      if ((faults & 8) != 0) policy.drops().Set(1);
      Switch node(0, 0, 1, std::make_unique<Scheme>(asked, always));
      node.AddPort({.rate = 10_Gbps, .delay = 1_us, .wire_overhead = 0_B}, true);
      SwitchView view(node);
      for (const std::vector<PortIndex>& ports : std::vector<std::vector<PortIndex>>{{4}, {4, 5}}) {
        asked = 0;
        const Decision decision =
            policy.OnPacket(view, From1To3(), kIn, {.id = 0, .version = 0, .ports = ports});
        const bool lost = (faults & 13) != 0;
        EXPECT_EQ(decision.kind, lost ? Decision::Kind::kDiscard : Decision::Kind::kForward);
        EXPECT_EQ(asked, !lost && (always || ports.size() > 1) ? 1 : 0);
        if (!lost) {
          EXPECT_EQ(decision.port, ports.back());
        } else {
          EXPECT_EQ(decision.reason, (faults & 1) != 0   ? DropReason::kCorrupt
                                     : (faults & 4) != 0 ? DropReason::kBlackhole
                                                         : DropReason::kRandom);
        }
      }
    }
  }
}

}  // namespace heddle::blackhole_test
