// SPDX-License-Identifier: Apache-2.0

#include "fabric/host.h"

#include <utility>

#include "core/check.h"

namespace heddle {

Host::Host(HostId id, std::unique_ptr<HostPolicy> policy)
    : policy_(std::move(policy)), hooks_(policy_ ? policy_->hooks() : 0), id_(id) {}

void Host::SetTransport(std::unique_ptr<Transport> transport) { transport_ = std::move(transport); }

void Host::Attach() {
  if (policy_) policy_->Attach(view_);
}

void Host::StartFlow(const FlowSpec& spec) {
  starts_.push_back(spec);
  Wake(spec.start);
}

void Host::TakeDown(Time now) {
  nic_->GoDown(now, [&](const Packet& packet) { ReportDrop(packet, now); });
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
  HEDDLE_CHECK(packet.dst == id_, "a packet for host {} arrived at host {}", packet.dst, id_);
  ++received_;
  if (packet.kind == PacketKind::kControl) {
    if (policy_) policy_->OnControl(view_, packet);
    return;
  }
  if (packet.kind == PacketKind::kData && Wants(HostPolicy::kData)) policy_->OnData(view_, packet);
  transport_->OnPacket(packet);
}

// Flow starts come first among the timers of one instant.
void Host::OnTimer() {
  if (!starts_.empty() && starts_.front().start <= timers_.Next()) {
    const FlowSpec spec = starts_.front();
    starts_.pop_front();
    return transport_->StartFlow(spec);
  }
  const uint64_t key = timers_.Pop().key;
  if (key < kPolicyTimer) return transport_->OnTimer(key & (kTransportTimer - 1));
  policy_->OnTimer(view_, static_cast<uint32_t>(key));
}

void Host::Serve() {
  const uint32_t slot = ready_.front();
  ready_.pop_front();
  Packet& packet = nic_->Slot();
  packet = Packet();
  packet.priority = data_class_;
  building_ = true;
  const Transport::Pulled pulled = transport_->Pull(slot, packet);
  building_ = false;
  if (!pulled.sent) return;
  if (pulled.more) ready_.push_back(slot);
  ++data_sent_;
  SendSlot();
}

void Host::SendDeferred() {
  for (const Packet& packet : std::exchange(deferred_, {})) {
    ControlSlot() = packet;
    SendControl();
  }
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
  if (self_.building_) return self_.deferred_.push_back(packet);
  self_.ControlSlot() = packet;
  self_.SendControl();
}

void HostView::SetTimer(Time at, uint32_t id) { self_.timers_.Set(at, Host::kPolicyTimer | id); }

}  // namespace heddle
