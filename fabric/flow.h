// SPDX-License-Identifier: Apache-2.0
// A flow: one message from one host to another, what is asked for and what became of it.

#pragma once

#include <cstdint>

#include "core/packet.h"
#include "core/random.h"
#include "core/units.h"
#include "fabric/reordering.h"

namespace heddle {

// Of the 5-tuple; TCP and UDP flows between the same ports do not occur together.
constexpr uint32_t TupleHash(HostId src, HostId dst, uint16_t sport, uint16_t dport) {
  return static_cast<uint32_t>(
      Mix64(uint64_t{src} << 48 | uint64_t{dst} << 32 | uint64_t{sport} << 16 | dport) >> 32);
}

// What the workload asks for.
struct FlowSpec {
  FlowId id = 0;
  HostId src = 0;
  HostId dst = 0;
  uint16_t sport = 0;
  uint16_t dport = 0;
  uint16_t workload = 0;  // Index of the workload entry it comes from.
  uint16_t size_class = 0;
  bool measured = true;  // Counts in the statistics.
  uint32_t job = 0;      // Of an incast query, from 1; 0: of none.
  int64_t size = 1;      // Payload bytes, at least 1.
  Time start;
};

// What the sender knows once its last byte is acknowledged.
struct SenderRecord {
  Time done = kNever;        // The acknowledgement that covers the last byte has been processed.
  int64_t packets = 0;       // Segments of the flow.
  int64_t packets_sent = 0;  // Transmissions of data packets.
  int64_t retransmissions = 0;
  int64_t retransmissions_spurious = 0;  // The latest copy had not been dropped.
  int64_t retransmissions_loss = 0;      // It had.
  int32_t timeouts = 0;
  int32_t fast_retransmits = 0;          // Entries into fast retransmit.
  int32_t fast_retransmits_reorder = 0;  // Those for a segment that had not been dropped.
  int32_t nacks = 0;                     // That arrived here; of RoCE,
  int32_t cnps = 0;                      // like these, as packets or in ACKs and NACKs.
  Duration pause_blocked{0};             // It could have sent, had its class not been paused.
};

// What the receiver knows.
struct ReceiverRecord {
  Time done = kNever;   // All bytes are there.
  int64_t packets = 0;  // Data packets received, duplicates included.
  int64_t duplicates = 0;
  int64_t discarded = 0;  // Out of order, by a receiver that takes packets in order only.
  int64_t ce_marked = 0;
  int64_t max_out_of_order_bytes = 0;  // The most bytes held beyond a hole.
  int64_t reordered_net = 0;           // RFC 4737 reordered, in the order of transmission.
  int64_t reordered_seq = 0;           // RFC 4737 reordered, first arrivals by sequence number.
  int32_t max_extent = 0;
  int32_t max_degree = 0;
  int32_t paths_used = 0;
  int32_t path_switches = 0;  // Those that came another way than the one before; late ones aside.
  int32_t hops = 0;           // Links crossed by the first data packet.
};

struct FlowRecord {
  FlowSpec spec;
  SenderRecord sender;
  ReceiverRecord receiver;
};

// Where finished flows go. One for each thread; called by the nodes that it runs.
class FlowLog {
 public:
  virtual ~FlowLog() = default;

  // The sender of `spec` has all its bytes acknowledged.
  virtual void SenderDone(const FlowSpec& spec, Time done) = 0;

  // All is known of a flow.
  virtual void Add(const FlowRecord& record) = 0;

  // A sender entered fast retransmit at `at`, for a segment that had been dropped or had not. Told
  // when that has become known, which is not in the order of time.
  virtual void FastRetransmit(Time at, bool dropped) = 0;

  // Where the reordered packets of flows of this size class are counted.
  virtual ReorderingStats& Reordering(uint16_t size_class) = 0;
};

}  // namespace heddle
