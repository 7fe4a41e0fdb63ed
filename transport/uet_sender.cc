// SPDX-License-Identifier: Apache-2.0

#include "transport/uet_sender.h"

#include <algorithm>
#include <functional>

#include "transport/sender_parts.h"

namespace heddle {

void UetSender::Start(const FlowSpec& spec, uint32_t slot, Host& host, const UetShared& shared) {
  host_ = &host;
  shared_ = &shared;
  spec_ = spec;
  slot_ = slot;
  packets_ = static_cast<uint32_t>((spec.size + shared.sizes.mss - 1) / shared.sizes.mss);
  una_ = next_ = tx_id_ = recover_ = hole_ = probes_ = 0;
  in_flight_ = reported_ = 0;
  sent_.clear();
  order_.clear();
  repairs_.clear();
  waiting_ = 0;
  recovering_ = false;
  judge_.Reset();
  rto_ = probe_ = LazyTimer();
  rtt_ = RttEstimator();
  record_ = SenderRecord{.packets = packets_};
  flow_ = HostFlow{.id = spec.id,
                   .src = spec.src,
                   .dst = spec.dst,
                   .tuple_hash = TupleHash(spec.src, spec.dst, spec.sport, spec.dport),
                   .lane = spec.lane,
                   .size = spec.size};
  const Duration base = shared.settings.base_rtt == UetSettings::Scope::kPair
                            ? shared.bandwidth_delay->RoundTrip(spec.src, spec.dst)
                            : shared.rules.rtt;
  const Bytes window = shared.settings.window.value_or(Bytes{0});
  control_.Start(shared.rules, base, static_cast<double>(window.count));
  if (host.Wants(HostPolicy::kFlows)) host.policy().OnFlowStart(host.view(), flow_);
  GetReady();
}

int64_t UetSender::SizeBelow(uint32_t end) const {
  const int64_t all = end * shared_->full();
  return end == packets_ ? all - shared_->full() + SizeOf(packets_ - 1) : all;
}

// --- Sending ---

// Packets that have arrived since they were queued leave the heap here.
void UetSender::DropStaleRepairs() {
  while (!repairs_.empty()) {
    const uint32_t packet = repairs_.front();
    if (packet >= una_ && sent_[packet - una_].waits) return;
    PopRepair();
  }
}

void UetSender::PopRepair() {
  std::ranges::pop_heap(repairs_, std::greater());
  repairs_.pop_back();
}

// Repairs of a recovery ignore the window.
bool UetSender::HasWork() {
  DropStaleRepairs();
  if (waiting_ == 0 && next_ == packets_) return false;
  if (recovering_ && waiting_ > 0) return true;
  return static_cast<double>(in_flight_ + SizeOf(NextPacket())) <= control_.window();
}

void UetSender::GetReady() {
  if (in_round_ || !HasWork()) return;
  in_round_ = true;
  host_->Ready(slot_);
}

Transport::Pulled UetSender::Pull(Packet& packet) {
  in_round_ = false;
  if (done() || !HasWork()) return {.sent = false, .more = false};
  Build(NextPacket(), packet);
  RestartTimers(false);
  in_round_ = HasWork();
  return {.sent = true, .more = in_round_};
}

// Returns true if no further packet fits behind one more of the size `more`.
bool UetSender::IsFull(int64_t more) const {
  return static_cast<double>(in_flight_ + more) >= control_.window();
}

void UetSender::Build(uint32_t number, Packet& packet) {
  const Time now = host_->now();
  const int64_t size = SizeOf(number);
  const bool is_repair = number < next_;
  if (is_repair) {
    PopRepair();
    --waiting_;
    ++record_.retransmissions;
    judge_.OnRetransmission(sent_[number - una_].tx_id, now);
    if (judge_.HasMany()) {
      judge_.Settle(now - shared_->close_delay / 2, record_, host_->log());
    }
    packet.Set(Packet::kRetransmission);
  } else {
    sent_.push_back(Sent());
    if (++next_ == packets_) host_->NoteHanded(flow_.id);
  }
  in_flight_ += size;
  if (is_repair || next_ == packets_ || IsFull(size)) packet.Set(Packet::kCwr);
  Sent& sent = sent_[number - una_];
  packet.Set(Packet::kEct);
  FillData(packet, flow_, now, number, tx_id_, PayloadOf(number), size);
  if (host_->Wants(HostPolicy::kSend)) host_->policy().OnSend(host_->view(), flow_, packet);
  flow_.bytes_sent += PayloadOf(number);
  sent.at = now;
  sent.tx_id = tx_id_++;
  sent.entropy = packet.entropy;
  sent.sends = static_cast<uint8_t>(std::min(sent.sends + 1, 255));
  sent.waits = false;
  order_.push_back({number, sent.tx_id});
}

// --- Acknowledgements ---

void UetSender::OnAck(const Packet& packet) {
  const Time now = host_->now();
  const UetAck ack = UetAck::From(packet);
  const bool marked = packet.Has(Packet::kEce);
  const int64_t held =
      ack.held * shared_->full() - (ack.holds_last ? shared_->full() - SizeOf(packets_ - 1) : 0);
  const int64_t newly = std::max<int64_t>(SizeBelow(ack.expected) + held - reported_, 0);
  reported_ += newly;
  in_flight_ -= newly;
  control_.OnBytes(newly);
  const Duration delay = TakeSample(packet, ack.acked, marked);
  const uint32_t una = una_;
  Remove(ack);
  rtt_.Sample(now - packet.sent);
  flow_.srtt = rtt_.srtt();
  if (host_->Wants(HostPolicy::kAck)) {
    const int64_t acked = std::min<int64_t>((una_ - una) * shared_->sizes.mss, spec_.size);
    host_->policy().OnAck(host_->view(), flow_, packet, {acked, 0, now - packet.sent, marked});
  }
  control_.OnAck(now, marked, delay, newly, in_flight_);
  if (una_ == packets_) return Finish();
  if (shared_->sleek) Recover(ack.expected, ack.held);
  RestartTimers(true);
  GetReady();
}

// Only the round trip of a packet whose copies cannot be confused is a sample. Without one the
// average stands for the delay.
Duration UetSender::TakeSample(const Packet& packet, uint32_t acked, bool marked) {
  if (!IsOutstanding(acked)) return control_.average();
  const Sent& sent = sent_[acked - una_];
  if (sent.sends != (packet.Has(Packet::kRetransmission) ? 2 : 1)) return control_.average();
  const Duration delay = control_.OnRoundTrip(host_->now() - sent.at);
  control_.OnSample(delay, marked);
  return delay;
}

void UetSender::Remove(const UetAck& ack) {
  for (uint64_t left = ack.map; left != 0; left &= left - 1) {
    const uint32_t packet = ack.first + static_cast<uint32_t>(std::countr_zero(left));
    if (IsOutstanding(packet)) MarkArrived(packet);
  }
  while (una_ < next_ && (una_ < ack.expected || sent_.front().arrived)) {
    if (!sent_.front().arrived) MarkArrived(una_);
    sent_.pop_front();
    ++una_;
  }
  if (una_ >= recover_) recovering_ = false;
}

// A packet that waits to be sent again was taken from what is in flight when it was queued.
void UetSender::MarkArrived(uint32_t packet) {
  Sent& sent = sent_[packet - una_];
  sent.arrived = true;
  if (!sent.waits) return;
  sent.waits = false;
  --waiting_;
  in_flight_ += SizeOf(packet);
}

void UetSender::QueueRepair(uint32_t packet) {
  Sent& sent = sent_[packet - una_];
  sent.waits = true;
  ++waiting_;
  in_flight_ -= SizeOf(packet);
  repairs_.push_back(packet);
  std::ranges::push_heap(repairs_, std::greater());
}

void UetSender::OnNack(const Packet& nack) {
  const uint32_t packet = nack.nack.trigger;
  ++record_.nacks;
  if (host_->Wants(HostPolicy::kAck)) {
    host_->policy().OnAck(host_->view(), flow_, nack,
                          {0, 0, host_->now() - nack.sent, nack.Has(Packet::kEce)});
  }
  if (!IsOutstanding(packet) || sent_[packet - una_].waits) return;
  control_.OnRoundTrip(host_->now() - sent_[packet - una_].at);
  control_.OnNack(host_->now(), SizeOf(packet), in_flight_);
  QueueRepair(packet);
  RestartTimers(true);
  GetReady();
}

// --- Losses without trimming ---

// Sleek (Le et al., arXiv 2407.15266): many packets beyond a hole begin a recovery, which sends the
// holes of one window again, each once.
void UetSender::Recover(uint32_t expected, uint16_t held) {
  const double mss = static_cast<double>(shared_->sizes.mss);
  const double window = std::min(1.5 * control_.window(), control_.greatest());
  const double threshold = std::max(window, 5 * mss) / mss;
  if (!recovering_ && waiting_ == 0 && held >= threshold) {
    recovering_ = true;
    recover_ = next_;
    hole_ = una_;
    ++record_.fast_retransmits;
    judge_.OnFastRetransmit(sent_.front().tx_id, host_->now());
    if (host_->Wants(HostPolicy::kLoss)) {
      host_->policy().OnLoss(host_->view(), flow_, LossSign::kDuplicateAcks);
    }
  }
  if (recovering_) QueueHoles(expected);
}

void UetSender::QueueHoles(uint32_t expected) {
  const double mss = static_cast<double>(shared_->sizes.mss);
  const uint32_t window = static_cast<uint32_t>(control_.window() / mss);
  const uint32_t end = std::min(recover_, expected + window);
  for (hole_ = std::max(hole_, una_); hole_ < end; ++hole_) {
    const Sent& sent = sent_[hole_ - una_];
    if (!sent.arrived && !sent.waits) QueueRepair(hole_);
  }
}

// The answer to a probe overtakes nothing: what was sent before the probe and has not been
// acknowledged is probably lost if the queues are short.
void UetSender::OnProbeAnswer(const Packet& answer) {
  const Duration delay = host_->now() - answer.sent - control_.base_rtt();
  if (delay >= shared_->rules.target || una_ == next_ || recovering_) return;
  recovering_ = true;
  recover_ = next_;
  hole_ = una_;
  ++record_.fast_retransmits;
  judge_.OnFastRetransmit(sent_.front().tx_id, host_->now());
  QueueHoles(una_);
  GetReady();
}

void UetSender::SendProbe() {
  Packet& probe = host_->ControlSlot(flow_.dst, flow_.tuple_hash);
  probe.kind = PacketKind::kSyn;
  probe.sent = host_->now();
  probe.flow = flow_.id;
  probe.tuple_hash = flow_.tuple_hash;
  probe.src = flow_.src;
  probe.dst = flow_.dst;
  probe.seq = probes_;
  probe.entropy = static_cast<uint16_t>(Mix64(uint64_t{flow_.id} << 32 | probes_++));
  probe.bytes = static_cast<uint16_t>(shared_->sizes.syn);
  host_->SendControl();
}

// --- Timers ---

// Removes transmissions that have been answered or replaced from the front of the order. Returns
// false if none is left.
bool UetSender::ForgetOld() {
  for (; !order_.empty(); order_.pop_front()) {
    const Order& oldest = order_.front();
    if (!IsOutstanding(oldest.packet)) continue;
    const Sent& sent = sent_[oldest.packet - una_];
    if (sent.tx_id == oldest.tx_id && !sent.waits) return true;
  }
  return false;
}

void UetSender::RestartTimers(bool is_ack) {
  const bool waits = ForgetOld();
  Set(rto_, FlowTimer::kRetransmit,
      waits ? sent_[order_.front().packet - una_].at + shared_->rto : kNever);
  if (!shared_->sleek || !(is_ack || probe_.deadline == kNever)) return;
  const Duration base = control_.base_rtt();
  Set(probe_, FlowTimer::kProbe,
      host_->now() + (next_ == packets_ ? base + shared_->rules.target : 3 * base));
}

// Only the oldest packet counts as lost.
void UetSender::OnTimeout() {
  if (!ForgetOld()) return;
  const uint32_t packet = order_.front().packet;
  ++record_.timeouts;
  flow_.lost_entropy = sent_[packet - una_].entropy;
  if (host_->Wants(HostPolicy::kLoss)) {
    host_->policy().OnLoss(host_->view(), flow_, LossSign::kTimeout);
  }
  flow_.lost_entropy.reset();
  control_.OnTimeout(SizeOf(packet));
  QueueRepair(packet);
  RestartTimers(false);
  GetReady();
}

void UetSender::OnTimer(FlowTimer kind) {
  LazyTimer& timer = kind == FlowTimer::kRetransmit ? rto_ : probe_;
  if (!timer.IsDue(*host_, TimerKey(kind, flow_.id)) || done()) return;
  if (kind == FlowTimer::kRetransmit) return OnTimeout();
  SendProbe();
  Set(probe_, FlowTimer::kProbe, host_->now() + 5 * control_.base_rtt());
}

// --- The end ---

void UetSender::Finish() {
  record_.done = host_->now();
  Set(rto_, FlowTimer::kRetransmit, kNever);
  Set(probe_, FlowTimer::kProbe, kNever);
  EndFlow(*host_, flow_, shared_->close_delay);
}

FlowState UetSender::state() const {
  const int64_t mss = shared_->sizes.mss;
  const int64_t acked = std::min(una_ * mss, spec_.size);
  return {.cwnd = control_.window(),
          .rate = std::nullopt,
          .alpha = std::nullopt,
          .in_flight = std::min(next_ * mss, spec_.size) - acked,
          .acked = acked};
}

const SenderRecord& UetSender::Settle(Time known) {
  record_.packets_sent = tx_id_;
  judge_.Settle(known, record_, host_->log());
  return record_;
}

}  // namespace heddle
