// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/status.h"

namespace heddle::selection_test {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SelectionTest, ReadsNumbersAndSpans) {
  EXPECT_THAT(ParseNumbers("3,7-9", 10).value(), ElementsAre(2, 6, 7, 8));
  EXPECT_THAT(ParseNumbers("9-10,1,1-2", 10).value(), ElementsAre(0, 1, 8, 9));
}

TEST(SelectionTest, WritesWhatItReads) {
  for (const char* text : {"1", "3,7-9", "1-2,4,6-10"}) {
    EXPECT_EQ(NumbersText(ParseNumbers(text, 10).value()), text);
  }
}

TEST(SelectionTest, RefusesWhatNamesNoPoint) {
  for (const char* text : {"", "0", "11", "3-", "-3", "5-4", "1,,2", "1-11", "x", "1,"}) {
    EXPECT_THAT(ParseNumbers(text, 10),
                Fails(absl::StatusCode::kInvalidArgument, HasSubstr("numbers from 1 to 10")))
        << text;
  }
}

TEST(ShardTest, PartsAreDisjointCompleteAndOfOneSize) {
  for (const size_t shards : {1, 2, 3, 7, 100}) {
    std::vector<size_t> all;
    for (size_t i = 1; i <= shards; ++i) {
      const auto part = ParseShard(std::to_string(i) + "/" + std::to_string(shards), 50).value();
      EXPECT_GE(part.size(), 50 / shards);
      EXPECT_LE(part.size(), (50 + shards - 1) / shards);
      EXPECT_TRUE(std::ranges::is_sorted(part));
      all.insert(all.end(), part.begin(), part.end());
    }
    std::ranges::sort(all);
    ASSERT_EQ(all.size(), 50u);
    for (size_t i = 0; i < 50; ++i) EXPECT_EQ(all[i], i);
  }
}

// Nine loads as the last axis, and as many parts: no part has one load alone.
TEST(ShardTest, DoesNotFollowTheAxes) {
  for (int i = 1; i <= 9; ++i) {
    const auto part = ParseShard(std::to_string(i) + "/9", 900).value();
    std::vector<int> loads(9);
    for (const size_t point : part) ++loads[point % 9];
    EXPECT_GT(*std::ranges::min_element(loads), 2);
  }
}

TEST(ShardTest, RefusesWhatIsNoPart) {
  for (const char* text : {"", "1", "0/4", "5/4", "1/0", "a/b", "1/4/2", "-1/4"}) {
    EXPECT_THAT(ParseShard(text, 10),
                Fails(absl::StatusCode::kInvalidArgument, HasSubstr("not a part such as 1/4")))
        << text;
  }
}

}  // namespace heddle::selection_test
