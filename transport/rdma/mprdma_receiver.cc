// SPDX-License-Identifier: Apache-2.0

#include "transport/rdma/mprdma_receiver.h"

#include <algorithm>
#include <bit>

namespace heddle {

void MpRdmaReceiver::Open(const FlowSpec& spec, Host& host, const MpRdmaShared& shared) {
  host_ = &host;
  shared_ = &shared;
  log_.Open(spec, host);
  packets_ = static_cast<uint32_t>((spec.size + shared.sizes.mss - 1) / shared.sizes.mss);
  expected_ = 0;
  bitmap_ = 0;
  bytes_ahead_ = 0;
  nacked_ = false;
  tuple_hash_ = TupleHash(spec.dst, spec.src, spec.dport, spec.sport);
}

void MpRdmaReceiver::OnData(const Packet& data) {
  if (Refuses(data)) {
    ++log_.receiver().discarded;
    if (shared_->settings.beyond == MpRdmaSettings::Beyond::kNack) AskOnce(data);
    return;
  }
  if (Has(data.seq)) {
    ++log_.receiver().duplicates;
  } else {
    Place(data);
  }
  // The packet that synchronises was sent so late that what is missing before it is lost.
  if (data.Has(Packet::kCwr) && expected_ < data.seq && !nacked_) return AskOnce(data);
  Answer(data, PacketKind::kAck);
}

void MpRdmaReceiver::Place(const Packet& data) {
  log_.OnFirstArrival(data.seq);
  log_.OnAccepted(data.data.payload);
  bitmap_ |= uint64_t{1} << (data.seq - expected_);
  bytes_ahead_ += data.data.payload;
  int64_t& most = log_.receiver().max_out_of_order_bytes;
  if (data.seq != expected_) {
    most = std::max(most, bytes_ahead_);
    return;
  }
  const uint32_t filled = static_cast<uint32_t>(std::countr_one(bitmap_));
  const int64_t mss = shared_->sizes.mss;
  const int64_t size = record().spec.size;
  bytes_ahead_ -= std::min((expected_ + filled) * mss, size) - std::min(expected_ * mss, size);
  expected_ += filled;
  bitmap_ = filled == 64 ? 0 : bitmap_ >> filled;
  nacked_ = false;
  if (expected_ == packets_) log_.OnComplete();
}

void MpRdmaReceiver::AskOnce(const Packet& data) {
  if (nacked_) return;
  nacked_ = true;
  Answer(data, PacketKind::kNack);
}

void MpRdmaReceiver::Answer(const Packet& data, PacketKind kind) {
  const FlowSpec& spec = record().spec;
  Packet& answer = host_->ControlSlot({spec.src, tuple_hash_, spec.dst_nic});
  answer.kind = kind;
  answer.sent = data.sent;
  answer.flow = spec.id;
  answer.tuple_hash = tuple_hash_;
  answer.src = spec.dst;
  answer.dst = spec.src;
  answer.seq = expected_;
  answer.nack.trigger = data.seq;
  answer.entropy = data.entropy;
  const bool is_nack = kind == PacketKind::kNack;
  answer.bytes = static_cast<uint16_t>(is_nack ? shared_->sizes.nack : shared_->sizes.ack);
  if (data.Has(Packet::kCe)) answer.Set(Packet::kEce);
  if (data.Has(Packet::kRetransmission)) answer.Set(Packet::kRetransmission);
  if (host_->Wants(HostPolicy::kSendAck)) host_->policy().OnSendAck(host_->view(), data, answer);
  host_->SendControl();
}

}  // namespace heddle
