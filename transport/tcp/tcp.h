// SPDX-License-Identifier: Apache-2.0
// The TCP transport of one host, under any congestion control: it holds all TCP flows there and
// passes each packet to the sender or receiver that it is for.

#pragma once

#include <map>

#include "transport/endpoints.h"
#include "transport/tcp/tcp_receiver.h"
#include "transport/tcp/tcp_sender.h"

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
