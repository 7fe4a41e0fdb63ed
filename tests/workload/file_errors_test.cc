// SPDX-License-Identifier: Apache-2.0

#include "workload/file_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heddle::file_errors_test {

using ::testing::ElementsAre;

TEST(FileErrorsTest, NameTheFileAndTheLine) {
  Diagnostics diagnostics;
  FileErrors errors("a.goal", diagnostics);
  EXPECT_FALSE(errors.any());
  EXPECT_EQ(errors.source(), "a.goal");
  errors.Add(7, "is wrong");
  EXPECT_TRUE(errors.any());
  errors.Add(0, "is all wrong");
  errors.AddIn("b.goal", 1, "is wrong, too");
  errors.Warn(3, "is odd");
  errors.Warn(1, "is odd");
  errors.Warn(0, "is all odd");
  EXPECT_THAT(diagnostics.errors(),
              testing::UnorderedElementsAre("a.goal:7:1: is wrong", "a.goal: is all wrong",
                                            "b.goal:1:1: is wrong, too"));
  EXPECT_THAT(diagnostics.warnings(),
              ElementsAre("a.goal:3:1: is odd", "a.goal:1:1: is odd", "a.goal: is all odd"));
}

// Warnings do not count.
TEST(FileErrorsTest, OfMoreThanTwentyTheFirstTwentyAreNamed) {
  Diagnostics diagnostics;
  FileErrors errors("file", diagnostics);
  std::vector<std::string> expected;
  for (int i = 1; i <= 30; ++i) {
    EXPECT_EQ(errors.full(), i > 20) << i;
    errors.Add(i, "wrong");
    errors.Warn(i, "odd");
    if (i <= 20) expected.push_back("file:" + std::to_string(i) + ":1: wrong");
    if (i == 20) expected.push_back("file:20:1: and perhaps more; reading stopped here");
    EXPECT_EQ(diagnostics.errors(), expected);
  }
}

// Those of the reader of JSON count as well.
TEST(FileErrorsTest, TakeThoseOfAnotherReader) {
  Diagnostics others;
  for (int i = 1; i <= 19; ++i) others.Error({"file", i, 5}, "", "no JSON");
  Diagnostics diagnostics;
  FileErrors errors("file", diagnostics);
  errors.Take(Diagnostics());
  EXPECT_FALSE(errors.any());
  errors.Take(others);
  EXPECT_TRUE(errors.any());
  EXPECT_FALSE(errors.full());
  EXPECT_EQ(diagnostics.errors().size(), 19u);
  EXPECT_EQ(diagnostics.errors()[0], "file:1:5: no JSON");
  errors.Add(20, "wrong");
  EXPECT_TRUE(errors.full());
  EXPECT_EQ(diagnostics.errors().size(), 21u);
}

}  // namespace heddle::file_errors_test
