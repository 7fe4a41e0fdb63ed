// SPDX-License-Identifier: Apache-2.0

#include "transport/resequencing/resequencer.h"

#include <algorithm>

#include "core/check.h"

namespace heddle {

void Resequencer::Open(uint32_t slot) {
  buffer_.Open(slot);
  if (slot >= flows_.size()) flows_.resize(slot + 1);
  flows_[slot] = Flow{};
}

void Resequencer::HandUp(uint32_t slot, const Packet& packet, Time now) {
  ++handed_up_;
  Note(slot, packet);
  const bool taken = sink_.HandUp(slot, packet);
  Flow& flow = flows_[slot];
  if (!taken) [[unlikely]] {
    flow.repeated_end = std::max(flow.repeated_end, packet.seq + 1);
    return;
  }
  flow.expected = std::max(flow.expected, packet.seq + 1);
  if (packet.seq < flow.repeated_end) flow.repeated_at = now;
}

void Resequencer::HandUpLate(uint32_t slot, const Packet& packet) {
  ++handed_up_;
  ++late_;
  sink_.HandUp(slot, packet);
}

bool Resequencer::Hold(uint32_t slot, const Packet& packet) {
  if (buffer_.Fits(slot, packet)) [[likely]] {
    buffer_.Insert(slot, packet);
    return true;
  }
  ++overflows_;
  const auto is_before = [&] { return buffer_.Front(slot).seq <= packet.seq; };
  while (buffer_.Holds(slot) && is_before()) HandUpFront(slot, packet.arrival);
  HandUp(slot, packet, packet.arrival);
  HandUpAll(slot, packet.arrival);
  return false;
}

ResequencingStats Resequencer::Stats(Time end) const {
  ResequencingStats stats;
  buffer_.Report(end, stats);
  stats.packets = packets_;
  stats.late = late_;
  stats.timeouts = timeouts_;
  stats.overflows = overflows_;
  stats.evictions = evictions_;
  HEDDLE_CHECK(packets_ == handed_up_ + stats.waiting,
               "{} packets came to be put in order, but {} were handed up and {} wait", packets_,
               handed_up_, stats.waiting);
  return stats;
}

size_t Resequencer::memory_bytes() const {
  return buffer_.memory_bytes() + flows_.capacity() * sizeof(Flow);
}

}  // namespace heddle
