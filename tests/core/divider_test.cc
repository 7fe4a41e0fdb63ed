// SPDX-License-Identifier: Apache-2.0

#include "core/divider.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace heddle::divider_test {

// Quotients never fall from one number to the next, so they are right everywhere if they are right
// on both sides of each step.
TEST(DividerTest, RoundsDownAtEveryMultipleOfEveryDivisor) {
  for (uint32_t divisor = 1; divisor <= 0x10000; ++divisor) {
    const Divider divider(divisor);
    ASSERT_EQ(divider.Quotient(0), 0u);
    ASSERT_EQ(divider.Quotient(0xffff), 0xffff / divisor);
    for (uint32_t step = divisor; step <= 0xffff; step += divisor) {
      ASSERT_EQ(divider.Quotient(static_cast<uint16_t>(step - 1)), step / divisor - 1)
          << step << " / " << divisor;
      ASSERT_EQ(divider.Quotient(static_cast<uint16_t>(step)), step / divisor)
          << step << " / " << divisor;
    }
  }
}

TEST(DividerTest, GivesZeroWithoutADivisor) { EXPECT_EQ(Divider().Quotient(0xffff), 0u); }

}  // namespace heddle::divider_test
