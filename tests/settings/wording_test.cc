// SPDX-License-Identifier: Apache-2.0

#include "settings/wording.h"

#include <gtest/gtest.h>

namespace heddle::wording_test {

TEST(CountedNounTest, IsSingularForOneAlone) {
  EXPECT_EQ(CountedNoun(0, "point"), "0 points");
  EXPECT_EQ(CountedNoun(1, "point"), "1 point");
  EXPECT_EQ(CountedNoun(2, "point"), "2 points");
  EXPECT_EQ(CountedNoun(1, "more switch", "more switches"), "1 more switch");
  EXPECT_EQ(CountedNoun(3, "more switch", "more switches"), "3 more switches");
}

TEST(PlainNumberTest, RoundsButHasNoExponent) {
  EXPECT_EQ(PlainNumber(0.12345, 3), "0.123");
  EXPECT_EQ(PlainNumber(15, 3), "15");
  EXPECT_EQ(PlainNumber(999.4, 3), "999");
  EXPECT_EQ(PlainNumber(999.6, 3), "1,000");  // {:.3g} writes 1e+03.
  EXPECT_EQ(PlainNumber(1234567.8, 4), "1,234,568");
}

}  // namespace heddle::wording_test
