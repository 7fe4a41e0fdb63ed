// SPDX-License-Identifier: Apache-2.0
// Base classes for policies that wrap the policy of any scheme and stand between it and its switch
// or host. They forward every call that the scheme has a hook for. A derived class overrides the
// calls that it handles itself, and calls the base class for those that the scheme shall see. The
// hooks of the wrapper are those of the scheme and its own. A wrapper does not pass on the scheme's
// watches_by_port(), idle_hooks(), enqueue_only_stamps() and ecmp_salt(): the scheme is called in
// the general way, with the same results.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fabric/host_policy.h"
#include "fabric/switch_policy.h"

namespace heddle {

class AroundSwitchPolicy : public SwitchPolicy {
 public:
  explicit AroundSwitchPolicy(SwitchPolicyPtr scheme) : scheme_(std::move(scheme)) {}

  template <class T>
  static uint32_t HooksOf(const T& policy) {
    return policy.scheme_hooks() | HooksBelow<AroundSwitchPolicy>(policy);
  }
  uint32_t scheme_hooks() const { return scheme_.hooks(); }

  void Attach(SwitchView& view) override { scheme_->Attach(view); }
  // A class that overrides asked_about() must itself decide where AsksAbout() is false.
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    return scheme_->OnPacket(view, packet, in_port, candidates);
  }
  void Prefetch(const Packet& packet) const override {
    if (Has(kPrefetch)) scheme_->Prefetch(packet);
  }
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    if (Has(kEnqueue)) scheme_->OnEnqueue(view, packet, port);
  }
  void OnDropped(SwitchView& view, const Packet& packet, PortIndex port) override {
    if (Has(kDropped)) scheme_->OnDropped(view, packet, port);
  }
  void OnCut(SwitchView& view, Packet& packet, PortIndex port) override {
    scheme_->OnCut(view, packet, port);
  }
  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    if (Has(kTransmit)) scheme_->OnTransmit(view, packet, port);
  }
  void OnTimer(SwitchView& view, uint32_t id) override { scheme_->OnTimer(view, id); }

  size_t StateBytes() const override { return scheme_->StateBytes(); }
  std::vector<Counter> Counters() const override { return scheme_->Counters(); }
  std::vector<Gauge> Gauges(Time now) const override { return scheme_->Gauges(now); }

 protected:
  SwitchPolicy& scheme() { return *scheme_; }
  bool asks_always() const { return Has(kEveryPacket); }
  bool AsksAbout(const Candidates& candidates) const {
    return SwitchPolicy::AsksAbout(scheme_hooks(), candidates);
  }

 private:
  bool Has(Hook hook) const { return (scheme_hooks() & hook) != 0; }

  const SwitchPolicyPtr scheme_;
};

// `scheme` is null if the scheme does nothing at hosts.
class AroundHostPolicy : public HostPolicy {
 public:
  explicit AroundHostPolicy(HostPolicyPtr scheme) : scheme_(std::move(scheme)) {}

  template <class T>
  static uint32_t HooksOf(const T& policy) {
    return policy.scheme_hooks() | HooksBelow<AroundHostPolicy>(policy);
  }
  uint32_t scheme_hooks() const { return scheme_.hooks(); }

  void Attach(HostView& view) override {
    if (scheme_) scheme_->Attach(view);
  }
  void OnFlowStart(HostView& view, HostFlow& flow) override {
    if (Has(kFlows)) scheme_->OnFlowStart(view, flow);
  }
  void OnFlowEnd(HostView& view, HostFlow& flow) override {
    if (Has(kFlows)) scheme_->OnFlowEnd(view, flow);
  }
  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    if (Has(kSend)) scheme_->OnSend(view, flow, packet);
  }
  void OnSendAck(HostView& view, const Packet& data, Packet& ack) override {
    if (Has(kSendAck)) scheme_->OnSendAck(view, data, ack);
  }
  void OnSendCnp(HostView& view, uint16_t taken, Packet& cnp) override {
    if (Has(kSendAck)) scheme_->OnSendCnp(view, taken, cnp);
  }
  void OnData(HostView& view, const Packet& data) override {
    if (Has(kData)) scheme_->OnData(view, data);
  }
  void OnAck(HostView& view, HostFlow& flow, const Packet& ack, const AckNews& news) override {
    if (Has(kAck)) scheme_->OnAck(view, flow, ack, news);
  }
  void OnLoss(HostView& view, HostFlow& flow, LossSign sign) override {
    if (Has(kLoss)) scheme_->OnLoss(view, flow, sign);
  }
  bool HidesEcho(HostView& view, HostFlow& flow) override {
    return Has(kEcho) && scheme_->HidesEcho(view, flow);
  }
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
  bool has_scheme() const { return scheme_ != nullptr; }
  HostPolicy& scheme() { return *scheme_; }

 private:
  bool Has(Hook hook) const { return (scheme_hooks() & hook) != 0; }

  const HostPolicyPtr scheme_;
};

}  // namespace heddle
