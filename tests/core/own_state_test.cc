// SPDX-License-Identifier: Apache-2.0

#include "core/own_state.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

namespace heddle::own_state_test {

struct Seven {
  double a = 7;
  uint32_t b = 77;
};
struct Numbers {
  int64_t first;
  int64_t second;
};
struct Record {
  int id = 0;
  OwnState<16> own;
};

TEST(OwnStateTest, IsOfZerosUntilSomethingBegins) {
  Record record;
  EXPECT_EQ(record.own.As<Numbers>().first, 0);
  EXPECT_EQ(record.own.As<Numbers>().second, 0);
  EXPECT_EQ(record.own.As<Seven>().a, 0);  // Not the initial values of its members.
}

TEST(OwnStateTest, BeginsWithInitialValuesOrThoseThatAreGiven) {
  Record record;
  EXPECT_EQ(record.own.Begin<Seven>().a, 7);
  EXPECT_EQ(record.own.As<Seven>().b, 77u);
  record.own.Begin(Numbers{1, 2});
  EXPECT_EQ(record.own.As<Numbers>().second, 2);
  EXPECT_EQ(record.own.Begin<Numbers>().second, 0);
}

TEST(OwnStateTest, KeepsWhatIsWrittenAndGoesWithItsRecord) {
  Record record;
  record.own.As<Numbers>().second = std::numeric_limits<int64_t>::min();
  Record copy = record;
  record.own.As<Numbers>().second = 5;
  const Record& same = copy;
  EXPECT_EQ(same.own.As<Numbers>().second, std::numeric_limits<int64_t>::min());
  EXPECT_FALSE(copy.own == record.own);
  copy = record;
  EXPECT_TRUE(copy.own == record.own);
  EXPECT_EQ(std::distance(copy.own.begin(), copy.own.end()), 16);
  EXPECT_EQ(OwnState<16>::size(), 16u);
}

TEST(OwnStateTest, CopiesAndAssignsTheSameStateThatAsRefersTo) {
  Record record;
  record.own.Assign(Numbers{1, 2});
  EXPECT_EQ(record.own.As<Numbers>().first, 1);
  EXPECT_EQ(record.own.Copy<Numbers>().second, 2);
  Numbers copy = record.own.Copy<Numbers>();
  copy.first = 5;
  EXPECT_EQ(copy.first, 5);
  EXPECT_EQ(record.own.As<Numbers>().first, 1);
  record.own.Assign(int32_t{-1});  // The bytes behind it stay.
  EXPECT_EQ(record.own.As<Numbers>().second, 2);
}

TEST(OwnStateTest, CostsNoMoreThanItsBytes) {
  EXPECT_EQ(sizeof(OwnState<56>), 56u);
  EXPECT_EQ(alignof(OwnState<56>), 8u);
  EXPECT_TRUE(std::is_trivially_copyable_v<OwnState<56>>);
}

}  // namespace heddle::own_state_test
