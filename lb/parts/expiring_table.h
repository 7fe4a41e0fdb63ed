// SPDX-License-Identifier: Apache-2.0
// A policy's state for each key, kept until Touch() has not been called for the key for a while,
// such as the flows present at a port. Unlike in a flow table, the end of a key is an event: the
// table calls back its owner. The number of entries is limited; a new key beyond it ends the one
// whose Touch() is the longest ago.
//
// Every operation is O(1) on average, except those that end or visit many entries. Entries are
// visited in the order of their last Touch(). The table's memory doubles until it has room for the
// most keys that were there at once.

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/units.h"

namespace heddle {

template <class State>
class ExpiringTable {
 public:
  explicit ExpiringTable(size_t capacity)
      : capacity_(capacity), index_(PlacesFor(std::min(capacity, kFirstEntries))) {}

  // Returns null if `key` is not there, or has not been touched since `since`. Does not touch it.
  State* Find(uint64_t key, Time since = {-kNever.ps}) {
    if (size_ == 0) return nullptr;
    const uint32_t e = index_[PlaceOf(key)].entry;
    return e == kNone || At(e).last < since ? nullptr : &At(e).state;
  }
  const State* Find(uint64_t key, Time since = {-kNever.ps}) const {
    return const_cast<ExpiringTable*>(this)->Find(key, since);
  }

  // Touches `key` and returns its state, State{} if it is new. Calls `gone(key, state)` for the
  // entry that makes room, if any. Times never decrease. The reference is valid until the next
  // call.
  struct Touched {
    State& state;
    bool is_new;
  };
  template <class Gone>
  Touched Touch(uint64_t key, Time now, const Gone& gone) {
    size_t place = PlaceOf(key);
    uint32_t e = index_[place].entry;
    const bool is_new = e == kNone;
    if (is_new) {
      if (size_ == capacity_) {
        ++evictions_;
        End(oldest_, gone);
        place = PlaceOf(key);  // The hole may be closer to the key's own place.
      }
      e = TakeEntry(key, place);
    } else if (e != newest_) {
      Unlink(e);
    }
    Entry& its = At(e);
    its.last = now;
    if (e != newest_) LinkNewest(e);
    return {its.state, is_new};
  }

  // Returns false if the key is not there.
  bool Erase(uint64_t key) {
    const uint32_t e = index_[PlaceOf(key)].entry;
    if (e == kNone) return false;
    Remove(e);
    return true;
  }

  // Ends the entries that have not been touched since `since`.
  template <class Gone>
  void ExpireBefore(Time since, const Gone& gone) {
    while (oldest_ != kNone && At(oldest_).last < since) End(oldest_, gone);
  }

  // Visits the longest silent entry first. `visit(key, state)` must not touch or erase anything.
  template <class Visit>
  void ForEach(const Visit& visit) {
    for (uint32_t e = oldest_; e != kNone; e = At(e).newer) {
      visit(At(e).key, At(e).state);
    }
  }

  // Erases the entries for which `condemns(key, state)` returns true.
  template <class Condemns>
  void EraseIf(const Condemns& condemns) {
    for (uint32_t e = oldest_; e != kNone;) {
      const uint32_t next = At(e).newer;
      if (condemns(At(e).key, At(e).state)) Remove(e);
      e = next;
    }
  }

  // Returns when the longest silent entry was touched; kNever if the table is empty.
  Time oldest() const { return oldest_ == kNone ? kNever : At(oldest_).last; }

  size_t size() const { return size_; }
  // The most entries at once so far.
  size_t most() const { return entries_.size(); }
  // Entries that ended to make room.
  int64_t evictions() const { return evictions_; }
  size_t capacity() const { return capacity_; }
  // Returns the size of a table that has room for all entries from the start: a real switch has
  // such a table.
  size_t memory_bytes() const {
    return capacity_ * sizeof(Entry) + PlacesFor(capacity_) * sizeof(Place);
  }

 private:
  static constexpr uint32_t kNone = 0;  // Entries are numbered from 1.
  static constexpr size_t kFirstEntries = 8;

