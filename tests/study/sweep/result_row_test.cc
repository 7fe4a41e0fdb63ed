// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/result_row.h"

#include <gtest/gtest.h>

namespace heddle::result_row_test {

TEST(WithoutNumbersTest, MasksNumbersWithTheirUnits) {
  EXPECT_EQ(WithoutNumbers("load: 0.303 of it, 60 %"), "load: # of it, # %");
  EXPECT_EQ(WithoutNumbers("p99 of L (120), after 1.5ms or 2us"), "p# of L (#), after # or #");
  EXPECT_EQ(WithoutNumbers("12 ends with 7"), "# ends with #");
  EXPECT_EQ(WithoutNumbers("no number"), "no number");
  EXPECT_EQ(WithoutNumbers(""), "");
}

}  // namespace heddle::result_row_test
