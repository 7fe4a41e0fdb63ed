// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp_sender.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "transport/reno.h"
#include "transport/tcp_timers.h"

namespace heddle {
namespace {

constexpr int32_t kMaxBackoff = 1 << 20;

}  // namespace

TcpShared::TcpShared(const TcpSettings& tcp, Duration close)
    : settings(tcp),
      sizes(SizesOf(tcp)),
      rto{tcp.min_rto, tcp.max_rto, tcp.rto_init.value_or(tcp.min_rto), tcp.rto_granularity},
      close_delay(close) {
  dupthresh =
      tcp.dupthresh ? static_cast<uint32_t>(*tcp.dupthresh) : std::numeric_limits<uint32_t>::max();
  max_segments = kMaxWindowSegments;
  for (const std::optional<int64_t>& limit : {tcp.max_cwnd, tcp.rwnd}) {
    if (limit) max_segments = static_cast<uint32_t>(std::min<int64_t>(max_segments, *limit));
  }
  const int growth_limit = tcp.delack_count == 1 ? 1 : 2;
  control = tcp.is_dctcp ? MakeDctcp(tcp.dctcp, growth_limit)
                         : MakeReno(tcp.ecn == TcpSettings::Ecn::kRfc3168, growth_limit);
}

void TcpSender::Start(const FlowSpec& spec, uint32_t slot, Host& host, const TcpShared& shared) {
  host_ = &host;
  shared_ = &shared;
  spec_ = spec;
  slot_ = slot;
  const int64_t mss = shared.sizes.mss;
  segments_ = static_cast<uint32_t>((spec.size + mss - 1) / mss);
  board_.Reset();
  judge_.Reset();
  nxt_ = tx_id_ = dupacks_ = 0;
  in_round_ = in_recovery_ = resend_first_ = send_cwr_ = partial_ack_seen_ = timed_out_ = false;
  window_ = CongestionWindow{.mss = static_cast<double>(mss)};
  window_.cwnd = window_.mss * static_cast<double>(shared.settings.iw);
  rtt_ = RttEstimator();
  deadline_ = armed_ = kNever;
  recover_ = -1;
  backoff_ = 1;
  record_ = SenderRecord{.packets = segments_};
  flow_ = HostFlow{.id = spec.id,
                   .src = spec.src,
                   .dst = spec.dst,
                   .tuple_hash = TupleHash(spec.src, spec.dst, spec.sport, spec.dport),
                   .size = spec.size};
  const int64_t first_flight = std::min<int64_t>(shared.settings.iw, segments_);
  shared.control->Start(window_, static_cast<uint32_t>(first_flight));
  if (host.Wants(HostPolicy::kFlows)) host.policy().OnFlowStart(host.view(), flow_);
  may_send_ = shared.settings.setup != TcpSettings::Setup::kHandshake;
  if (!may_send_) return SendSyn();
  GetReady();
}

void TcpSender::Resume(const Memory& memory) {
  rtt_ = memory.rtt;
  // RFC 5681 section 4.1: after an idle period of more than one RTO the window starts afresh.
  if (host_->now() - memory.idle_since > rtt_.Rto(shared_->rto)) return;
  window_.cwnd = memory.cwnd;
  window_.ssthresh = memory.ssthresh;
  GetReady();
}

// --- Sending ---

bool TcpSender::CanSend() const {
  if (!may_send_) return false;
  if (resend_first_) return true;
  const bool has_new = nxt_ < segments_ && FlightSize() < shared_->max_segments;
  if (IsSack()) return (has_new || board_.HasLost()) && Fits(board_.pipe());
  const bool limited_transmit = !in_recovery_ && shared_->settings.limited_transmit;
  const uint32_t beyond = limited_transmit ? std::min(dupacks_, 2u) : 0;  // RFC 3042.
  return has_new && (FlightSize() < beyond || Fits(FlightSize() - beyond));
}

void TcpSender::GetReady() {
  if (in_round_ || !CanSend()) return;
  in_round_ = true;
  host_->Ready(slot_);
}

Transport::Pulled TcpSender::Pull(Packet& packet) {
  in_round_ = CanSend();
  if (!in_round_) return {.sent = false, .more = false};
  Build(NextSegment(), packet);
  if (deadline_ == kNever) RestartTimer();
  in_round_ = CanSend();
  return {.sent = true, .more = in_round_};
}

uint32_t TcpSender::NextSegment() {
  if (std::exchange(resend_first_, false)) return board_.first();
  if (IsSack() && board_.HasLost()) return board_.NextLost();
  return nxt_;
}

void TcpSender::Build(uint32_t segment, Packet& packet) {
  const Time now = host_->now();
  const uint32_t tx_id = tx_id_++;
  const bool again = segment < board_.end();
  if (again) {
    ++record_.retransmissions;
    judge_.OnRetransmission(board_.At(segment).tx_id, now);
    if (judge_.HasMany()) judge_.Settle(now - shared_->close_delay / 2, record_);
    board_.Resend(segment, now, tx_id);
    packet.Set(Packet::kRetransmission);
  } else {
    board_.Append(now, tx_id);
    if (std::exchange(send_cwr_, false)) packet.Set(Packet::kCwr);
  }
  if (segment == nxt_) ++nxt_;
  const CongestionControl& control = *shared_->control;
  if (again ? control.marks_retransmissions() : control.marks_data()) packet.Set(Packet::kEct);

  const int64_t payload = PayloadUpTo(segment + 1) - PayloadUpTo(segment);
  packet.sent = now;
  packet.flow = flow_.id;
  packet.tuple_hash = flow_.tuple_hash;
  packet.seq = segment;
  packet.src = flow_.src;
  packet.dst = flow_.dst;
  packet.bytes = static_cast<uint16_t>(shared_->sizes.DataPacket(payload));
  packet.data.tx_id = tx_id;
  packet.data.payload = static_cast<uint32_t>(payload);
  if (host_->Wants(HostPolicy::kSend)) host_->policy().OnSend(host_->view(), flow_, packet);
  flow_.bytes_sent += payload;
}

void TcpSender::SendSyn() {
  Packet& syn = host_->ControlSlot();
  syn.kind = PacketKind::kSyn;
  syn.sent = host_->now();
  syn.flow = flow_.id;
  syn.tuple_hash = flow_.tuple_hash;
  syn.src = flow_.src;
  syn.dst = flow_.dst;
  syn.bytes = static_cast<uint16_t>(shared_->sizes.ack);
  host_->SendControl();
  SetDeadline(host_->now() + std::min(shared_->rto.min * backoff_, shared_->rto.max));
}

void TcpSender::OnSynAck() {
  if (may_send_) return;
  may_send_ = true;
  backoff_ = 1;
  SetDeadline(kNever);
  GetReady();
}

// --- Acknowledgements ---

void TcpSender::OnAck(const Packet& ack) {
  uint32_t newly_sacked = 0;
  if (IsSack()) {
    for (const SackBlock& block : ack.ack.sack) {
      if (block.length == 0) break;
      newly_sacked += board_.Sack(ack.seq + block.start, ack.seq + block.start + block.length);
    }
  }
  if (ack.seq > board_.first()) {
    Advance(ack, newly_sacked);
  } else if (ack.seq == board_.first() && board_.outstanding() > 0 &&
             (newly_sacked > 0 || !IsSack())) {
    OnDuplicateAck(ack, newly_sacked);
  }
  if (newly_sacked > 0) board_.MarkLostBySacks(shared_->dupthresh);
  const bool lost = dupacks_ >= shared_->dupthresh || board_.FirstIsLost();
  if (lost && !in_recovery_ && MayEnterRecovery()) EnterRecovery();
  GetReady();
}

// Whether a window of which `flight` bytes were in the network has held the flow back. The NIC may
// still have been busy with what an earlier ACK released: in slow start, which makes two packets of
// one, half a window is as much as an ACK clock at the NIC's own rate keeps in flight.
bool TcpSender::IsWindowLimited(double flight) const {
  if (flight >= window_.cwnd - window_.mss) return true;
  return window_.cwnd < window_.ssthresh && window_.cwnd < 2 * flight;
}

void TcpSender::Advance(const Packet& ack, uint32_t newly_sacked) {
  const Time now = host_->now();
  const uint32_t first = board_.first();
  const double flight = static_cast<double>(FlightSize()) * window_.mss;
  const Time sampled = board_.Acknowledge(ack.seq);
  nxt_ = std::max(nxt_, ack.seq);  // An ACK may cover what was sent before a rewind.
  // The echoed time of sending makes a sample of every ACK (RFC 7323 section 4).
  const Duration rtt = shared_->settings.timestamps ? now - ack.sent
                       : sampled == kNever          ? Duration{0}
                                                    : now - sampled;
  if (rtt.ps > 0) rtt_.Sample(rtt);
  flow_.srtt = rtt_.srtt();
  backoff_ = 1;
  timed_out_ = false;

  const Acknowledgement news{.bytes = PayloadUpTo(ack.seq) - PayloadUpTo(first),
                             .una = ack.seq,
                             .nxt = nxt_,
                             .ecn_echo = ack.Has(Packet::kEce),
                             .in_recovery = in_recovery_,
                             .window_limited = IsWindowLimited(flight)};
  const bool reduced = shared_->control->OnAck(window_, news);
  send_cwr_ = send_cwr_ || (reduced && shared_->control->latches_echo());
  TellPolicy(ack, news.bytes, newly_sacked, rtt);

  const bool first_partial_ack = !partial_ack_seen_;
  if (in_recovery_) ContinueRecovery(news.bytes);
  dupacks_ = 0;
  // NewReno restarts the timer for the first partial ACK only ("impatient", RFC 6582 section 4).
  const bool restart = !in_recovery_ || IsSack() || first_partial_ack;
  if (ack.seq == segments_) return Finish();
  if (board_.outstanding() == 0) {
    SetDeadline(kNever);
  } else if (restart) {
    RestartTimer();
  }
}

void TcpSender::OnDuplicateAck(const Packet& ack, uint32_t newly_sacked) {
  ++dupacks_;
  if (in_recovery_ && !IsSack()) window_.cwnd += window_.mss;  // RFC 6582 section 3.2 step 3.
  TellPolicy(ack, 0, newly_sacked, Duration{0});
}

void TcpSender::TellPolicy(const Packet& ack, int64_t newly_acked, uint32_t newly_sacked,
                           Duration rtt) {
  if (!host_->Wants(HostPolicy::kAck)) return;
  const AckNews news{newly_acked, newly_sacked * shared_->sizes.mss, rtt, ack.Has(Packet::kEce)};
  host_->policy().OnAck(host_->view(), flow_, ack, news);
}

// --- Loss recovery ---

// NewReno must see an ACK beyond the last episode (RFC 6582 section 3.2 step 1, its "more than"
// taken strictly), or the duplicate ACKs of its own retransmissions would start another one. With
// SACK, reaching the end suffices: a duplicate ACK must bring news.
bool TcpSender::MayEnterRecovery() const {
  const int64_t first = board_.first();
  return board_.outstanding() > 0 && (IsSack() ? first >= recover_ : first > recover_);
}

void TcpSender::EnterRecovery() {
  const Time now = host_->now();
  ++record_.fast_retransmits;
  // The last episode may have found this segment lost as well, beyond its own end, and have sent it
  // again: then it is on its way.
  const Scoreboard::Segment& first = board_.At(board_.first());
  resend_first_ = !first.sent_again;
  judge_.OnFastRetransmit(resend_first_ ? first.tx_id : first.previous_tx_id, now);
  in_recovery_ = true;
  partial_ack_seen_ = false;
  recover_ = board_.end();
  HalveThreshold();
  window_.cwnd = window_.ssthresh;
  if (IsSack()) {
    board_.MarkLost(board_.first());
  } else {
    window_.cwnd += shared_->dupthresh * window_.mss;
  }
  shared_->control->OnLoss(window_, board_.end());
  if (host_->Wants(HostPolicy::kLoss)) {
    host_->policy().OnLoss(host_->view(), flow_, LossSign::kDuplicateAcks);
  }
}

// An ACK of `newly_acked` bytes has arrived during recovery.
void TcpSender::ContinueRecovery(int64_t newly_acked) {
  if (board_.first() >= recover_) {
    in_recovery_ = false;
    resend_first_ = false;
    if (IsSack()) return;
    const double flight = static_cast<double>(FlightSize()) * window_.mss;
    window_.cwnd = std::min(window_.ssthresh, std::max(flight, window_.mss) + window_.mss);
    return;
  }
  if (IsSack()) {
    resend_first_ = false;  // What it was for has arrived; the scoreboard knows what else is lost.
    return;
  }
  // A partial ACK: the next segment is presumed lost too.
  partial_ack_seen_ = true;
  resend_first_ = true;
  window_.cwnd = std::max(window_.cwnd - static_cast<double>(newly_acked), 0.0) + window_.mss;
}

void TcpSender::HalveThreshold() {
  const double flight = static_cast<double>(FlightSize()) * window_.mss;
  window_.ssthresh = std::max(flight / 2, 2 * window_.mss);
}

// --- Timers ---

void TcpSender::RestartTimer() {
  SetDeadline(host_->now() + std::min(rtt_.Rto(shared_->rto) * backoff_, shared_->rto.max));
}

void TcpSender::SetDeadline(Time deadline) {
  deadline_ = deadline;
  if (deadline >= armed_) return;  // The timer that fires earlier will set it anew.
  armed_ = deadline;
  host_->SetTimer(deadline, TimerKey(TcpTimer::kRetransmit, flow_.id));
}

void TcpSender::OnTimer() {
  const Time now = host_->now();
  if (now != armed_) return;  // An earlier one has taken its place.
  armed_ = kNever;
  if (deadline_ > now) {
    const Time deadline = deadline_;
    if (deadline != kNever) SetDeadline(deadline);
    return;
  }
  backoff_ = std::min(2 * backoff_, kMaxBackoff);
  if (!may_send_) return SendSyn();
  OnTimeout();
}

void TcpSender::OnTimeout() {
  ++record_.timeouts;
  const bool again = timed_out_ && timed_out_first_ == board_.first();
  if (!again) HalveThreshold();
  timed_out_ = true;
  timed_out_first_ = board_.first();
  window_.cwnd = window_.mss;
  in_recovery_ = resend_first_ = false;
  dupacks_ = 0;
  recover_ = board_.end();
  if (IsSack()) {
    board_.MarkAllLost();
  } else {
    nxt_ = board_.first();
  }
  shared_->control->OnTimeout(window_, nxt_);
  if (host_->Wants(HostPolicy::kLoss)) {
    host_->policy().OnLoss(host_->view(), flow_, LossSign::kTimeout);
  }
  RestartTimer();
  GetReady();
}

// --- The end ---

void TcpSender::Finish() {
  record_.done = host_->now();
  record_.packets_sent = tx_id_;
  may_send_ = false;
  SetDeadline(kNever);
  host_->SetTimer(record_.done + shared_->close_delay / 2, TimerKey(TcpTimer::kSettle, flow_.id));
  if (host_->Wants(HostPolicy::kFlows)) host_->policy().OnFlowEnd(host_->view(), flow_);
}

const SenderRecord& TcpSender::Settle(Time known) {
  record_.packets_sent = tx_id_;
  judge_.Settle(known, record_);
  return record_;
}

}  // namespace heddle
