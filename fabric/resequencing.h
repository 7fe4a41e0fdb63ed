// SPDX-License-Identifier: Apache-2.0
// Statistics of a host that resequences arriving data packets: it holds packets that arrive out of
// order and hands them up in order. The transport counts them, and results read them after the run.

#pragma once

#include <cstdint>

#include "core/histogram.h"

namespace heddle {

// The statistics of one host over the whole run. Bytes are counted as in buffers.
struct ResequencingStats {
  int64_t packets = 0;  // Data packets that have arrived.
  int64_t held = 0;     // Data packets that had to wait.
  int64_t waiting = 0;  // Data packets that still wait.
  int64_t late = 0;     // Packets behind a segment already handed up, and second copies.
  Histogram hold_ps;    // The waiting times of packets that have been handed up.
  int64_t max_packets = 0;
  int64_t max_bytes = 0;
  int64_t flow_max_packets = 0;  // The most that one flow held.
  int64_t flow_max_bytes = 0;
  double byte_ps = 0;     // Bytes held, summed over time.
  int64_t timeouts = 0;   // Holes that the host gave up waiting for.
  int64_t overflows = 0;  // Flows that handed up all they held because the buffer was full.
  int64_t evictions = 0;  // Flows that left a table to make room for another.

  void Merge(const ResequencingStats& other);
};

}  // namespace heddle
