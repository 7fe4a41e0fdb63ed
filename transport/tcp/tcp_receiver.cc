// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp/tcp_receiver.h"

#include <algorithm>
#include <limits>
#include <span>

#include "transport/flow_timers.h"
#include "transport/tcp/dss.h"

namespace heddle {

void TcpReceiver::Open(const FlowSpec& spec, Host& host, const TcpShared& shared) {
  host_ = &host;
  shared_ = &shared;
  log_.Open(spec, host);
  segments_ = static_cast<uint32_t>((spec.size + shared.sizes.mss - 1) / shared.sizes.mss);
  next_ = 0;
  tuple_hash_ = TupleHash(spec.dst, spec.src, spec.dport, spec.sport);
  nic_ = spec.dst_nic;
  ahead_.Reset(0);
  bytes_ahead_ = 0;
  reported_count_ = 0;
  echo_ = ack_armed_ = false;
  unanswered_ = 0;
  data_next_ = nullptr;
}

// The length of a subflow is not known beforehand.
void TcpReceiver::OpenSubflow(const FlowSpec& spec, Host& host, const TcpShared& shared,
                              const uint32_t& data_next) {
  Open(spec, host, shared);
  segments_ = std::numeric_limits<uint32_t>::max();
  data_next_ = &data_next;
}

void TcpReceiver::OnData(const Packet& data) {
  NoteMark(data);
  const bool had_hole = !ahead_.empty();
  const bool duplicate = data.seq < next_ || ahead_.Contains(data.seq);
  const bool in_order = !duplicate && Accept(data);
  if (next_ == segments_) log_.OnComplete();
  if (duplicate) ++log_.receiver().duplicates;
  // RFC 5681 section 4.2: only plain progress may be acknowledged later.
  if (!in_order || had_hole || ++unanswered_ >= shared_->settings.delack_count) {
    return SendAck(data, duplicate ? Packet::kDsack : 0);
  }
  DelayAck(data);
}

// Takes a segment that has not arrived before. Returns true if it was the next one expected.
bool TcpReceiver::Accept(const Packet& data) {
  ReceiverRecord& record = log_.receiver();
  log_.OnFirstArrival(data.seq);
  if (data_next_ == nullptr) log_.OnAccepted(data.data.payload);
  if (data.seq != next_) {
    ahead_.Insert(data.seq, data.seq + 1, [](uint32_t) {});
    bytes_ahead_ += data.data.payload;
    record.max_out_of_order_bytes = std::max(record.max_out_of_order_bytes, bytes_ahead_);
    Report(data.seq);
    return false;
  }
  ++next_;
  if (ahead_.empty()) return true;
  const uint32_t filled = ahead_.FirstMissing(next_);
  for (; next_ != filled; ++next_) bytes_ahead_ -= PayloadOf(next_);
  ahead_.AdvanceTo(next_);
  return true;
}

int64_t TcpReceiver::PayloadOf(uint32_t segment) const {
  const int64_t mss = shared_->sizes.mss;
  return segment + 1 == segments_ ? record().spec.size - segment * mss : mss;
}

// The block of `segment` becomes the first to report (RFC 2018 section 4); segments of the same
// block need not be remembered as well.
void TcpReceiver::Report(uint32_t segment) {
  const auto [first, end] = ahead_.RunAround(segment);
  uint32_t kept = 1;
  std::array<uint32_t, 3> reported{segment};
  for (uint32_t i = 0; i < reported_count_ && kept < reported.size(); ++i) {
    const bool same_block = reported_[i] >= first && reported_[i] < end;
    if (!same_block && reported_[i] > next_) reported[kept++] = reported_[i];
  }
  reported_ = reported;
  reported_count_ = kept;
}

// --- Acknowledgements ---

// RFC 8257 section 3.2: packets with and without a mark are never answered together.
void TcpReceiver::NoteMark(const Packet& data) {
  const bool ce = data.Has(Packet::kCe);
  if (shared_->latches_echo()) {
    echo_ = ce || (echo_ && !data.Has(Packet::kCwr));
    return;
  }
  if (unanswered_ > 0 && ce != echo_) SendAck(last_data_, 0);
  echo_ = ce;
}

void TcpReceiver::DelayAck(const Packet& data) {
  last_data_ = data;
  if (unanswered_ > 1) return;  // The first of them has set the deadline.
  ack_deadline_ = host_->now() + shared_->settings.delack_timeout;
  SetTimer();
}

void TcpReceiver::SetTimer() {
  if (ack_armed_) return;
  ack_armed_ = true;
  host_->SetTimer(ack_deadline_, TimerKey(FlowTimer::kDelayedAck, id()));
}

void TcpReceiver::OnTimer() {
  ack_armed_ = false;
  if (unanswered_ == 0) return;
  if (ack_deadline_ > host_->now()) return SetTimer();
  SendAck(last_data_, 0);
}

// Acknowledges all that has arrived; `data` is the packet that gave rise to it.
void TcpReceiver::SendAck(const Packet& data, uint8_t flags) {
  unanswered_ = 0;
  Packet& ack = host_->ControlSlot({data.src, tuple_hash_, nic_});
  ack.kind = PacketKind::kAck;
  ack.sent = data.sent;
  ack.flow = data.flow;
  ack.tuple_hash = tuple_hash_;
  ack.seq = next_;
  ack.src = data.dst;
  ack.dst = data.src;
  ack.bytes = static_cast<uint16_t>(shared_->sizes.ack);
  ack.flags = flags;
  if (echo_) ack.Set(Packet::kEce);
  if (!ahead_.empty()) FillSackBlocks(ack);
  if (data_next_ != nullptr) SetDataAck(ack, *data_next_);
  if (host_->Wants(HostPolicy::kSendAck)) host_->policy().OnSendAck(host_->view(), data, ack);
  host_->SendControl();
}

void TcpReceiver::FillSackBlocks(Packet& ack) const {
  size_t count = 0;
  for (size_t i = 0; i < reported_count_ && count < shared_->sack_blocks; ++i) {
    if (!ahead_.Contains(reported_[i])) continue;
    const auto [first, end] = ahead_.RunAround(reported_[i]);
    const SackBlock block{static_cast<uint16_t>(first - next_), static_cast<uint16_t>(end - first)};
    const auto filled = std::span(ack.ack.sack).first(count);
    const bool known = std::ranges::any_of(
        filled, [&](const SackBlock& other) { return other.start == block.start; });
    if (!known) ack.ack.sack[count++] = block;
  }
  for (; count < ack.ack.sack.size(); ++count) ack.ack.sack[count] = SackBlock{};
}

// Answers every SYN, even one that was sent again.
void TcpReceiver::OnSyn(const Packet& syn) {
  Packet& answer = host_->ControlSlot({syn.src, tuple_hash_, nic_});
  answer.kind = PacketKind::kSynAck;
  answer.sent = syn.sent;
  answer.flow = syn.flow;
  answer.seq = syn.seq;
  answer.tuple_hash = tuple_hash_;
  answer.src = syn.dst;
  answer.dst = syn.src;
  answer.bytes = static_cast<uint16_t>(shared_->sizes.syn_ack);
  host_->SendControl();
}

}  // namespace heddle
