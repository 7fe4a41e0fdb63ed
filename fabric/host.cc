// SPDX-License-Identifier: Apache-2.0

#include "fabric/host.h"

#include <utility>

#include "core/check.h"
#include "fabric/letters.h"

namespace heddle {

Host::Host(HostId id, std::unique_ptr<HostPolicy> policy)
    : policy_(std::move(policy)), hooks_(policy_ ? policy_->hooks() : 0), id_(id) {}

void Host::SetTransport(std::unique_ptr<Transport> transport) {
  transport_ = std::move(transport);
  lane(Lane::kTransport).user = transport_.get();
}

void Host::Attach() {
  if (policy_) policy_->Attach(view_);
}

void Host::StartFlow(const FlowSpec& spec) {
  starts_.push_back(spec);
  Wake(spec.start);
}

void Host::TakeDown(Time now) {
  nic_->GoDown(now, [&](const Packet& packet) { ReportDrop(packet, now); });
  now_ = now;
  Pause(~0u, false);
  Wake(now);
}

// A packet of this host's own has not left it.
void Host::ReportDrop(const Packet& packet, Time now) {
  if (packet.kind != PacketKind::kData) return;
  transport_->OnDropNotice({packet.flow, packet.data.tx_id, now});
}

void Host::Prefetch(Time end) const { arrivals_.Prefetch(end); }

void Host::Run(const Window& window) {
  window_ = &window;
  for (;;) {
    const Time arrival = arrivals_.Next();
    const Time timer = NextTimer();
    const Time event = std::min(arrival, timer);
    const Time service = NextService();
    now_ = std::min(event, service);
    if (now_ >= window.end) break;
    if (service < event) {
      Serve();
    } else if (arrival <= timer) {
      Receive(arrivals_.Front());
      arrivals_.Pop();
    } else {
      OnTimer();
    }
  }
}

void Host::Receive(const Packet& packet) {
  if (loss_ != nullptr && IsDamaged(packet)) [[unlikely]]
    return;
  ++received_;
  if (packet.kind == PacketKind::kPause) [[unlikely]]
    return OnPause(packet);
  HEDDLE_CHECK(packet.dst == id_, "a packet for host {} arrived at host {}", packet.dst, id_);
  if (packet.kind >= PacketKind::kControl) return ReceiveApart(packet);
  if (packet.kind == PacketKind::kData && Wants(HostPolicy::kData)) policy_->OnData(view_, packet);
  transport_->OnPacket(packet);
}

bool Host::IsDamaged(const Packet& packet) {
  if (packet.kind == PacketKind::kPause || !loss_->Strikes()) return false;
  ++damaged_;
  if (packet.kind == PacketKind::kData) {
    Tell(packet.src, kDropNotice, DropNotice{packet.flow, packet.data.tx_id, now_}, kNever);
  }
  return true;
}

// What is no packet of a flow.
void Host::ReceiveApart(const Packet& packet) {
  if (packet.kind == PacketKind::kDatagram) {
    ++datagrams_received_;
    return lane(Lane::kBackground).user->OnPacket(packet);
  }
  if (policy_) policy_->OnControl(view_, packet);
}

// --- Pauses, IEEE 802.1Qbb ---

void Host::OnPause(const Packet& frame) {
  PauseTotals& counts = pauses_.counts();
  ++(frame.pause.stop ? counts.pauses : counts.resumes);
  if (pause_response_ == Duration{0}) return Pause(frame.pause.classes, frame.pause.stop);
  timers_.Set(now_ + pause_response_,
              kPauseTimer | uint64_t{frame.pause.classes} << 1 | (frame.pause.stop ? 1 : 0));
}

void Host::Pause(unsigned classes, bool stop) {
  for (NicLane& its : lanes_) {
    if ((classes >> its.priority & 1) == 0 || its.paused == stop || its.user == nullptr) continue;
    if (!stop) {
      Resume(its);
      continue;
    }
    its.paused = true;
    its.paused_since = now_;
    its.since = kNever;
  }
  service_from_ = std::min(lanes_[0].since, lanes_[1].since);
  NotePauses();
}

void Host::Resume(NicLane& its) {
  its.paused = false;
  if (its.ready.empty()) return;
  its.since = now_;
  for (size_t i = 0; i < its.ready.size(); ++i) {
    its.user->AddBlocked(its.ready[i], now_ - its.paused_since);
  }
}

// It may send but for the pause, which it has not seen all of.
void Host::WaitPaused(NicLane& its, uint32_t slot) {
  its.user->AddBlocked(slot, its.paused_since - now_);
  its.ready.push_back(slot);
  NotePauses();
}

void Host::NotePauses() {
  unsigned paused = 0;
  unsigned waiting = 0;
  for (size_t i = 0; i < kLanes; ++i) {
    paused |= (lanes_[i].paused ? 1u : 0u) << i;
    waiting |= (lanes_[i].ready.empty() ? 0u : 1u) << i;
  }
  pauses_.Set(paused, waiting, now_);
  if (pause_log_) LogPausesByClass();
}

// The lanes may be of one class.
void Host::LogPausesByClass() {
  unsigned paused = 0;
  unsigned waiting = 0;
  for (const NicLane& its : lanes_) {
    if (!its.paused) continue;
    paused |= 1u << its.priority;
    if (!its.ready.empty()) waiting |= 1u << its.priority;
  }
  pause_log_->Set(0, paused, waiting, now_);
}

// Flow starts come first among the timers of one instant.
void Host::OnTimer() {
  if (!starts_.empty() && starts_.front().start <= timers_.Next()) {
    const FlowSpec spec = starts_.front();
    starts_.pop_front();
    return transport_->StartFlow(spec);
  }
  const uint64_t key = timers_.Pop().key;
  const uint64_t rest = key & (kTransportTimer - 1);
  if (key < kTransportTimer) [[unlikely]]
    return Pause(static_cast<unsigned>(key >> 1), (key & 1) != 0);
  if (key < kPolicyTimer) return transport_->OnTimer(rest);
  if (key >= kBackgroundTimer) return lane(Lane::kBackground).user->OnTimer(rest);
  policy_->OnTimer(view_, static_cast<uint32_t>(key));
}

// Inlined twice, which spares the usual lane a pointer.
[[gnu::always_inline]] inline void Host::Serve(NicLane& its) {
  const uint32_t slot = its.ready.front();
  its.ready.pop_front();
  Packet& packet = nic_->Slot();
  packet = Packet();
  packet.priority = its.priority;
  building_ = true;
  const Endpoint::Pulled pulled = its.user->Pull(slot, packet);
  building_ = false;
  if (pulled.more) {
    its.ready.push_back(slot);
  } else if (its.ready.empty()) {
    its.since = kNever;
    service_from_ = std::min(lanes_[0].since, lanes_[1].since);
  }
  if (!pulled.sent) return;
  ++its.sent;
  SendSlot();
}

// If both lanes may send, it is the turn of the one that has not been served last.
void Host::Serve() {
  const bool background = lane(Lane::kBackground).since != kNever &&
                          (served_ == Lane::kTransport || lane(Lane::kTransport).since == kNever);
  served_ = background ? Lane::kBackground : Lane::kTransport;
  if (background) [[unlikely]]
    return Serve(lane(Lane::kBackground));
  Serve(lane(Lane::kTransport));
}

void Host::SendDeferred() {
  for (const Packet& packet : std::exchange(deferred_, {})) SendForPolicy(packet, packet.priority);
}

void Host::SendForPolicy(const Packet& packet, uint8_t priority) {
  if (building_) {
    deferred_.push_back(packet);
    deferred_.back().priority = priority;
    return;
  }
  ControlSlot() = packet;
  nic_->Slot().priority = priority;
  SendControl();
}

void Host::OnLetter(const Letter& letter) {
  switch (letter.kind) {
    case kDropNotice:
      return transport_->OnDropNotice(letter.Body<DropNotice>());
    case kFlowEnded:
      return transport_->OnFlowEnded(letter.Body<FlowEnded>());
    default:
      HEDDLE_CHECK(false, "a letter of unknown kind {}", letter.kind);
  }
}

void HostView::SendControl(const Packet& packet) {
  HEDDLE_CHECK(packet.bytes >= kMinPacketBytes, "a packet of {} bytes", packet.bytes);
  self_.SendForPolicy(packet, self_.control_class_);
}

bool HostView::SendProbe(const Packet& packet) {
  HEDDLE_CHECK(packet.bytes >= kMinPacketBytes, "a packet of {} bytes", packet.bytes);
  const Host::NicLane& data = self_.lane(Lane::kTransport);
  if (data.paused) return false;
  self_.SendForPolicy(packet, data.priority);
  return true;
}

void HostView::SetTimer(Time at, uint32_t id) { self_.timers_.Set(at, Host::kPolicyTimer | id); }

}  // namespace heddle
