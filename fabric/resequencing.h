// SPDX-License-Identifier: Apache-2.0
// What a host's resequencing of arriving data packets came to.

#pragma once

#include <cstdint>

#include "core/histogram.h"

namespace heddle {

// Of one host, over the whole run; bytes are as buffered.
struct ResequencingStats {
  int64_t packets = 0;  // Data packets that have arrived.
  int64_t held = 0;     // Those of them that had to wait,
  int64_t waiting = 0;  // and that still do.
  int64_t late = 0;     // That came when a later segment had been handed up, or as a second copy.
  Histogram hold_ps;    // How long packets have waited, of those that do not any more.
  int64_t max_packets = 0;
  int64_t max_bytes = 0;
  int64_t flow_max_packets = 0;  // Of one flow.
  int64_t flow_max_bytes = 0;
  double byte_ps = 0;     // Bytes held, summed over time.
  int64_t timeouts = 0;   // Holes given up.
  int64_t overflows = 0;  // Flows that handed up all they held, as there was no room for more.
  int64_t evictions = 0;  // Flows that left a table to make room for another.

  void Merge(const ResequencingStats& other);
};

}  // namespace heddle