  // Used entries form a list in the order of their last touch; free entries form another list.
  struct Entry {
    uint64_t key = 0;
    Time last;
    uint32_t older = kNone;
    uint32_t newer = kNone;
    State state = {};
  };
  // A place in the index. It has the hash, so that other keys are seldom compared.
  struct Place {
    uint32_t entry = kNone;
    uint32_t hash = 0;
  };
  // At most half of the places are taken.
  static size_t PlacesFor(size_t entries) { return std::bit_ceil(2 * entries); }

  Entry& At(uint32_t e) { return entries_[e - 1]; }
  const Entry& At(uint32_t e) const { return entries_[e - 1]; }

  uint32_t TakeEntry(uint64_t key, size_t place) {
    uint32_t e = free_;
    if (e == kNone) {
      entries_.emplace_back();
      e = static_cast<uint32_t>(entries_.size());
      if (PlacesFor(e) > index_.size()) {
        GrowIndex();
        place = PlaceOf(key);
      }
    } else {
      free_ = At(e).newer;
      At(e).state = State{};
    }
    At(e).key = key;
    index_[place] = {e, HashOf(key)};
    ++size_;
    return e;
  }

  void Remove(uint32_t e) {
    Unlink(e);
    CloseHole(PlaceOf(At(e).key));
    At(e).newer = free_;
    free_ = e;
    --size_;
  }
  template <class Gone>
  void End(uint32_t e, const Gone& gone) {
    Remove(e);
    PrefetchOldest();
    gone(At(e).key, At(e).state);
  }

  // Prefetches what the next two removals read: a full table ends one entry for each new one.
  // Inline, because a compiler may remove a call that only prefetches.
  [[gnu::always_inline]] void PrefetchOldest() const {
    if (oldest_ == kNone) return;
    const Entry& next = At(oldest_);
    __builtin_prefetch(&index_[HashOf(next.key) & mask()]);
    if (next.newer != kNone) __builtin_prefetch(&At(next.newer));
  }

  void Unlink(uint32_t e) {
    const Entry& its = At(e);
    (its.older == kNone ? oldest_ : At(its.older).newer) = its.newer;
    (its.newer == kNone ? newest_ : At(its.newer).older) = its.older;
  }
  void LinkNewest(uint32_t e) {
    At(e).older = newest_;
    At(e).newer = kNone;
    (newest_ == kNone ? oldest_ : At(newest_).newer) = e;
    newest_ = e;
  }

  // --- Open addressing with linear probing ---

  size_t mask() const { return index_.size() - 1; }
  static uint32_t HashOf(uint64_t key) { return static_cast<uint32_t>(Mix64(key)); }

  // Returns the place in the index where the key is, or would be.
  size_t PlaceOf(uint64_t key) const {
    const uint32_t hash = HashOf(key);
    size_t i = hash & mask();
    while (index_[i].entry != kNone && (index_[i].hash != hash || At(index_[i].entry).key != key)) {
      i = (i + 1) & mask();
    }
    return i;
  }

  void GrowIndex() {
    const std::vector<Place> old = std::exchange(index_, std::vector<Place>(2 * index_.size()));
    for (const Place& its : old) {
      if (its.entry != kNone) index_[PlaceOf(At(its.entry).key)] = its;
    }
  }

  // Moves back the entries that probing would not find across the hole.
  void CloseHole(size_t hole) {
    for (size_t i = (hole + 1) & mask(); index_[i].entry != kNone; i = (i + 1) & mask()) {
      const size_t distance = (i - index_[i].hash) & mask();
      if (distance < ((i - hole) & mask())) continue;
      index_[hole] = index_[i];
      hole = i;
    }
    index_[hole].entry = kNone;
  }

  const size_t capacity_;
  std::vector<Entry> entries_;
  std::vector<Place> index_;  // From the hash of a key to its entry.
  uint32_t oldest_ = kNone;
  uint32_t newest_ = kNone;
  uint32_t free_ = kNone;
  size_t size_ = 0;
  int64_t evictions_ = 0;
};

}  // namespace heddle
