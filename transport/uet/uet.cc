// SPDX-License-Identifier: Apache-2.0

#include "transport/uet/uet.h"

namespace heddle {

Uet::Uet(Host& host, const UetShared& shared, const ResequencingModel& resequencing)
    : Endpoints(host, shared, resequencing),
      pacer_(shared.has_credit() ? std::make_unique<UetPacer>(host, shared) : nullptr) {}

// This transport has no handshake. Probes are SYNs, and their answers SYN-ACKs. Requests to send
// are SYNs that ask for an ACK. Pulls are CNPs.
void Uet::OnPacket(const Packet& packet) {
  if (packet.kind == PacketKind::kData) {
    const bool is_trimmed = packet.Has(Packet::kTrimmed);
    if (!is_trimmed) [[likely]] {
      OnData(packet);
    } else if (UetReceiver* receiver = ReceiverOf(packet)) {
      receiver->OnTrimmed(packet);
    }
    if (pacer_ != nullptr) {
      pacer_->OnArrival(packet);
      NoteDemand(packet, is_trimmed);
    }
    return;
  }
  if (packet.kind == PacketKind::kSyn) {
    UetReceiver* receiver = ReceiverOf(packet);
    if (receiver == nullptr) return;
    if (!packet.Has(Packet::kCwr)) return receiver->OnProbe(packet);
    receiver->OnRts(packet);
    if (pacer_ != nullptr) NoteDemand(packet, true);
    return;
  }
  UetSender* sender = SenderOf(packet);
  if (sender == nullptr) return;
  if (packet.kind == PacketKind::kNack) return sender->OnNack(packet);
  if (packet.kind == PacketKind::kSynAck) return sender->OnProbeAnswer(packet);
  if (packet.kind == PacketKind::kCnp) return sender->OnPull(packet);
  sender->OnAck(packet);
  if (sender->done()) host_.log().SenderDone(sender->spec(), host_.now());
}

// A flow that has arrived whole needs no credit, even if its sender does not know yet.
void Uet::NoteDemand(const Packet& packet, bool is_loss) {
  UetReceiver* receiver = FindReceiver(packet.flow);
  if (receiver == nullptr || receiver->is_complete()) return;
  pacer_->NoteDemand(packet, receiver->demand(), is_loss);
}

void Uet::OnTimer(uint64_t key) {
  if (TimerKind(key) != FlowTimer::kPull) [[likely]]
    return Endpoints::OnTimer(key);
  pacer_->OnTimer([this](FlowId flow) {
    UetReceiver* receiver = FindReceiver(flow);
    return receiver == nullptr || receiver->is_complete() ? nullptr : receiver;
  });
}

size_t Uet::memory_bytes() const {
  return Endpoints::memory_bytes() + sizeof(pacer_) +
         (pacer_ == nullptr ? 0 : pacer_->memory_bytes());
}

}  // namespace heddle
