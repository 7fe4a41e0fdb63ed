// SPDX-License-Identifier: Apache-2.0
// The packets that a receiving host holds back: for each flow by segment, and in the order in which
// they came. Flows are named by the slots of their receivers. Memory grows to what has been needed
// at once and is used again, by the same flow and by later ones.

#pragma once

#include <absl/numeric/int128.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/resequencing.h"
#include "transport/index_list.h"

namespace heddle {

struct HoldLimits {
  int64_t flow_packets = std::numeric_limits<int64_t>::max();
  int64_t host_bytes = std::numeric_limits<int64_t>::max();  // As buffered.
};

class HoldBuffer {
 public:
  // No flow holds segments further apart than this.
  static constexpr uint32_t kReach = 65'536;

  explicit HoldBuffer(const HoldLimits& limits) : limits_(limits) {}

  // A flow begins at `slot`; one that was there before must hold nothing.
  void Open(uint32_t slot);

  bool Fits(uint32_t slot, const Packet& packet) const;

  // Holds a copy of `packet`, which has just arrived and fits. It may be the second of a segment.
  void Insert(uint32_t slot, const Packet& packet);

  bool Holds(uint32_t slot) const { return flows_[slot].packets > 0; }

  // Of a flow that holds something: its lowest segment, first come first.
  const Packet& Front(uint32_t slot) const { return held_[PlaceOf(flows_[slot])].packet; }
  Packet TakeFront(uint32_t slot, Time now);

  // The one that came first of all that it holds.
  Time OldestArrival(uint32_t slot) const {
    return held_[flows_[slot].by_arrival.first()].packet.arrival;
  }

  // The first copy of a segment; null if it is not held.
  const Packet* Find(uint32_t slot, uint32_t segment) const;

  // Writes what concerns holding.
  void Report(Time end, ResequencingStats& stats) const;

  size_t memory_bytes() const;

 private:
  static constexpr uint32_t kNone = IndexList::kNone;

  struct Held {
    Packet packet;
    uint32_t next = kNone;  // A later copy of the segment; of a place that is free, the next such.
    IndexList::Link link;   // By arrival.
  };
  struct Flow {
    std::vector<uint32_t> ring;  // By segment, a power of two of them: into held_, or kNone.
    uint32_t first = 0;          // If it holds something: its lowest segment,
    uint32_t end = 0;            // and one past its highest.
    int64_t packets = 0;
    int64_t bytes = 0;
    IndexList by_arrival;

    uint32_t& At(uint32_t segment) { return ring[segment & (ring.size() - 1)]; }
    uint32_t At(uint32_t segment) const { return ring[segment & (ring.size() - 1)]; }
  };

  uint32_t PlaceOf(const Flow& flow) const { return flow.At(flow.first); }
  uint32_t TakePlace(const Packet& packet);
  void Widen(Flow& flow, uint32_t first, uint32_t end);
  void Count(Flow& flow, int64_t packets, int64_t bytes, Time now);

  const HoldLimits limits_;
  std::vector<Held> held_;
  uint32_t free_ = kNone;
  std::vector<Flow> flows_;  // By slot.

  int64_t packets_ = 0;  // Of all flows.
  int64_t bytes_ = 0;
  Time counted_;               // Until when byte_ps_ is known.
  absl::uint128 byte_ps_ = 0;  // 1 GB over an hour is 3.6e24.
  ResequencingStats stats_;
};

}  // namespace heddle
