// SPDX-License-Identifier: Apache-2.0
// What a policy holds about something until it has been silent for a while, such as that a flow is
// present at a port: unlike in a flow table, the end is an event, which the owner is told of. A
// fixed number of entries; one more ends the one that has been silent longest.
//
// Every operation is O(1), but for those that end or visit many entries, and nothing is allocated
// after construction. Entries are visited in the order in which they were touched last.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/fixed_vector.h"
#include "core/random.h"
#include "core/units.h"

namespace heddle {

template <class State>
class ExpiringTable {
 public:
  explicit ExpiringTable(size_t capacity)
      : capacity_(capacity), entries_(capacity), index_(std::bit_ceil(2 * capacity)) {}

  // Null if `key` is not there, or has not been touched at or after `since`. Leaves no trace.
  State* Find(uint64_t key, Time since = {-kNever.ps}) {
    if (size_ == 0) return nullptr;
    const uint32_t e = index_[PlaceOf(key)].entry;
    return e == kNone || entries_[e].last < since ? nullptr : &entries_[e].state;
  }
  const State* Find(uint64_t key, Time since = {-kNever.ps}) const {
    return const_cast<ExpiringTable*>(this)->Find(key, since);
  }

  // The state of `key`, heard of now; State{} if it is new. `gone(key, state)` is told of what has
  // to make room. Times never decrease. Valid until the next call.
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
        place = PlaceOf(key);  // That may have made room closer to where it belongs.
      }
      e = TakeEntry(key, place);
    } else {
      Unlink(e);
    }
    entries_[e].last = now;
    LinkNewest(e);
    return {entries_[e].state, is_new};
  }

  // False if it was not there.
  bool Erase(uint64_t key) {
    const uint32_t e = index_[PlaceOf(key)].entry;
    if (e == kNone) return false;
    Remove(e);
    return true;
  }

  // Ends what has not been touched at or after `since`.
  template <class Gone>
  void ExpireBefore(Time since, const Gone& gone) {
    while (oldest_ != kNone && entries_[oldest_].last < since) End(oldest_, gone);
  }

  // The longest silent first. `visit(key, state)` must not touch or erase anything.
  template <class Visit>
  void ForEach(const Visit& visit) {
    for (uint32_t e = oldest_; e != kNone; e = entries_[e].newer) {
      visit(entries_[e].key, entries_[e].state);
    }
  }

  // Ends those for which `condemns(key, state)` holds.
  template <class Condemns>
  void EraseIf(const Condemns& condemns) {
    for (uint32_t e = oldest_; e != kNone;) {
      const uint32_t next = entries_[e].newer;
      if (condemns(entries_[e].key, entries_[e].state)) Remove(e);
      e = next;
    }
  }

  // When the one that has been silent longest was touched; kNever if there is none.
  Time oldest() const { return oldest_ == kNone ? kNever : entries_[oldest_].last; }

  size_t size() const { return size_; }
  // The most that there have been at once.
  size_t most() const { return entries_.size(); }
  // Those that had to make room.
  int64_t evictions() const { return evictions_; }
  size_t capacity() const { return capacity_; }
  size_t memory_bytes() const { return capacity_ * sizeof(Entry) + index_.size() * sizeof(Place); }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // Entries are a list, by when they were touched last; those that nobody uses are another one.
  struct Entry {
    uint64_t key = 0;
    Time last;
    uint32_t older = kNone;
    uint32_t newer = kNone;
    State state = {};
  };
  // In the index; with the hash there is seldom need to look at a key that is another.
  struct Place {
    uint32_t entry = kNone;
    uint32_t hash = 0;
  };

  uint32_t TakeEntry(uint64_t key, size_t place) {
    uint32_t e = free_;
    if (e == kNone) {
      e = static_cast<uint32_t>(entries_.size());
      entries_.Add();
    } else {
      free_ = entries_[e].newer;
      entries_[e].state = State{};
    }
    entries_[e].key = key;
    index_[place] = {e, HashOf(key)};
    ++size_;
    return e;
  }

  void Remove(uint32_t e) {
    Unlink(e);
    CloseHole(PlaceOf(entries_[e].key));
    entries_[e].newer = free_;
    free_ = e;
    --size_;
  }
  template <class Gone>
  void End(uint32_t e, const Gone& gone) {
    Remove(e);
    PrefetchOldest();
    gone(entries_[e].key, entries_[e].state);
  }

  // What removing the next two will need: a table that is full ends one with each that is new.
  // Inline, as a compiler may take a call that only prefetches for one that does nothing.
  [[gnu::always_inline]] void PrefetchOldest() const {
    if (oldest_ == kNone) return;
    const Entry& next = entries_[oldest_];
    __builtin_prefetch(&index_[HashOf(next.key) & mask()]);
    if (next.newer != kNone) __builtin_prefetch(&entries_[next.newer]);
  }

  void Unlink(uint32_t e) {
    const Entry& its = entries_[e];
    (its.older == kNone ? oldest_ : entries_[its.older].newer) = its.newer;
    (its.newer == kNone ? newest_ : entries_[its.newer].older) = its.older;
  }
  void LinkNewest(uint32_t e) {
    entries_[e].older = newest_;
    entries_[e].newer = kNone;
    (newest_ == kNone ? oldest_ : entries_[newest_].newer) = e;
    newest_ = e;
  }

  // --- Open addressing with linear probing; at most half of the index is taken ---

  size_t mask() const { return index_.size() - 1; }
  static uint32_t HashOf(uint64_t key) { return static_cast<uint32_t>(Mix64(key)); }

  // Where in the index the key is, or would be.
  size_t PlaceOf(uint64_t key) const {
    const uint32_t hash = HashOf(key);
    size_t i = hash & mask();
    while (index_[i].entry != kNone &&
           (index_[i].hash != hash || entries_[index_[i].entry].key != key)) {
      i = (i + 1) & mask();
    }
    return i;
  }

  // Pulls back what probing would no longer find across the hole.
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
  FixedVector<Entry> entries_;
  std::vector<Place> index_;  // From the hash of a key to its entry.
  uint32_t oldest_ = kNone;
  uint32_t newest_ = kNone;
  uint32_t free_ = kNone;
  size_t size_ = 0;
  int64_t evictions_ = 0;
};

}  // namespace heddle
