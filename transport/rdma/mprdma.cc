// SPDX-License-Identifier: Apache-2.0

#include "transport/rdma/mprdma.h"

namespace heddle {

void MpRdma::OnPacket(const Packet& packet) {
  if (packet.kind == PacketKind::kData) return OnData(packet);
  MpRdmaSender* sender = SenderOf(packet);
  if (sender == nullptr) return;
  sender->OnAck(packet);
  if (sender->done()) host_.log().SenderDone(sender->spec(), host_.now());
}

}  // namespace heddle
