// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp/tcp.h"

namespace heddle {

void Tcp::StartFlow(const FlowSpec& spec) {
  TcpSender& sender = Start(spec);
  if (shared_.settings.setup != TcpSettings::Setup::kPersistent) return;
  if (const auto memory = memories_.find(spec.dst); memory != memories_.end()) {
    sender.Resume(memory->second);
  }
}

void Tcp::OnPacket(const Packet& packet) {
  if (packet.kind == PacketKind::kAck) return OnAck(packet);
  if (packet.kind == PacketKind::kData) return OnData(packet);
  if (packet.kind == PacketKind::kSynAck) {
    if (TcpSender* sender = SenderOf(packet)) sender->OnSynAck();
    return;
  }
  if (TcpReceiver* receiver = ReceiverOf(packet)) receiver->OnSyn(packet);
}

void Tcp::OnAck(const Packet& ack) {
  TcpSender* sender = SenderOf(ack);
  if (sender == nullptr) return;
  sender->OnAck(ack);
  if (!sender->done()) return;
  host_.log().SenderDone(sender->spec(), host_.now());
  if (shared_.settings.setup == TcpSettings::Setup::kPersistent) {
    memories_[sender->spec().dst] = sender->Remember(host_.now());
  }
}

}  // namespace heddle
