// SPDX-License-Identifier: Apache-2.0
// The receiving half of an MP-RDMA queue pair (Lu et al., NSDI 2018, section 4). It places packets
// within a bitmap of 64 beyond the one expected, drops others, and answers each packet on its
// virtual path.
//
// An ACK or a NACK has in Packet::seq the packet expected next (AACK), in nack.trigger the packet
// that it answers, and repeats that packet's entropy, CE mark and kRetransmission.

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/packet.h"
#include "fabric/flow.h"
#include "fabric/host.h"
#include "transport/rdma/mprdma_settings.h"
#include "transport/receiver_log.h"

namespace heddle {

class MpRdmaReceiver {
 public:
  // Expects `spec`. The slot may have held another flow before.
  void Open(const FlowSpec& spec, Host& host, const MpRdmaShared& shared);

  void OnArrival(const Packet& data) { log_.Observe(data); }
  void OnData(const Packet& data);
  bool Refuses(const Packet& data) const {
    return data.seq >= expected_ + static_cast<uint32_t>(MpRdmaSettings::kBitmap);
  }
  void OnTimer() {}

  void OnFlowEnded(const FlowEnded& ended) { log_.OnFlowEnded(ended); }
  const FlowRecord& record() const { return log_.record(); }

  FlowId id() const { return record().spec.id; }
  size_t memory_bytes() const { return log_.memory_bytes(); }

 private:
  bool Has(uint32_t packet) const {
    return packet < expected_ || (bitmap_ >> (packet - expected_) & 1) != 0;
  }
  void Place(const Packet& data);
  void AskOnce(const Packet& data);
  void Answer(const Packet& data, PacketKind kind);

  uint32_t expected_ = 0;  // All packets below have arrived.
  uint32_t packets_ = 0;
  uint64_t bitmap_ = 0;      // Bit i: packet expected_ + i has arrived.
  int64_t bytes_ahead_ = 0;  // The payload of those beyond.
  bool nacked_ = false;      // The expected packet has been asked for.
  uint32_t tuple_hash_ = 0;  // The hash of packets sent back.
  Host* host_ = nullptr;
  const MpRdmaShared* shared_ = nullptr;
  ReceiverLog log_;
};

}  // namespace heddle
