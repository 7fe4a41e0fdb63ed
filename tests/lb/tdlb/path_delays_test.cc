// SPDX-License-Identifier: Apache-2.0
// The delays of paths that a leaf has measured, and the timeout that follows from them.

#include "lb/tdlb/path_delays.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/printers.h"

namespace heddle::path_delays_test {

constexpr Time kNow = Time{} + 1_ms;

PathDelays Delays(PathDelays::Memory memory, size_t paths = 3) {
  return PathDelays(std::vector<Duration>(paths, 10_us), 500_us, 1_us, memory);
}

// Path 0 is the fastest and path 2 the slowest.
PathDelays FastestAndSlowest() {
  PathDelays delays = Delays(PathDelays::Memory::kFastestAndSlowest);
  delays.Learn(0, 40_us, kNow);
  delays.Learn(1, 50_us, kNow);
  delays.Learn(2, 400_us, kNow);
  return delays;
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

// Delays are negative if the other leaf's clock is behind by more.
TEST(PathDelaysTest, OnlyDifferencesOfDelaysCount) {
  for (const int64_t ahead : {-1'000, -56, 0, 1'000}) {
    PathDelays delays = Delays(PathDelays::Memory::kAll);
    for (const int64_t path : {0, 1, 2}) {
      delays.Learn(static_cast<size_t>(path), 1_us * (ahead + 19 * path), kNow);
    }
    EXPECT_EQ(delays.Timeout(kNow), 38_us);
  }
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
  // The published timeout is -10 us, here the floor, until the others have been measured again.
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
  PathDelays delays = FastestAndSlowest();
  delays.Forget(1);
  EXPECT_EQ(delays.Timeout(kNow), 360_us);
  EXPECT_EQ(delays.Timeout(kNow + 1_s), 360_us);  // As published, these two do not age.
  delays.Forget(2);
  EXPECT_EQ(delays.Timeout(kNow), 1_us);  // Nothing is known but of the fastest.
  delays.Learn(0, 40_us, kNow);
  delays.Learn(1, 55_us, kNow);
  EXPECT_EQ(delays.Timeout(kNow), 15_us);
}

TEST(PathDelaysTest, TheLatestDelayOfEachEndCounts) {
  PathDelays delays = FastestAndSlowest();
  delays.Learn(2, 300_us, kNow);
  EXPECT_EQ(delays.Timeout(kNow), 260_us);
  delays.Learn(0, 35_us, kNow);
  EXPECT_EQ(delays.Timeout(kNow), 265_us);
}

// The only path that is known is both ends, whether it gets slower or faster.
TEST(PathDelaysTest, ASecondPathIsComparedWithTheLatestDelayOfTheFirst) {
  for (const Duration first : {40_us, 20_us}) {
    PathDelays delays = Delays(PathDelays::Memory::kFastestAndSlowest);
    delays.Learn(0, first, kNow);
    delays.Learn(0, 30_us, kNow);
    delays.Learn(1, first == 40_us ? 50_us : 15_us, kNow);
    EXPECT_EQ(delays.Timeout(kNow), first == 40_us ? 20_us : 15_us);
  }
}

TEST(PathDelaysTest, NorIsTheFastestThatFails) {
  PathDelays delays = FastestAndSlowest();
  delays.Forget(0);
  EXPECT_EQ(delays.Timeout(kNow), 350_us);
  delays.Learn(1, 50_us, kNow);
  delays.Learn(2, 400_us, kNow);
  EXPECT_EQ(delays.Timeout(kNow), 350_us);
}

}  // namespace heddle::path_delays_test
