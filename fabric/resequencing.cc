// SPDX-License-Identifier: Apache-2.0

#include "fabric/resequencing.h"

#include <algorithm>

namespace heddle {

void ResequencingStats::Merge(const ResequencingStats& other) {
  packets += other.packets;
  held += other.held;
  waiting += other.waiting;
  late += other.late;
  hold_ps.Merge(other.hold_ps);
  max_packets = std::max(max_packets, other.max_packets);
  max_bytes = std::max(max_bytes, other.max_bytes);
  flow_max_packets = std::max(flow_max_packets, other.flow_max_packets);
  flow_max_bytes = std::max(flow_max_bytes, other.flow_max_bytes);
  byte_ps += other.byte_ps;
  timeouts += other.timeouts;
  overflows += other.overflows;
  evictions += other.evictions;
}

}  // namespace heddle
