// SPDX-License-Identifier: Apache-2.0
// The receiving half of a TCP or DCTCP flow. It keeps which segments have arrived and decides what
// to acknowledge, and when (RFC 5681 section 4.2, RFC 2018, RFC 2883, RFC 8257 section 3.2).

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/flow.h"
#include "fabric/host.h"
#include "transport/receiver_log.h"
#include "transport/segment_set.h"
#include "transport/tcp/tcp_sender.h"

namespace heddle {

class TcpReceiver {
 public:
  // Expects `spec`. The slot may have held another flow before.
  void Open(const FlowSpec& spec, Host& host, const TcpShared& shared);

  // Expects a subflow of an MPTCP connection, which keeps the data in order (mptcp_receiver.h).
  // `data_next` is the segment of the connection that is expected next, which ACKs carry.
  void OpenSubflow(const FlowSpec& spec, Host& host, const TcpShared& shared,
                   const uint32_t& data_next);

  // A data packet has arrived at the NIC.
  void OnArrival(const Packet& data) { log_.Observe(data); }
  // The packet's turn has come: at its arrival, or later if packets are put in order first.
  void OnData(const Packet& data);
  // Returns true if it would throw the packet away for being out of order.
  bool Refuses(const Packet& /*data*/) const { return false; }
  void OnSyn(const Packet& syn);

  // The delayed-ACK timer has fired.
  void OnTimer();

  void OnFlowEnded(const FlowEnded& ended) { log_.OnFlowEnded(ended); }
  const FlowRecord& record() const { return log_.record(); }

  FlowId id() const { return record().spec.id; }
  const ReceiverLog& log() const { return log_; }
  size_t memory_bytes() const { return ahead_.memory_bytes() + log_.memory_bytes(); }

 private:
  bool Accept(const Packet& data);
  int64_t PayloadOf(uint32_t segment) const;
  void Report(uint32_t segment);

  void NoteMark(const Packet& data);
  void DelayAck(const Packet& data);
  void SetTimer();
  void SendAck(const Packet& data, uint8_t flags);
  void FillSackBlocks(Packet& ack) const;

  Packet last_data_;  // The packet that a delayed ACK answers.
  Time ack_deadline_;
  int64_t bytes_ahead_ = 0;
  std::array<uint32_t, 3> reported_{};  // One segment of each block to report, the latest first.
  uint32_t reported_count_ = 0;

  // Touched by every packet.
  SegmentSet ahead_;   // Segments beyond a hole.
  uint32_t next_ = 0;  // The next segment expected.
  uint32_t segments_ = 0;
  uint32_t tuple_hash_ = 0;  // The hash of the ACKs,
  uint8_t nic_ = kAnyNic;    // and the NIC that they leave through.
  bool echo_ = false;        // The next ACK echoes an ECN mark.
  bool ack_armed_ = false;   // The host holds a timer for ack_deadline_.
  int64_t unanswered_ = 0;   // In-order packets since the last ACK.
  Host* host_ = nullptr;
  const TcpShared* shared_ = nullptr;
  const uint32_t* data_next_ = nullptr;  // Null: the flow is no subflow.
  ReceiverLog log_;
};

}  // namespace heddle
