// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp/mptcp.h"

namespace heddle {

void Mptcp::OnPacket(const Packet& packet) {
  if (packet.kind == PacketKind::kAck) return OnAck(packet);
  if (packet.kind == PacketKind::kData) return OnData(packet);
  if (packet.kind == PacketKind::kSynAck) {
    if (MptcpSender* sender = SenderOf(packet)) sender->OnSynAck(packet);
    return;
  }
  if (MptcpReceiver* receiver = ReceiverOf(packet)) receiver->OnSyn(packet);
}

void Mptcp::OnAck(const Packet& ack) {
  MptcpSender* sender = SenderOf(ack);
  if (sender == nullptr) return;
  sender->OnAck(ack);
  if (sender->done()) host_.log().SenderDone(sender->spec(), host_.now());
}

}  // namespace heddle
