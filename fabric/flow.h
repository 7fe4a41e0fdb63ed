// SPDX-License-Identifier: Apache-2.0
// A flow is one message from one host to another. The workload makes its FlowSpec, sender and
// receiver fill in its records, and a FlowLog receives the records of finished flows.

#pragma once

#include <cstdint>

#include "core/packet.h"
#include "core/random.h"
#include "core/units.h"
#include "fabric/reordering.h"

namespace heddle {

// Hashes the 5-tuple. TCP and UDP flows never use the same ports together, so the protocol is left
// out.
constexpr uint32_t TupleHash(HostId src, HostId dst, uint16_t sport, uint16_t dport) {
  return static_cast<uint32_t>(
      Mix64(uint64_t{src} << 48 | uint64_t{dst} << 32 | uint64_t{sport} << 16 | dport) >> 32);
}

// Any NIC of a host; see FlowSpec.
constexpr uint8_t kAnyNic = 255;
constexpr uint8_t kFreestNic = 254;  // For each packet the NIC that can send it first.
// The number of no lane: the load balancer chooses the path of the flow by itself.
inline constexpr uint16_t kNoLane = 0xffff;

// A flow as the workload requests it.
struct FlowSpec {
  FlowId id = 0;
  HostId src = 0;
  HostId dst = 0;
  uint16_t sport = 0;
  uint16_t dport = 0;
  uint16_t workload = 0;  // Index of the workload entry it comes from.
  uint16_t size_class = 0;
  bool measured = true;  // Counts in the statistics.
  // The NICs of hosts with several that data leave through at the source, and answers at the
  // destination, wherever routes allow it; kAnyNic: a hash chooses.
  uint8_t src_nic = kAnyNic;
  uint8_t dst_nic = kAnyNic;
  uint16_t lane = kNoLane;  // The path that a workload has planned it for, counted from 0 (not a
                            // Lane of a NIC).
  uint32_t job = 0;   // Number of the flow's incast query or closed-loop job, from 1; 0: none.
  uint32_t iter = 0;  // The job's iteration.
  uint32_t step = 0;  // The step of the iteration's schedule.
  int64_t size = 1;   // Payload bytes, at least 1.
  Time start;
};

// The sender's part of the record. It is complete once the last byte is acknowledged.
struct SenderRecord {
  Time done = kNever;        // The acknowledgement that covers the last byte has been processed.
  int64_t packets = 0;       // Segments of the flow.
  int64_t packets_sent = 0;  // Transmissions of data packets.
  int64_t retransmissions = 0;
  int64_t retransmissions_spurious = 0;  // The latest copy was not dropped.
  int64_t retransmissions_loss = 0;      // The latest copy was dropped.
  int32_t timeouts = 0;
  int32_t fast_retransmits = 0;          // Entries into fast retransmit.
  int32_t fast_retransmits_reorder = 0;  // Entries for a segment that had not been dropped.
  int32_t nacks = 0;                     // RoCE: NACKs that arrived at the sender.
  int32_t cnps = 0;           // RoCE: CNPs that arrived, as packets or in ACKs and NACKs.
  Duration pause_blocked{0};  // Time in which only PFC kept it from sending.
};

// The receiver's part of the record.
struct ReceiverRecord {
  Time done = kNever;   // When all bytes have arrived.
  int64_t packets = 0;  // Data packets received, duplicates included.
  int64_t duplicates = 0;
  int64_t discarded = 0;  // Out-of-order packets that an in-order-only receiver discarded.
  int64_t ce_marked = 0;
  int64_t trimmed = 0;                 // Headers of trimmed packets received.
  int64_t trimmed_last_hop = 0;        // Those that the port to this host had cut.
  int64_t max_out_of_order_bytes = 0;  // The most bytes held beyond a hole.
  int64_t reordered_net = 0;           // RFC 4737 reordered, in the order of transmission.
  int64_t reordered_seq = 0;           // RFC 4737 reordered, first arrivals by sequence number.
  int32_t max_extent = 0;
  int32_t max_degree = 0;
  int32_t paths_used = 0;
  int32_t path_switches = 0;  // Packets on another path than the packet before; late ones aside.
  int32_t hops = 0;           // Links crossed by the first data packet.
};

struct FlowRecord {
  ReceiverRecord receiver;  // First: every packet that arrives touches it, see ReceiverLog.
  FlowSpec spec;
  SenderRecord sender;
};

// Receives finished flows. Each thread has one log, which the hosts of that thread call.
class FlowLog {
 public:
  virtual ~FlowLog() = default;

  // A message of a closed-loop workload has started, which no one knew before.
  virtual void MessageStarted(const FlowSpec& /*spec*/) {}

  // All bytes of `spec` have been acknowledged to its sender.
  virtual void SenderDone(const FlowSpec& spec, Time done) = 0;

  // The record of a flow is complete.
  virtual void Add(const FlowRecord& record) = 0;

  // A sender entered fast retransmit at `at`. `dropped` says whether the segment had been dropped.
  // The call comes when that is known, so calls are not in the order of time.
  virtual void FastRetransmit(Time at, bool dropped) = 0;

  // The counters for reordered packets of flows in this size class.
  virtual ReorderingStats& Reordering(uint16_t size_class) = 0;
};

}  // namespace heddle
