// SPDX-License-Identifier: Apache-2.0

#include "transport/rdma/roce_receiver.h"

#include <algorithm>

#include "transport/flow_timers.h"
#include "transport/uet/uet_ack.h"

namespace heddle {

void RoceReceiver::Open(const FlowSpec& spec, Host& host, const RoceShared& shared) {
  host_ = &host;
  shared_ = &shared;
  log_.Open(spec, host);
  packets_ = static_cast<uint32_t>((spec.size + shared.sizes.mss - 1) / shared.sizes.mss);
  next_ = 0;
  tuple_hash_ = TupleHash(spec.dst, spec.src, spec.dport, spec.sport);
  ahead_.Reset(0);
  bytes_ahead_ = unanswered_ = 0;
  nacked_ = notify_ = marks_wait_ = false;
  nack_again_ = cnp_from_ = Time{0};
  if (shared.telemetry && !told_) told_ = std::make_unique<Telemetry>();
}

// The NIC sends CNP packets at once: waiting for the packets' order would only delay them.
void RoceReceiver::OnArrival(const Packet& data) {
  log_.Observe(data);
  if (shared_->telemetry) *told_ = host_->ArrivedTelemetry();
  if (shared_->cnps.mode == CnpRule::Mode::kPacket && data.Has(Packet::kCe)) NoteCongestion(data);
}

// A CNP in an ACK goes with the packet's own ACK, if it has one. Packets out of order are noticed
// here.
void RoceReceiver::OnData(const Packet& data) {
  const CnpRule& cnps = shared_->cnps;
  const bool marked = data.Has(Packet::kCe);
  const bool out_of_order = data.seq > next_ && cnps.on_out_of_order;
  const bool is_answered = !Refuses(data) || MayAskAgain();
  if (cnps.mode == CnpRule::Mode::kAckFlag && is_answered && (marked || out_of_order)) {
    NoteCongestion(data);
  }
  if (cnps.mode == CnpRule::Mode::kPacket && !marked && out_of_order) NoteCongestion(data);
  if (shared_->settings.is_ddp()) return Place(data);
  if (shared_->settings.is_irn()) return TakeAny(data);
  if (shared_->settings.is_sr()) return TakeAndAsk(data);
  TakeInOrder(data);
}

int64_t RoceReceiver::PayloadOf(uint32_t number) const {
  const int64_t mss = shared_->sizes.mss;
  return number + 1 == packets_ ? record().spec.size - number * mss : mss;
}

// Go-back-N asks for the packet it expects, as after any gap, and again if that packet has been
// sent again and was trimmed once more; the others ask for the trimmed packet alone.
void RoceReceiver::OnTrimmed(const Packet& header) {
  log_.ObserveTrimmed(header);
  if (shared_->telemetry) *told_ = host_->ArrivedTelemetry();
  const RoceSettings& settings = shared_->settings;
  if (header.seq < next_ || (settings.is_selective() && ahead_.Contains(header.seq))) {
    const bool is_ack = header.seq < next_ || !settings.is_irn();
    return Answer(header, is_ack ? PacketKind::kAck : PacketKind::kNack);
  }
  if (!settings.is_selective()) {
    if (header.seq == next_ && header.Has(Packet::kRetransmission)) nacked_ = false;
    return Ask(header);
  }
  Answer(header, PacketKind::kNack);
}

// --- Go-back-N ---

void RoceReceiver::TakeInOrder(const Packet& data) {
  if (data.seq > next_) return Discard(data);
  if (data.seq < next_) {
    // InfiniBand acknowledges duplicates: the ACK may have been lost.
    ++log_.receiver().duplicates;
    return Answer(data, PacketKind::kAck);
  }
  if (!ahead_.Contains(next_)) log_.OnFirstArrival(next_);
  log_.OnAccepted(data.data.payload);
  AcceptNext(data.seq);
  ahead_.AdvanceTo(next_);
  nacked_ = false;
  ++unanswered_;
  if (IsDue(data)) Answer(data, PacketKind::kAck);
}

void RoceReceiver::Discard(const Packet& data) {
  ++log_.receiver().discarded;
  if (!ahead_.Contains(data.seq)) {
    log_.OnFirstArrival(data.seq);
    ahead_.Insert(data.seq, data.seq + 1, [](uint32_t) {});
  }
  Ask(data);
}

// Returns true if an ACK is due: for every n-th packet, the last one, and one that asks for it.
bool RoceReceiver::IsDue(const Packet& data) const {
  return unanswered_ >= shared_->settings.ack_interval || next_ == packets_ ||
         data.Has(Packet::kCwr);
}

// Asks for the expected packet, if it may.
void RoceReceiver::Ask(const Packet& data) {
  if (!MayAskAgain()) return;
  nacked_ = true;
  nack_again_ = host_->now() + shared_->settings.nack_interval;
  Answer(data, PacketKind::kNack);
}

// Returns true if a NACK may ask for the expected packet now.
bool RoceReceiver::MayAskAgain() const {
  const bool repeats = shared_->settings.nack == RoceSettings::Nack::kTimer;
  return !nacked_ || (repeats && host_->now() >= nack_again_);
}

void RoceReceiver::AcceptNext(uint32_t number) {
  next_ = number + 1;
  if (next_ == packets_) log_.OnComplete();
}

// --- IRN ---

// Answers every packet. A packet that came again beyond a hole is reported again, since the first
// report may have been lost.
void RoceReceiver::TakeAny(const Packet& data) {
  if (data.seq < next_ || ahead_.Contains(data.seq)) {
    ++log_.receiver().duplicates;
  } else if (Keep(data)) {
    return Answer(data, PacketKind::kAck);
  }
  Answer(data, data.seq > next_ ? PacketKind::kNack : PacketKind::kAck);
}

// Returns true if the packet, which is new, was the one expected.
bool RoceReceiver::Keep(const Packet& data) {
  log_.OnFirstArrival(data.seq);
  log_.OnAccepted(data.data.payload);
  if (data.seq != next_) {
    ahead_.Insert(data.seq, data.seq + 1, [](uint32_t) {});
    bytes_ahead_ += data.data.payload;
    int64_t& most = log_.receiver().max_out_of_order_bytes;
    most = std::max(most, bytes_ahead_);
    return false;
  }
  const uint32_t filled = ahead_.empty() ? next_ + 1 : ahead_.FirstMissing(next_ + 1);
  for (uint32_t number = next_ + 1; number < filled; ++number) bytes_ahead_ -= PayloadOf(number);
  AcceptNext(filled - 1);
  ahead_.AdvanceTo(next_);
  return true;
}

// --- Selective repeat of commodity NICs ---

// Keeps packets beyond a hole. Only the first one after a new hole asks for the packet expected.
void RoceReceiver::TakeAndAsk(const Packet& data) {
  if (data.seq < next_ || ahead_.Contains(data.seq)) {
    ++log_.receiver().duplicates;
    return Answer(data, PacketKind::kAck);
  }
  const uint32_t before = next_;
  if (!Keep(data)) return Ask(data);
  nacked_ = false;
  unanswered_ += next_ - before;
  if (IsDue(data)) Answer(data, PacketKind::kAck);
}

// --- Out-of-order placement ---

void RoceReceiver::Place(const Packet& data) {
  if (data.seq >= next_ + shared_->ddp_window) {
    ++log_.receiver().discarded;
    return;
  }
  const bool is_known = data.seq < next_ || ahead_.Contains(data.seq);
  if (is_known) {
    ++log_.receiver().duplicates;
  } else {
    Keep(data);
  }
  ++unanswered_;
  if (is_known || data.Has(Packet::kCe) || IsDue(data)) Answer(data, PacketKind::kAck);
}

void RoceReceiver::WriteMap(const Packet& data, Packet& answer) const {
  UetAck ack{.expected = next_, .acked = data.seq, .first = UetAck::FirstOf(data.seq, next_)};
  for (uint32_t i = 0; i < UetAck::kMapped && !ahead_.empty(); ++i) {
    if (ahead_.Contains(ack.first + i)) ack.map |= uint64_t{1} << i;
  }
  ack.WriteTo(answer);
}

// --- What is sent back ---

// DCQCN's notification point (Zhu et al., SIGCOMM 2015, section 3.1).
void RoceReceiver::NoteCongestion(const Packet& data) {
  const CnpRule& cnps = shared_->cnps;
  if (cnps.mode == CnpRule::Mode::kAckFlag) {
    notify_ = true;
    return;
  }
  if (host_->now() >= cnp_from_) return SendCnp(data.sent, data.taken);
  marked_sent_ = data.sent;
  marked_taken_ = data.taken;
  if (!cnps.trailing || marks_wait_) return;
  marks_wait_ = true;
  host_->SetTimer(cnp_from_, TimerKey(FlowTimer::kNotify, id()));
}

// If a CNP packet was sent at this instant, the next CNP must wait again.
void RoceReceiver::OnTimer() {
  if (marks_wait_ && host_->now() >= cnp_from_) SendCnp(marked_sent_, marked_taken_);
}

void RoceReceiver::SendCnp(Time echo, uint16_t taken) {
  marks_wait_ = false;
  cnp_from_ = host_->now() + shared_->cnps.interval;
  Packet& cnp = NewControl(PacketKind::kCnp, echo);
  if (host_->Wants(HostPolicy::kSendAck)) host_->policy().OnSendCnp(host_->view(), taken, cnp);
  host_->SendControl();
}

// An ACK names the packet expected next; a NACK also names the packet that came instead.
void RoceReceiver::Answer(const Packet& data, PacketKind kind) {
  unanswered_ = 0;
  Packet& answer = NewControl(kind, data.sent);
  answer.seq = next_;
  if (shared_->settings.is_ddp() && kind == PacketKind::kAck) WriteMap(data, answer);
  if (kind == PacketKind::kNack) {
    answer.nack.trigger = data.seq;
    if (data.Has(Packet::kTrimmed) && shared_->settings.is_selective() &&
        !ahead_.Contains(data.seq)) {
      answer.Set(Packet::kTrimmed);
    }
  }
  if (data.Has(Packet::kCe)) answer.Set(Packet::kEce);
  if (notify_) answer.Set(Packet::kNotify);
  notify_ = false;
  if (shared_->telemetry) host_->LeavingTelemetry() = *told_;
  if (host_->Wants(HostPolicy::kSendAck)) host_->policy().OnSendAck(host_->view(), data, answer);
  host_->SendControl();
}

[[gnu::always_inline]] inline Packet& RoceReceiver::NewControl(PacketKind kind, Time echo) {
  const FlowSpec& spec = record().spec;
  Packet& packet = host_->ControlSlot({spec.src, tuple_hash_, spec.dst_nic});
  packet.kind = kind;
  packet.sent = echo;
  packet.flow = spec.id;
  packet.tuple_hash = tuple_hash_;
  packet.src = spec.dst;
  packet.dst = spec.src;
  const PacketSizes& sizes = shared_->sizes;
  packet.bytes = static_cast<uint16_t>(kind == PacketKind::kNack  ? sizes.nack
                                       : kind == PacketKind::kCnp ? sizes.cnp
                                                                  : sizes.ack);
  return packet;
}

}  // namespace heddle
