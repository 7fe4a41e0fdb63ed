// SPDX-License-Identifier: Apache-2.0
// The flows that have packets in one egress queue, and those notified that they congest it. Schemes
// that treat such flows separately (FLB, TDLB) call Enter() and Leave() for each data packet, and
// BeginEpisode() and EndEpisode() when the queue becomes long and short.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/packet.h"
#include "core/units.h"
#include "lb/parts/expiring_table.h"
#include "lb/parts/flow_key.h"

namespace heddle {

// Returns true for the packets that make a queue long; all others are small.
inline bool IsData(const Packet& packet) {
  return packet.kind == PacketKind::kData || packet.kind == PacketKind::kDatagram;
}

class QueueFlows {
 public:
  struct Flow {
    uint32_t tuple_hash = 0;
    HostId dst = 0;
    uint16_t path = 0;         // The path of its latest packet.
    uint16_t packets = 0;      // In the queue.
    uint16_t told = 0;         // The number of flows that its last notice gave.
    uint16_t most_told = 0;    // The largest number that a notice gave it.
    bool is_notified = false;  // It had a notice in this episode of congestion.
    Time told_at;              // When it had its last notice.
  };

  explicit QueueFlows(size_t flows) : flows_(flows) {}

  static FlowId FlowOf(uint64_t key) { return static_cast<FlowId>(key >> 16); }
  static HostId SourceOf(uint64_t key) { return static_cast<HostId>(key & 0xffff); }

  // Notes that a packet was queued. Calls `gone(key, flow)` for the flow that makes room, if any.
  template <class Gone>
  Flow& Enter(const Packet& packet, Time now, const Gone& gone) {
    const auto touched = flows_.Touch(FlowKey(packet), now, [&](uint64_t key, const Flow& flow) {
      if (flow.packets > 0) --distinct_;
      gone(key, flow);
    });
    if (touched.state.packets++ == 0) most_ = std::max(most_, ++distinct_);
    Flow& flow = touched.state;
    flow.tuple_hash = packet.tuple_hash;
    flow.dst = packet.dst;
    flow.path = packet.taken;
    return flow;
  }

  void Leave(const Packet& packet) {
    Flow* flow = flows_.Find(FlowKey(packet));
    if (flow == nullptr || flow->packets == 0) return;
    if (--flow->packets > 0) return;
    --distinct_;
    if (!flow->is_notified) flows_.Erase(FlowKey(packet));
  }

  // Flows with packets in the queue; packets lost with a link are still counted.
  uint16_t distinct() const { return distinct_; }
  // The most flows since the episode began.
  uint16_t most() const { return most_; }

  // Calls `visit(key, flow)` for all flows that are in the queue or have been notified.
  template <class Visit>
  void ForEach(const Visit& visit) {
    flows_.ForEach(visit);
  }

  // Called when the queue has become long.
  void BeginEpisode() {
    is_congested = true;
    most_ = distinct_;
  }

  // Called when the queue is short again: forgets which flows were notified.
  void EndEpisode() {
    is_congested = false;
    flows_.ForEach([](uint64_t, Flow& flow) {
      flow.is_notified = false;
      flow.most_told = 0;
    });
    flows_.EraseIf([](uint64_t, const Flow& flow) { return flow.packets == 0; });
  }

  // Called when the queue is empty.
  void Empty() {
    flows_.EraseIf([](uint64_t, Flow& flow) {
      flow.packets = 0;
      return !flow.is_notified;
    });
    distinct_ = 0;
  }

  int64_t evictions() const { return flows_.evictions(); }
  size_t memory_bytes() const { return flows_.memory_bytes(); }

  bool is_congested = false;
  Time reviewed{-kNever.ps};  // When all flows were last checked for a new notice.

 private:
  ExpiringTable<Flow> flows_;
  uint16_t distinct_ = 0;
  uint16_t most_ = 0;
};

}  // namespace heddle
