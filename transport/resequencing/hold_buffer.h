// SPDX-License-Identifier: Apache-2.0
// HoldBuffer stores the packets that a receiving host holds back: for each flow by segment, and in
// the order in which they came. Resequencers insert and take packets, and name a flow by its
// receiver's slot. Memory grows to the most needed at once and is used again, by the same flow and
// by later ones.

#pragma once

#include <absl/numeric/int128.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/resequencing.h"
#include "transport/resequencing/index_list.h"

namespace heddle {

struct HoldLimits {
  int64_t flow_packets = std::numeric_limits<int64_t>::max();
  int64_t host_bytes = std::numeric_limits<int64_t>::max();  // Counted as buffered.
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

  // The first copy of the flow's lowest segment; the flow must hold something.
  const Packet& Front(uint32_t slot) const { return held_[PlaceOf(flows_[slot])].packet; }
  Packet TakeFront(uint32_t slot, Time now);

  // The arrival of the packet that the flow has held for longest.
  Time OldestArrival(uint32_t slot) const {
    return held_[flows_[slot].by_arrival.first()].packet.arrival;
  }

  // The first copy of a segment; null if it is not held.
  const Packet* Find(uint32_t slot, uint32_t segment) const;

  // Writes the statistics of holding into `stats`.
  void Report(Time end, ResequencingStats& stats) const;

  size_t memory_bytes() const;

 private:
  static constexpr uint32_t kNone = IndexList::kNone;

  struct Held {
    Packet packet;
    uint32_t next = kNone;  // A later copy of the segment; in a free place, the next free place.
    IndexList::Link link;   // In the flow's by_arrival.
  };
  struct Flow {
    std::vector<uint32_t> ring;  // Index into held_ or kNone, by segment modulo a power of two.
    uint32_t first = 0;          // The lowest segment held,
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

  int64_t packets_ = 0;  // Packets of all flows.
  int64_t bytes_ = 0;
  Time counted_;               // The time until which byte_ps_ is known.
  absl::uint128 byte_ps_ = 0;  // 1 GB over an hour is 3.6e24.
  ResequencingStats stats_;
};

}  // namespace heddle
