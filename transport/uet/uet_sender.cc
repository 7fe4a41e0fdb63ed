// SPDX-License-Identifier: Apache-2.0

#include "transport/uet/uet_sender.h"

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
  end_ = packets_;
  una_ = next_ = tx_id_ = recover_ = hole_ = probes_ = 0;
  rts_.clear();
  rts_transmissions_ = 0;
  rts_at_ = Time{-kNever.ps};
  in_flight_ = reported_ = 0;
  map_ = 0;
  mapped_ = 0;
  sent_.clear();
  order_.clear();
  repairs_.clear();
  waiting_ = 0;
  waiting_bytes_ = 0;
  asked_ = 0;
  arrived_ = returned_ = 0;
  recovering_ = false;
  judge_.Reset();
  rto_ = probe_ = LazyTimer();
  rtt_ = RttEstimator();
  record_ = SenderRecord{.packets = packets_};
  blocked_ = BlockedTime{};
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
  credit_.Start(shared.CreditFor(base));
  other_links_.assign(shared.settings.spreads() ? host.nics() - 1 : 0, flow_);
  if (host.Wants(HostPolicy::kFlows)) {
    host.policy().OnFlowStart(host.view(), flow_);
    for (HostFlow& flow : other_links_) host.policy().OnFlowStart(host.view(), flow);
  }
  GetReady();
}

