// SPDX-License-Identifier: Apache-2.0
// Compares SparseRows with a map from rows to their elements.

#include "core/sparse_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "core/random.h"

namespace heddle::sparse_rows_test {

struct Element {
  int64_t number = -1;
};

class SparseRowsTest : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, SparseRowsTest, testing::Range(uint64_t{1}, uint64_t{13}));

TEST_P(SparseRowsTest, IsAMapWhoseElementsStartAsTheyAreMade) {
  Rng rng = Rng::Stream(GetParam(), "sparse rows", 0);
  const uint32_t count = 1 + rng.Below(GetParam() % 2 == 0 ? 50 : 5'000);
  const uint32_t width = 1 + rng.Below(5);
  SparseRows<Element> rows(count, width);
  EXPECT_EQ(rows.rows(), count);
  EXPECT_EQ(rows.width(), width);
  std::map<size_t, std::vector<int64_t>> expected;
  for (int64_t i = 0; i < 20'000; ++i) {
    const size_t row = rng.Below(count);
    const size_t element = rng.Below(width);
    if (rng.Below(2) == 0) {
      auto& its = expected.try_emplace(row, width, -1).first->second;
      Element& found = rows[row][element];
      ASSERT_EQ(found.number, its[element]);
      found.number = its[element] = i;
    } else {
      const auto known = expected.find(row);
      const Element* const found = rows.Find(row);
      ASSERT_EQ(found != nullptr, known != expected.end());
      if (found != nullptr) {
        ASSERT_EQ(found[element].number, known->second[element]);
      }
    }
    ASSERT_EQ(rows.used(), expected.size());
  }
  EXPECT_LE(rows.used(), count);
  int64_t sum = 0;
  rows.ForEach([&](const Element& element) { sum += element.number; });
  for (const auto& [row, its] : expected) {
    for (const int64_t number : its) sum -= number;
  }
  EXPECT_EQ(sum, 0);
}

// Rows whose low bits are the same want the same place; the search goes on at the beginning.
TEST(SparseRowsTest, FindsRowsThatWantThePlacesAtTheEnd) {
  SparseRows<Element> rows(1'024, 1);
  for (const size_t row : {15u, 31u, 47u, 14u, 30u}) rows[row]->number = static_cast<int64_t>(row);
  for (const size_t row : {15u, 31u, 47u, 14u, 30u}) {
    ASSERT_NE(rows.Find(row), nullptr);
    EXPECT_EQ(rows.Find(row)->number, static_cast<int64_t>(row));
  }
  EXPECT_EQ(rows.Find(63), nullptr);
  EXPECT_EQ(rows.used(), 5u);
}

// All rows of these tables would take 2 TB.
TEST(SparseRowsTest, TakesMemoryForTheRowsInUse) {
  std::vector<SparseRows<Element>> tables;
  for (size_t i = 0; i < 1'000; ++i) {
    tables.emplace_back(size_t{1} << 26, 4);
    tables.back()[i << 16][3].number = static_cast<int64_t>(i);
  }
  for (size_t i = 0; i < 1'000; ++i) {
    EXPECT_EQ(tables[i].used(), 1u);
    EXPECT_EQ(tables[i].Find(i << 16)[3].number, static_cast<int64_t>(i));
  }
}

TEST(SparseRowsTest, MayHaveNoRowsOrOne) {
  EXPECT_EQ(SparseRows<Element>(0, 4).rows(), 0u);
  SparseRows<Element> one(1, 1);
  EXPECT_EQ(one.Find(0), nullptr);
  one[0]->number = 7;
  EXPECT_EQ(one.Find(0)->number, 7);
}

}  // namespace heddle::sparse_rows_test
