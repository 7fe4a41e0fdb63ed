// SPDX-License-Identifier: Apache-2.0
// A table of flows as switches have it: sets of some entries each, and the key of a flow names its
// set. It costs one place in memory to find a flow, to forget those that have been silent for too
// long, and to make room. A flow that finds its set full takes the place of the one in the set that
// has been silent longest, though there may be room elsewhere: with flows for half of the entries
// one new flow in 20 does, for a quarter one in 900, for an eighth one in 98,000 (how many flows a
// set meets within the age is Poisson's).
//
// Every operation is O(1), and nothing is allocated after construction.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#include "core/random.h"
#include "core/units.h"

namespace heddle {

// How many flows were heard of within the age. Each counts for a 32nd of the age longer at most,
// as what is counted is how many were heard of last in each of 64 to 127 slices of it.
class RecentFlows {
 public:
  explicit RecentFlows(Duration age)
      : slice_bits_(
            std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(age.ps))) - 7)),
        slices_(age.ps >> slice_bits_) {}

  // An entry that was touched `last`, or never, is touched `now`. Times never decrease.
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

  // The most there have been at once.
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
  const int64_t slices_;  // In the age.
  int64_t latest_ = 0;
  std::array<uint32_t, kPlaces + 1> counts_ = {};  // The last is for what does not count.
  size_t live_ = 0;
  size_t most_ = 0;
};

template <class State>
class FlowSets {
 public:
  struct Found {
    State& state;  // Valid until the next call.
    bool is_new;   // The state is State{}: the flow has not been seen, or was forgotten.
  };

  // Of `entries`, or a few more so that all sets are of one size.
  FlowSets(size_t entries, Duration age)
      : age_(age),
        sets_(std::max<size_t>(1, entries / kWays)),
        ways_((entries + sets_ - 1) / sets_),
        entries_(static_cast<Entry*>(std::calloc(sets_ * ways_, sizeof(Entry)))),
        recent_(age) {
    if (entries_ == nullptr) throw std::bad_alloc();
  }

  // The state of `key`, heard of now. Times never decrease.
  Found Touch(uint64_t key, Time now) {
    return Touch(key, now, [](const State&, Time) { return false; });
  }
  // The same where `holds(state, last)` says of a flow that has been silent for longer than the
  // age, since `last`, whether it is known all the same.
  template <class Holds>
  Found Touch(uint64_t key, Time now, const Holds& holds) {
    Entry& entry = *Seek(key);
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

  // The same without a trace: null if the flow is not known.
  const State* Find(uint64_t key, Time now) const { return FindSince(key, now - age_); }
  // Null if it has been silent since, or has made room.
  const State* FindSince(uint64_t key, Time since) const {
    const Entry* const entry = Seek(key);
    return entry->key == key + 1 && entry->last >= since ? &entry->state : nullptr;
  }

  // Asks for the memory that Touch(key) looks at first. Inline, as a compiler may take a call that
  // only prefetches for one that does nothing.
  [[gnu::always_inline]] void Prefetch(uint64_t key) const {
    const Place place = PlaceOf(key);
    __builtin_prefetch(&entries_[place.set * ways_ + place.way]);
  }

  // The most flows that have been remembered at once; see RecentFlows.
  size_t most() const { return recent_.most(); }
  // Flows that had to make room.
  int64_t evictions() const { return evictions_; }
  size_t capacity() const { return sets_ * ways_; }
  size_t memory_bytes() const { return capacity() * sizeof(Entry); }

 private:
  static constexpr size_t kWays = 8;  // Or more, if that does not divide the entries.

  // All of it starts as zeros, which the system hands out without that any is touched.
  struct Entry {
    uint64_t key;  // And 1; 0: never used.
    Time last;
    State state;
  };
  static_assert(std::is_trivially_copyable_v<State>);

  struct Place {
    size_t set;
    size_t way;  // Where a flow would be if it were alone.
  };
  Place PlaceOf(uint64_t key) const {
    const uint64_t hash = Mix64(key);
    return {static_cast<size_t>((hash & 0xffffffff) * sets_ >> 32),
            static_cast<size_t>((hash >> 32) * ways_ >> 32)};
  }

  // The entry of `key`, or if there is none the one that it would take.
  Entry* Seek(uint64_t key) const {
    const Place place = PlaceOf(key);
    Entry* const set = &entries_[place.set * ways_];
    Entry* entry = set + place.way;
    Entry* longest_silent = entry;
    for (size_t i = 0; i < ways_; ++i) {
      // What has never been used has nothing behind it that began here.
      if (entry->key == key + 1 || entry->key == 0) return entry;
      if (entry->last < longest_silent->last) longest_silent = entry;
      if (++entry == set + ways_) entry = set;
    }
    return longest_silent;
  }

  struct Free {
    void operator()(Entry* entries) const { std::free(entries); }
  };

  const Duration age_;
  const size_t sets_;
  const size_t ways_;
  const std::unique_ptr<Entry[], Free> entries_;
  RecentFlows recent_;
  int64_t evictions_ = 0;
};

}  // namespace heddle
