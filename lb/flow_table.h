// SPDX-License-Identifier: Apache-2.0
// What a policy remembers of each flow that it sees, in a table of fixed size, as in a switch. A
// flow is a 5-tuple, so the two directions of a connection are two flows. One that has been silent
// for longer than the age is forgotten. By default flows never share an entry, and a new flow that
// finds the table full takes the place of the one that has been silent longest. With `bits`, the
// hash of the 5-tuple names the entry, as in hardware, and flows that collide share it.
//
// Every operation is O(1), and nothing is allocated after construction.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/fixed_vector.h"
#include "core/packet.h"
#include "core/random.h"
#include "core/units.h"
#include "settings/fields.h"

namespace heddle {

struct FlowTableSettings {
  int64_t entries = 65'536;
  std::optional<int64_t> bits = {};
  Duration age;

  void Declare(Fields& fields) {
    fields.Add("table_entries", entries, Between<int64_t>(1, 1 << 24),
               "Flows that a node remembers; when it meets more, it forgets the one that has been "
               "silent longest, and counts that as one of table_evictions.");
    fields.AddOr("none", "table_bits", bits, Between<int64_t>(0, 24),
                 "Instead, 2 to the power of this many entries that the hash of a 5-tuple names, "
                 "shared by flows that collide. none: flows share nothing.");
    fields.Add("table_age", age, {.above = Duration{0}, .at_most = 1000_s},
               "A flow that has been silent for longer is forgotten.");
  }
};

template <class State>
class AgedFlowTable {
 public:
  struct Found {
    State& state;  // Valid until the next call.
    bool is_new;   // The state is State{}: the flow has not been seen, or was forgotten.
  };

  explicit AgedFlowTable(const FlowTableSettings& settings)
      : age_(settings.age),
        is_shared_(settings.bits.has_value()),
        capacity_(is_shared_ ? size_t{1} << *settings.bits : static_cast<size_t>(settings.entries)),
        entries_(capacity_),
        index_(is_shared_ ? 0 : std::bit_ceil(2 * capacity_), kNone) {
    if (!is_shared_) return;
    for (size_t i = 0; i < capacity_; ++i) entries_.Add();
  }

  // The state of the packet's flow, which is heard of now. Times never decrease.
  Found Touch(const Packet& packet, Time now) {
    return is_shared_ ? TouchShared(packet, now) : TouchOwn(KeyOf(packet), now);
  }

  // The same without a trace: null if the flow is not known.
  const State* Find(const Packet& packet, Time now) const {
    const uint32_t e =
        is_shared_ ? static_cast<uint32_t>(SlotOf(packet)) : index_[PlaceOf(KeyOf(packet))];
    if (e == kNone || HasAged(entries_[e], now)) return nullptr;
    return &entries_[e].state;
  }

  // The most entries that have been in use at once; of shared ones, those that have ever been used.
  size_t used() const { return used_; }
  // Flows that were forgotten for lack of room.
  int64_t evictions() const { return evictions_; }
  size_t capacity() const { return capacity_; }
  size_t memory_bytes() const {
    return capacity_ * sizeof(Entry) + index_.capacity() * sizeof(uint32_t);
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  struct Entry {
    uint64_t key = 0;
    Time last{-kNever.ps};
    uint32_t older = kNone;  // The entries as a list, by when they were touched last.
    uint32_t newer = kNone;
    State state = {};
  };

  // Flow ids are unique; the two directions of a flow differ in their source.
  static uint64_t KeyOf(const Packet& packet) { return uint64_t{packet.flow} << 16 | packet.src; }
  size_t SlotOf(const Packet& packet) const {
    return static_cast<size_t>(Mix64(packet.tuple_hash) & (capacity_ - 1));
  }
  bool HasAged(const Entry& entry, Time now) const { return now - entry.last > age_; }

  Found TouchShared(const Packet& packet, Time now) {
    Entry& entry = entries_[SlotOf(packet)];
    const bool is_new = HasAged(entry, now);
    if (is_new) {
      if (entry.last < Time{0}) ++used_;
      entry.state = State{};
    }
    entry.last = now;
    return {entry.state, is_new};
  }

  Found TouchOwn(uint64_t key, Time now) {
    uint32_t e = index_[PlaceOf(key)];
    const bool is_known = e != kNone;
    if (is_known) {
      Unlink(e);
    } else {
      e = TakeEntry(now);
      entries_[e].key = key;
      index_[PlaceOf(key)] = e;
    }
    Entry& entry = entries_[e];
    const bool is_new = !is_known || HasAged(entry, now);
    if (is_new) entry.state = State{};
    entry.last = now;
    LinkNewest(e);
    return {entry.state, is_new};
  }

  // One that nobody uses, in no list. Entries that have aged are used again before fresh ones.
  uint32_t TakeEntry(Time now) {
    const bool is_full = entries_.size() == capacity_;
    if (oldest_ != kNone && (is_full || HasAged(entries_[oldest_], now))) {
      const uint32_t e = oldest_;
      if (!HasAged(entries_[e], now)) ++evictions_;
      Unlink(e);
      Erase(PlaceOf(entries_[e].key));
      return e;
    }
    entries_.Add();
    used_ = entries_.size();
    return static_cast<uint32_t>(entries_.size() - 1);
  }

  void Unlink(uint32_t e) {
    const Entry& entry = entries_[e];
    (entry.older == kNone ? oldest_ : entries_[entry.older].newer) = entry.newer;
    (entry.newer == kNone ? newest_ : entries_[entry.newer].older) = entry.older;
  }
  void LinkNewest(uint32_t e) {
    entries_[e].older = newest_;
    entries_[e].newer = kNone;
    (newest_ == kNone ? oldest_ : entries_[newest_].newer) = e;
    newest_ = e;
  }

  // --- Open addressing with linear probing; at most half of the index is taken ---

  size_t mask() const { return index_.size() - 1; }
  size_t Home(uint64_t key) const { return static_cast<size_t>(Mix64(key)) & mask(); }

  // Where in the index the key is, or would be.
  size_t PlaceOf(uint64_t key) const {
    size_t i = Home(key);
    while (index_[i] != kNone && entries_[index_[i]].key != key) i = (i + 1) & mask();
    return i;
  }

  void Erase(size_t hole) {
    // Pull back what probing would no longer find across the hole.
    for (size_t i = (hole + 1) & mask(); index_[i] != kNone; i = (i + 1) & mask()) {
      const size_t distance = (i - Home(entries_[index_[i]].key)) & mask();
      if (distance >= ((i - hole) & mask())) {
        index_[hole] = index_[i];
        hole = i;
      }
    }
    index_[hole] = kNone;
  }

  const Duration age_;
  const bool is_shared_;
  const size_t capacity_;
  FixedVector<Entry> entries_;
  std::vector<uint32_t> index_;  // From the hash of a key to its entry; empty if shared.
  uint32_t oldest_ = kNone;
  uint32_t newest_ = kNone;
  size_t used_ = 0;
  int64_t evictions_ = 0;
};

}  // namespace heddle
