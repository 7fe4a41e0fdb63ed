// SPDX-License-Identifier: Apache-2.0
// The receiving half of a RoCEv2 queue pair. For each packet, it decides whether to take it, which
// packet to acknowledge or to ask for again, and when to tell the sender of congestion.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/flow.h"
#include "fabric/host.h"
#include "transport/rdma/roce_sender.h"
#include "transport/receiver_log.h"
#include "transport/segment_set.h"

namespace heddle {

class RoceReceiver {
 public:
  // Expects `spec`. The slot may have held another flow before.
  void Open(const FlowSpec& spec, Host& host, const RoceShared& shared);

  // A data packet has arrived at the NIC.
  void OnArrival(const Packet& data);
  // The packet's turn has come: at its arrival, or later if packets are put in order first.
  void OnData(const Packet& data);
  // The header of a trimmed packet has arrived: it asks for the packet again at once.
  void OnTrimmed(const Packet& header);
  // Returns true if it would throw the packet away for being out of order.
  bool Refuses(const Packet& data) const {
    return !shared_->settings.is_selective() && data.seq > next_;
  }

  // An interval between CNPs has ended.
  void OnTimer();

  void OnFlowEnded(const FlowEnded& ended) { log_.OnFlowEnded(ended); }
  const FlowRecord& record() const { return log_.record(); }

  FlowId id() const { return record().spec.id; }
  size_t memory_bytes() const { return ahead_.memory_bytes() + log_.memory_bytes(); }

 private:
  void TakeInOrder(const Packet& data);
  void Discard(const Packet& data);
  bool MayAskAgain() const;
  bool IsDue(const Packet& data) const;
  void TakeAny(const Packet& data);
  void TakeAndAsk(const Packet& data);
  void Ask(const Packet& data);
  void Place(const Packet& data);
  void WriteMap(const Packet& data, Packet& answer) const;
  bool Keep(const Packet& data);
  void AcceptNext(uint32_t number);
  int64_t PayloadOf(uint32_t number) const;

  void NoteCongestion(const Packet& data);
  void SendCnp(Time echo, uint16_t taken);
  void Answer(const Packet& data, PacketKind kind);
  Packet& NewControl(PacketKind kind, Time echo);

  uint32_t next_ = 0;  // The next packet expected.
  uint32_t packets_ = 0;
  uint32_t tuple_hash_ = 0;    // The hash of packets sent back.
  SegmentSet ahead_;           // Packets that came before the one expected, kept (IRN) or not.
  int64_t bytes_ahead_ = 0;    // Their payload, if kept.
  int64_t unanswered_ = 0;     // In-order packets since the last ACK.
  bool nacked_ = false;        // The expected packet has been asked for.
  Time nack_again_;            // Time of the next NACK for it (nack: timer).
  bool notify_ = false;        // The next ACK or NACK is a CNP too.
  bool marks_wait_ = false;    // Marks wait for cnp_from_ (trailing CNPs).
  Time cnp_from_;              // Time from which the next CNP may be sent.
  Time marked_sent_;           // Time at which the last marked packet was sent.
  uint16_t marked_taken_ = 0;  // The path of that packet.
  std::unique_ptr<Telemetry> told_;  // Telemetry of the last packet; null without.
  Host* host_ = nullptr;
  const RoceShared* shared_ = nullptr;
  ReceiverLog log_;
};

}  // namespace heddle
