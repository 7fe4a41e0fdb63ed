// SPDX-License-Identifier: Apache-2.0
// The MPTCP transport of one host (RFC 8684), for the transfer of data: connections of subflows
// that are whole TCPs, with source ports one apart. Each subflow is a flow to the network; the
// connection is one to those who measure.

#pragma once

#include "transport/endpoints.h"
#include "transport/tcp/mptcp_receiver.h"
#include "transport/tcp/mptcp_sender.h"

namespace heddle {

class Mptcp final : public Endpoints<MptcpSender, MptcpReceiver, MptcpShared> {
 public:
  using Endpoints::Endpoints;

  void OnPacket(const Packet& packet) override;

 private:
  void OnAck(const Packet& ack);
};

}  // namespace heddle
