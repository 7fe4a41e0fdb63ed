// SPDX-License-Identifier: Apache-2.0
// The union of computations beside one bit for each nanosecond.

#include "workload/jobs/busy_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/random.h"

namespace heddle::busy_time_test {

TEST(BusyTimeTest, CountsEachInstantOnce) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng = Rng::Stream(seed, "busy time", 0);
    BusyTime busy;
    std::vector<bool> covered(2'000);
    Time now{};
    Duration total{0};
    for (int i = 0; i < 40; ++i) {
      now = now + 1_ns * rng.Below(30);
      const Time begin = now + 1_ns * rng.Below(40);
      const Time end = begin + 1_ns * rng.Below(50);
      total += busy.Add(now, begin, end);
      const auto at = [&](Time time) { return covered.begin() + (time - Time{}) / 1_ns; };
      std::fill(at(begin), at(end), true);
      ASSERT_EQ(total / 1_ns, std::ranges::count(covered, true)) << "seed " << seed;
    }
  }
}

}  // namespace heddle::busy_time_test
