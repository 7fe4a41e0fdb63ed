// SPDX-License-Identifier: Apache-2.0
// The receiving half of an Ultra Ethernet connection: it places packets in any order, and
// acknowledges several of them at once.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/packet.h"
#include "core/random.h"
#include "fabric/flow.h"
#include "fabric/host.h"
#include "transport/receiver_log.h"
#include "transport/segment_set.h"
#include "transport/uet/uet_pacer.h"
#include "transport/uet/uet_settings.h"

namespace heddle {

class UetReceiver {
 public:
  // The most packets beyond the one expected that it places.
  static constexpr uint32_t kWindow = 1 << 14;

  // Expects `spec`. The slot may have held another flow before.
  void Open(const FlowSpec& spec, Host& host, const UetShared& shared);

  void OnArrival(const Packet& data) { log_.Observe(data); }
  void OnData(const Packet& data);
  bool Refuses(const Packet& data) const { return data.seq >= expected_ + kWindow; }
  // The header of a trimmed packet has arrived.
  void OnTrimmed(const Packet& header);
  void OnProbe(const Packet& probe);
  // A request to send has arrived: a packet number without data.
  void OnRts(const Packet& rts);
  void OnTimer() {}

  // With credit: the host's pacer calls SendPull() when it has granted some.
  UetDemand& demand() { return demand_; }
  bool is_complete() const { return record().receiver.done != kNever; }
  void SendPull();

  void OnFlowEnded(const FlowEnded& ended) { log_.OnFlowEnded(ended); }
  const FlowRecord& record() const { return log_.record(); }

  FlowId id() const { return record().spec.id; }
  size_t memory_bytes() const {
    return ahead_.memory_bytes() + rts_.capacity() * sizeof(uint32_t) + log_.memory_bytes();
  }

 private:
  static constexpr uint32_t kNone = ~0u;

  bool Has(uint32_t packet) const { return packet < expected_ || ahead_.Contains(packet); }
  void Take(const Packet& packet, int64_t payload);
  void Place(uint32_t number, int64_t payload);
  void AdvanceTo(uint32_t expected);
  int64_t PayloadInOrder() const;
  void Acknowledge(const Packet& data, bool names_trigger);
  Packet& NewControl(PacketKind kind, const Packet& cause);

  uint32_t expected_ = 0;      // All packets below have arrived.
  SegmentSet ahead_;           // Packets beyond.
  int64_t payload_ = 0;        // Of all packets that have arrived.
  uint32_t short_ = kNone;     // The last data packet, if it has arrived and is not full.
  std::vector<uint32_t> rts_;  // Requests to send beyond `expected_`, sorted,
  uint32_t rts_below_ = 0;     // and the number of those below.
  int64_t accepted_ = 0;       // Bytes since the last ACK, headers included.
  bool wants_end_ = false;     // An ACK was asked for since packets were last out of order.
  UetDemand demand_;
  uint32_t tuple_hash_ = 0;  // The hash of packets sent back.
  Host* host_ = nullptr;
  const UetShared* shared_ = nullptr;
  ReceiverLog log_;
};

}  // namespace heddle
