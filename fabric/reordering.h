// SPDX-License-Identifier: Apache-2.0
// Measures how much the network reorders the packets of a flow (RFC 4737). The receiver of a flow
// calls the tracker for every data packet that arrives.
//
// Packets are numbered in the order in which they were sent, retransmissions included; lost ones
// leave gaps and do not matter. So the result describes the paths and not the transport.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/histogram.h"
#include "core/ring.h"
#include "core/units.h"

namespace heddle {

// One reordered packet.
struct Reordered {
  int64_t extent;  // Arrivals since the first packet that overtook it (section 4.2).
  int32_t degree;  // Arrivals just before it that were all sent after it, at most 64 (section 5.4).
  Duration late;   // Time since that first arrival (section 4.3).
};

class ReorderingTracker {
 public:
  void Reset();

  // A packet has arrived, the `number`-th sent. Returns how far it was reordered, or nothing if it
  // came in order.
  std::optional<Reordered> OnArrival(uint32_t number, Time now) {
    const int64_t index = arrivals_++;
    if (number == next_expected_ && number == run_.end()) [[likely]] {
      ++next_expected_;
      ++run_.count;
      return std::nullopt;
    }
    return OnIrregularArrival(number, index, now);
  }

  size_t memory_bytes() const {
    return earlier_runs_.capacity() * sizeof(Run) + holes_.capacity() * sizeof(Hole);
  }

 private:
  // Consecutive arrivals with consecutive numbers.
  struct Run {
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t end() const { return first + count; }
  };
  // Numbers [first, end) have not arrived, but a later one has: as arrival `index`, at time `at`.
  struct Hole {
    uint32_t first;
    uint32_t end;
    int64_t index;
    Time at;
  };

  std::optional<Reordered> OnIrregularArrival(uint32_t number, int64_t index, Time now);
  void ForgetHoles(int64_t index);
  Reordered FillHole(uint32_t number, int64_t index, Time now);
  int32_t DegreeOf(uint32_t number) const;
  void Remember(uint32_t number);

  Ring<Run> earlier_runs_;   // Before run_, at most 63.
  std::vector<Hole> holes_;  // Ascending.
  size_t forget_at_ = 64;    // ForgetHoles() looks for old holes from this many on.
  Time forgotten_until_;     // When the newest hole removed from holes_ opened.

  // Touched by every packet. Last, as ReceiverLog's members that every packet touches come behind.
  uint32_t next_expected_ = 0;
  Run run_;  // The latest arrivals; empty before the first.
  int64_t arrivals_ = 0;
};

// The reordered packets of many flows.
struct ReorderingStats {
  int64_t degree1 = 0;
  int64_t degree2 = 0;
  int64_t degree3_plus = 0;  // Causes three duplicate ACKs if every packet is acknowledged.
  Histogram extent;
  Histogram late_ps;
  // How far a packet's sequence number lay behind the highest one that had arrived before it. This
  // is the reordering that the transport sees.
  Histogram behind;

  void Add(const Reordered& packet);
  void Merge(const ReorderingStats& other);
};

}  // namespace heddle
