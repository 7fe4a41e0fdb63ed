// SPDX-License-Identifier: Apache-2.0
// Compares Timers, Ring, FixedVector and DueTree with plain standard containers.

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/due_tree.h"
#include "core/fixed_vector.h"
#include "core/random.h"
#include "core/ring.h"
#include "core/timers.h"

namespace heddle::containers_test {

TEST(TimersTest, FireByTimeThenKeyHoweverTheyWereSet) {
  Rng rng = Rng::Stream(1, "timers", 0);
  Timers timers;
  std::multiset<std::pair<int64_t, uint64_t>> expected;
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(timers.Next().ps, expected.empty() ? kNever.ps : expected.begin()->first);
    ASSERT_EQ(timers.size(), expected.size());
    if (expected.empty() || rng.Below(100) < (i < 10'000 ? 60u : 40u)) {
      const int64_t at = rng.Below(50);
      const uint64_t key = rng.Below(10);
      timers.Set({at}, key);
      expected.insert({at, key});
    } else {
      const Timer timer = timers.Pop();
      ASSERT_EQ(std::pair(timer.at.ps, timer.key), *expected.begin());
      expected.erase(expected.begin());
    }
  }
}

TEST(RingTest, IsADequeThatOnlyGrows) {
  Rng rng = Rng::Stream(1, "ring", 0);
  Ring<int> ring;
  std::deque<int> expected;
  size_t capacity = 0;
  for (int i = 0; i < 20'000; ++i) {
    const uint32_t choice = rng.Below(100);
    if (expected.empty() || choice < (i < 10'000 ? 55u : 40u)) {
      i % 2 == 0 ? ring.push_back(i) : ring.emplace_back(i);
      expected.push_back(i);
    } else if (choice < 90) {
      ring.pop_front();
      expected.pop_front();
    } else {
      ring.pop_back();
      expected.pop_back();
    }
    ASSERT_EQ(ring.size(), expected.size());
    ASSERT_EQ(ring.empty(), expected.empty());
    ASSERT_GE(ring.capacity(), capacity);
    capacity = ring.capacity();
    if (expected.empty()) continue;
    const size_t at = rng.Below(static_cast<uint32_t>(expected.size()));
    ASSERT_EQ(ring.front(), expected.front());
    ASSERT_EQ(ring.back(), expected.back());
    ASSERT_EQ(ring[at], expected[at]);
  }
  ring.clear();
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.capacity(), capacity);
}

struct Pinned {
  explicit Pinned(std::shared_ptr<int> c) : counter(std::move(c)) {}
  Pinned(const Pinned&) = delete;
  std::shared_ptr<int> counter;
};

TEST(FixedVectorTest, HoldsWhatCannotMoveAndDestroysItOnce) {
  const auto counter = std::make_shared<int>(0);
  {
    FixedVector<Pinned> pinned(10);
    const Pinned* first = &pinned.Add(counter);
    for (int i = 1; i < 7; ++i) pinned.Add(counter);
    EXPECT_EQ(pinned.size(), 7u);
    EXPECT_EQ(first, pinned.data());
    EXPECT_EQ(&pinned[6], pinned.end() - 1);
    EXPECT_EQ(counter.use_count(), 8);
  }
  EXPECT_EQ(counter.use_count(), 1);
}

TEST(FixedVectorTest, KeepsTheAlignmentOfItsElements) {
  struct alignas(64) Line {
    int value = 5;
  };
  FixedVector<Line> lines(3);
  EXPECT_EQ(lines.size(), 0u);
  EXPECT_EQ(lines.Add().value, 5);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(lines.data()) % 64, 0u);
}

std::vector<size_t> Before(DueTree& tree, Time end) {
  std::vector<size_t> due;
  tree.ForEachBefore(end, [&](size_t i) { due.push_back(i); });
  return due;
}

TEST(DueTreeTest, FindsWhatIsDueAsASearchThroughAllWould) {
  for (const size_t size : {size_t{1}, size_t{2}, size_t{5}, size_t{64}, size_t{100}}) {
    SCOPED_TRACE(size);
    Rng rng = Rng::Stream(1, "due", size);
    DueTree tree;
    tree.Resize(size);
    std::vector<Time> due(size, kNever);
    for (int i = 0; i < 3'000; ++i) {
      const size_t which = rng.Below(static_cast<uint32_t>(size));
      const Time at = rng.Below(10) == 0 ? kNever : Time{rng.Below(1'000)};
      if (rng.Below(2) == 0) {
        tree.Set(which, at);
        due[which] = at;
      } else {
        ASSERT_EQ(tree.Lower(which, at), at < due[which]);
        due[which] = std::min(due[which], at);
      }
      ASSERT_EQ(tree.Min(), *std::ranges::min_element(due));
      const Time end{rng.Below(1'000)};
      std::vector<size_t> expected;
      for (size_t j = 0; j < size; ++j) {
        if (due[j] < end) expected.push_back(j);
      }
      ASSERT_EQ(Before(tree, end), expected);
    }
  }
}

TEST(DueTreeTest, AVisitMaySetItselfAndLowerOthersBeyondTheEnd) {
  DueTree tree;
  tree.Resize(6);
  tree.Set(1, Time{5});
  tree.Set(4, Time{7});
  std::vector<size_t> visited;
  tree.ForEachBefore(Time{10}, [&](size_t i) {
    visited.push_back(i);
    tree.Set(i, Time{20});
    EXPECT_TRUE(tree.Lower(i == 1 ? 5 : 0, Time{10}));
  });
  EXPECT_EQ(visited, (std::vector<size_t>{1, 4}));
  EXPECT_EQ(tree.Min(), Time{10});
  EXPECT_EQ(Before(tree, Time{11}), (std::vector<size_t>{0, 5}));
}

TEST(DueTreeTest, WithoutElementsNothingIsDue) {
  DueTree tree;
  EXPECT_EQ(tree.Min(), kNever);
  tree.Resize(0);
  EXPECT_EQ(tree.Min(), kNever);
  EXPECT_TRUE(Before(tree, kNever).empty());
}

}  // namespace heddle::containers_test
