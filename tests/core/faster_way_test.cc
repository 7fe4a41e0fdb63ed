// SPDX-License-Identifier: Apache-2.0

#include "core/faster_way.h"

#include <gtest/gtest.h>

#include <utility>

#include "core/random.h"

namespace heddle {
namespace {

// Does `rounds` of work and returns how many of them took the way `true`. cost(way) is that of a
// round.
template <class Cost>
int Rounds(FasterWay& faster, int rounds, const Cost& cost) {
  int taken = 0;
  for (int i = 0; i < rounds; ++i) {
    const bool way = faster.way();
    taken += way ? 1 : 0;
    if (faster.is_trial()) {
      faster.Add(cost(way));
    } else {
      faster.Skip();
    }
  }
  return taken;
}

TEST(FasterWay, KeepsTheWayItBeganWithUntilTheFirstTrial) {
  for (const bool way : {false, true}) {
    FasterWay faster(way);
    EXPECT_EQ(Rounds(faster, FasterWay::kFirst, [](bool) { return 1.0; }),
              way ? FasterWay::kFirst : 0);
    EXPECT_TRUE(faster.is_trial());
  }
}

TEST(FasterWay, ATrialTakesBothWaysInPairs) {
  FasterWay faster(true);
  Rounds(faster, FasterWay::kFirst, [](bool) { return 1.0; });
  for (int pair = 0; pair < FasterWay::kLead; ++pair) {
    EXPECT_EQ(Rounds(faster, 2, [](bool way) { return way ? 1.0 : 2.0; }), 1);
  }
  EXPECT_FALSE(faster.is_trial());  // So many votes decide.
}

TEST(FasterWay, TakesTheFasterWayAfterATrial) {
  for (const bool fast : {false, true}) {
    FasterWay faster(true);
    const auto cost = [&](bool way) { return way == fast ? 1.0 : 1.1; };
    Rounds(faster, FasterWay::kFirst + 2 * FasterWay::kLead, cost);
    EXPECT_EQ(Rounds(faster, FasterWay::kRest, cost), fast ? FasterWay::kRest : 0);
  }
}

// The machine or the work may change.
TEST(FasterWay, ALaterTrialChangesBack) {
  FasterWay faster(true);
  Rounds(faster, 2000, [](bool way) { return way ? 2.0 : 1.0; });
  EXPECT_FALSE(faster.way());
  Rounds(faster, 2000, [](bool way) { return way ? 1.0 : 2.0; });
  EXPECT_TRUE(faster.way());
}

// Work that grows from round to round must not favour the way that comes first in each pair.
TEST(FasterWay, SeesThroughNoiseGrowthAndInterruptions) {
  Rng rng = Rng::Stream(7, "faster way", 0);
  for (int run = 0; run < 20; ++run) {
    FasterWay faster(true);
    double work = 1;
    const auto cost = [&](bool way) {
      work *= 1.01;
      const double interruption = rng.Below(20) == 0 ? 100 : 1;
      return work * interruption * (way ? 1.1 : 1) * (0.97 + 0.06 * rng.Uniform());
    };
    Rounds(faster, FasterWay::kFirst + 2 * FasterWay::kPairs, cost);
    EXPECT_FALSE(faster.way());
  }
}

TEST(FasterWay, ATrialWithoutAWinnerKeepsTheWay) {
  FasterWay faster(true);
  bool first_of_pair = true;
  const auto cost = [&](bool) { return std::exchange(first_of_pair, !first_of_pair) ? 1.0 : 2.0; };
  Rounds(faster, FasterWay::kFirst + 2 * FasterWay::kPairs, cost);
  EXPECT_FALSE(faster.is_trial());
  EXPECT_TRUE(faster.way());
}

}  // namespace
}  // namespace heddle
