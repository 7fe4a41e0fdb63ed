// SPDX-License-Identifier: Apache-2.0

#include "transport/uet/uet_receiver.h"

#include <algorithm>

#include "transport/uet/uet_ack.h"

namespace heddle {

void UetReceiver::Open(const FlowSpec& spec, Host& host, const UetShared& shared) {
  host_ = &host;
  shared_ = &shared;
  log_.Open(spec, host);
  expected_ = rts_below_ = 0;
  ahead_.Reset(0);
  payload_ = accepted_ = 0;
  short_ = kNone;
  rts_.clear();
  wants_end_ = false;
  demand_ = UetDemand();
  tuple_hash_ = TupleHash(spec.dst, spec.src, spec.dport, spec.sport);
}

void UetReceiver::OnData(const Packet& data) {
  if (Refuses(data)) {
    ++log_.receiver().discarded;
    return;
  }
  if (Has(data.seq)) {
    ++log_.receiver().duplicates;
    return Acknowledge(data, data.Has(Packet::kCe) || data.Has(Packet::kCwr));
  }
  log_.OnFirstArrival(data.seq);
  log_.OnAccepted(data.data.payload);
  if (data.data.payload < shared_->sizes.mss) short_ = data.seq;
  Take(data, data.data.payload);
}

void UetReceiver::OnRts(const Packet& rts) {
  if (Refuses(rts)) return;
  if (Has(rts.seq)) return Acknowledge(rts, true);
  rts_.insert(std::ranges::lower_bound(rts_, rts.seq), rts.seq);
  Take(rts, 0);
}

// Places a new packet and acknowledges it, if it is time.
void UetReceiver::Take(const Packet& packet, int64_t payload) {
  const bool names_trigger = packet.Has(Packet::kCe) || packet.Has(Packet::kCwr);
  const bool is_first = expected_ == 0 && ahead_.empty();
  const bool had_holes = !ahead_.empty();
  Place(packet.seq, payload);
  accepted_ += packet.bytes;
  wants_end_ = wants_end_ || packet.Has(Packet::kCwr);
  const bool closed = had_holes && ahead_.empty() && wants_end_;
  if (ahead_.empty()) wants_end_ = false;
  if (names_trigger || closed || is_first || accepted_ >= shared_->settings.ack_bytes.count) {
    Acknowledge(packet, names_trigger);
  }
}

void UetReceiver::Place(uint32_t number, int64_t payload) {
  payload_ += payload;
  if (number != expected_) {
    ahead_.Insert(number, number + 1, [](uint32_t) {});
    int64_t& most = log_.receiver().max_out_of_order_bytes;
    most = std::max(most, payload_ - PayloadInOrder());
  } else {
    AdvanceTo(ahead_.empty() ? expected_ + 1 : ahead_.FirstMissing(expected_ + 1));
  }
  if (payload_ == record().spec.size) log_.OnComplete();
}

void UetReceiver::AdvanceTo(uint32_t expected) {
  expected_ = expected;
  ahead_.AdvanceTo(expected);
  while (!rts_.empty() && rts_.front() < expected) {
    rts_.erase(rts_.begin());
    ++rts_below_;
  }
}

// Returns the payload of the packets below the one expected.
int64_t UetReceiver::PayloadInOrder() const {
  return std::min((expected_ - rts_below_) * shared_->sizes.mss, record().spec.size);
}

void UetReceiver::OnTrimmed(const Packet& header) {
  log_.ObserveTrimmed(header);
  if (Has(header.seq)) return Acknowledge(header, header.Has(Packet::kCe));
  Packet& nack = NewControl(PacketKind::kNack, header);
  nack.seq = expected_;
  nack.nack.trigger = header.seq;
  nack.Set(Packet::kTrimmed);
  if (header.Has(Packet::kCe)) nack.Set(Packet::kEce);
  if (shared_->has_credit() && header.Has(Packet::kCutAtLastHop)) {
    nack.Set(Packet::kCutAtLastHop);
  }
  if (host_->Wants(HostPolicy::kSendAck)) {
    host_->policy().OnSendAck(host_->view(), header, nack);
  }
  host_->SendControl();
}

void UetReceiver::OnProbe(const Packet& probe) {
  Packet& answer = NewControl(PacketKind::kSynAck, probe);
  answer.seq = probe.seq;
  host_->SendControl();
}

// Pulls answer no packet, so they have entropies of their own, in turn.
void UetReceiver::SendPull() {
  const FlowSpec& spec = record().spec;
  Packet& pull = host_->ControlSlot({spec.src, tuple_hash_, spec.dst_nic});
  pull.kind = PacketKind::kCnp;
  pull.sent = host_->now();
  pull.flow = spec.id;
  pull.tuple_hash = tuple_hash_;
  pull.src = spec.dst;
  pull.dst = spec.src;
  pull.entropy = demand_.entropy;
  pull.bytes = static_cast<uint16_t>(shared_->sizes.cnp);
  pull.pull.granted = demand_.granted;
  if (host_->Wants(HostPolicy::kSendAck)) {
    host_->policy().OnSendCnp(host_->view(), demand_.taken, pull);
  }
  host_->SendControl();
}

// `names_trigger` is true if the map begins at the packet that is answered.
void UetReceiver::Acknowledge(const Packet& data, bool names_trigger) {
  accepted_ = 0;
  UetAck ack{.expected = expected_, .acked = data.seq};
  ack.first = names_trigger ? data.seq : UetAck::FirstOf(data.seq, expected_);
  ack.map = ahead_.Next64(ack.first);
  ack.held = static_cast<uint16_t>(ahead_.size() - rts_.size());
  ack.holds_last = short_ != kNone && short_ >= expected_;
  Packet& packet = NewControl(PacketKind::kAck, data);
  ack.WriteTo(packet);
  if (data.Has(Packet::kCe)) packet.Set(Packet::kEce);
  if (data.Has(Packet::kRetransmission)) packet.Set(Packet::kRetransmission);
  if (host_->Wants(HostPolicy::kSendAck)) host_->policy().OnSendAck(host_->view(), data, packet);
  host_->SendControl();
}

// Control packets carry the entropy of the packet that they answer. If packets take several links
// of a host, they leave through the link that it came from.
Packet& UetReceiver::NewControl(PacketKind kind, const Packet& cause) {
  const FlowSpec& spec = record().spec;
  const uint8_t nic =
      shared_->settings.spreads() ? static_cast<uint8_t>(host_->arrival_link()) : spec.dst_nic;
  Packet& packet = host_->ControlSlot({spec.src, tuple_hash_, nic});
  packet.kind = kind;
  packet.sent = cause.sent;
  packet.flow = spec.id;
  packet.tuple_hash = tuple_hash_;
  packet.src = spec.dst;
  packet.dst = spec.src;
  packet.entropy = cause.entropy;
  packet.bytes = static_cast<uint16_t>(shared_->sizes.ack);
  return packet;
}

}  // namespace heddle
