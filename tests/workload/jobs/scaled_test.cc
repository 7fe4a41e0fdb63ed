// SPDX-License-Identifier: Apache-2.0
// Tests of the sizes and times of scaled jobs and traces.

#include "workload/jobs/scaled.h"

#include <gtest/gtest.h>

namespace heddle::scaled_test {

TEST(ScaledBytesTest, AreRoundedAndNeverVanish) {
  EXPECT_EQ(ScaledBytes(1'000, 0.1), 100);
  EXPECT_EQ(ScaledBytes(1'006, 0.01), 10);
  EXPECT_EQ(ScaledBytes(1'050, 0.01), 11);
  EXPECT_EQ(ScaledBytes(3, 0.01), 1);
  EXPECT_EQ(ScaledBytes(1, 10), 10);
  EXPECT_EQ(ScaledBytes(0, 10), 0);
}

TEST(ScaledBytesTest, AScaleOfOneChangesNothing) {
  constexpr int64_t kOdd = (int64_t{1} << 60) + 1;  // More than a double can hold.
  EXPECT_EQ(ScaledBytes(kOdd, 1), kOdd);
  EXPECT_EQ(ScaledTime(Duration{kOdd}, 1).ps, kOdd);
}

TEST(ScaledTimeTest, IsCutToAPicosecond) {
  EXPECT_EQ(ScaledTime(1_us, 0.25), 250_ns);
  EXPECT_EQ(ScaledTime(7_ps, 0.5), 3_ps);
  EXPECT_EQ(ScaledTime(1_ps, 0.5), 0_ps);
}

}  // namespace heddle::scaled_test
