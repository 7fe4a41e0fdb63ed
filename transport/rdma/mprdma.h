// SPDX-License-Identifier: Apache-2.0
// The MP-RDMA transport of one host (Lu et al., NSDI 2018): RDMA over many paths without state for
// each of them. A flow is one message, or a sequence of messages, over a queue pair of its own.

#pragma once

#include "transport/endpoints.h"
#include "transport/rdma/mprdma_receiver.h"
#include "transport/rdma/mprdma_sender.h"

namespace heddle {

class MpRdma final : public Endpoints<MpRdmaSender, MpRdmaReceiver, MpRdmaShared> {
 public:
  using Endpoints::Endpoints;

  void OnPacket(const Packet& packet) override;
};

}  // namespace heddle
