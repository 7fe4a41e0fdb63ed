// SPDX-License-Identifier: Apache-2.0
// The share of packets that are marked between two thresholds (DCQCN, SIGCOMM 2015, figure 5), and
// losses counted by packets.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "fabric/link_loss.h"
#include "fabric/marking.h"

namespace heddle::marking_share_test {

// From 0 at the lower threshold to 0.2 at the upper one; beyond it, every packet.
TEST(MarkingShareTest, GrowsEvenlyFromOneThresholdToTheOther) {
  const Marking marking = {.above = 40'000, .all = 200'000, .at_all = 0.2};
  Rng rng = Rng::Stream(1, "marks", 0);
  constexpr int kPackets = 20'000;
  for (const int64_t length : std::vector<int64_t>{0, 40'000, 40'001, 80'000, 120'000, 200'000}) {
    int marked = 0;
    for (int i = 0; i < kPackets; ++i) marked += marking.Marks(length, rng) ? 1 : 0;
    const double share =
        length <= 40'000 ? 0 : 0.2 * static_cast<double>(length - 40'000) / (200'000 - 40'000);
    EXPECT_NEAR(static_cast<double>(marked) / kPackets, share, 0.012) << length;
  }
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(marking.Marks(200'001, rng));
}

// Setting the number again begins to count anew, and 1 loses every packet.
TEST(LossByCountTest, EveryNthIsCountedFromWhenItIsSet) {
  LinkLoss link(RandomLoss(Rng::Stream(1, "share", 0)), Rng::Stream(1, "errors", 0));
  const auto first_lost = [&] {
    int sent = 1;
    while (sent < 100 && !link.Strikes(1'500_B)) ++sent;
    return sent;
  };
  link.SetEvery(5);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(link.Strikes(1'500_B));
  link.SetEvery(5);
  EXPECT_EQ(first_lost(), 5);
  EXPECT_EQ(first_lost(), 5);
  link.SetEvery(1);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(first_lost(), 1);
  link.SetEvery(0);
  EXPECT_EQ(first_lost(), 100);
}

// Without further words a burst loses every packet, and lasts for one: the chance to end it is 1.
TEST(LossInBurstsTest, ByDefaultABurstIsOnePacket) {
  LinkLoss link(RandomLoss(Rng::Stream(1, "share", 0)), Rng::Stream(1, "errors", 0));
  link.SetBursts({.to_bad = 1});
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(link.Strikes(1'500_B), i % 2 == 0) << i;
}

}  // namespace heddle::marking_share_test
