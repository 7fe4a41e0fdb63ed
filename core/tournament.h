// SPDX-License-Identifier: Apache-2.0
// Finds the earliest of a fixed number of entries, each of which has a time or none. Arrivals and
// eager ports look up their next event with it. It is a tree of minima with the entry's number in
// the low bits of the key, so that a tie goes to the lower number. Set() walks one path from leaf
// to root, without a branch to mispredict.

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/prefetch.h"
#include "core/units.h"

namespace heddle {

class Tournament {
 public:
  // The latest time that the keys of a tournament of `entries` can hold: 2^61 ps (26 days) divided
  // by their number, rounded up to a power of two.
  static Time LatestFor(size_t entries) { return {kNever.ps >> std::bit_width(entries - 1)}; }

  // Forgets all times.
  void Resize(size_t entries) {
    leaves_ = static_cast<int64_t>(std::bit_ceil(entries));
    bits_ = std::countr_zero(static_cast<uint64_t>(leaves_));
    tree_.assign(2 * static_cast<size_t>(leaves_), kNone);
  }

  // The earliest time, kNever if there is none, and the entry that has it.
  Time Next() const { return tree_[1] == kNone ? kNever : Time{tree_[1] >> bits_}; }
  size_t First() const { return static_cast<size_t>(tree_[1] & (leaves_ - 1)); }

  // The same in one number, which is less than Bound(end) if the time is before `end`.
  int64_t Best() const { return tree_[1]; }
  int64_t Bound(Time end) const { return end == kNever ? kNone : end.ps << bits_; }
  Time TimeOf(int64_t best) const { return {best >> bits_}; }
  size_t EntryOf(int64_t best) const { return static_cast<size_t>(best & (leaves_ - 1)); }

  bool Has(size_t entry) const { return KeyOf(entry) != kNone; }
  // Returns true if any entry is at `time` or earlier.
  bool AnyUntil(Time time) const { return tree_[1] < (time.ps + 1) << bits_; }

  bool HasBefore(size_t entry, Time end) const { return KeyOf(entry) < Bound(end); }

  // Returns Best() after the change.
  int64_t Set(size_t entry, Time at) {
    int64_t key = at == kNever ? kNone : at.ps << bits_ | static_cast<int64_t>(entry);
    int64_t* const tree = tree_.data();
    size_t i = static_cast<size_t>(leaves_) + entry;
    tree[i] = key;
    while (i > 1) {
      key = std::min(key, tree[i ^ 1]);
      i >>= 1;
      tree[i] = key;
    }
    return key;
  }

  void Prefetch() const { PrefetchElements(tree_); }

 private:
  static constexpr int64_t kNone = kNever.ps;

  int64_t KeyOf(size_t entry) const { return tree_[static_cast<size_t>(leaves_) + entry]; }

  std::vector<int64_t> tree_ = std::vector<int64_t>(2, kNone);  // tree_[1] is the root.
  int64_t leaves_ = 1;                                          // A power of two.
  int bits_ = 0;
};

}  // namespace heddle
