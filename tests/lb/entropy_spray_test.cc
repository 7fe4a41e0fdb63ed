// SPDX-License-Identifier: Apache-2.0

#include "lb/parts/entropy_spray.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace heddle::entropy_spray_test {

TEST(EntropyWalkTest, EachRoundUsesEveryEntropyOnce) {
  Rng rng = Rng::Stream(1, "test", 0);
  EntropyWalk walk;
  walk.Start(64, rng);
  std::set<std::vector<uint16_t>> orders;
  for (int round = 0; round < 20; ++round) {
    std::vector<uint16_t> order;
    for (int i = 0; i < 64; ++i) {
      order.push_back(walk.Current());
      EXPECT_EQ(walk.Whole(walk.Current()) & 63, walk.Current());
      walk.Advance(rng);
    }
    EXPECT_EQ(std::set<uint16_t>(order.begin(), order.end()).size(), 64u);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 10u);
}

// Visits of an entropy in so many choices among four, after so many bad news of it.
int VisitsAfter(EntropyNews news, int choices, int times = 1,
                EntropyPenalties penalties = EntropyPenalties()) {
  Rng rng = Rng::Stream(2, "test", 0);
  EntropyWalk walk;
  walk.Start(4, rng);
  penalties.Start(4);
  for (int i = 0; i < times; ++i) penalties.Note(2, news);
  int visits = 0;
  for (int i = 0; i < choices; ++i) visits += penalties.Choose(walk, rng) == 2 ? 1 : 0;
  return visits;
}

// With a penalty the other three serve its turns, so a round has three choices.
TEST(EntropyPenaltiesTest, APenaltyIsTheNumberOfTurnsThatAreLost) {
  EXPECT_EQ(VisitsAfter(EntropyNews::kGood, 4), 1);
  EXPECT_EQ(VisitsAfter(EntropyNews::kMarked, 3), 0);
  EXPECT_EQ(VisitsAfter(EntropyNews::kMarked, 3 + 4), 1);
  EXPECT_EQ(VisitsAfter(EntropyNews::kTrimmed, 4 * 3), 0);
  EXPECT_EQ(VisitsAfter(EntropyNews::kTrimmed, 4 * 3 + 4), 1);
  EXPECT_EQ(VisitsAfter(EntropyNews::kTimeout, 15 * 3), 0);
  EXPECT_EQ(VisitsAfter(EntropyNews::kTimeout, 15 * 3 + 4), 1);
}

TEST(EntropyPenaltiesTest, APenaltyHasAMaximum) {
  EXPECT_EQ(VisitsAfter(EntropyNews::kTimeout, 15 * 3, 100), 0);
  EXPECT_EQ(VisitsAfter(EntropyNews::kTimeout, 15 * 3 + 4, 100), 1);
}

// STrack has one bit for each entropy: whatever happened, one turn is lost.
TEST(EntropyPenaltiesTest, WithOneBitEveryBadNewsCostsOneTurn) {
  const EntropyPenalties bits(/*most=*/1);
  for (const EntropyNews news :
       {EntropyNews::kMarked, EntropyNews::kTrimmed, EntropyNews::kTimeout}) {
    EXPECT_EQ(VisitsAfter(news, 3, 100, bits), 0);
    EXPECT_EQ(VisitsAfter(news, 3 + 4, 100, bits), 1);
  }
  EXPECT_EQ(VisitsAfter(EntropyNews::kGood, 4, 1, bits), 1);
}

// Entropies 0 to 2 of four have a point, so the first choice is 3. If it forgives all, the next
// round uses every entropy; if only the first, 1 and 2 lose another turn.
TEST(EntropyPenaltiesTest, AChoiceForgivesTheFirstEntropyOrAll) {
  using Forgives = EntropyPenalties::Forgives;
  using Entropies = std::set<uint16_t>;
  for (const auto& [forgives, expected] : {std::pair(Forgives::kAll, Entropies{0, 1, 2, 3}),
                                           std::pair(Forgives::kFirst, Entropies{0, 3})}) {
    Rng rng = Rng::Stream(2, "test", 0);
    EntropyWalk walk;
    do {
      walk.Start(4, rng);
    } while (walk.Current() != 0);  // The walk visits 0, 1, 2, 3.
    EntropyPenalties penalties(/*most=*/1, forgives);
    penalties.Start(4);
    for (uint16_t entropy = 0; entropy < 3; ++entropy)
      penalties.Note(entropy, EntropyNews::kMarked);
    EXPECT_EQ(penalties.Choose(walk, rng), 3);
    Entropies used;
    for (size_t i = 0; i < expected.size(); ++i) used.insert(penalties.Choose(walk, rng));
    EXPECT_EQ(used, expected);
  }
}

// If all entropies have penalties, one of them is used in spite of that.
TEST(EntropyPenaltiesTest, SomeEntropyIsAlwaysUsed) {
  Rng rng = Rng::Stream(4, "test", 0);
  EntropyWalk walk;
  EntropyPenalties penalties;
  walk.Start(4, rng);
  penalties.Start(4);
  for (uint16_t entropy = 0; entropy < 4; ++entropy) penalties.Note(entropy, EntropyNews::kTimeout);
  for (int i = 0; i < 100; ++i) EXPECT_LT(penalties.Choose(walk, rng), 4);
}

}  // namespace heddle::entropy_spray_test
