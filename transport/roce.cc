// SPDX-License-Identifier: Apache-2.0

#include "transport/roce.h"

namespace heddle {

void Roce::OnPacket(const Packet& packet) {
  if (packet.kind == PacketKind::kData) return OnData(packet);
  RoceSender* sender = SenderOf(packet);
  if (sender == nullptr) return;
  if (packet.kind == PacketKind::kCnp) {
    ++cnps_;
    return sender->OnCnp();
  }
  cnps_ += packet.Has(Packet::kNotify) ? 1 : 0;
  sender->OnAck(packet);
  if (sender->done()) host_.log().SenderDone(sender->spec(), host_.now());
}

}  // namespace heddle
