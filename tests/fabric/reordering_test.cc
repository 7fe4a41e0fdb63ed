// SPDX-License-Identifier: Apache-2.0
// RFC 4737 by its definitions, looking at all arrivals every time.

#include "fabric/reordering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/printers.h"

namespace heddle::reordering_test {

struct Arrival {
  uint32_t number;
  Time at;
};

std::vector<Arrival> Every1Ns(const std::vector<uint32_t>& numbers) {
  std::vector<Arrival> arrivals;
  for (const uint32_t n : numbers) {
    arrivals.push_back({n, Time{static_cast<int64_t>(arrivals.size()) * 1'000}});
  }
  return arrivals;
}

std::optional<Reordered> ByDefinition(const std::vector<Arrival>& arrivals, size_t i) {
  const uint32_t number = arrivals[i].number;
  for (size_t j = 0; j < i; ++j) {
    if (arrivals[j].number < number) continue;
    int32_t degree = 0;
    for (size_t k = i; k-- > 0 && arrivals[k].number > number && degree < 64;) ++degree;
    return Reordered{static_cast<int64_t>(i - j), degree, arrivals[i].at - arrivals[j].at};
  }
  return std::nullopt;
}

// The same tracker serves one flow after the other.
void ExpectByDefinition(const std::vector<Arrival>& arrivals) {
  static ReorderingTracker tracker;
  tracker.Reset();
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const auto seen = tracker.OnArrival(arrivals[i].number, arrivals[i].at);
    const auto expected = ByDefinition(arrivals, i);
    ASSERT_EQ(seen.has_value(), expected.has_value()) << "arrival " << i;
    if (!seen) continue;
    ASSERT_EQ(seen->extent, expected->extent) << "arrival " << i;
    ASSERT_EQ(seen->degree, expected->degree) << "arrival " << i;
    ASSERT_EQ(seen->late, expected->late) << "arrival " << i;
  }
}

// Each reordered packet as (number, extent, degree).
std::vector<std::tuple<uint32_t, int64_t, int32_t>> ReorderedOf(
    const std::vector<uint32_t>& numbers) {
  ReorderingTracker tracker;
  std::vector<std::tuple<uint32_t, int64_t, int32_t>> all;
  for (const Arrival& a : Every1Ns(numbers)) {
    if (const auto r = tracker.OnArrival(a.number, a.at)) {
      all.emplace_back(a.number, r->extent, r->degree);
    }
  }
  return all;
}

TEST(ReorderingTest, ReproducesTheWorkedExample) {
  using All = std::vector<std::tuple<uint32_t, int64_t, int32_t>>;
  EXPECT_EQ(ReorderedOf({1, 2, 4, 5, 3, 6, 8, 7}), (All{{3, 2, 2}, {7, 1, 1}}));
}

TEST(ReorderingTest, FindsAllButTheFirstOfAReversalReordered) {
  const auto all = ReorderedOf({10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  ASSERT_EQ(all.size(), 9u);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(all[static_cast<size_t>(i)], std::tuple(static_cast<uint32_t>(9 - i), i + 1, i + 1));
  }
}

TEST(ReorderingTest, IsNotWhatLossLeaves) {
  EXPECT_TRUE(ReorderedOf({0, 1, 5, 6, 9, 20, 21}).empty());
}

TEST(ReorderingTest, AgreesWithTheDefinitionOnShuffledArrivals) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "shuffle", 0);
    // Some are lost; each of the others moves by at most `reach`.
    const uint32_t reach = 1 + rng.Below(seed % 4 == 0 ? 300 : 12);
    std::vector<std::pair<uint32_t, uint32_t>> order;
    for (uint32_t n = 0; n < 400; ++n) {
      if (rng.Below(20) != 0) order.emplace_back(n + (rng.Below(3) == 0 ? rng.Below(reach) : 0), n);
    }
    std::ranges::stable_sort(order, {}, &std::pair<uint32_t, uint32_t>::first);
    std::vector<Arrival> arrivals;
    Time now;
    for (const auto& [key, number] : order) {
      now += Duration{rng.Below(1'000)};
      arrivals.push_back({number, now});
    }
    ExpectByDefinition(arrivals);
    if (HasFatalFailure()) return;
  }
}

TEST(ReorderingTest, AgreesWithTheDefinitionOnRandomPermutations) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng = Rng::Stream(seed, "permutation", 0);
    std::vector<uint32_t> numbers(200);
    std::iota(numbers.begin(), numbers.end(), 0u);
    for (uint32_t i = 199; i > 0; --i) std::swap(numbers[i], numbers[rng.Below(i + 1)]);
    ExpectByDefinition(Every1Ns(numbers));
    if (HasFatalFailure()) return;
  }
}

TEST(ReorderingTest, StartsAfreshForTheNextFlow) {
  ReorderingTracker tracker;
  tracker.OnArrival(5, Time{1});
  tracker.Reset();
  EXPECT_FALSE(tracker.OnArrival(0, Time{2}));
  EXPECT_FALSE(tracker.OnArrival(1, Time{3}));
}

TEST(ReorderingTest, SaturatesForWhatIsVeryLate) {
  ReorderingTracker tracker;
  std::optional<Reordered> last;
  for (uint32_t n = 1; n <= 10'000; ++n) tracker.OnArrival(n, Time{n});
  last = tracker.OnArrival(0, Time{20'000});
  ASSERT_TRUE(last);
  EXPECT_EQ(last->extent, 4'096);
  EXPECT_EQ(last->degree, 64);
  EXPECT_GE(last->late.ps,
            20'000 - 10'000);  // Not the earliest of all, though its hole is forgotten.
}

// 0 1 5 2 3 4 6: only 2 comes right behind a packet sent after it; 3 and 4 come behind 2 and 3.
TEST(ReorderingTest, APacketBehindEarlierOnesHasDegreeZero) {
  ReorderingTracker tracker;
  ReorderingStats stats;
  for (const uint32_t number : {0u, 1u, 5u, 2u, 3u, 4u, 6u}) {
    if (const auto reordered = tracker.OnArrival(number, Time{number})) stats.Add(*reordered);
  }
  EXPECT_EQ(stats.extent.count(), 3);
  EXPECT_EQ(stats.degree1, 1);
  EXPECT_EQ(stats.degree2 + stats.degree3_plus, 0);
}

// Packets that come 4094 to 4098 arrivals late, or anything, among `lost` of 1000 that never come.
// The extent ends at the window of 4096 arrivals. How late a packet beyond it is may be forgotten,
// if there are more than 64 holes, but it is at least as late as the window.
void ExpectLongDelays(uint64_t seed, uint32_t lost, bool few_holes, ReorderingTracker& tracker) {
  Rng rng = Rng::Stream(seed, "long delays", 0);
  std::multimap<int64_t, uint32_t> late;  // By the arrival that it is to be.
  std::vector<int64_t> opened(40'000, -1);
  std::vector<Arrival> arrivals;
  uint32_t next = 0;
  int64_t next_late = 0;
  int delayed = 0;
  Time now;
  const auto arrive = [&](uint32_t number) {
    const int64_t index = std::ssize(arrivals);
    now += Duration{1 + rng.Below(9)};
    arrivals.push_back({number, now});
    const auto seen = tracker.OnArrival(number, now);
    ASSERT_EQ(seen.has_value(), opened[number] >= 0);
    if (!seen) return;
    ++delayed;
    const int64_t extent = index - opened[number];
    ASSERT_EQ(seen->extent, std::min<int64_t>(extent, 4'096));
    const Duration real = now - arrivals[static_cast<size_t>(opened[number])].at;
    if (extent <= 4'096 || few_holes) {
      ASSERT_EQ(seen->late, real);
    } else {
      ASSERT_LE(seen->late, real);
      ASSERT_GE(seen->late, now - arrivals[static_cast<size_t>(index - 4'096)].at);
    }
    int32_t degree = 0;
    for (size_t k = arrivals.size() - 1; k-- > 0 && arrivals[k].number > number && degree < 64;) {
      ++degree;
    }
    ASSERT_EQ(seen->degree, degree);
  };
  while (next < 30'000 && !testing::Test::HasFatalFailure()) {
    const int64_t index = std::ssize(arrivals);
    if (!late.empty() && late.begin()->first <= index) {
      const uint32_t number = late.begin()->second;
      late.erase(late.begin());
      arrive(number);
      continue;
    }
    const uint32_t first = next;
    while (rng.Below(1'000) < lost) ++next;
    if (index >= next_late) {
      // It opens a hole at the next arrival, and comes so many arrivals later. The holes of those
      // beyond the window stay.
      next_late = index + (few_holes ? 600 : 40);
      const uint32_t distance = rng.Below(4) == 0 ? rng.Below(9'000) + 1 : 4'094 + rng.Below(5);
      late.emplace(index + distance, next++);
    }
    for (uint32_t n = first; n < next; ++n) opened[n] = index;
    arrive(next++);
  }
  EXPECT_GT(delayed, few_holes ? 30 : 300);
}

TEST(ReorderingTest, AgreesWithTheDefinitionUpToTheWindow) {
  ReorderingTracker tracker;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    for (const bool few_holes : {true, false}) {
      SCOPED_TRACE(testing::Message() << seed << ", " << few_holes);
      tracker.Reset();
      ExpectLongDelays(seed, few_holes ? 0 : 30, few_holes, tracker);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ReorderingTest, ForgetsTheHolesOfPacketsLostLongAgo) {
  ReorderingTracker tracker;
  for (uint32_t n = 0; n < 1'000'000; ++n) tracker.OnArrival(2 * n, Time{n});
  EXPECT_LT(tracker.memory_bytes(), 1'000'000u);
}

// Every other packet seems lost; then some of these arrive. When their holes opened has been
// forgotten. The extent is given as the window of 4096 arrivals, and the lateness as at least the
// window's and at most the real one.
TEST(ReorderingTest, APacketWhoseHoleIsForgottenIsLateByTheWindowAtLeast) {
  ReorderingTracker tracker;
  constexpr uint32_t kArrivals = 30'000;
  for (uint32_t n = 0; n < kArrivals; ++n) tracker.OnArrival(2 * n, Time{n});
  Time now{kArrivals};
  for (const uint32_t number : {1u, 3u, 101u, 2'001u}) {
    const auto reordered = tracker.OnArrival(number, now);
    ASSERT_TRUE(reordered);
    EXPECT_EQ(reordered->extent, 4'096);
    EXPECT_GE(reordered->late, 4'096_ps);
    const Time opened{(number + 1) / 2};
    EXPECT_LE(reordered->late, now - opened);
    now += 1_ps;
  }
}

TEST(ReorderingStatsTest, AddUpWhateverTheOrder) {
  ReorderingStats one;
  ReorderingStats two;
  ReorderingStats all;
  for (int i = 1; i <= 100; ++i) {
    const Reordered packet{i, 1 + i % 5, Duration{i * 1'000}};
    (i % 3 == 0 ? one : two).Add(packet);
    all.Add(packet);
  }
  two.Merge(one);
  EXPECT_EQ(all.degree1, 20);
  EXPECT_EQ(all.degree2, 20);
  EXPECT_EQ(all.degree3_plus, 60);
  EXPECT_EQ(two.degree1, all.degree1);
  EXPECT_EQ(two.degree2, all.degree2);
  EXPECT_EQ(two.degree3_plus, all.degree3_plus);
  EXPECT_EQ(two.extent.Percentile(0.5), all.extent.Percentile(0.5));
  EXPECT_EQ(two.late_ps.max(), 100'000);
}

TEST(ReorderingStatsTest, MergeAddsUpAll) {
  ReorderingStats one;
  one.Add({.extent = 5, .degree = 1, .late = 7_us});
  one.Add({.extent = 9, .degree = 2, .late = 8_us});
  one.behind.Add(40);
  ReorderingStats all;
  all.Add({.extent = 3, .degree = 3, .late = 9_us});
  all.behind.Add(60);
  all.Merge(one);
  all.Merge(one);
  EXPECT_EQ(all.degree1, 2);
  EXPECT_EQ(all.degree2, 2);
  EXPECT_EQ(all.degree3_plus, 1);
  EXPECT_EQ(all.extent.count(), 5);
  EXPECT_DOUBLE_EQ(all.extent.mean(), 31.0 / 5);
  EXPECT_DOUBLE_EQ(all.late_ps.mean(), 39e6 / 5);
  EXPECT_EQ(all.behind.count(), 3);
  EXPECT_DOUBLE_EQ(all.behind.mean(), 140.0 / 3);
}

}  // namespace heddle::reordering_test
