// SPDX-License-Identifier: Apache-2.0
// The functions of SwitchView (fabric/switch_policy.h) that are not inlined.

#include "core/check.h"
#include "fabric/switch.h"

namespace heddle {

void SwitchView::CheckMayAct() const {
  HEDDLE_CHECK(!self_.policy().only_chooses(),
               "a policy sends or holds a packet, sets a timer or asks how full an input is, but "
               "its only_chooses() is true; if it is a plug-in's, the mistake is there");
}

void SwitchView::SendControl(const Packet& packet, PortIndex port) {
  CheckMayAct();
  self_.SendOwn(packet, self_.control_class_, port);
}

void SwitchView::SendAsData(const Packet& packet, PortIndex port) {
  CheckMayAct();
  self_.SendOwn(packet, self_.data_class_, port);
}

bool SwitchView::Hold(const Packet& packet, PortIndex in_port, PortIndex port) {
  CheckMayAct();
  return !self_.queued_ || !self_.queued_->Keep(packet, in_port, port, self_.now_, *self_.window_);
}

void SwitchView::Release(const Packet& packet, PortIndex in_port, PortIndex port) {
  Release(packet, in_port, port, port);
}

void SwitchView::Release(const Packet& packet, PortIndex in_port, PortIndex port, PortIndex out) {
  self_.SendHeld(packet, in_port, port, out);
}

void SwitchView::RefuseNextHops() {
  HEDDLE_CHECK(false,
               "the load balancer looks at next hops without wants_next_hops(); if it is a "
               "plug-in's, the mistake is there");
}

std::optional<InputFill> SwitchView::FillOf(PortIndex input, uint8_t priority) const {
  const SharedMemory* const memory = self_.queued_ ? self_.queued_->memory() : nullptr;
  if (memory == nullptr || !memory->IsLossless(priority)) return std::nullopt;
  CheckMayAct();
  self_.queued_->AlwaysCount(self_.now_, self_.window_);
  return InputFill{Bytes{memory->held(input, priority)}, Bytes{memory->pause_above(input)}};
}

std::optional<SwitchId> SwitchView::PeerOf(PortIndex port) const {
  return self_.map_ == nullptr ? std::nullopt : self_.map_->PeerOf(self_.id_, port);
}

std::optional<Way> SwitchView::WayTo(PortIndex port, uint16_t leaf) const {
  return self_.map_ == nullptr ? std::nullopt : self_.map_->WayTo(self_.id_, port, leaf);
}

Bytes SwitchView::BufferOf(PortIndex port) const {
  return self_.map_ == nullptr ? Bytes{kUnlimited} : self_.map_->BufferOf(self_.id_, port);
}

void SwitchView::SetTimer(Time at, uint32_t id) {
  CheckMayAct();
  self_.timers_.Set(at, id);
}

}  // namespace heddle
