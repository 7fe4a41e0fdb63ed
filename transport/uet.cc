// SPDX-License-Identifier: Apache-2.0

#include "transport/uet.h"

namespace heddle {

// This transport has no handshake. Probes are SYNs, and their answers SYN-ACKs. Requests to send
// are SYNs that ask for an ACK.
void Uet::OnPacket(const Packet& packet) {
  if (packet.kind == PacketKind::kData) {
    if (!packet.Has(Packet::kTrimmed)) [[likely]]
      return OnData(packet);
    if (UetReceiver* receiver = ReceiverOf(packet)) receiver->OnTrimmed(packet);
    return;
  }
  if (packet.kind == PacketKind::kSyn) {
    UetReceiver* receiver = ReceiverOf(packet);
    if (receiver == nullptr) return;
    return packet.Has(Packet::kCwr) ? receiver->OnRts(packet) : receiver->OnProbe(packet);
  }
  UetSender* sender = SenderOf(packet);
  if (sender == nullptr) return;
  if (packet.kind == PacketKind::kNack) return sender->OnNack(packet);
  if (packet.kind == PacketKind::kSynAck) return sender->OnProbeAnswer(packet);
  sender->OnAck(packet);
  if (sender->done()) host_.log().SenderDone(sender->spec(), host_.now());
}

}  // namespace heddle
