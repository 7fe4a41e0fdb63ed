// SPDX-License-Identifier: Apache-2.0
// The parts that the senders of all transports share.

#pragma once

#include <cstdint>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/host.h"
#include "transport/flow_timers.h"

namespace heddle {

// Fills in transmission `tx_id` of the flow: segment `seq` with `payload` bytes of the flow,
// `bytes` in buffers, which leaves at `now`.
inline void FillData(Packet& packet, const HostFlow& flow, Time now, uint32_t seq, uint32_t tx_id,
                     int64_t payload, int64_t bytes) {
  packet.sent = now;
  packet.flow = flow.id;
  packet.tuple_hash = flow.tuple_hash;
  packet.seq = seq;
  packet.src = flow.src;
  packet.dst = flow.dst;
  packet.bytes = static_cast<uint16_t>(bytes);
  packet.data.tx_id = tx_id;
  packet.data.payload = static_cast<uint16_t>(payload);
}

// Ends the sending half of a flow, when all its data has been acknowledged: sets the timer at which
// all its drops are known, and tells the host's balancer and application.
inline void EndFlow(Host& host, HostFlow& flow, Duration close_delay) {
  host.SetTimer(host.now() + close_delay / 2, TimerKey(FlowTimer::kSettle, flow.id));
  if (host.Wants(HostPolicy::kFlows)) host.policy().OnFlowEnd(host.view(), flow);
  host.NoteAcked(flow.id);
}

}  // namespace heddle
