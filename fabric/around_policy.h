// SPDX-License-Identifier: Apache-2.0
// What stands around the policy of any scheme and does something of its own with some packets: here
// it does nothing of its own yet.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/host_policy.h"
#include "fabric/switch_policy.h"

namespace heddle {

class AroundSwitchPolicy : public SwitchPolicy {
 public:
  explicit AroundSwitchPolicy(std::unique_ptr<SwitchPolicy> scheme)
      : scheme_(std::move(scheme)), hooks_(scheme_->hooks()) {}

  uint32_t hooks() const override { return scheme_->hooks(); }
  void Attach(SwitchView& view) override { scheme_->Attach(view); }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    return scheme_->OnPacket(view, packet, in_port, candidates);
  }
  void Prefetch(const Packet& packet) const override { scheme_->Prefetch(packet); }
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    scheme_->OnEnqueue(view, packet, port);
  }
  void OnDropped(SwitchView& view, const Packet& packet, PortIndex port) override {
    scheme_->OnDropped(view, packet, port);
  }
  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    scheme_->OnTransmit(view, packet, port);
  }
  void OnTimer(SwitchView& view, uint32_t id) override { scheme_->OnTimer(view, id); }

  size_t StateBytes() const override { return scheme_->StateBytes(); }
  std::vector<Counter> Counters() const override { return scheme_->Counters(); }
  std::vector<Gauge> Gauges(Time now) const override { return scheme_->Gauges(now); }

 protected:
  SwitchPolicy& scheme() { return *scheme_; }
  bool asks_always() const { return (hooks_ & kEveryPacket) != 0; }
  bool AsksAbout(const Candidates& candidates) const {
    return SwitchPolicy::AsksAbout(hooks_, candidates);
  }

 private:
  const std::unique_ptr<SwitchPolicy> scheme_;
  const uint32_t hooks_;
};

// The scheme may do nothing at hosts: null.
class AroundHostPolicy : public HostPolicy {
 public:
  explicit AroundHostPolicy(std::unique_ptr<HostPolicy> scheme)
      : scheme_(std::move(scheme)), hooks_(scheme_ ? scheme_->hooks() : 0) {}

  uint32_t hooks() const override { return hooks_; }
  void Attach(HostView& view) override {
    if (scheme_) scheme_->Attach(view);
  }
  // Called only if the scheme asks for them.
  void OnFlowStart(HostView& view, HostFlow& flow) override { scheme_->OnFlowStart(view, flow); }
  void OnFlowEnd(HostView& view, HostFlow& flow) override { scheme_->OnFlowEnd(view, flow); }
  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    scheme_->OnSend(view, flow, packet);
  }
  void OnSendAck(HostView& view, const Packet& data, Packet& ack) override {
    if (hooks_ & kSendAck) scheme_->OnSendAck(view, data, ack);
  }
  void OnSendCnp(HostView& view, uint16_t taken, Packet& cnp) override {
    if (hooks_ & kSendAck) scheme_->OnSendCnp(view, taken, cnp);
  }
  void OnData(HostView& view, const Packet& data) override { scheme_->OnData(view, data); }
  void OnAck(HostView& view, HostFlow& flow, const Packet& ack, const AckNews& news) override {
    scheme_->OnAck(view, flow, ack, news);
  }
  void OnLoss(HostView& view, HostFlow& flow, LossSign sign) override {
    scheme_->OnLoss(view, flow, sign);
  }
  bool HidesEcho(HostView& view, HostFlow& flow) override { return scheme_->HidesEcho(view, flow); }
  void OnControl(HostView& view, const Packet& packet) override {
    if (scheme_) scheme_->OnControl(view, packet);
  }
  void OnTimer(HostView& view, uint32_t id) override { scheme_->OnTimer(view, id); }

  size_t StateBytes() const override { return scheme_ ? scheme_->StateBytes() : 0; }
  size_t FlowBytes() const override { return scheme_ ? scheme_->FlowBytes() : 0; }
  std::vector<Counter> Counters() const override {
    return scheme_ ? scheme_->Counters() : std::vector<Counter>();
  }
  std::vector<Gauge> Gauges(Time now) const override {
    return scheme_ ? scheme_->Gauges(now) : std::vector<Gauge>();
  }

 protected:
  HostPolicy& scheme() { return *scheme_; }

 private:
  const std::unique_ptr<HostPolicy> scheme_;
  const uint32_t hooks_;
};

}  // namespace heddle
