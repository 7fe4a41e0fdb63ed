// SPDX-License-Identifier: Apache-2.0
// All TCP or DCTCP flows of one host.

#pragma once

#include <map>

#include "transport/endpoints.h"
#include "transport/tcp_receiver.h"
#include "transport/tcp_sender.h"

namespace heddle {

class Tcp final : public Endpoints<TcpSender, TcpReceiver, TcpShared> {
 public:
  using Endpoints::Endpoints;

  void StartFlow(const FlowSpec& spec) override;
  void OnPacket(const Packet& packet) override;

 private:
  void OnAck(const Packet& ack);

  std::map<HostId, TcpSender::Memory> memories_;  // By destination (setup: persistent).
};

}  // namespace heddle
