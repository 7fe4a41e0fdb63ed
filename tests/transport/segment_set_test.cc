// SPDX-License-Identifier: Apache-2.0
// SegmentSet against an ordered set, over random operations.

#include "transport/segment_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <vector>

#include "core/random.h"

namespace heddle::segment_set_test {

class PlainSet {
 public:
  explicit PlainSet(uint32_t floor) : floor_(floor) {}

  std::vector<uint32_t> Insert(uint32_t first, uint32_t last) {
    std::vector<uint32_t> added;
    for (uint32_t s = first; s < last; ++s) {
      if (all_.insert(s).second) added.push_back(s);
    }
    words_ = std::max(words_, (last - 1) / 64 - floor_ / 64 + 1);
    return added;
  }
  void AdvanceTo(uint32_t floor) {
    all_.erase(all_.begin(), all_.lower_bound(floor));
    floor_ = std::max(floor_, floor);
  }
  bool Contains(uint32_t s) const { return all_.contains(s); }
  uint32_t FirstMissing(uint32_t from) const {
    while (Contains(from)) ++from;
    return from;
  }
  uint32_t RunStart(uint32_t from) const {
    while (from > 0 && Contains(from - 1)) --from;
    return from;
  }
  size_t size() const { return all_.size(); }
  uint32_t floor() const { return floor_; }
  const std::set<uint32_t>& all() const { return all_; }
  // The words that hold every segment from the floor on, at their most: a power of two.
  size_t memory_bytes() const {
    return words_ == 0 ? 0 : 8 * std::bit_ceil(std::max<size_t>(words_, 2));
  }

 private:
  std::set<uint32_t> all_;
  uint32_t floor_;
  uint32_t words_ = 0;
};

void ExpectSame(const SegmentSet& set, const PlainSet& plain, uint32_t reach) {
  ASSERT_EQ(set.size(), plain.size());
  ASSERT_EQ(set.empty(), plain.size() == 0);
  for (uint32_t s = plain.floor() > 70 ? plain.floor() - 70 : 0; s < plain.floor() + reach; ++s) {
    ASSERT_EQ(set.Contains(s), plain.Contains(s)) << s;
  }
  for (uint32_t s = plain.floor() > 70 ? plain.floor() - 70 : 0; s < plain.floor() + reach;
       s += 37) {
    uint64_t next = 0;
    for (uint32_t i = 0; i < 64; ++i) next |= uint64_t{plain.Contains(s + i)} << i;
    ASSERT_EQ(set.Next64(s), next) << s;
  }
  for (uint32_t s = plain.floor(); s < plain.floor() + reach; ++s) {
    ASSERT_EQ(set.FirstMissing(s), plain.FirstMissing(s)) << s;
  }
  for (const uint32_t s : plain.all()) {
    ASSERT_EQ(set.RunAround(s), (std::pair{plain.RunStart(s), plain.FirstMissing(s)})) << s;
  }
}

TEST(SegmentSetTest, HoldsWhatAnOrderedSetHolds) {
  for (const uint32_t reach : {5u, 64u, 130u, 700u}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(testing::Message() << "reach " << reach << ", seed " << seed);
      Rng rng = Rng::Stream(seed, "segments", reach);
      const uint32_t start = rng.Below(200);
      SegmentSet set;
      set.Reset(start);
      PlainSet plain(start);
      for (int step = 0; step < 150; ++step) {
        if (rng.Below(3) > 0) {
          const uint32_t first = plain.floor() + rng.Below(reach);
          const uint32_t last = first + 1 + rng.Below(std::max(reach / 3, 1u));
          std::vector<uint32_t> added;
          set.Insert(first, last, [&](uint32_t s) { added.push_back(s); });
          ASSERT_EQ(added, plain.Insert(first, last));
        } else {
          const uint32_t floor = plain.floor() + rng.Below(reach);
          set.AdvanceTo(floor);
          plain.AdvanceTo(floor);
        }
        ASSERT_NO_FATAL_FAILURE(ExpectSame(set, plain, 2 * reach));
      }
      EXPECT_EQ(set.memory_bytes(), plain.memory_bytes());
    }
  }
}

// Two words: segments 160 to 191 are in the place that those below the floor would have.
TEST(SegmentSetTest, ARunDoesNotReachBelowTheFloor) {
  SegmentSet set;
  set.Reset(64);
  set.Insert(64, 100, [](uint32_t) {});
  set.Insert(160, 192, [](uint32_t) {});
  EXPECT_EQ(set.RunAround(70), (std::pair{64u, 100u}));
  EXPECT_EQ(set.RunAround(64), (std::pair{64u, 100u}));
  EXPECT_EQ(set.RunAround(191), (std::pair{160u, 192u}));
}

// Two words: segments 128 to 191 are in the place that those below 64 would have.
TEST(SegmentSetTest, NothingOfAnotherWordIsSeenBelowTheFloorOrBeyondTheEnd) {
  for (const uint32_t floor : {64u, 100u, 127u}) {
    SegmentSet set;
    PlainSet plain(floor);
    set.Reset(floor);
    for (const uint32_t segment : {127u, 130u, 191u}) {
      set.Insert(segment, segment + 1, [](uint32_t) {});
      plain.Insert(segment, segment + 1);
      for (uint32_t first = 0; first < 400; ++first) {
        uint64_t next = 0;
        for (uint32_t i = 0; i < 64; ++i) next |= uint64_t{plain.Contains(first + i)} << i;
        ASSERT_EQ(set.Next64(first), next) << first;
        ASSERT_EQ(set.Contains(first), plain.Contains(first)) << first;
      }
    }
    EXPECT_EQ(set.memory_bytes(), 2u * 8);
  }
}

// When it grows, every word from the floor's on finds its new place, and no other comes to life.
TEST(SegmentSetTest, GrowsWhereverItsFloorIs) {
  for (uint32_t floor = 0; floor < 400; ++floor) {
    SegmentSet set;
    PlainSet plain(floor);
    set.Reset(floor);
    const uint32_t length = 1 + floor % 3;
    for (const uint32_t first : {floor, floor + 70, floor + 200, floor + 390}) {
      std::vector<uint32_t> added;
      set.Insert(first, first + length, [&](uint32_t s) { added.push_back(s); });
      ASSERT_EQ(added, plain.Insert(first, first + length)) << floor;
    }
    for (uint32_t s = 0; s < floor + 600; ++s) ASSERT_EQ(set.Contains(s), plain.Contains(s)) << s;
  }
}

TEST(SegmentSetTest, StartsAfreshAtAnotherFloor) {
  SegmentSet set;
  set.Insert(3, 9, [](uint32_t) {});
  set.Reset(1'000);
  ASSERT_NO_FATAL_FAILURE(ExpectSame(set, PlainSet(1'000), 100));
  set.Reset(2);
  ASSERT_NO_FATAL_FAILURE(ExpectSame(set, PlainSet(2), 100));
  set.Insert(5, 6, [](uint32_t) {});
  EXPECT_EQ(set.RunAround(5), (std::pair{5u, 6u}));
}

}  // namespace heddle::segment_set_test
