// SPDX-License-Identifier: Apache-2.0
// Settings of the ports and queues that tests of queued ports have in common.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/units.h"
#include "fabric/fifo_port.h"
#include "fabric/queued_port.h"

namespace heddle {

inline constexpr Duration kDelay = 1_us;

// Pairs: marks are decided at dequeue (true) or enqueue, and the departing packet counts (true).
inline constexpr std::pair<bool, bool> kMarkAt[] = {{false, false}, {true, false}, {true, true}};

inline PortSettings Port(BitRate rate, Bytes overhead = 0_B, bool count_packets = false) {
  return {.rate = rate, .delay = kDelay, .wire_overhead = overhead, .count_packets = count_packets};
}

inline QueueSettings Queues(uint8_t classes, Scheduler scheduler, Marking marking = {}) {
  QueueSettings queues{.classes = classes, .scheduler = scheduler, .marking = marking};
  for (size_t cls = 0; cls < kClasses; ++cls) {
    queues.quantum[cls] = 500 + 700 * static_cast<int64_t>(cls);
  }
  return queues;
}

}  // namespace heddle
