// SPDX-License-Identifier: Apache-2.0

#include "core/patience.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

namespace heddle::patience_test {

// Two threads count in turn, each waiting for the other's number. Where they believe to be many,
// they sleep; a change that is not noticed would let both sleep for ever.
TEST(PatienceTest, AwaitSeesEachChangeSpinningOrAsleep) {
  constexpr int kRounds = 2'000;
  for (const int threads : {1, 10'000}) {
    std::array<std::atomic<int>, 2> counts{};
    const auto count = [&](size_t self) {
      Patience patience(threads);
      for (int round = 1; round <= kRounds; ++round) {
        const int awaited = self == 0 ? round - 1 : round;
        patience.Await(counts[1 - self], [&](int its) { return its >= awaited; });
        counts[self].store(round, std::memory_order_release);
        counts[self].notify_all();
      }
    };
    {
      std::jthread first(count, 0);
      std::jthread second(count, 1);
    }
    EXPECT_EQ(counts[0], kRounds);
    EXPECT_EQ(counts[1], kRounds);
  }
}

TEST(PatienceTest, AwaitReturnsAtOnceIfThereIsNothingToWaitFor) {
  const std::atomic<int> value = 3;
  int looks = 0;
  Patience patience(1);
  patience.Await(value, [&](int its) {
    ++looks;
    return its == 3;
  });
  EXPECT_EQ(looks, 1);
}

}  // namespace heddle::patience_test
