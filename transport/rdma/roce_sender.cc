// SPDX-License-Identifier: Apache-2.0

#include "transport/rdma/roce_sender.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "transport/sender_parts.h"
#include "transport/uet/uet_ack.h"

namespace heddle {
namespace {

constexpr double kNoLimit = std::numeric_limits<uint32_t>::max();

}  // namespace

void RoceSender::Start(const FlowSpec& spec, uint32_t slot, Host& host, const RoceShared& shared) {
  host_ = &host;
  shared_ = &shared;
  spec_ = spec;
  slot_ = slot;
  packets_ = static_cast<uint32_t>((spec.size + shared.sizes.mss - 1) / shared.sizes.mss);
  una_ = nxt_ = end_ = tx_id_ = 0;
  last_timeout_ = LastTimeout();
  gone_back_to_ = -1;
  copies_.clear();
  order_.clear();
  repair_.Reset();
  judge_.Reset();
  rtt_ = RttEstimator();
  rto_ = pace_ = control_timer_ = LazyTimer();
  record_ = SenderRecord{.packets = packets_};
  blocked_ = BlockedTime{};
  flow_ = HostFlow{.id = spec.id,
                   .src = spec.src,
                   .dst = spec.dst,
                   .tuple_hash = TupleHash(spec.src, spec.dst, spec.sport, spec.dport),
                   .lane = spec.lane,
                   .size = spec.size};
  next_avail_ = host.now();
  rate_ = RateState();
  const BitRate nic = host.LineRate(tuple());
  nic_rate_ = static_cast<double>(nic.bps);
  rate_.line = rate_.rate = static_cast<double>(shared.settings.line_rate.value_or(nic).bps);
  limit_ = rate_.line;
  const int64_t wire = shared.sizes.DataPacket(shared.sizes.mss) + shared.sizes.wire_overhead;
  rate_.packet_bits = static_cast<double>(wire * 8);
  paced_rate_ = rate_.line;
  paced_bits_ = 0;
  gap_ = Duration{0};
  StartControl();
  SetBandwidthDelay();
  followed_rate_ = std::numeric_limits<double>::quiet_NaN();
  FollowControl();
  if (host.Wants(HostPolicy::kFlows)) host.policy().OnFlowStart(host.view(), flow_);
  GetReady();
}

void RoceSender::StartControl() {
  if (shared_->base_rtt == BaseRtt::kPair) {
    rate_.base_rtt = shared_->bandwidth_delay->RoundTrip(spec_.src, spec_.dst);
  } else if (shared_->base_rtt == BaseRtt::kLongest) {
    rate_.base_rtt = shared_->bandwidth_delay->LongestRoundTrip();
  }
  if (shared_->telemetry) {
    if (!told_) told_ = std::make_unique<Telemetry>();
    told_->Clear();
    rate_.told = told_.get();
  }
  shared_->control->Start(rate_);
}

// IRN limits the number of packets. A window in bytes lets one more packet begin as long as it is
// not full.
void RoceSender::SetBandwidthDelay() {
  const RoceSettings& settings = shared_->settings;
  bdp_packets_ = whole_window_ = kNoLimit;
  if (!settings.uses_bdp()) return;
  const auto from_network = [&] {
    return settings.bdp_scope == RoceSettings::Scope::kPair
               ? shared_->bandwidth_delay->Between(spec_.src, spec_.dst)
               : shared_->bandwidth_delay->Largest();
  };
  const Bytes bdp = settings.bdp ? *settings.bdp : from_network();
  bdp_packets_ = static_cast<double>(bdp.count) / static_cast<double>(shared_->sizes.mss);
  whole_window_ = WindowAt(1.0);
}

// --- Sending ---

void RoceSender::GetReady() {
  if (in_round_) return;
  GetInRound();
  if (in_round_) host_->Ready(slot_);
}

// The flow takes part in the round if it has work and the rate allows another packet.
[[gnu::always_inline]] inline void RoceSender::GetInRound() {
  if (!HasWork()) return;
  in_round_ = next_avail_ <= host_->now();
  if (!in_round_) Set(pace_, FlowTimer::kPace, next_avail_);
}

Transport::Pulled RoceSender::Pull(Packet& packet) {
  in_round_ = false;
  if (!HasWork() || host_->now() < next_avail_) {
    GetReady();
    return {.sent = false, .more = false};
  }
  Build(IsSelective() && repair_.HasLost(una_) ? repair_.TakeLost(una_) : nxt_, packet);
  Pace(packet.bytes + shared_->sizes.wire_overhead);
  shared_->control->OnSent(rate_, packet.bytes, host_->now());
  FollowControl();
  RestartTimer();
  GetInRound();
  return {.sent = true, .more = in_round_};
}

void RoceSender::Build(uint32_t number, Packet& packet) {
  const Time now = host_->now();
  const uint32_t tx_id = tx_id_++;
  if (number < end_) {
    uint32_t& copy = copies_[number - una_];
    ++record_.retransmissions;
    judge_.OnRetransmission(copy, now);
    if (judge_.HasMany()) {
      judge_.Settle(now - shared_->close_delay / 2, record_, host_->log());
    }
    copy = tx_id;
    packet.Set(Packet::kRetransmission);
  } else {
    copies_.push_back(tx_id);
    if (++end_ == packets_) host_->NoteHanded(flow_.id);
  }
  if (number == nxt_) ++nxt_;
  if (IsDdp()) order_.emplace_back(number, tx_id, now);

  const int64_t payload = PayloadOf(number);
  packet.Set(Packet::kEct);
  if (AsksForAck()) packet.Set(Packet::kCwr);
  FillData(packet, flow_, now, number, tx_id, payload, shared_->sizes.DataPacket(payload));
  if (shared_->telemetry) host_->LeavingTelemetry().Clear();
  if (host_->Wants(HostPolicy::kSend)) host_->policy().OnSend(host_->view(), flow_, packet);
  flow_.bytes_sent += payload;
}

// At the NIC's own rate the NIC spaces the packets; pacing would only add rounding.
void RoceSender::Pace(int64_t wire_bytes) {
  paced_from_ = host_->now();
  FindGap(static_cast<double>(wire_bytes * 8));
  next_avail_ = paced_from_ + gap_;
}

// Finds the gap behind a packet of `bits` at the present rate, with a division only if either has
// changed.
void RoceSender::FindGap(double bits) {
  if (bits == paced_bits_ && Rate() == paced_rate_) return;
  paced_bits_ = bits;
  paced_rate_ = Rate();
  gap_ = Gap();
}

Duration RoceSender::Gap() const {
  if (paced_rate_ >= nic_rate_) return Duration{0};
  if (paced_rate_ <= 0) return {kNever.ps};
  const double ps =
      std::ceil(paced_bits_ * static_cast<double>(kPicosecondsPerSecond) / paced_rate_);
  if (ps >= static_cast<double>(kNever.ps)) return {kNever.ps};
  const Duration gap{static_cast<int64_t>(ps)};
  const std::optional<Duration>& unit = shared_->settings.gap_unit;
  return unit ? *unit * (gap / *unit) : gap;
}

// --- Acknowledgements ---

void RoceSender::OnAck(const Packet& ack) {
  const Time now = host_->now();
  const bool is_nack = ack.kind == PacketKind::kNack;
  const Duration rtt = now - ack.sent;
  if (is_nack) ++record_.nacks;
  if (ack.Has(Packet::kNotify)) TakeCnp();
  const uint32_t una = una_;
  const int64_t newly_acked = ack.seq > una_ ? Advance(ack.seq) : 0;
  const bool is_trimmed = ack.Has(Packet::kTrimmed);
  if (IsDdp() && !is_nack) TakeMap(ack);
  const bool fresh = IsIrn() && is_nack && !is_trimmed && ack.nack.trigger >= una_ &&
                     repair_.OnArrived(ack.nack.trigger);
  if (host_->has_policy()) {
    rtt_.Sample(rtt);
    flow_.srtt = rtt_.srtt();
  }
  if (host_->Wants(HostPolicy::kAck)) {
    const int64_t sacked = fresh ? PayloadOf(ack.nack.trigger) : 0;
    host_->policy().OnAck(host_->view(), flow_, ack,
                          {newly_acked, sacked, rtt, ack.Has(Packet::kEce)});
  }
  if (una_ == packets_) return Finish();
  const Telemetry* telemetry = shared_->telemetry ? &host_->ArrivedTelemetry() : nullptr;
  shared_->control->OnAck(rate_,
                          {now, rtt, una_ - una, newly_acked, ack.hops + 1, una_, nxt_, telemetry});
  if (is_nack) OnNack(ack);
  FollowControl();
  RestartTimer();
  GetReady();
}

// Returns the newly acknowledged payload.
int64_t RoceSender::Advance(uint32_t una) {
  const uint32_t packets = una - una_;
  const int64_t acked = (packets - 1) * int64_t{shared_->sizes.mss} + PayloadOf(una - 1);
  copies_.pop_front(packets);
  una_ = una;
  nxt_ = std::max(nxt_, una_);  // It may cover what was sent before going back.
  if (IsSelective()) repair_.AdvanceTo(una_);
  return acked;
}

void RoceSender::OnCnp() {
  TakeCnp();
  FollowControl();
  GetReady();
}

void RoceSender::TakeCnp() {
  ++record_.cnps;
  shared_->control->OnCnp(rate_, host_->now());
}

// --- Losses ---

void RoceSender::OnNack(const Packet& nack) {
  if (IsSelective() && nack.Has(Packet::kTrimmed))
    return repair_.SendAlone(nack.nack.trigger, una_);
  if (IsIrn() && nack.nack.trigger >= una_) RepairHoles();
  if (IsIrn() || IsDdp()) return;
  if (shared_->settings.is_sr()) return RepairExpected(nack);
  // A NACK that an ACK has overtaken says nothing new. If una_ is about to be sent anyway, a NACK
  // changes nothing.
  if (nack.seq < una_ || nxt_ == una_) return;
  nxt_ = una_;
  if (una_ == gone_back_to_) return;  // The same gap once more (nack: timer).
  gone_back_to_ = una_;
  OnLossFound(una_);
}

// Begins a recovery if enough packets have come out of order.
void RoceSender::RepairHoles() {
  if (repair_.recovering()) return;
  if (repair_.arrived() < static_cast<uint32_t>(shared_->settings.nack_threshold)) return;
  const std::optional<uint32_t> hole = repair_.FirstHole(una_);
  if (!hole) return;
  repair_.BeginRecovery(una_, end_);
  OnLossFound(*hole);
}

// Sends one packet again: the receiver has kept those that came after it. After a timeout it may be
// about to be sent anyway; and if a switch has trimmed it, it was sent again for that.
void RoceSender::RepairExpected(const Packet& nack) {
  if (nack.seq < una_ || nxt_ == una_) return;
  const bool is_known = una_ == gone_back_to_;  // The same gap once more (nack: timer).
  gone_back_to_ = una_;
  if (!is_known && repair_.WasSentAlone(una_)) return;
  repair_.SendAlone(una_, una_);
  if (!is_known) OnLossFound(una_);
}

// `packet` counts as lost, the first one that does.
void RoceSender::OnLossFound(uint32_t packet) {
  ++record_.fast_retransmits;
  judge_.OnFastRetransmit(copies_[packet - una_], host_->now());
  shared_->control->OnLoss(rate_, host_->now());
  if (host_->Wants(HostPolicy::kLoss)) {
    host_->policy().OnLoss(host_->view(), flow_, LossSign::kDuplicateAcks);
  }
}

void RoceSender::OnTimeout() {
  if (IsDdp() && !ForgetOld()) return;
  ++record_.timeouts;
  last_timeout_.Note(tx_id_);
  if (IsDdp()) {
    while (ForgetOld() && host_->now() - order_.front().at >= shared_->ddp_rto) {
      repair_.SendAlone(order_.front().packet, una_);
      order_.pop_front();
    }
  } else if (IsIrn()) {
    repair_.OnTimeout(una_, end_);
  } else {
    nxt_ = una_;
    repair_.OnGoBack(una_);
  }
  shared_->control->OnTimeout(rate_, host_->now());
  if (host_->Wants(HostPolicy::kLoss)) {
    host_->policy().OnLoss(host_->view(), flow_, LossSign::kTimeout);
  }
  FollowControl();
  RestartTimer();
  GetReady();
}

// --- Timers ---

// The window while the flow may send at `share` of its line rate, in packets.
double RoceSender::WindowAt(double share) const {
  const double bdp = bdp_packets_ * std::min(share, 1.0);
  return IsIrn() ? std::min(std::floor(bdp_packets_), std::ceil(bdp)) : std::ceil(bdp);
}

void RoceSender::FollowRate() {
  followed_rate_ = rate_.rate;
  followed_window_ = rate_.window;
  const RoceSettings& settings = shared_->settings;
  const double limit = settings.window == RoceSettings::Window::kBdpVar
                           ? WindowAt(rate_.rate / rate_.line)
                           : whole_window_;
  // The receiver would drop what lies beyond the packets that it places.
  const double placed = IsDdp() ? shared_->ddp_window : kNoLimit;
  window_ =
      static_cast<uint32_t>(std::clamp(std::min({limit, rate_.window, placed}), 1.0, kNoLimit));
  if (settings.retime_on_rate_change && Rate() != paced_rate_ && next_avail_ > host_->now()) {
    Retime();
  }
}

// The rate has changed, so the time of the next packet is computed anew.
void RoceSender::Retime() {
  FindGap(paced_bits_);
  next_avail_ = std::max(host_->now(), paced_from_ + gap_);
}

// A limit takes effect at once, also one of 0 and its end.
void RoceSender::SetLimit(BitRate limit) {
  limit_ = static_cast<double>(limit.bps);
  Retime();
  GetReady();
}

// If the NIC has become faster than it was when the flow started, the flow's line rate rises too,
// unless it is set. A slower NIC spaces the packets itself; congestion control keeps what it has
// learnt.
void RoceSender::OnNewLineRate() {
  nic_rate_ = static_cast<double>(host_->LineRate(tuple()).bps);
  if (!shared_->settings.line_rate && nic_rate_ > rate_.line) {
    const double line = std::exchange(rate_.line, nic_rate_);
    if (limit_ == line) limit_ = nic_rate_;
    if (rate_.rate == line) rate_.rate = nic_rate_;
    followed_rate_ = std::numeric_limits<double>::quiet_NaN();  // A window may follow the line.
  }
  gap_ = Gap();  // It may now have to space its packets itself, or need not any more.
  FollowControl();
  GetReady();
}

// Marks the packets that an ACK of out-of-order placement reports.
void RoceSender::TakeMap(const Packet& packet) {
  const UetAck ack = UetAck::From(packet);
  for (uint64_t left = ack.map; left != 0; left &= left - 1) {
    const uint32_t arrived = ack.first + static_cast<uint32_t>(std::countr_zero(left));
    if (arrived >= una_ && arrived < end_) repair_.OnArrived(arrived);
  }
  if (shared_->settings.ddp_loss == RoceSettings::DdpLoss::kThreshold) RepairHoles();
}

// Removes transmissions that have been answered or replaced from the front of the order. Returns
// false if none is left.
bool RoceSender::ForgetOld() {
  for (; !order_.empty(); order_.pop_front()) {
    const Order& oldest = order_.front();
    if (oldest.packet < una_ || repair_.HasArrived(oldest.packet)) continue;
    if (copies_[oldest.packet - una_] == oldest.tx_id) return true;
  }
  return false;
}

[[gnu::always_inline]] inline void RoceSender::RestartTimer() {
  if (IsDdp()) [[unlikely]] {
    const bool any = ForgetOld();
    return Set(rto_, FlowTimer::kRetransmit, any ? order_.front().at + shared_->ddp_rto : kNever);
  }
  const bool waits = una_ < end_ && (IsIrn() || shared_->settings.rto);
  Set(rto_, FlowTimer::kRetransmit, waits ? host_->now() + Rto() : kNever);
}

Duration RoceSender::Rto() const {
  const RoceSettings& settings = shared_->settings;
  if (!IsIrn()) return *settings.rto;
  return in_flight() <= settings.rto_low_packets ? settings.rto_low : settings.rto_high;
}

void RoceSender::OnTimer(FlowTimer kind) {
  if (kind == FlowTimer::kRetransmit) {
    if (IsDue(rto_, kind)) MayTimeOut() ? OnTimeout() : RestartTimer();
  } else if (kind == FlowTimer::kPace) {
    if (IsDue(pace_, kind)) GetReady();
  } else if (IsDue(control_timer_, kind)) {
    rate_.deadline = kNever;
    shared_->control->OnTimer(rate_, host_->now());
    FollowControl();
    GetReady();
  }
}

// --- The end ---

void RoceSender::Finish() {
  record_.done = host_->now();
  Set(rto_, FlowTimer::kRetransmit, kNever);
  Set(pace_, FlowTimer::kPace, kNever);
  Set(control_timer_, FlowTimer::kRate, kNever);
  EndFlow(*host_, flow_, shared_->close_delay);
}

FlowState RoceSender::state() const {
  const int64_t mss = shared_->sizes.mss;
  const int64_t acked = std::min(una_ * mss, spec_.size);
  FlowState state{.cwnd = std::nullopt,
                  .rate = std::min(Rate(), rate_.line),
                  .alpha = std::nullopt,
                  .in_flight = std::min(end_ * mss, spec_.size) - acked,
                  .acked = acked};
  if (window_ < kNoLimit) state.cwnd = static_cast<double>(window_ * mss);
  return state;
}

const SenderRecord& RoceSender::Settle(Time known) {
  record_.packets_sent = tx_id_;
  judge_.Settle(known, record_, host_->log());
  return record_;
}

}  // namespace heddle
