// SPDX-License-Identifier: Apache-2.0
// The share of packets that are marked between two thresholds (DCQCN, SIGCOMM 2015, figure 5), and
// losses counted by packets.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
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

// DCTCP, SIGCOMM 2010, section 3.4: 20 packets of 1500 bytes at 1 Gbps and 65 at 10 Gbps; a
// straight line between them, and 30 KB for each 10 Gbps beyond, once that is more.
TEST(MarkingThresholdTest, FollowsTheRate) {
  for (const auto& [mbps, bytes] : std::vector<std::pair<int64_t, int64_t>>{{10, 30'000},
                                                                            {1'000, 30'000},
                                                                            {1'900, 36'750},
                                                                            {2'500, 41'250},
                                                                            {5'500, 63'750},
                                                                            {9'100, 90'750},
                                                                            {10'000, 97'500},
                                                                            {25'000, 97'500},
                                                                            {32'500, 97'500},
                                                                            {33'000, 99'000},
                                                                            {40'000, 120'000},
                                                                            {400'000, 1'200'000}}) {
    const double found =
        static_cast<double>(DefaultMarkingThreshold(BitRate{mbps * 1'000'000}).count);
    EXPECT_NEAR(found, static_cast<double>(bytes), 1) << mbps;  // Of the rounding.
  }
}

TEST(MarkingTest, WithOneThresholdAtEnqueueNeedsNoQueue) {
  EXPECT_FALSE(Marking{}.needs_queue());
  EXPECT_FALSE((Marking{.above = 5, .all = 5}).needs_queue());
  EXPECT_TRUE((Marking{.above = 5, .all = 6}).needs_queue());
  EXPECT_TRUE((Marking{.above = 5, .all = 5, .at_dequeue = true}).needs_queue());
  EXPECT_EQ((Marking{}).LengthAtDequeue(3'000, 500), 3'000);
  EXPECT_EQ((Marking{.counts_departing = true}).LengthAtDequeue(3'000, 500), 3'500);
  Rng rng = Rng::Stream(1, "marks", 0);
  EXPECT_FALSE(Marking{}.Marks(int64_t{1} << 60, rng));
  // Just below the upper threshold the probability is 1 by default.
  for (int i = 0; i < 100; ++i) EXPECT_TRUE((Marking{.above = 0, .all = 9}).Marks(9, rng));
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

// So a link that begins to lose packets loses the same ones, whenever it begins.
TEST(LossByShareTest, DrawsNothingWhileTheShareIsZero) {
  RandomLoss sound(Rng::Stream(1, "share", 0));
  sound.Set(0);
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(sound.Strikes());
  RandomLoss faulty(Rng::Stream(1, "share", 0));
  sound.Set(0.5);
  faulty.Set(0.5);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sound.Strikes(), faulty.Strikes());
}

// Without further words a burst loses every packet, and lasts for one: the chance to end it is 1.
TEST(LossInBurstsTest, ByDefaultABurstIsOnePacket) {
  LinkLoss link(RandomLoss(Rng::Stream(1, "share", 0)), Rng::Stream(1, "errors", 0));
  link.SetBursts({.to_bad = 1});
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(link.Strikes(1'500_B), i % 2 == 0) << i;
}

// The link as documented: each packet may change the state first, and is lost in the bad state
// with a probability. Kinds of loss that are not set, or no longer, draw nothing: the stream is the
// reference's. Setting bursts again begins in the good state.
TEST(LossInBurstsTest, FollowTheModelWhateverElseWasSet) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    LinkLoss link(RandomLoss(Rng::Stream(seed, "share", 0)), Rng::Stream(seed, "errors", 0));
    Rng rng = Rng::Stream(seed, "errors", 0);
    if (seed % 2 == 0) link.SetShare(0);
    if (seed % 4 < 2) link.SetBitErrors(0);
    if (seed % 3 == 0) link.SetEvery(0);
    for (const BurstLoss bursts :
         {BurstLoss{}, BurstLoss{.to_bad = 0.3, .to_good = 0.2, .bad = 0.6},
          BurstLoss{.to_bad = 0.1, .to_good = 0.4, .bad = 0.9}}) {
      link.SetBursts(bursts);
      bool is_bad = false;
      for (int i = 0; i < 200; ++i) {
        bool lost = false;
        if (bursts.to_bad > 0) {
          if (rng.Uniform() < (is_bad ? bursts.to_good : bursts.to_bad)) is_bad = !is_bad;
          lost = is_bad && rng.Uniform() < bursts.bad;
        }
        ASSERT_EQ(link.Strikes(1'500_B), lost) << seed << ", " << i;
      }
    }
  }
}

// 1 - (1 - rate)^bits, for packets of two sizes; 4 deviations.
TEST(LossByBitsTest, GrowsWithThePacket) {
  LinkLoss link(RandomLoss(Rng::Stream(1, "share", 0)), Rng::Stream(1, "errors", 0));
  constexpr double kRate = 1e-5;
  link.SetBitErrors(kRate);
  constexpr int kPackets = 40'000;
  for (const int64_t bytes : {100, 9'000}) {
    int lost = 0;
    for (int i = 0; i < kPackets; ++i) lost += link.Strikes(Bytes{bytes}) ? 1 : 0;
    const double share = 1 - std::pow(1 - kRate, 8 * static_cast<double>(bytes));
    EXPECT_NEAR(lost, kPackets * share, 4 * std::sqrt(kPackets * share * (1 - share))) << bytes;
  }
}

}  // namespace heddle::marking_share_test
