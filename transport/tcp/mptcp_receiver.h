// SPDX-License-Identifier: Apache-2.0
// The receiving half of an MPTCP connection. Its subflows acknowledge their segments as TCP does;
// the connection puts the data in order, in one receive buffer, and tells the sender of it in the
// ACKs of all subflows (RFC 8684 section 3.3).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/packet.h"
#include "core/subflow_id.h"
#include "transport/segment_set.h"
#include "transport/tcp/mptcp_sender.h"
#include "transport/tcp/tcp_receiver.h"

namespace heddle {

class MptcpReceiver {
 public:
  // Expects `spec`. The slot may have held another connection before.
  void Open(const FlowSpec& spec, Host& host, const MptcpShared& shared);

  void OnArrival(const Packet& data);
  void OnData(const Packet& data);
  bool Refuses(const Packet& /*data*/) const { return false; }
  void OnSyn(const Packet& syn) { subflows_[SubflowOf(syn.flow)].OnSyn(syn); }

  // The delayed-ACK timer of a subflow has fired.
  void OnTimer(uint32_t subflow) { subflows_[subflow].OnTimer(); }

  void OnFlowEnded(const FlowEnded& ended);

  // The record of the connection: the counters of the subflows are added, their largest values
  // compared. A path that several subflows took counts once.
  FlowRecord record() const;

  FlowId id() const { return record_.spec.id; }
  size_t memory_bytes() const;

 private:
  std::span<const TcpReceiver> subflows() const { return {subflows_.get(), shared_->subflows()}; }
  void Accept(const Packet& data);
  int64_t PayloadOf(uint32_t segment) const;
  int32_t PathsUsed() const;

  std::unique_ptr<TcpReceiver[]> subflows_;
  uint32_t next_ = 0;  // The segment of the connection that is expected next.
  uint32_t segments_ = 0;
  SegmentSet ahead_;  // Segments beyond a hole.
  int64_t bytes_ahead_ = 0;
  Host* host_ = nullptr;
  const MptcpShared* shared_ = nullptr;
  FlowRecord record_;  // What is counted for the connection, not for subflows.
};

}  // namespace heddle
