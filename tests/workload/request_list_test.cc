// SPDX-License-Identifier: Apache-2.0

#include "workload/request_list.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"
#include "tests/support/printers.h"

namespace heddle::request_list_test {

TEST(RequestListTest, HandsOutFlowsByTheirStartAndThenAsTheyWereGiven) {
  RequestList list({{.start = Time{} + 3_us, .src = 1},
                    {.start = Time{} + 1_us, .src = 2},
                    {.start = Time{} + 3_us, .src = 3}});
  for (const HostId src : {HostId{2}, HostId{1}, HostId{3}}) {
    ASSERT_NE(list.Front(), nullptr);
    EXPECT_EQ(list.Front()->src, src);
    list.Pop();
  }
  EXPECT_EQ(list.Front(), nullptr);
}

TEST(JitterTest, IsUniformUpToTheLongest) {
  Rng rng = Rng::Stream(1, "jitter", 0);
  Duration sum{0};
  Duration most{0};
  for (int i = 0; i < 1'000; ++i) {
    const Duration jitter = Jitter(10_us, rng);
    EXPECT_GE(jitter, Duration{0});
    sum += jitter;
    most = std::max(most, jitter);
  }
  EXPECT_LE(most, 10_us);
  EXPECT_GT(most, 9'900_ns);
  EXPECT_NEAR(static_cast<double>(sum.ps) / 1'000, 5e6, 3e5);  // 3 standard errors of 91 ns.
  EXPECT_EQ(Jitter(Duration{0}, rng), Duration{0});
}

TEST(CheckFlowSizeTest, RefusesWhatTheTransportCannotNumber) {
  Stage stage;
  stage.max_flow_size = 1'000;
  Diagnostics diagnostics;
  EXPECT_TRUE(CheckFlowSize(1'000_B, stage, "size", diagnostics));
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_FALSE(CheckFlowSize(1'001_B, stage, "size", diagnostics));
  EXPECT_FALSE(diagnostics.ok());
}

}  // namespace heddle::request_list_test
