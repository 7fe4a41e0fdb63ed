// SPDX-License-Identifier: Apache-2.0

#include "core/barrier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <thread>
#include <vector>

namespace heddle::barrier_test {

// All of `threads` meet `rounds` times; between meetings each adds one to a number of its own, and
// the one let in alone checks all of them without any lock.
void Meet(int threads, int rounds) {
  Barrier barrier(threads);
  struct alignas(64) Cell {
    int value = 0;
  };
  std::vector<Cell> cells(static_cast<size_t>(threads));
  int alone = 0;
  int wrong = 0;
  const auto work = [&](size_t id) {
    Patience patience(threads);
    for (int round = 1; round <= rounds; ++round) {
      cells[id].value = round;
      if (barrier.ArriveAndWait(patience)) {
        ++alone;
        for (const Cell& cell : cells) wrong += cell.value != round ? 1 : 0;
        barrier.Release();
      }
      if (alone != round) std::abort();  // Released too early, or twice.
    }
  };
  {
    std::vector<std::jthread> team;
    for (size_t id = 0; id < cells.size(); ++id) team.emplace_back(work, id);
  }
  EXPECT_EQ(alone, rounds);
  EXPECT_EQ(wrong, 0);
}

TEST(BarrierTest, LetsOneThreadAloneEachRound) { Meet(2, 5'000); }

TEST(BarrierTest, OneThreadNeverWaits) { Meet(1, 1'000); }

TEST(BarrierTest, ManyMoreThreadsThanCoresMakeProgress) {
  // Processor time, which other programs on the machine do not add to; it takes a tenth of a
  // second.
  const std::clock_t start = std::clock();
  Meet(16, 2'000);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 2);
}

}  // namespace heddle::barrier_test