int64_t UetSender::SizeBelow(uint32_t end) const {
  const uint32_t data = DataBelow(end);
  const int64_t all = data * shared_->full();
  return data == packets_ ? all - shared_->full() + last_size() : all;
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

// Repairs of a recovery ignore the window, but not the credit.
bool UetSender::HasWork() {
  DropStaleRepairs();
  if (waiting_ == 0 && next_ == end_) return false;
  if (!credit_.Allows()) return false;
  if (recovering_ && waiting_ > 0) return true;
  return control_.Allows(in_flight_ + SizeOf(NextPacket()));
}

void UetSender::GetReady() {
  if (in_round_ || !HasWork()) return;
  in_round_ = true;
  host_->Ready(slot_);
}

Transport::Pulled UetSender::Pull(Packet& packet) {
  in_round_ = false;
  if (done() || !HasWork()) {
    if (!done() && LacksCredit()) RestartTimers(false);
    return {.sent = false, .more = false};
  }
  Build(NextPacket(), packet);
  RestartTimers(false);
  in_round_ = HasWork();
  return {.sent = true, .more = in_round_};
}

// Returns true if the window has no room for a packet beyond one more of the size `more`, or no
// credit is left.
bool UetSender::IsFull(int64_t more) const {
  if (!credit_.Allows()) return true;
  return shared_->rules.has_window() && static_cast<double>(in_flight_ + more) >= control_.window();
}

// The sender would like credit for all that waits, as far as its window lets it be sent.
void UetSender::AskForCredit(Packet& packet, size_t sharing) const {
  int64_t wanted = SizeBelow(end_) - SizeBelow(next_) + waiting_bytes_;
  if (shared_->rules.has_window()) {
    wanted = std::min(wanted, static_cast<int64_t>(control_.window()) + shared_->full());
  }
  SetPullTarget(packet, credit_.Target({.wanted = wanted,
                                        .has_backlog = next_ != end_,
                                        .packet = shared_->full(),
                                        .sharing = static_cast<int64_t>(sharing)}));
}

void UetSender::Build(uint32_t number, Packet& packet) {
  const Time now = host_->now();
  const int64_t size = SizeOf(number);
  const bool is_repair = number < next_;
  if (is_repair) {
    PopRepair();
    --waiting_;
    waiting_bytes_ -= size;
    ++record_.retransmissions;
    judge_.OnRetransmission(sent_[number - una_].tx_id, now);
    if (judge_.HasMany()) {
      judge_.Settle(now - shared_->close_delay / 2, record_, host_->log());
    }
    packet.Set(Packet::kRetransmission);
  } else {
    sent_.push_back(Sent());
    if (++next_ == end_) host_->NoteHanded(flow_.id);
  }
  in_flight_ += size;
  credit_.Spend(size);
  if (is_repair || next_ == end_ || IsFull(size)) packet.Set(Packet::kCwr);
  Sent& sent = sent_[number - una_];
  packet.Set(Packet::kEct);
  FillData(packet, flow_, now, number, tx_id_, PayloadOf(number), size);
  sent.link = LeavingLink() & 0x3f;
  HostFlow& flow = FlowOn(sent.link);
  if (host_->Wants(HostPolicy::kSend)) host_->policy().OnSend(host_->view(), flow, packet);
  if (shared_->has_wishes()) AskForCredit(packet, host_->Waiting(tuple()) + 1);
  flow.bytes_sent += PayloadOf(number);
  sent.at = now;
  sent.tx_id = tx_id_++;
  sent.entropy = packet.entropy;
  sent.sends = static_cast<uint8_t>(std::min(sent.sends + 1, 255));
  sent.waits = false;
  order_.emplace_back(number, sent.tx_id);
}

// --- Acknowledgements ---

void UetSender::OnPull(const Packet& pull) {
  credit_.OnPull(pull.pull.granted);
  asked_ = 0;
  GetReady();
}

void UetSender::OnAck(const Packet& packet) {
  const Time now = host_->now();
  const UetAck ack = UetAck::From(packet);
  const bool marked = packet.Has(Packet::kEce);
  const int64_t held =
      ack.held * shared_->full() - (ack.holds_last ? shared_->full() - last_size() : 0);
  const int64_t newly = std::max<int64_t>(SizeBelow(ack.expected) + held - reported_, 0);
  reported_ += newly;
  in_flight_ -= newly;
  control_.OnBytes(newly);
  control_.OnPenalty(newly, static_cast<int>(shared_->settings.rcv_pen));
  arrived_ = std::max(arrived_, ack.expected + ack.held);
  const Duration delay = TakeSample(packet, ack.acked, marked);
  const uint32_t data = DataBelow(una_);
  Remove(ack);
  rtt_.Sample(now - packet.sent);
  HostFlow& flow = ArrivedFlow();
  flow.srtt = rtt_.srtt();
  if (host_->Wants(HostPolicy::kAck)) {
    const uint32_t packets = DataBelow(una_) - data;
    const int64_t acked = std::min<int64_t>(packets * shared_->sizes.mss, spec_.size);
    host_->policy().OnAck(host_->view(), flow, packet, {acked, 0, now - packet.sent, marked});
  }
  control_.OnAck(now, marked, delay, newly, in_flight_);
  credit_.EndSpeculation();
  if (una_ == end_) return Finish();
  if (shared_->sleek) Recover(ack.expected, ack.held);
  RestartTimers(true);
  GetReady();
}

// Only the round trip of a packet whose copies cannot be confused is a sample; requests to send are
// short and overtake data, so their round trips are none. Without a sample the average stands for
// the delay.
Duration UetSender::TakeSample(const Packet& packet, uint32_t acked, bool marked) {
  if (!IsOutstanding(acked) || IsRts(acked)) return control_.average();
  const Sent& sent = sent_[acked - una_];
  if (sent.sends != (packet.Has(Packet::kRetransmission) ? 2 : 1)) return control_.average();
  const Duration delay = control_.OnRoundTrip(host_->now() - sent.at);
  control_.OnSample(delay, marked);
  return delay;
}

// Returns the packets in the ACK's map that were not in that of the ACK before: the others are
// known, and to look them up again would cost most of the time.
uint64_t UetSender::TakeMap(const UetAck& ack) {
  const int64_t ahead = int64_t{ack.first} - int64_t{mapped_};
  uint64_t known = 0;
  if (ahead >= 0 && ahead < UetAck::kMapped) known = map_ >> ahead;
  if (ahead < 0 && ahead > -int64_t{UetAck::kMapped}) known = map_ << -ahead;
  map_ = ack.map;
  mapped_ = ack.first;
  return ack.map & ~known;
}

void UetSender::Remove(const UetAck& ack) {
  for (uint64_t left = TakeMap(ack); left != 0; left &= left - 1) {
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
  const int64_t size = SizeOf(packet);
  waiting_bytes_ -= size;
  in_flight_ += size;
}

void UetSender::QueueRepair(uint32_t packet) {
  Sent& sent = sent_[packet - una_];
  sent.waits = true;
  ++waiting_;
  const int64_t size = SizeOf(packet);
  waiting_bytes_ += size;
  in_flight_ -= size;
  repairs_.push_back(packet);
  std::ranges::push_heap(repairs_, std::greater());
}

// A NACK of a packet that has arrived since, or waits already, tells nothing new. If the packet was
// sent more than once, nobody knows which copy was trimmed, so its round trip is not known.
void UetSender::OnNack(const Packet& nack) {
  const uint32_t packet = nack.nack.trigger;
  ++record_.nacks;
  if (nack.nack.returned) ++returned_;
  credit_.EndSpeculation();
  if (!IsOutstanding(packet) || sent_[packet - una_].waits) return;
  const Sent& sent = sent_[packet - una_];
  if (shared_->settings.base_rtt_on_nack && sent.sends == 1) {
    control_.OnRoundTrip(host_->now() - sent.at);
  }
  const bool receiver_acts = shared_->has_credit() && nack.Has(Packet::kCutAtLastHop);
  control_.OnNack(host_->now(), SizeOf(packet), in_flight_, receiver_acts);
  QueueRepair(packet);
  if (nack.nack.returned) TakeBack();
  if (host_->Wants(HostPolicy::kAck)) {
    host_->policy().OnAck(host_->view(), ArrivedFlow(), nack,
                          {0, 0, host_->now() - nack.sent, nack.Has(Packet::kEce)});
  }
  RestartTimers(true);
  GetReady();
}

// NDP, of a header that a switch has sent back: to send the packet at once would repeat the incast.
// It waits for a pull, unless none will come: all else is answered, and each answer had its pull.
void UetSender::TakeBack() {
  if (!credit_.counts_packets() || ForgetOld()) return;
  const uint32_t answers = arrived_ + static_cast<uint32_t>(record_.nacks) - returned_;
  if (static_cast<int32_t>(answers - credit_.pulled()) <= 0) credit_.TakePacket();
}

// --- Losses without trimming ---

// Sleek (Le et al., arXiv 2407.15266): many packets beyond a hole begin a recovery, which sends the
// holes of one window again, each once.
void UetSender::Recover(uint32_t expected, uint16_t held) {
  const uint32_t threshold = HeldAtLoss(control_.window(), control_.greatest(), shared_->sizes.mss);
  if (!recovering_ && waiting_ == 0 && held >= threshold) BeginRecovery();
  if (recovering_) QueueHoles(expected);
}

// Entropies learn nothing here: nobody knows which packets are lost until they have been sent
// again.
void UetSender::BeginRecovery() {
  recovering_ = true;
  recover_ = next_;
  hole_ = una_;
  ++record_.fast_retransmits;
  judge_.OnFastRetransmit(sent_.front().tx_id, host_->now());
  if (host_->Wants(HostPolicy::kLoss)) {
    HostFlow& flow = FlowOn(sent_.front().link);
    host_->policy().OnLoss(host_->view(), flow, LossSign::kDuplicateAcks);
  }
}

void UetSender::QueueHoles(uint32_t expected) {
  const double mss = static_cast<double>(shared_->sizes.mss);
  const uint32_t window = static_cast<uint32_t>(control_.window() / mss);
  const uint32_t end = std::min(recover_, expected + window);
  for (hole_ = std::max(hole_, una_); hole_ < end; ++hole_) {
    const Sent& sent = sent_[hole_ - una_];
    if (sent.arrived || sent.waits) continue;
    if (IsRts(hole_)) {
      SendRts(hole_);
    } else {
      QueueRepair(hole_);
    }
  }
}

// A probe overtakes no data: what was sent before it and has not been acknowledged is probably lost
// if the queues are short.
void UetSender::OnProbeAnswer(const Packet& answer) {
  const Duration delay = host_->now() - answer.sent - control_.base_rtt();
  if (delay >= shared_->rules.target || una_ == next_ || recovering_) return;
  BeginRecovery();
  QueueHoles(una_);
  GetReady();
}

// Probes and requests to send take paths as data packets do. Requests ask for an ACK, and go ahead
// of data. Probes go in the class of data, as in uet-htsim, and wait in its queues.
Packet& UetSender::NewControl(uint32_t number, bool asks) {
  Packet& packet = host_->ControlSlot(tuple());
  packet.kind = PacketKind::kSyn;
  FillData(packet, flow_, host_->now(), number, 0, 0, shared_->sizes.syn);
  if (asks) {
    packet.Set(Packet::kCwr);
  } else {
    packet.priority = static_cast<uint8_t>(shared_->settings.priority);
  }
  if (host_->Wants(HostPolicy::kSend)) {
    host_->policy().OnSend(host_->view(), FlowOn(LeavingLink()), packet);
  }
  return packet;
}

// While the class of data is paused, none is sent; the timer sends one later.
void UetSender::SendProbe() {
  if (host_->IsDataPaused(tuple())) return;
  NewControl(probes_++, false);
  host_->SendControl();
}

// A round trip apart at least, so that a window of losses does not cause an incast of requests.
void UetSender::RequestToSend() {
  if (host_->now() - rts_at_ < control_.base_rtt()) return;
  const uint32_t number = next_++;
  ++end_;
  rts_.push_back(number);
  sent_.push_back(Sent());
  SendRts(number);
}

void UetSender::SendRts(uint32_t number) {
  Packet& packet = NewControl(number, true);
  if (shared_->has_wishes()) {
    AskForCredit(packet, std::max<size_t>(host_->Waiting(tuple()), 1));
  }
  rts_at_ = host_->now();
  Sent& sent = sent_[number - una_];
  sent.at = host_->now();
  sent.tx_id = tx_id_++;
  ++rts_transmissions_;
  sent.entropy = packet.entropy;
  sent.link = LeavingLink() & 0x3f;
  sent.sends = static_cast<uint8_t>(std::min(sent.sends + 1, 255));
  order_.emplace_back(number, sent.tx_id);
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

// A sender that waits for credit alone asks for it again: its pulls may be lost. The time doubles
// up to 16 timeouts until the next pull, because among many flows its turn may come late.
void UetSender::RestartTimers(bool is_ack) {
  const bool waits = ForgetOld();
  Set(rto_, FlowTimer::kRetransmit,
      waits           ? sent_[order_.front().packet - una_].at + shared_->rto
      : LacksCredit() ? host_->now() + shared_->rto * (int64_t{1} << asked_)
                      : kNever);
  if (!shared_->sleek || !(is_ack || probe_.deadline == kNever)) return;
  const Duration base = control_.base_rtt();
  Set(probe_, FlowTimer::kProbe,
      host_->now() + (next_ == end_ ? base + shared_->rules.target : 3 * base));
}

// Only the oldest packet counts as lost.
void UetSender::OnTimeout() {
  if (!ForgetOld()) {
    if (!LacksCredit()) return;
    asked_ = static_cast<uint8_t>(std::min(asked_ + 1, 4));
    RequestToSend();
    return RestartTimers(false);
  }
  const uint32_t packet = order_.front().packet;
  ++record_.timeouts;
  const Sent& lost = sent_[packet - una_];
  HostFlow& flow = FlowOn(lost.link);
  flow.lost_entropy = lost.entropy;
  if (host_->Wants(HostPolicy::kLoss)) {
    host_->policy().OnLoss(host_->view(), flow, LossSign::kTimeout);
  }
  flow.lost_entropy.reset();
  if (IsRts(packet)) {
    SendRts(packet);
  } else {
    control_.OnTimeout(SizeOf(packet));
    QueueRepair(packet);
    if (credit_.counts_packets()) credit_.TakePacket();  // Nothing came that would bring a pull.
    if (!HasWork()) RequestToSend();
  }
  RestartTimers(false);
  GetReady();
}

void UetSender::OnTimer(FlowTimer kind) {
  LazyTimer& timer = kind == FlowTimer::kRetransmit ? rto_ : probe_;
  if (!timer.IsDue(*host_, TimerKey(kind, flow_.id)) || done()) return;
  if (kind == FlowTimer::kRetransmit) return OnTimeout();
  if (in_flight_ == 0 && LacksCredit()) return;  // The next packet sets the timer again.
  SendProbe();
  Set(probe_, FlowTimer::kProbe, host_->now() + 5 * control_.base_rtt());
}

// --- The end ---

void UetSender::Finish() {
  record_.done = host_->now();
  Set(rto_, FlowTimer::kRetransmit, kNever);
  Set(probe_, FlowTimer::kProbe, kNever);
  if (host_->Wants(HostPolicy::kFlows)) {
    for (HostFlow& flow : other_links_) host_->policy().OnFlowEnd(host_->view(), flow);
  }
  EndFlow(*host_, flow_, shared_->close_delay);
}

FlowState UetSender::state() const {
  const int64_t mss = shared_->sizes.mss;
  const int64_t acked = std::min(DataBelow(una_) * mss, spec_.size);
  const std::optional<double> window = control_.window();
  return {.cwnd = shared_->rules.has_window() ? window : std::nullopt,
          .rate = std::nullopt,
          .alpha = std::nullopt,
          .in_flight = std::min(DataBelow(next_) * mss, spec_.size) - acked,
          .acked = acked};
}

const SenderRecord& UetSender::Settle(Time known) {
  record_.packets_sent = tx_id_ - rts_transmissions_;
  judge_.Settle(known, record_, host_->log());
  return record_;
}

}  // namespace heddle
