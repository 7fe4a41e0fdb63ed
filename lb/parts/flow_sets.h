// SPDX-License-Identifier: Apache-2.0
// A flow table as in a switch: sets of a few entries, and the hash of a flow's key selects its set.
// Finding a flow, forgetting silent ones and making room read two places in memory: where the set
// lies, and the set. A new flow that finds its set full replaces the flow in the set that has been
// silent longest, even if other sets have room. This happens to one new flow in 20 with flows for
// half of the entries, to one in 900 with a quarter, to one in 98,000 with an eighth (the flows of
// a set within the age are Poisson).
//
// Every operation is O(1) on average. Only sets that flows have used take memory.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/random.h"
#include "core/sparse_rows.h"
#include "core/units.h"

namespace heddle {

// Counts the flows that were seen within the age, in 64 to 127 slices of time. A flow counts for up
// to a 32nd of the age longer, because only whole slices expire.
class RecentFlows {
 public:
  explicit RecentFlows(Duration age)
      : slice_bits_(
            std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(age.ps))) - 7)),
        slices_(age.ps >> slice_bits_) {}

  // Moves an entry that was touched `last`, or never, to `now`. Times never decrease.
  void Touch(Time last, Time now) {
    const int64_t slice = now.ps >> slice_bits_;
    if (slice != latest_) Advance(slice);
    const int64_t before = last.ps >> slice_bits_;
    const bool counts = before >= slice - slices_ - 1;
    ++counts_[PlaceOf(slice)];
    --counts_[counts ? PlaceOf(before) : kPlaces];
    live_ += counts ? 0 : 1;
    most_ = std::max(most_, live_);
  }

  // The most flows at once so far.
  size_t most() const { return most_; }

 private:
  // More than the slices that can count at once.
  static constexpr int64_t kPlaces = 256;

  static size_t PlaceOf(int64_t slice) { return static_cast<size_t>(slice & (kPlaces - 1)); }

  void Advance(int64_t slice) {
    const int64_t oldest = latest_ - slices_ - 1;
    const int64_t since = std::min(slice - slices_ - 1, latest_ + 1);
    for (int64_t old = oldest; old < since; ++old) {
      live_ -= counts_[PlaceOf(old)];
      counts_[PlaceOf(old)] = 0;
    }
    latest_ = slice;
  }

  const int slice_bits_;
  const int64_t slices_;  // Slices of an age.
  int64_t latest_ = 0;
  std::array<uint32_t, kPlaces + 1> counts_ = {};  // The last place is for flows that do not count.
  size_t live_ = 0;
  size_t most_ = 0;
};

template <class State>
class FlowSets {
 public:
  struct Found {
    State& state;  // Valid until the next call.
    bool is_new;   // The state is State{}: the flow is new, or was forgotten.
  };

  // Makes `entries` entries, or a few more so that all sets have the same size.
  FlowSets(size_t entries, Duration age)
      : age_(age),
        sets_(NumberOfSets(entries), DividedUp(entries, NumberOfSets(entries))),
        recent_(age) {}

  // Returns the state of `key`, and notes that it was seen now. Times never decrease.
  Found Touch(uint64_t key, Time now) {
    return Touch(key, now, [](const State&, Time) { return false; });
  }
  // The same, but a flow that has been silent since `last`, longer than the age, is still known if
  // `holds(state, last)` returns true.
  template <class Holds>
  Found Touch(uint64_t key, Time now, const Holds& holds) {
    const Place place = PlaceOf(key);
    Entry& entry = Seek(sets_[place.set], place.way, key);
    const Time last = entry.key == 0 ? Time{-kNever.ps} : entry.last;
    const bool is_remembered = last >= now - age_;
    const bool is_new = entry.key != key + 1 || (!is_remembered && !holds(entry.state, entry.last));
    if (is_new) {
      evictions_ += is_remembered ? 1 : 0;
      entry.key = key + 1;
      entry.state = State{};
    }
    recent_.Touch(last, now);
    entry.last = now;
    return {entry.state, is_new};
  }

  // The same without noting anything; null if the flow is not known.
  const State* Find(uint64_t key, Time now) const { return FindSince(key, now - age_); }
  // Returns null if the flow has been silent since `since`, or its entry was reused.
  const State* FindSince(uint64_t key, Time since) const {
    const Place place = PlaceOf(key);
    const Entry* const set = sets_.Find(place.set);
    if (set == nullptr) return nullptr;
    const Entry& entry = Seek(set, place.way, key);
    return entry.key == key + 1 && entry.last >= since ? &entry.state : nullptr;
  }

  // Prefetches the entry that Touch(key) reads first, if its set lies in the first place for it.
  // Inline, because a compiler may remove a call that only prefetches.
  [[gnu::always_inline]] void Prefetch(uint64_t key) const {
    const Place place = PlaceOf(key);
    __builtin_prefetch(sets_.Guess(place.set) + place.way);
  }

  // The most flows remembered at once; see RecentFlows.
  size_t most() const { return recent_.most(); }
  // Flows whose entries were reused within the age.
  int64_t evictions() const { return evictions_; }
  size_t capacity() const { return sets_.rows() * sets_.width(); }
  size_t memory_bytes() const { return sets_.memory_bytes(); }

 private:
  static constexpr size_t kWays = 8;  // Or more, if the entries do not divide by it.

  struct Entry {
    uint64_t key = 0;  // The key plus 1; 0: never used.
    Time last;
    State state = {};
  };

  static size_t NumberOfSets(size_t entries) { return std::max<size_t>(1, entries / kWays); }
  static size_t DividedUp(size_t entries, size_t sets) { return (entries + sets - 1) / sets; }

  struct Place {
    size_t set;
    size_t way;  // The first way to look at.
  };
  Place PlaceOf(uint64_t key) const {
    const uint64_t hash = Mix64(key);
    return {static_cast<size_t>((hash & 0xffffffff) * sets_.rows() >> 32),
            static_cast<size_t>((hash >> 32) * sets_.width() >> 32)};
  }

  // Returns the entry of `key`, or the one that it would take.
  template <class AnEntry>
  AnEntry& Seek(AnEntry* set, size_t first, uint64_t key) const {
    AnEntry* const end = set + sets_.width();
    AnEntry* entry = set + first;
    AnEntry* longest_silent = entry;
    for (size_t i = 0; i < sets_.width(); ++i) {
      // Probing fills a set in order, so an unused entry ends the search.
      if (entry->key == key + 1 || entry->key == 0) return *entry;
      if (entry->last < longest_silent->last) longest_silent = entry;
      if (++entry == end) entry = set;
    }
    return *longest_silent;
  }

  const Duration age_;
  SparseRows<Entry> sets_;
  RecentFlows recent_;
  int64_t evictions_ = 0;
};

}  // namespace heddle
