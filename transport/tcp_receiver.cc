// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp_receiver.h"

#include <algorithm>
#include <span>

#include "transport/tcp_timers.h"

namespace heddle {

void TcpReceiver::Open(const FlowSpec& spec, Host& host, const TcpShared& shared) {
  host_ = &host;
  shared_ = &shared;
  record_ = FlowRecord{spec, SenderRecord{}, ReceiverRecord{}};
  segments_ = static_cast<uint32_t>((spec.size + shared.sizes.mss - 1) / shared.sizes.mss);
  next_ = highest_ = 0;
  tuple_hash_ = TupleHash(spec.dst, spec.src, spec.dport, spec.sport);
  ahead_.Reset(0);
  bytes_ahead_ = 0;
  reported_count_ = 0;
  echo_ = ack_armed_ = false;
  unanswered_ = 0;
  std::ranges::fill(paths_seen_, 0);
  tracker_.Reset();
}

void TcpReceiver::OnData(const Packet& data) {
  Observe(data);
  NoteMark(data);
  const bool had_hole = !ahead_.empty();
  const bool duplicate = data.seq < next_ || ahead_.Contains(data.seq);
  const bool in_order = !duplicate && Accept(data);
  if (next_ == segments_ && record_.receiver.done == kNever) record_.receiver.done = host_->now();
  if (duplicate) ++record_.receiver.duplicates;
  // RFC 5681 section 4.2: at once for anything but plain progress.
  if (!in_order || had_hole || ++unanswered_ >= shared_->settings.delack_count) {
    return SendAck(data, duplicate ? Packet::kDsack : 0);
  }
  DelayAck(data);
}

// What the network has done to this packet.
void TcpReceiver::Observe(const Packet& data) {
  ReceiverRecord& record = record_.receiver;
  if (record.packets++ == 0) record.hops = data.hops + 1;  // Switches passed, and one.
  record.ce_marked += data.Has(Packet::kCe) ? 1 : 0;
  NotePath(data.taken);
  const std::optional<Reordered> reordered = tracker_.OnArrival(data.data.tx_id, host_->now());
  if (!reordered) return;
  ++record.reordered_net;
  record.max_extent = std::max(record.max_extent, static_cast<int32_t>(reordered->extent));
  record.max_degree = std::max(record.max_degree, reordered->degree);
  host_->log().Reordering(record_.spec.size_class).Add(*reordered);
}

void TcpReceiver::NotePath(uint16_t path) {
  const size_t word = path / 64;
  if (word >= paths_seen_.size()) paths_seen_.resize(word + 1);
  const uint64_t bit = uint64_t{1} << path % 64;
  record_.receiver.paths_used += (paths_seen_[word] & bit) == 0 ? 1 : 0;
  paths_seen_[word] |= bit;
}

// Takes a segment that has not arrived before. Returns whether it was the next one expected.
bool TcpReceiver::Accept(const Packet& data) {
  ReceiverRecord& record = record_.receiver;
  host_->NotePayload(data.data.payload);
  if (data.seq < highest_) ++record.reordered_seq;
  highest_ = std::max(highest_, data.seq + 1);
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
  return segment + 1 == segments_ ? record_.spec.size - segment * mss : mss;
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
  if (shared_->control->latches_echo()) {
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
  host_->SetTimer(ack_deadline_, TimerKey(TcpTimer::kDelayedAck, id()));
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
  Packet& ack = host_->ControlSlot();
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
  if (host_->Wants(HostPolicy::kSendAck)) host_->policy().OnSendAck(host_->view(), data, ack);
  host_->SendControl();
}

void TcpReceiver::FillSackBlocks(Packet& ack) const {
  size_t count = 0;
  for (size_t i = 0; i < reported_count_; ++i) {
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

// A SYN, or one that was sent again: answers each.
void TcpReceiver::OnSyn(const Packet& syn) {
  Packet& answer = host_->ControlSlot();
  answer.kind = PacketKind::kSynAck;
  answer.sent = syn.sent;
  answer.flow = syn.flow;
  answer.tuple_hash = tuple_hash_;
  answer.src = syn.dst;
  answer.dst = syn.src;
  answer.bytes = static_cast<uint16_t>(shared_->sizes.ack);
  host_->SendControl();
}

}  // namespace heddle
