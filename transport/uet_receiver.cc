// SPDX-License-Identifier: Apache-2.0

#include "transport/uet_receiver.h"

#include <algorithm>

#include "transport/uet_ack.h"

namespace heddle {

void UetReceiver::Open(const FlowSpec& spec, Host& host, const UetShared& shared) {
  host_ = &host;
  shared_ = &shared;
  log_.Open(spec, host);
  packets_ = static_cast<uint32_t>((spec.size + shared.sizes.mss - 1) / shared.sizes.mss);
  expected_ = 0;
  ahead_.Reset(0);
  bytes_ahead_ = accepted_ = acks_ = 0;
  wants_end_ = false;
  tuple_hash_ = TupleHash(spec.dst, spec.src, spec.dport, spec.sport);
}

void UetReceiver::OnData(const Packet& data) {
  if (Refuses(data)) {
    ++log_.receiver().discarded;
    return;
  }
  const bool marked = data.Has(Packet::kCe);
  const bool asks = data.Has(Packet::kCwr);
  if (Has(data.seq)) {
    ++log_.receiver().duplicates;
    return Acknowledge(data, marked || asks);
  }
  const bool is_first = expected_ == 0 && ahead_.empty();
  const bool had_holes = !ahead_.empty();
  Place(data);
  accepted_ += data.bytes;
  wants_end_ = wants_end_ || asks;
  const bool closed = had_holes && ahead_.empty() && wants_end_;
  if (ahead_.empty()) wants_end_ = false;
  if (marked || asks || closed || is_first || accepted_ >= shared_->settings.ack_bytes.count) {
    Acknowledge(data, marked || asks);
  }
}

void UetReceiver::Place(const Packet& data) {
  log_.OnFirstArrival(data.seq);
  log_.OnAccepted(data.data.payload);
  if (data.seq != expected_) {
    ahead_.Insert(data.seq, data.seq + 1, [](uint32_t) {});
    bytes_ahead_ += data.data.payload;
    int64_t& most = log_.receiver().max_out_of_order_bytes;
    most = std::max(most, bytes_ahead_);
    return;
  }
  const uint32_t filled = ahead_.empty() ? expected_ + 1 : ahead_.FirstMissing(expected_ + 1);
  const int64_t mss = shared_->sizes.mss;
  bytes_ahead_ -= std::min(filled * mss, record().spec.size) -
                  std::min((expected_ + 1) * mss, record().spec.size);
  expected_ = filled;
  ahead_.AdvanceTo(expected_);
  if (expected_ == packets_) log_.OnComplete();
}

void UetReceiver::OnTrimmed(const Packet& header) {
  log_.ObserveTrimmed(header);
  if (Has(header.seq)) return Acknowledge(header, header.Has(Packet::kCe));
  Packet& nack = NewControl(PacketKind::kNack, header);
  nack.seq = expected_;
  nack.nack.trigger = header.seq;
  nack.Set(Packet::kTrimmed);
  if (header.Has(Packet::kCe)) nack.Set(Packet::kEce);
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

// `names_trigger` is true if the map begins at the packet that is answered.
void UetReceiver::Acknowledge(const Packet& data, bool names_trigger) {
  accepted_ = 0;
  ++acks_;
  UetAck ack{.expected = expected_, .acked = data.seq};
  ack.first = names_trigger ? data.seq : UetAck::FirstOf(data.seq, expected_);
  for (uint32_t i = 0; i < UetAck::kMapped && !ahead_.empty(); ++i) {
    if (ahead_.Contains(ack.first + i)) ack.map |= uint64_t{1} << i;
  }
  ack.held = static_cast<uint16_t>(ahead_.size());
  ack.holds_last = ahead_.Contains(packets_ - 1);
  Packet& packet = NewControl(PacketKind::kAck, data);
  ack.WriteTo(packet);
  if (data.Has(Packet::kCe)) packet.Set(Packet::kEce);
  if (data.Has(Packet::kRetransmission)) packet.Set(Packet::kRetransmission);
  if (host_->Wants(HostPolicy::kSendAck)) host_->policy().OnSendAck(host_->view(), data, packet);
  host_->SendControl();
}

// Without a load balancer that says otherwise, control packets take paths at random.
Packet& UetReceiver::NewControl(PacketKind kind, const Packet& cause) {
  const FlowSpec& spec = record().spec;
  Packet& packet = host_->ControlSlot({spec.src, tuple_hash_, spec.dst_nic});
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
