// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp/tcp_sender.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "transport/sender_parts.h"

namespace heddle {
namespace {

constexpr int32_t kMaxBackoff = 1 << 16;        // Times 100 s, it fits in 64 bits of picoseconds.
constexpr uint32_t kMaxAdaptedThreshold = 300;  // Linux's limit.

}  // namespace

TcpShared::TcpShared(const TcpSettings& tcp, TcpSettings::Ecn echo, const PacketSizes& packet_sizes,
                     std::unique_ptr<const WindowControl> window_control, Duration close)
    : settings(tcp),
      sizes(packet_sizes),
      rto{tcp.min_rto, tcp.max_rto, tcp.rto_init.value_or(tcp.min_rto), tcp.rto_granularity},
      control(std::move(window_control)),
      close_delay(close),
      ecn(echo) {
  dupthresh =
      tcp.dupthresh ? static_cast<uint32_t>(*tcp.dupthresh) : std::numeric_limits<uint32_t>::max();
  max_segments = kMaxWindowSegments;
  for (const std::optional<int64_t>& limit : {tcp.max_cwnd, tcp.rwnd}) {
    if (limit) max_segments = static_cast<uint32_t>(std::min<int64_t>(max_segments, *limit));
  }
}

void TcpSender::Start(const FlowSpec& spec, uint32_t slot, Host& host, const TcpShared& shared) {
  Prepare(spec, slot, host, shared);
  may_send_ = shared.settings.setup != TcpSettings::Setup::kHandshake;
  if (!may_send_) return SendSyn();
  GetReady();
}

void TcpSender::Prepare(const FlowSpec& spec, uint32_t slot, Host& host, const TcpShared& shared) {
  host_ = &host;
  shared_ = &shared;
  spec_ = spec;
  slot_ = slot;
  const int64_t mss = shared.sizes.mss;
  segments_ = static_cast<uint32_t>((spec.size + mss - 1) / mss);
  board_.Reset();
  judge_.Reset();
  nxt_ = tx_id_ = dupacks_ = 0;
  last_timeout_ = LastTimeout();
  // in_round_ belongs to the slot: the NIC may still hold a turn of the flow that was here before.
  in_recovery_ = resend_first_ = send_cwr_ = partial_ack_seen_ = timed_out_ = false;
  window_ = CongestionWindow{.mss = static_cast<double>(mss)};
  window_.cwnd = window_.mss * static_cast<double>(shared.settings.iw);
  rtt_ = RttEstimator();
  rto_ = LazyTimer();
  recover_ = -1;
  dupthresh_ = shared.dupthresh;
  backoff_ = 1;
  source_ = nullptr;
  subflow_ = syn_exchange_ = 0;
  syn_exchanges_ = 1;
  record_ = SenderRecord{.packets = segments_};
  blocked_ = BlockedTime{};
  flow_ = HostFlow{.id = spec.id,
                   .src = spec.src,
                   .dst = spec.dst,
                   .tuple_hash = TupleHash(spec.src, spec.dst, spec.sport, spec.dport),
                   .lane = spec.lane,
                   .size = spec.size};
  extra_ = nullptr;
  if (shared.settings.extended()) {
    extra_ = std::make_unique<TcpExtensions>();
    board_.SetObserver(&extra_->rack);
  }
  const int64_t first_flight = std::min<int64_t>(shared.settings.iw, segments_);
  shared.control->Start(window_, static_cast<uint32_t>(first_flight));
  if (host.Wants(HostPolicy::kFlows)) host.policy().OnFlowStart(host.view(), flow_);
}

// --- A subflow of MPTCP ---

void TcpSender::StartSubflow(const FlowSpec& spec, uint32_t slot, Host& host,
                             const TcpShared& shared, SubflowSource& source, uint32_t number,
                             Coupling* coupling) {
  Prepare(spec, slot, host, shared);
  source_ = &source;
  subflow_ = static_cast<uint8_t>(number);
  window_.coupling = coupling;
  segments_ = 0;
  record_ = SenderRecord{};
  may_send_ = false;
}

void TcpSender::Open() {
  may_send_ = true;
  if (window_.coupling != nullptr) {
    window_.coupling->windows.push_back(&window_);
    window_.coupling->is_stale = true;
  }
  GetReady();
}

void TcpSender::Connect(uint32_t exchanges) {
  syn_exchange_ = 0;
  syn_exchanges_ = static_cast<uint8_t>(exchanges);
  SendSyn();
}

void TcpSender::EndSubflow() {
  may_send_ = false;
  record_.packets_sent = tx_id_;
  Set(rto_, FlowTimer::kRetransmit, kNever);
  if (host_->Wants(HostPolicy::kFlows)) host_->policy().OnFlowEnd(host_->view(), flow_);
}

bool TcpSender::HasRoom() const {
  if (!may_send_ || nxt_ < board_.end() || board_.HasLost()) return false;
  return FlightSize() < shared_->max_segments && Fits(IsSack() ? board_.pipe() : FlightSize());
}

// As Linux does: ssthresh stays if the subflow is still in slow start.
void TcpSender::Penalise() {
  if (window_.cwnd >= window_.ssthresh) {
    window_.ssthresh = std::max(window_.ssthresh / 2, 2 * window_.mss);
  }
  window_.cwnd = std::max(window_.cwnd / 2, window_.mss);
  if (window_.coupling != nullptr) window_.coupling->is_stale = true;
}

void TcpSender::Resume(const Memory& memory) {
  rtt_ = memory.rtt;
  window_.ssthresh = memory.ssthresh;
  // RFC 5681 section 4.1: after an idle period of more than one RTO the window starts afresh.
  if (host_->now() - memory.idle_since > rtt_.Rto(shared_->rto)) return;
  window_.cwnd = memory.cwnd;
  GetReady();
}

// --- Sending ---

bool TcpSender::CanSend() const {
  if (!may_send_) return false;
  if ((resend_first_ || extra_) && MustSend()) return true;
  if (IsSack()) return Fits(board_.pipe()) && (board_.HasLost() || HasNew());
  const bool limited_transmit = !in_recovery_ && shared_->settings.limited_transmit;
  const uint32_t beyond = limited_transmit ? std::min(dupacks_, 2u) : 0;  // RFC 3042.
  return (FlightSize() < beyond || Fits(FlightSize() - beyond)) && HasNew();
}

// Returns true if a fast retransmit or a probe is due, which ignore the window, or a rescue that
// fits into the window.
bool TcpSender::MustSend() const {
  if (resend_first_) return !UsesRack() || board_.HasLost();
  return extra_->probe_due || (MayRescue() && Fits(board_.pipe()));
}

bool TcpSender::MayRescue() const {
  return shared_->settings.rescue && in_recovery_ && !extra_->rescued &&
         board_.outstanding() > board_.sacked();
}

void TcpSender::GetReady() {
  if (in_round_ || !CanSend()) return;
  in_round_ = true;
  host_->Ready(slot_);
}

Transport::Pulled TcpSender::Pull(Packet& packet) {
  in_round_ = CanSend();
  if (!in_round_) return {.sent = false, .more = false};
  const bool is_probe = extra_ && extra_->probe_due;
  Build(NextSegment(), packet);
  if (rto_.deadline == kNever || is_probe) RestartTimer();
  if (extra_) ScheduleProbe();
  in_round_ = CanSend();
  return {.sent = true, .more = in_round_};
}

uint32_t TcpSender::NextSegment() {
  const bool urgent = std::exchange(resend_first_, false);
  if (urgent && !UsesRack()) return board_.first();
  if (IsSack() && board_.HasLost()) return board_.NextLost();
  return extra_ ? NextBeyondLost() : nxt_;
}

// Returns the next new segment. For a probe or a rescue without new data, it is the highest segment
// that may be missing.
uint32_t TcpSender::NextBeyondLost() {
  const bool has_new = HasNew();
  if (std::exchange(extra_->probe_due, false)) {
    extra_->probe_is_old = !has_new;
    extra_->probe_end = board_.end() + (has_new ? 1 : 0);
  } else if (!has_new) {
    extra_->rescued = true;
  }
  return has_new ? nxt_ : board_.HighestUnsacked();
}

void TcpSender::Build(uint32_t segment, Packet& packet) {
  const Time now = host_->now();
  const uint32_t tx_id = tx_id_++;
  const bool again = segment < board_.end();
  if (again) {
    ++record_.retransmissions;
    judge_.OnRetransmission(board_.At(segment).tx_id, now);
    if (judge_.HasMany()) {
      judge_.Settle(now - shared_->close_delay / 2, record_, host_->log());
    }
    board_.Resend(segment, now, tx_id);
    packet.Set(Packet::kRetransmission);
  } else {
    board_.Append(now, tx_id);
    if (board_.end() == segments_) host_->NoteHanded(flow_.id);
    if (source_ != nullptr) segments_ = board_.end();
    if (std::exchange(send_cwr_, false)) packet.Set(Packet::kCwr);
  }
  if (extra_) {
    if (again && board_.first() < recover_) extra_->undo.OnRetransmission();
    if (in_recovery_) extra_->prr.OnSend();
  }
  if (segment == nxt_) ++nxt_;
  if (shared_->IsCapable(again)) packet.Set(Packet::kEct);

  const int64_t payload = source_ != nullptr ? source_->Fill(subflow_, segment, packet)
                                             : PayloadUpTo(segment + 1) - PayloadUpTo(segment);
  FillData(packet, flow_, now, segment, tx_id, payload, shared_->sizes.DataPacket(payload));
  if (host_->Wants(HostPolicy::kSend)) host_->policy().OnSend(host_->view(), flow_, packet);
  flow_.bytes_sent += payload;
}

void TcpSender::SendSyn() {
  Packet& syn = host_->ControlSlot(tuple());
  syn.kind = PacketKind::kSyn;
  syn.sent = host_->now();
  syn.flow = flow_.id;
  syn.seq = syn_exchange_;
  syn.tuple_hash = flow_.tuple_hash;
  syn.src = flow_.src;
  syn.dst = flow_.dst;
  syn.bytes = static_cast<uint16_t>(shared_->sizes.syn);
  host_->SendControl();
  Set(rto_, FlowTimer::kRetransmit,
      host_->now() + std::min(rtt_.Rto(shared_->rto) * backoff_, shared_->rto.max));
}

void TcpSender::OnSynAck(uint32_t exchange) {
  if (may_send_ || exchange != syn_exchange_) return;
  backoff_ = 1;
  Set(rto_, FlowTimer::kRetransmit, kNever);
  if (++syn_exchange_ < syn_exchanges_) return SendSyn();
  may_send_ = true;
  shared_->control->OnConnected(window_);
  if (source_ != nullptr) return Open();
  GetReady();
}

// --- Acknowledgements ---

void TcpSender::OnAck(const Packet& ack) {
  const Time now = host_->now();
  const uint32_t delivered_before = board_.first() + board_.sacked();
  uint32_t newly_sacked = 0;
  if (IsSack()) {
    for (const SackBlock& block : std::span(ack.ack.sack).first(shared_->sack_blocks)) {
      if (block.length == 0) break;
      newly_sacked += board_.Sack(ack.seq + block.start, ack.seq + block.start + block.length, now);
    }
  }
  if (ack.seq > board_.first()) {
    Advance(ack, newly_sacked);
  } else if (ack.seq == board_.first() && board_.outstanding() > 0 &&
             (newly_sacked > 0 || !IsSack())) {
    OnDuplicateAck(ack, newly_sacked);
  } else {
    TellPolicy(ack, 0, newly_sacked, Duration{0});  // Overtaken by a later ACK.
  }
  if (extra_) LearnFrom(ack);
  Repair(newly_sacked, board_.first() + board_.sacked() - delivered_before);
}

// Repairs losses, after an ACK with news or when a segment is overdue. `delivered` segments have
// arrived since.
void TcpSender::Repair(uint32_t newly_sacked, uint32_t delivered) {
  if (DetectLoss(newly_sacked) && !in_recovery_ && MayEnterRecovery()) EnterRecovery();
  if (extra_) ReduceInProportion(delivered);
  GetReady();
}

// Learns from an ACK about reordering.
void TcpSender::LearnFrom(const Packet& ack) {
  const TcpSettings& settings = shared_->settings;
  Rack& rack = extra_->rack;
  const bool again = ack.Has(Packet::kDsack);
  if (again) rack.OnDsack(board_.first(), board_.end());
  if (again && settings.undo == TcpSettings::Undo::kDsack)
    extra_->undo.OnDsack(window_, *shared_->control);
  rack.EndAck();
  OnProbeAcked(ack);
  if (!settings.reordering_adapt) return;
  dupthresh_ = std::max(dupthresh_, std::min(rack.extent() + 1, kMaxAdaptedThreshold));
}

// Returns true if the signs that start a recovery show a loss that waits for repair.
bool TcpSender::DetectLoss(uint32_t newly_sacked) {
  if (extra_ && UsesRack()) {
    const bool many_sacked = board_.sacked() >= dupthresh_;
    const Duration patience = extra_->rack.Patience(in_recovery_, many_sacked, rtt_.srtt());
    Set(extra_->reorder, FlowTimer::kReorder, extra_->rack.Detect(board_, host_->now(), patience));
    return board_.HasLost();
  }
  if (newly_sacked > 0) board_.MarkLostBySacks(dupthresh_);
  return dupacks_ >= dupthresh_ || board_.FirstIsLost();
}

// Returns true if the window has held the flow back while `flight` bytes were in the network. The
// NIC may still have been busy with packets that an earlier ACK released. In slow start each packet
// makes two, so an ACK clock at the NIC's own rate keeps only half a window in flight.
bool TcpSender::IsWindowLimited(double flight) const {
  if (flight >= window_.cwnd - window_.mss) return true;
  return window_.cwnd < window_.ssthresh && window_.cwnd < 2 * flight;
}

// Returns true if an ACK echoes a mark that the load balancer does not hide.
bool TcpSender::HearsEcho(const Packet& ack) {
  if (!ack.Has(Packet::kEce)) return false;
  return !host_->Wants(HostPolicy::kEcho) || !host_->policy().HidesEcho(host_->view(), flow_);
}

void TcpSender::Advance(const Packet& ack, uint32_t newly_sacked) {
  const Time now = host_->now();
  const uint32_t first = board_.first();
  const double flight = static_cast<double>(FlightSize()) * window_.mss;
  const Time sampled = board_.Acknowledge(ack.seq, now);
  nxt_ = std::max(nxt_, ack.seq);  // An ACK may cover what was sent before a rewind.
  // The echoed time of sending makes a sample of every ACK (RFC 7323 section 4).
  const Duration rtt = shared_->settings.timestamps ? now - ack.sent
                       : sampled == kNever          ? Duration{0}
                                                    : now - sampled;
  if (rtt.ps > 0) {
    rtt_.Sample(rtt);
    backoff_ = 1;  // RFC 6298 section 5: only a new sample ends the backoff.
  }
  flow_.srtt = rtt_.srtt();
  timed_out_ = false;

  window_.srtt = rtt_.srtt();
  window_.in_recovery = in_recovery_;

  const Acknowledgement news{.bytes = Acknowledged(first, ack.seq),
                             .una = ack.seq,
                             .nxt = nxt_,
                             .ecn_echo = HearsEcho(ack),
                             .in_recovery = in_recovery_,
                             .window_limited = IsWindowLimited(flight),
                             .now = now,
                             .srtt = rtt_.srtt()};
  const bool reduced = shared_->control->OnAck(window_, news);
  send_cwr_ = send_cwr_ || (reduced && shared_->latches_echo());
  TellPolicy(ack, news.bytes, newly_sacked, rtt);

  const bool first_partial_ack = !partial_ack_seen_;
  if (in_recovery_) ContinueRecovery(news.bytes);
  dupacks_ = 0;
  // NewReno restarts the timer for the first partial ACK only ("impatient", RFC 6582 section 4).
  const bool restart = !in_recovery_ || IsSack() || first_partial_ack;
  if (ack.seq == segments_ && source_ == nullptr) return Finish();
  if (board_.outstanding() == 0) {
    Set(rto_, FlowTimer::kRetransmit, kNever);
  } else if (restart) {
    RestartTimer();
  }
  if (extra_) ScheduleProbe();
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

// Called when the window is about to be reduced because of a loss.
void TcpSender::BeginEpisode() {
  if (!extra_) return;
  extra_->undo.Begin(window_);
  extra_->rack.BeginEpisode();
  extra_->prr.Enter(FlightSize());
  extra_->rescued = false;
}

void TcpSender::EnterRecovery() {
  const Time now = host_->now();
  ++record_.fast_retransmits;
  BeginEpisode();
  // The last episode may have found this segment lost as well, beyond its own end, and have sent it
  // again: then it is on its way.
  const Scoreboard::Segment& first = board_.At(UsesRack() ? board_.NextLost() : board_.first());
  resend_first_ = !first.sent_again;
  judge_.OnFastRetransmit(resend_first_ ? first.tx_id : first.previous_tx_id, now);
  in_recovery_ = window_.in_recovery = true;
  partial_ack_seen_ = false;
  recover_ = board_.end();
  SetThreshold();
  window_.cwnd = window_.ssthresh;
  if (!IsSack()) {
    window_.cwnd += dupthresh_ * window_.mss;
  } else if (!UsesRack()) {
    board_.MarkLost(board_.first());
  }
  shared_->control->OnLoss(window_, board_.end());
  if (host_->Wants(HostPolicy::kLoss)) {
    host_->policy().OnLoss(host_->view(), flow_, LossSign::kDuplicateAcks);
  }
}

// An ACK of `newly_acked` bytes has arrived during recovery.
void TcpSender::ContinueRecovery(int64_t newly_acked) {
  if (board_.first() >= recover_) {
    in_recovery_ = window_.in_recovery = false;
    resend_first_ = false;
    if (extra_) extra_->rack.OnRecoveryEnd();
    if (shared_->settings.prr && extra_->undo.possible()) window_.cwnd = window_.ssthresh;
    if (IsSack()) return;
    const double flight = static_cast<double>(FlightSize()) * window_.mss;
    window_.cwnd = std::min(window_.ssthresh, std::max(flight, window_.mss) + window_.mss);
    return;
  }
  if (IsSack()) {
    resend_first_ = false;  // The lost segment has arrived; the scoreboard knows the others.
    return;
  }
  // A partial ACK: the next segment is presumed lost too.
  partial_ack_seen_ = true;
  resend_first_ = true;
  window_.cwnd = std::max(window_.cwnd - static_cast<double>(newly_acked), 0.0) + window_.mss;
}

void TcpSender::ReduceInProportion(uint32_t delivered) {
  if (!shared_->settings.prr || !in_recovery_ || !extra_->undo.possible()) return;
  const uint32_t pipe = board_.pipe();
  const uint32_t more = extra_->prr.OnAck(delivered, pipe, window_.ssthresh / window_.mss);
  window_.cwnd = static_cast<double>(pipe + more) * window_.mss;
}

void TcpSender::SetThreshold() {
  send_cwr_ = shared_->latches_echo();
  shared_->control->SetThreshold(window_, static_cast<double>(FlightSize()) * window_.mss);
}

// --- Timers ---

void TcpSender::RestartTimer() {
  Set(rto_, FlowTimer::kRetransmit,
      host_->now() + std::min(rtt_.Rto(shared_->rto) * backoff_, shared_->rto.max));
}

void TcpSender::Set(LazyTimer& timer, FlowTimer kind, Time deadline) {
  timer.Set(*host_, TimerKey(kind, flow_.id), deadline);
}

bool TcpSender::IsDue(LazyTimer& timer, FlowTimer kind) {
  return timer.IsDue(*host_, TimerKey(kind, flow_.id));
}

void TcpSender::OnTimer(FlowTimer kind) {
  if (kind == FlowTimer::kRetransmit) {
    if (IsDue(rto_, kind)) OnRetransmissionTimer();
  } else if (extra_ && kind == FlowTimer::kReorder) {
    if (IsDue(extra_->reorder, kind)) Repair(0, 0);
  } else if (extra_ && IsDue(extra_->probe, kind)) {
    extra_->probe_due = MayProbe();
    GetReady();
  }
}

void TcpSender::OnRetransmissionTimer() {
  if (may_send_ && !last_timeout_.HasSentSince(tx_id_)) return RestartTimer();
  backoff_ = std::min(2 * backoff_, kMaxBackoff);
  if (!may_send_) return SendSyn();
  OnTimeout();
}

void TcpSender::OnTimeout() {
  ++record_.timeouts;
  last_timeout_.Note(tx_id_);
  const bool again = timed_out_ && timed_out_first_ == board_.first();
  if (board_.first() >= recover_) BeginEpisode();
  if (!again) SetThreshold();
  timed_out_ = true;
  timed_out_first_ = board_.first();
  window_.cwnd = window_.mss;
  in_recovery_ = window_.in_recovery = resend_first_ = false;
  dupacks_ = 0;
  recover_ = board_.end();
  if (IsSack()) {
    board_.MarkAllLost();
  } else {
    nxt_ = board_.first();
  }
  if (extra_) {
    extra_->probe_due = false;
    extra_->probe_end = -1;
  }
  shared_->control->OnTimeout(window_, nxt_);
  if (host_->Wants(HostPolicy::kLoss)) {
    host_->policy().OnLoss(host_->view(), flow_, LossSign::kTimeout);
  }
  RestartTimer();
  GetReady();
  if (source_ != nullptr) source_->OnTimeout(subflow_);
}

// Allows one probe until its fate is known, and none while a segment is known to be missing (RFC
// 8985 section 7.2).
bool TcpSender::MayProbe() const {
  return board_.outstanding() > 0 && board_.sacked() == 0 && board_.first() >= recover_ &&
         extra_->probe_end < 0;
}

// Sets the probe timer: after two round trips without an ACK the tail of the flight may be lost.
void TcpSender::ScheduleProbe() {
  if (!shared_->settings.tlp) return;
  extra_->probe_due = false;
  Time due = kNever;
  if (MayProbe() && rtt_.srtt().ps > 0) {
    due = host_->now() + 2 * rtt_.srtt();
    const bool may_be_delayed = board_.outstanding() == 1 && shared_->settings.delack_count > 1;
    if (may_be_delayed) due += shared_->settings.delack_timeout;
  }
  Set(extra_->probe, FlowTimer::kProbe, due < rto_.deadline ? due : kNever);
}

// RFC 8985 section 7.4: a loss that a probe has repaired is a sign of congestion like any other.
void TcpSender::OnProbeAcked(const Packet& ack) {
  const int64_t end = extra_->probe_end;
  if (end < 0 || ack.seq < end) return;
  const bool needless = !extra_->probe_is_old || ack.Has(Packet::kDsack);
  if (!needless && ack.seq == end) return;  // Either copy; a DSACK will tell.
  extra_->probe_end = -1;
  if (needless) return;
  SetThreshold();
  window_.cwnd = window_.ssthresh;
  shared_->control->OnLoss(window_, board_.end());
}

// --- The end ---

void TcpSender::Finish() {
  record_.done = host_->now();
  record_.packets_sent = tx_id_;
  may_send_ = false;
  Set(rto_, FlowTimer::kRetransmit, kNever);
  EndFlow(*host_, flow_, shared_->close_delay);
}

FlowState TcpSender::state() const {
  const int64_t acked = PayloadUpTo(board_.first());
  return {.cwnd = window_.cwnd,
          .rate = std::nullopt,
          .alpha = shared_->control->MarkedShare(window_),
          .in_flight = PayloadUpTo(std::max(nxt_, board_.end())) - acked,
          .acked = acked};
}

const SenderRecord& TcpSender::Settle(Time known) {
  record_.packets_sent = tx_id_;
  judge_.Settle(known, record_, host_->log());
  return record_;
}

}  // namespace heddle
