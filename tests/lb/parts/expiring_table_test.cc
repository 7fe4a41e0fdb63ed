// SPDX-License-Identifier: Apache-2.0

#include "lb/parts/expiring_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace heddle::expiring_table_test {

struct Value {
  int number = 0;
};

// The reference looks at every entry each time.
class SlowTable {
 public:
  struct Entry {
    uint64_t key;
    Time last;
    int number;
  };

  explicit SlowTable(size_t capacity) : capacity_(capacity) {}

  Entry* Find(uint64_t key) {
    const auto found = std::ranges::find(entries, key, &Entry::key);
    return found == entries.end() ? nullptr : &*found;
  }
  int& Touch(uint64_t key, Time now, std::vector<uint64_t>& gone) {
    Entry touched{key, now, 0};
    if (const Entry* known = Find(key)) {
      touched.number = known->number;
      std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
    } else if (entries.size() == capacity_) {
      gone.push_back(entries.front().key);
      entries.erase(entries.begin());
    }
    entries.push_back(touched);
    return entries.back().number;
  }

  std::vector<Entry> entries;  // The least recently used first.

 private:
  const size_t capacity_;
};

TEST(ExpiringTableTest, IsWhatLookingAtEverythingGives) {
  for (const size_t capacity : {1, 2, 7, 64}) {
    ExpiringTable<Value> table(capacity);
    SlowTable slow(capacity);
    Rng rng = Rng::Stream(1, "table", capacity);
    Time now;
    for (int step = 0; step < 20'000; ++step) {
      now += Duration{rng.Below(3)};
      const uint64_t key = rng.Below(static_cast<uint32_t>(2 * capacity));
      std::vector<uint64_t> gone;
      std::vector<uint64_t> slow_gone;
      const auto note = [&](uint64_t k, const Value&) { gone.push_back(k); };
      switch (rng.Below(5)) {
        case 0:
        case 1: {
          const auto touched = table.Touch(key, now, note);
          ASSERT_EQ(touched.is_new, slow.Find(key) == nullptr);
          int& number = slow.Touch(key, now, slow_gone);
          ASSERT_EQ(touched.state.number, number);
          touched.state.number = number = step;
          break;
        }
        case 2:
          ASSERT_EQ(table.Erase(key), slow.Find(key) != nullptr);
          std::erase_if(slow.entries, [&](const auto& entry) { return entry.key == key; });
          break;
        case 3: {
          const Time since = now - Duration{rng.Below(20)};
          table.ExpireBefore(since, note);
          while (!slow.entries.empty() && slow.entries.front().last < since) {
            slow_gone.push_back(slow.entries.front().key);
            slow.entries.erase(slow.entries.begin());
          }
          break;
        }
        default:
          ASSERT_EQ(table.Find(key) != nullptr, slow.Find(key) != nullptr);
          table.EraseIf([](uint64_t k, const Value&) { return k % 5 == 0; });
          std::erase_if(slow.entries, [](const auto& entry) { return entry.key % 5 == 0; });
      }
      ASSERT_EQ(gone, slow_gone);
      std::vector<std::pair<uint64_t, int>> all;
      table.ForEach([&](uint64_t k, const Value& value) { all.emplace_back(k, value.number); });
      ASSERT_EQ(all.size(), slow.entries.size());
      ASSERT_EQ(all.size(), table.size());
      for (size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(all[i].first, slow.entries[i].key);
        ASSERT_EQ(all[i].second, slow.entries[i].number);
      }
    }
  }
}

TEST(ExpiringTableTest, KeepsItsEntriesWhileItsMemoryGrows) {
  constexpr uint64_t kCapacity = 1'000;
  ExpiringTable<Value> table(kCapacity);
  const size_t bytes = table.memory_bytes();
  std::vector<uint64_t> gone;
  const auto note = [&](uint64_t key, const Value&) { gone.push_back(key); };
  for (uint64_t key = 0; key < kCapacity; ++key) {
    table.Touch(key << 20, Time{} + 1_us, note).state.number = static_cast<int>(key);
    ASSERT_EQ(table.size(), key + 1);
  }
  for (uint64_t key = 0; key < kCapacity; ++key) {
    ASSERT_NE(table.Find(key << 20), nullptr);
    ASSERT_EQ(table.Find(key << 20)->number, static_cast<int>(key));
  }
  EXPECT_TRUE(gone.empty());
  table.Touch(kCapacity << 20, Time{} + 2_us, note);
  EXPECT_EQ(gone, std::vector<uint64_t>{0});
  EXPECT_EQ(table.memory_bytes(), bytes);  // That of a table with all its room.
}

TEST(ExpiringTableTest, WhatIsTouchedAtTheLimitStays) {
  ExpiringTable<Value> table(4);
  int gone = 0;
  const auto count = [&](uint64_t, const Value&) { ++gone; };
  table.Touch(1, Time{} + 5_us, count);
  table.ExpireBefore(Time{} + 5_us, count);
  EXPECT_EQ(gone, 0);
  table.ExpireBefore(Time{} + 5_us + 1_ps, count);
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(table.size(), 0u);
}

TEST(ExpiringTableTest, CountsWhatMustMakeRoom) {
  ExpiringTable<Value> table(2);
  const auto ignore = [](uint64_t, const Value&) {};
  for (uint64_t key = 0; key < 5; ++key) table.Touch(key, Time{}, ignore);
  EXPECT_EQ(table.evictions(), 3);
  EXPECT_EQ(table.Find(2), nullptr);
  EXPECT_NE(table.Find(3), nullptr);
}

}  // namespace heddle::expiring_table_test
