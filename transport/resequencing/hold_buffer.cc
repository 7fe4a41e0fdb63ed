// SPDX-License-Identifier: Apache-2.0

#include "transport/resequencing/hold_buffer.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/check.h"

namespace heddle {

void HoldBuffer::Open(uint32_t slot) {
  if (slot >= flows_.size()) flows_.resize(slot + 1);
  HEDDLE_CHECK(!Holds(slot), "{} packets of a flow that has ended are held", flows_[slot].packets);
}

bool HoldBuffer::Fits(uint32_t slot, const Packet& packet) const {
  const Flow& flow = flows_[slot];
  if (flow.packets >= limits_.flow_packets) return false;
  if (packet.bytes > limits_.host_bytes - bytes_) return false;
  if (flow.packets == 0) return true;
  return std::max(flow.end, packet.seq + 1) - std::min(flow.first, packet.seq) <= kReach;
}

void HoldBuffer::Insert(uint32_t slot, const Packet& packet) {
  Flow& flow = flows_[slot];
  const uint32_t segment = packet.seq;
  const bool first = flow.packets == 0;
  Widen(flow, first ? segment : std::min(flow.first, segment),
        first ? segment + 1 : std::max(flow.end, segment + 1));
  const uint32_t place = TakePlace(packet);
  uint32_t* link = &flow.At(segment);
  while (*link != kNone) link = &held_[*link].next;
  *link = place;
  flow.by_arrival.PushBack(
      place, [this](uint32_t i) -> auto& { return held_[i].link; });
  ++stats_.held;
  Count(flow, 1, packet.bytes, packet.arrival);
}

Packet HoldBuffer::TakeFront(uint32_t slot, Time now) {
  Flow& flow = flows_[slot];
  const uint32_t place = PlaceOf(flow);
  Held& held = held_[place];
  flow.by_arrival.Remove(
      place, [this](uint32_t i) -> auto& { return held_[i].link; });
  flow.At(flow.first) = held.next;
  held.next = std::exchange(free_, place);
  stats_.hold_ps.Add((now - held.packet.arrival).ps);
  Count(flow, -1, -int64_t{held.packet.bytes}, now);
  while (flow.packets > 0 && PlaceOf(flow) == kNone) ++flow.first;
  return held.packet;
}

const Packet* HoldBuffer::Find(uint32_t slot, uint32_t segment) const {
  const Flow& flow = flows_[slot];
  if (flow.packets == 0 || segment < flow.first || segment >= flow.end) return nullptr;
  const uint32_t place = flow.At(segment);
  return place == kNone ? nullptr : &held_[place].packet;
}

uint32_t HoldBuffer::TakePlace(const Packet& packet) {
  if (free_ == kNone) {
    free_ = static_cast<uint32_t>(held_.size());
    held_.emplace_back();
  }
  Held& held = held_[free_];
  const uint32_t place = std::exchange(free_, held.next);
  held.packet = packet;
  held.next = kNone;
  return place;
}

// The flow's segments lie in [first, end) from now on; each has a place of its own in the ring.
void HoldBuffer::Widen(Flow& flow, uint32_t first, uint32_t end) {
  if (end - first > flow.ring.size()) {
    std::vector<uint32_t> grown(std::bit_ceil(std::max(end - first, uint32_t{8})), kNone);
    for (uint32_t s = flow.first; flow.packets > 0 && s < flow.end; ++s) {
      grown[s & (grown.size() - 1)] = flow.At(s);
    }
    flow.ring = std::move(grown);
  }
  flow.first = first;
  flow.end = end;
}

void HoldBuffer::Count(Flow& flow, int64_t packets, int64_t bytes, Time now) {
  byte_ps_ +=
      absl::uint128(static_cast<uint64_t>(bytes_)) * static_cast<uint64_t>((now - counted_).ps);
  counted_ = now;
  packets_ += packets;
  bytes_ += bytes;
  flow.packets += packets;
  flow.bytes += bytes;
  stats_.max_packets = std::max(stats_.max_packets, packets_);
  stats_.max_bytes = std::max(stats_.max_bytes, bytes_);
  stats_.flow_max_packets = std::max(stats_.flow_max_packets, flow.packets);
  stats_.flow_max_bytes = std::max(stats_.flow_max_bytes, flow.bytes);
}

void HoldBuffer::Report(Time end, ResequencingStats& stats) const {
  stats.Merge(stats_);
  stats.waiting += packets_;
  const absl::uint128 rest =
      absl::uint128(static_cast<uint64_t>(bytes_)) * static_cast<uint64_t>((end - counted_).ps);
  stats.byte_ps += static_cast<double>(byte_ps_ + rest);
}

size_t HoldBuffer::memory_bytes() const {
  size_t bytes = held_.capacity() * sizeof(Held) + flows_.capacity() * sizeof(Flow);
  for (const Flow& flow : flows_) bytes += flow.ring.capacity() * sizeof(uint32_t);
  return bytes;
}

}  // namespace heddle
