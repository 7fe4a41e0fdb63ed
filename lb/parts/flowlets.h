// SPDX-License-Identifier: Apache-2.0
// Flowlets as LetFlow and CONGA detect them in hardware: a flowlet ends when its flow has sent
// nothing for longer than the flowlet gap. The hash of the 5-tuple selects a slot. Slots have no
// key, so flows that collide keep each other's flowlet alive. A policy calls Of() and HasEnded()
// for each packet, and writes the slot.

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/packet.h"
#include "core/sparse_rows.h"
#include "core/units.h"
#include "lb/parts/ties.h"
#include "settings/fields.h"

namespace heddle {

enum class FlowletDetector { kTimestamp, kAgeBit };

struct FlowletSettings {
  Duration gap = 500_us;
  int64_t slots = 65'536;
  FlowletDetector detector = FlowletDetector::kTimestamp;

  void Declare(Fields& fields) {
    fields.Add("gap", gap, {.above = Duration{0}, .at_most = 10_s},
               "Flowlet gap: a flow may change its path after an idle time longer than this. The "
               "paper has 500us at 10Gbps; 100us is common at 100Gbps.");
    fields.Add(
        "slots", slots, Between<int64_t>(1, 1 << 26),
        "Entries of each switch's flowlet table; flows that share an entry share their flowlets.");
    fields.Choice(
        "detector", detector,
        {{"timestamp", FlowletDetector::kTimestamp}, {"age_bit", FlowletDetector::kAgeBit}},
        "timestamp: a flowlet ends after exactly the gap; age_bit: as in hardware, after "
        "one to two gaps, by a periodic sweep.");
  }
};

class Flowlets {
 public:
  struct Slot {
    Time last{-kNever.ps};
    PortIndex port = kNoPort;
  };

  explicit Flowlets(const FlowletSettings& settings)
      : gap_(settings.gap),
        detector_(settings.detector),
        slots_(static_cast<size_t>(settings.slots), 1) {}

  // The reference is valid until the next call.
  Slot& Of(const Packet& packet) { return *slots_[SlotOf(packet)]; }
  [[gnu::always_inline]] void Prefetch(const Packet& packet) const {
    __builtin_prefetch(slots_.Guess(SlotOf(packet)));
  }

  bool HasEnded(const Slot& slot, Time now) const {
    if (detector_ == FlowletDetector::kTimestamp) return now - slot.last > gap_;
    // A sweep at each multiple of the gap marks an entry, and ends it if the mark of the previous
    // sweep is still there: two sweeps without a packet in between.
    return now.ps / gap_.ps - FloorOfGaps(slot.last) >= 2;
  }

  // Slots that have ever been used.
  int64_t used() const { return static_cast<int64_t>(slots_.used()); }
  size_t memory_bytes() const { return slots_.memory_bytes(); }

 private:
  // A 32-bit division, as a 64-bit one takes much longer.
  size_t SlotOf(const Packet& packet) const {
    return packet.tuple_hash % static_cast<uint32_t>(slots_.rows());
  }
  int64_t FloorOfGaps(Time at) const { return at.ps < 0 ? -2 : at.ps / gap_.ps; }

  Duration gap_;
  FlowletDetector detector_;
  SparseRows<Slot> slots_;
};

}  // namespace heddle
