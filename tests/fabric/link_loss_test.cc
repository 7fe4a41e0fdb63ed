// SPDX-License-Identifier: Apache-2.0
// Tests how many packets a faulty link loses, and which.

#include "fabric/link_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace heddle::link_loss_test {

constexpr Bytes kPacket{4'150};

LinkLoss Sound(uint64_t seed = 1) {
  return LinkLoss(RandomLoss(Rng::Stream(seed, "share", 0)), Rng::Stream(seed, "errors", 0));
}

int64_t LostOf(LinkLoss& link, int64_t packets) {
  int64_t lost = 0;
  for (int64_t i = 0; i < packets; ++i) lost += link.Strikes(kPacket) ? 1 : 0;
  return lost;
}

TEST(LinkLossModelTest, ASoundLinkLosesNothing) {
  LinkLoss link = Sound();
  EXPECT_EQ(LostOf(link, 100'000), 0);
}

// A bit error rate of 1e-7 damages 0.3314 % of packets of 4150 bytes.
TEST(LinkLossModelTest, BitErrorsDamagePacketsByTheirSize) {
  LinkLoss link = Sound();
  link.SetBitErrors(1e-7);
  constexpr double kPackets = 1e7;
  constexpr double kShare = 0.003314;
  EXPECT_NEAR(static_cast<double>(LostOf(link, static_cast<int64_t>(kPackets))), kPackets * kShare,
              3 * std::sqrt(kPackets * kShare));
  link.SetBitErrors(0);
  EXPECT_EQ(LostOf(link, 100'000), 0);
}

TEST(LinkLossModelTest, EveryNthPacketIsLost) {
  LinkLoss link = Sound();
  link.SetEvery(10);
  for (int i = 1; i <= 100; ++i) EXPECT_EQ(link.Strikes(kPacket), i % 10 == 0) << i;
  link.SetEvery(0);
  EXPECT_EQ(LostOf(link, 100), 0);
}

// The link is bad for to_bad / (to_bad + to_good) of the packets, and for 1 / to_good in a row.
TEST(LinkLossModelTest, BurstsHaveTheirShareAndTheirLength) {
  LinkLoss link = Sound();
  link.SetBursts({.to_bad = 0.01, .to_good = 0.19, .bad = 1});
  constexpr int64_t kPackets = 1'000'000;
  int64_t lost = 0;
  int64_t bursts = 0;
  bool before = false;
  for (int64_t i = 0; i < kPackets; ++i) {
    const bool now = link.Strikes(kPacket);
    lost += now ? 1 : 0;
    bursts += now && !before ? 1 : 0;
    before = now;
  }
  EXPECT_NEAR(static_cast<double>(lost) / kPackets, 0.05, 0.003);
  EXPECT_NEAR(static_cast<double>(lost) / static_cast<double>(bursts), 1 / 0.19, 0.2);
}

TEST(LinkLossModelTest, ABadLinkCanLoseAShare) {
  LinkLoss link = Sound();
  link.SetBursts({.to_bad = 0.01, .to_good = 0.19, .bad = 0.5});
  EXPECT_NEAR(static_cast<double>(LostOf(link, 1'000'000)) / 1e6, 0.025, 0.002);
}

TEST(LinkLossModelTest, KindsOfLossAddUp) {
  LinkLoss link = Sound();
  link.SetShare(0.5);
  link.SetEvery(2);
  EXPECT_NEAR(static_cast<double>(LostOf(link, 100'000)) / 1e5, 0.75, 0.01);
}

}  // namespace heddle::link_loss_test
