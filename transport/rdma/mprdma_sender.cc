// SPDX-License-Identifier: Apache-2.0

#include "transport/rdma/mprdma_sender.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "transport/sender_parts.h"

namespace heddle {
namespace {

// An ACK releases at most this many packets.
constexpr uint32_t kMostPerAck = 2;

}  // namespace

void MpRdmaSender::Start(const FlowSpec& spec, uint32_t slot, Host& host,
                         const MpRdmaShared& shared) {
  host_ = &host;
  shared_ = &shared;
  spec_ = spec;
  slot_ = slot;
  packets_ = static_cast<uint32_t>((spec.size + shared.sizes.mss - 1) / shared.sizes.mss);
  una_ = nxt_ = end_ = tx_id_ = recover_ = fresh_ = draws_ = 0;
  last_timeout_ = LastTimeout();
  const uint32_t message = shared.message_packets;
  message_end_ = message == 0 ? packets_ : std::min(message, packets_);
  inflate_ = 0;
  max_acked_ = -1;
  recovering_ = false;
  copies_.clear();
  released_.clear();
  judge_.Reset();
  rtt_ = RttEstimator();
  rto_ = message_ = LazyTimer();
  record_ = SenderRecord{.packets = packets_};
  blocked_ = BlockedTime{};
  flow_ = HostFlow{.id = spec.id,
                   .src = spec.src,
                   .dst = spec.dst,
                   .tuple_hash = TupleHash(spec.src, spec.dst, spec.sport, spec.dport),
                   .size = spec.size};
  base_rtt_ = shared.bandwidth_delay->RoundTrip(spec.src, spec.dst);
  probe_from_ = host.now() + base_rtt_;
  const int64_t mss = shared.sizes.mss;
  const int64_t bdp = shared.bandwidth_delay->Between(spec.src, spec.dst).count;
  window_ = static_cast<double>(
      shared.settings.first_window.value_or(std::max<int64_t>((bdp + mss - 1) / mss, 1)));
  if (host.Wants(HostPolicy::kFlows)) host.policy().OnFlowStart(host.view(), flow_);
  ReleaseFresh(packets_);
}

// --- Sending ---

// The dynamic ports of RFC 6335.
uint16_t MpRdmaSender::FreshPath() {
  const uint64_t draw = Mix64(uint64_t{flow_.tuple_hash} << 32 | draws_++);
  return static_cast<uint16_t>(49'152 + (draw >> 32 & 0x3fff));
}

// Releases up to `most` packets, as far as the window allows, on random paths.
void MpRdmaSender::ReleaseFresh(uint32_t most) {
  const double free = std::max(std::floor(Free()), 0.0);
  const uint32_t allowed = static_cast<uint32_t>(std::min<double>(free, packets_));
  fresh_ += std::min({allowed, most, Left()});
  GetReady();
}

// Releases packets on the path of an ACK. Now and then one of them tries a random path.
void MpRdmaSender::ReleaseOn(uint16_t path) {
  const double free = std::clamp(std::floor(Free()), 0.0, double{kMostPerAck});
  uint32_t count = std::min(static_cast<uint32_t>(free), Left());
  for (; count > 0; --count) {
    bool probes = false;
    if (host_->now() >= probe_from_) {
      probe_from_ = host_->now() + base_rtt_;
      const uint64_t draw = Mix64(uint64_t{flow_.tuple_hash} << 32 | draws_++);
      probes = static_cast<double>(draw >> 11) * 0x1p-53 < shared_->settings.probe;
    }
    if (probes) {
      ++fresh_;
    } else {
      released_.push_back(path);
    }
  }
  GetReady();
}

void MpRdmaSender::GetReady() {
  if (in_round_ || waiting() == 0) return;
  in_round_ = true;
  host_->Ready(slot_);
}

// A late ACK may have shown that the packets to be sent again have arrived.
Transport::Pulled MpRdmaSender::Pull(Packet& packet) {
  in_round_ = false;
  if (done() || waiting() == 0) return {.sent = false, .more = false};
  if (nxt_ >= message_end_) {
    released_.clear();
    fresh_ = 0;
    return {.sent = false, .more = false};
  }
  uint16_t path = 0;
  if (released_.empty()) {
    --fresh_;
    path = FreshPath();
  } else {
    path = released_.front();
    released_.pop_front();
  }
  Build(path, packet);
  in_round_ = waiting() > 0;
  return {.sent = true, .more = in_round_};
}

void MpRdmaSender::Build(uint16_t path, Packet& packet) {
  const Time now = host_->now();
  const uint32_t number = nxt_++;
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
  const uint32_t message = shared_->message_packets;
  if (message > 0 && number > 0 && number % message == 0) packet.Set(Packet::kCwr);
  packet.Set(Packet::kEct);
  const int64_t payload = PayloadOf(number);
  FillData(packet, flow_, now, number, tx_id, payload, shared_->sizes.DataPacket(payload));
  packet.entropy = path;
  if (host_->Wants(HostPolicy::kSend)) host_->policy().OnSend(host_->view(), flow_, packet);
  flow_.bytes_sent += payload;
  if (end_ == message_end_ && message_end_ < packets_ && message_.deadline == kNever) EndMessage();
  if (rto_.deadline == kNever) RestartTimer();
}

// The next message begins when `delta` packets could have been sent at the present rate: by then
// all packets of this one have arrived, or are lost.
void MpRdmaSender::EndMessage() {
  const Duration rtt = std::max(rtt_.srtt(), base_rtt_);
  const double wait = static_cast<double>(rtt.ps * shared_->settings.delta) / window_;
  Set(message_, FlowTimer::kPace, host_->now() + Duration{std::llround(wait)});
}

// --- Acknowledgements ---

void MpRdmaSender::OnAck(const Packet& ack) {
  const Time now = host_->now();
  const bool marked = ack.Has(Packet::kEce);
  const bool is_nack = ack.kind == PacketKind::kNack;
  const uint32_t answered = ack.nack.trigger;
  const uint16_t path = ack.entropy;
  const bool is_ghost = answered < una_ || answered >= nxt_;
  const bool is_late = int64_t{answered} <= max_acked_ - shared_->settings.delta &&
                       !ack.Has(Packet::kRetransmission);
  if (is_nack) ++record_.nacks;
  AdjustWindow(marked);
  if (!is_ghost) {
    ++inflate_;
    max_acked_ = std::max<int64_t>(max_acked_, answered);
  }
  const int64_t newly = ack.seq > una_ ? Advance(ack.seq) : 0;
  rtt_.Sample(now - ack.sent);
  flow_.srtt = rtt_.srtt();
  if (host_->Wants(HostPolicy::kAck)) {
    host_->policy().OnAck(host_->view(), flow_, ack, {newly, 0, now - ack.sent, marked});
  }
  if (una_ == packets_) return Finish();
  RestartTimer();
  if (is_nack && !recovering_ && ack.seq == una_) {
    ++record_.fast_retransmits;
    judge_.OnFastRetransmit(copies_[0], now);
    if (host_->Wants(HostPolicy::kLoss)) {
      host_->policy().OnLoss(host_->view(), flow_, LossSign::kDuplicateAcks);
    }
    Recover();
    return ReleaseOn(path);
  }
  if (!is_ghost) {
    if (nxt_ + waiting() >= packets_) window_ = std::max(window_ - 1, 1.0);
    if (!is_late) ReleaseOn(path);
  }
  // Without a packet in flight no ACK would release another. So it may be after a ghost, too: the
  // answer to a packet from before a recovery may acknowledge all that has been sent since.
  if (una_ == nxt_ && waiting() == 0) ReleaseFresh(1);
}

void MpRdmaSender::AdjustWindow(bool marked) {
  window_ = std::max(marked ? window_ - 0.5 : window_ + 1 / window_, 1.0);
}

// Returns the newly acknowledged payload. A lost ACK leaves its packet out of inflate_, which must
// not become negative for that.
int64_t MpRdmaSender::Advance(uint32_t una) {
  int64_t acked = 0;
  inflate_ -= una - una_;
  for (; una_ < una; ++una_) {
    acked += PayloadOf(una_);
    copies_.pop_front();
  }
  nxt_ = std::max(nxt_, una_);  // It may cover what was sent before a recovery.
  inflate_ = std::clamp<int64_t>(inflate_, 0, nxt_ - una_);
  if (una_ >= recover_) recovering_ = false;
  return acked;
}

// --- Losses ---

// Everything not acknowledged is sent again, as ACKs release it.
void MpRdmaSender::Recover() {
  recovering_ = true;
  recover_ = end_;
  nxt_ = una_;
  inflate_ = 0;
  fresh_ = 0;
  released_.clear();
  window_ = std::max(window_ / 2, 1.0);
}

void MpRdmaSender::OnTimeout() {
  ++record_.timeouts;
  last_timeout_.Note(tx_id_);
  if (host_->Wants(HostPolicy::kLoss)) {
    host_->policy().OnLoss(host_->view(), flow_, LossSign::kTimeout);
  }
  Recover();
  RestartTimer();
  ReleaseFresh(1);
}

// --- Timers ---

void MpRdmaSender::RestartTimer() {
  const bool waits = una_ < end_;
  Set(rto_, FlowTimer::kRetransmit, waits ? host_->now() + shared_->rto : kNever);
}

void MpRdmaSender::OnTimer(FlowTimer kind) {
  LazyTimer& timer = kind == FlowTimer::kRetransmit ? rto_ : message_;
  if (!timer.IsDue(*host_, TimerKey(kind, flow_.id)) || done()) return;
  if (kind == FlowTimer::kRetransmit) {
    return last_timeout_.HasSentSince(tx_id_) ? OnTimeout() : RestartTimer();
  }
  message_end_ = std::min(message_end_ + shared_->message_packets, packets_);
  ReleaseFresh(packets_);
}

// --- The end ---

void MpRdmaSender::Finish() {
  record_.done = host_->now();
  Set(rto_, FlowTimer::kRetransmit, kNever);
  Set(message_, FlowTimer::kPace, kNever);
  EndFlow(*host_, flow_, shared_->close_delay);
}

FlowState MpRdmaSender::state() const {
  const int64_t mss = shared_->sizes.mss;
  const int64_t acked = std::min(una_ * mss, spec_.size);
  return {.cwnd = window_ * static_cast<double>(mss),
          .rate = std::nullopt,
          .alpha = std::nullopt,
          .in_flight = std::min(end_ * mss, spec_.size) - acked,
          .acked = acked};
}

const SenderRecord& MpRdmaSender::Settle(Time known) {
  record_.packets_sent = tx_id_;
  judge_.Settle(known, record_, host_->log());
  return record_;
}

}  // namespace heddle
