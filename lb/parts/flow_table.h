// SPDX-License-Identifier: Apache-2.0
// A policy's state for each flow, in a table of fixed size, as in a switch. A flow is a 5-tuple, so
// the two directions of a connection are two flows. A policy calls Touch() for each packet; a flow
// without a packet for longer than the age is forgotten. By default flows never share an entry, and
// a new flow without room replaces one that has long had no packet (lb/parts/flow_sets.h). With
// `bits`, the hash of the 5-tuple selects the entry, as in hardware, and flows that collide share
// it.
//
// Every operation is O(1) on average. Only entries that flows have used take memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/packet.h"
#include "core/random.h"
#include "core/sparse_rows.h"
#include "core/units.h"
#include "lb/parts/flow_key.h"
#include "lb/parts/flow_sets.h"
#include "settings/fields.h"

namespace heddle {

struct FlowTableSettings {
  int64_t entries = 65'536;
  std::optional<int64_t> bits = {};
  Duration age;

  void Declare(Fields& fields) {
    fields.Add("table_entries", entries, Between<int64_t>(1, 1 << 24),
               "Flows that a node remembers, in sets of 8. A new flow whose set is full replaces "
               "the flow of this set that has been idle longest; table_evictions counts these.");
    fields.AddOr(
        "none", "table_bits", bits, Between<int64_t>(0, 24),
        "Instead of table_entries: a table with 2 to the power of this entries, indexed by the "
        "hash of the 5-tuple, where colliding flows share an entry. none: flows share no entry.");
    fields.Add("table_age", age, {.above = Duration{0}, .at_most = 1000_s},
               "A flow that has been idle for longer is forgotten.");
  }
};

template <class State>
class AgedFlowTable {
 public:
  using Found = FlowSets<State>::Found;

  explicit AgedFlowTable(const FlowTableSettings& settings)
      : age_(settings.age),
        own_(settings.bits ? 1 : static_cast<size_t>(settings.entries), settings.age),
        shared_(settings.bits ? size_t{1} << *settings.bits : 0, 1) {}

  // Returns the state of the packet's flow, and notes that it was seen now. Times never decrease.
  Found Touch(const Packet& packet, Time now) {
    if (is_shared()) {
      return TouchShared(*shared_[SlotOf(packet)], now, [](const State&, Time) { return false; });
    }
    return own_.Touch(FlowKey(packet), now);
  }
  // The same, but a flow that has been silent since `last`, longer than the age, is still known if
  // `holds(state, last)` returns true.
  template <class Holds>
  Found Touch(const Packet& packet, Time now, const Holds& holds) {
    if (is_shared()) return TouchShared(*shared_[SlotOf(packet)], now, holds);
    return own_.Touch(FlowKey(packet), now, holds);
  }

  // Prefetches the entry that Touch(packet) reads first.
  [[gnu::always_inline]] void Prefetch(const Packet& packet) const {
    if (!is_shared()) return own_.Prefetch(FlowKey(packet));
    __builtin_prefetch(shared_.Guess(SlotOf(packet)));
  }

  // The same without noting anything; null if the flow is not known.
  const State* Find(const Packet& packet, Time now) const { return FindSince(packet, now - age_); }
  // Returns null if the flow has been silent since `since`, or its entry was reused.
  const State* FindSince(const Packet& packet, Time since) const {
    if (!is_shared()) return own_.FindSince(FlowKey(packet), since);
    const Shared* const entry = shared_.Find(SlotOf(packet));
    return entry == nullptr || entry->last < since ? nullptr : &entry->state;
  }

  // The most entries in use at once; with shared entries, all that have ever been used.
  size_t used() const { return is_shared() ? shared_.used() : own_.most(); }
  // Flows whose entries were reused within the age.
  int64_t evictions() const { return own_.evictions(); }
  size_t capacity() const { return is_shared() ? shared_.rows() : own_.capacity(); }
  size_t memory_bytes() const { return is_shared() ? shared_.memory_bytes() : own_.memory_bytes(); }

 private:
  struct Shared {
    Time last{-kNever.ps};
    State state = {};
  };

  size_t SlotOf(const Packet& packet) const {
    return static_cast<size_t>(Mix64(packet.tuple_hash) & (shared_.rows() - 1));
  }
  bool is_shared() const { return shared_.rows() > 0; }

  template <class Holds>
  Found TouchShared(Shared& entry, Time now, const Holds& holds) {
    const bool is_new = now - entry.last > age_ && !holds(entry.state, entry.last);
    if (is_new) entry.state = State{};
    entry.last = now;
    return {entry.state, is_new};
  }

  const Duration age_;
  FlowSets<State> own_;        // Used unless flows share entries.
  SparseRows<Shared> shared_;  // Used if they do.
};

}  // namespace heddle
