// SPDX-License-Identifier: Apache-2.0

#include "transport/rdma/roce.h"

namespace heddle {

void Roce::OnPacket(const Packet& packet) {
  if (packet.kind == PacketKind::kData) {
    if (!packet.Has(Packet::kTrimmed)) [[likely]]
      return OnData(packet);
    if (RoceReceiver* receiver = ReceiverOf(packet)) receiver->OnTrimmed(packet);
    return;
  }
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
