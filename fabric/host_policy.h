// SPDX-License-Identifier: Apache-2.0
// The host's part of a load balancer, for schemes that choose at the edge: it sets the path, the
// entropy or the flowcell of each packet. The host calls the hooks as its flows send and as packets
// arrive. A policy sees only the flows of its own host, and the ACKs and control packets that come
// back.

#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/own_state.h"
#include "core/packet.h"
#include "core/units.h"
#include "fabric/gauge.h"
#include "fabric/policy_ptr.h"

namespace heddle {

class Host;

// Maps each host to its leaf. Leaves are the switches that have hosts, numbered from 0.
struct LeafMap {
  std::span<const uint16_t> of_host;
  size_t leaves = 0;
};

// One path through the fabric, as a host knows it.
struct PathChoice {
  uint16_t id;      // Packet::path; its digits choose uplinks, see SwitchView::Uplinks.
  uint16_t weight;  // Proportional to the path's capacity; 1 everywhere if all are equal.

  friend auto operator<=>(const PathChoice&, const PathChoice&) = default;
};

// A flow as its sending host's policy sees it.
struct HostFlow {
  FlowId id = 0;
  HostId src = 0;
  HostId dst = 0;
  uint32_t tuple_hash = 0;
  uint16_t lane = 0xffff;  // FlowSpec::lane
  int64_t size = 0;        // Payload, in bytes.
  int64_t bytes_sent = 0;  // Payload, retransmissions included.
  Duration srtt{0};        // 0: not measured yet. RoCE measures it only at hosts with a policy.
  // During OnLoss(kTimeout): the entropy of the packet that timed out, if the transport knows it.
  std::optional<uint16_t> lost_entropy = {};

  // The policy's own state for the flow; all zero when the flow starts.
  OwnState<48> state{};

  template <class T>
  T& State() {
    return state.As<T>();
  }
};

class HostView {
 public:
  explicit HostView(Host& self) : self_(self) {}

  Time now() const;
  HostId id() const;

  // PathsTo() returns the live paths to `dst`, as routing knows them; empty if there is nothing to
  // choose. PathsVersion() changes whenever any path changes.
  std::span<const PathChoice> PathsTo(HostId dst) const;
  uint32_t PathsVersion() const;

  // Leaves are the switches that have hosts, numbered from 0 to leaves() - 1. LeafOf() is the leaf
  // of `host`. Hosts are numbered from 0 to hosts() - 1.
  size_t leaves() const;
  size_t hosts() const;
  uint16_t LeafOf(HostId host) const;

  // The rate of the host's link towards the network.
  BitRate NicRate() const;

  // Limits the rate of a flow of this host, see Transport::SetRateLimit. Must not be called while a
  // packet is built.
  void SetRateLimit(FlowId flow, BitRate limit);

  // Sends a packet made by the policy, ahead of data. It travels as any other, and may be dropped.
  void SendControl(const Packet& packet);

  // The same in the class of data, so that the packet waits in the same queues as data. Returns
  // false, without sending the packet, if that class is paused (PFC).
  bool SendProbe(const Packet& packet);

  // OnTimer(id) is called at `at`, not before now. Timers of one instant fire by ascending id.
  void SetTimer(Time at, uint32_t id);

 private:
  Host& self_;
};

// The news in an ACK for the sender.
struct AckNews {
  int64_t newly_acked;   // Bytes of payload that are newly acknowledged cumulatively.
  int64_t newly_sacked;  // Bytes of payload that are newly acknowledged by SACK blocks.
  Duration rtt;          // 0: no sample.
  bool ecn_echo;
};

enum class LossSign : uint8_t { kDuplicateAcks, kTimeout };

class HostPolicy {
 public:
  // The calls that a policy can ask for. Hooks that it does not have cost nothing. A policy has a
  // hook if it overrides one of its functions.
  enum Hook : uint32_t {
    kFlows = 1,  // OnFlowStart, OnFlowEnd
    kSend = 2,
    kSendAck = 4,  // OnSendAck, OnSendCnp
    kData = 8,
    kAck = 16,
    kLoss = 32,
    kEcho = 64,  // HidesEcho
  };

  // The hooks of a policy whose class is T. PolicyPtr calls this once, when it takes over the
  // policy.
  template <class T>
  static uint32_t HooksOf(const T& policy);

  virtual ~HostPolicy() = default;

  // Hooks that the class overrides but this object, with its settings, does not need. The host does
  // not call them.
  virtual uint32_t unused_hooks() const { return 0; }

  // Returns false if the policy never calls SendControl() or SendProbe(); if it does so anyway, the
  // program stops. If the policies of all hosts return false, hosts on short links may run whole
  // windows at once (Node::IsApart), which is faster.
  virtual bool sends_packets() const { return true; }

  virtual void Attach(HostView& /*view*/) {}

  virtual void OnFlowStart(HostView& /*view*/, HostFlow& /*flow*/) {}
  virtual void OnFlowEnd(HostView& /*view*/, HostFlow& /*flow*/) {}

  // A data packet of `flow`, original or retransmission, is about to leave; its payload counts in
  // flow.bytes_sent only afterwards. May set path, entropy and scheme.
  virtual void OnSend(HostView& /*view*/, HostFlow& /*flow*/, Packet& /*packet*/) {}

  // The receiver is about to send `ack` in answer to `data`. The policy may add what the scheme
  // echoes.
  virtual void OnSendAck(HostView& /*view*/, const Packet& /*data*/, Packet& /*ack*/) {}

  // RoCE: `cnp` is about to leave, because of a marked packet that had taken the path `taken`.
  virtual void OnSendCnp(HostView& /*view*/, uint16_t /*taken*/, Packet& /*cnp*/) {}

  // A data packet has arrived here, before the transport sees it.
  virtual void OnData(HostView& /*view*/, const Packet& /*data*/) {}

  // Called for every ACK that arrives while the flow is being sent, even if a later ACK has
  // overtaken it and it tells the transport nothing.
  virtual void OnAck(HostView& /*view*/, HostFlow& /*flow*/, const Packet& /*ack*/,
                     const AckNews& /*news*/) {}
  virtual void OnLoss(HostView& /*view*/, HostFlow& /*flow*/, LossSign /*sign*/) {}

  // Returns true to hide the ECN echo of an ACK from congestion control (TCP), as a hypervisor
  // between network and guest can. Called before OnAck for each ACK that acknowledges something
  // new.
  virtual bool HidesEcho(HostView& /*view*/, HostFlow& /*flow*/) { return false; }

  // A packet of kind kControl for this host has arrived.
  virtual void OnControl(HostView& /*view*/, const Packet& /*packet*/) {}
  virtual void OnTimer(HostView& /*view*/, uint32_t /*id*/) {}

  // StateBytes() is the state on this host now, without HostFlow::state. FlowBytes() is the part of
  // HostFlow::state that each flow uses.
  virtual size_t StateBytes() const = 0;
  virtual size_t FlowBytes() const { return 0; }

  struct Counter {
    std::string_view name;
    int64_t value;
  };
  virtual std::vector<Counter> Counters() const { return {}; }

  // The policy's gauges at `now`. Names and order stay the same; gauges may be missing until they
  // first have a value.
  virtual std::vector<Gauge> Gauges(Time /*now*/) const { return {}; }

 protected:
  // The hooks that the classes from T up to Base override, without Base itself.
  template <class Base, class T>
  static uint32_t HooksBelow(const T& policy);
};

using HostPolicyPtr = PolicyPtr<HostPolicy>;

HEDDLE_DEFINE_OVERRIDES(HostPolicy, OnFlowStart)
HEDDLE_DEFINE_OVERRIDES(HostPolicy, OnFlowEnd)
HEDDLE_DEFINE_OVERRIDES(HostPolicy, OnSend)
HEDDLE_DEFINE_OVERRIDES(HostPolicy, OnSendAck)
HEDDLE_DEFINE_OVERRIDES(HostPolicy, OnSendCnp)
HEDDLE_DEFINE_OVERRIDES(HostPolicy, OnData)
HEDDLE_DEFINE_OVERRIDES(HostPolicy, OnAck)
HEDDLE_DEFINE_OVERRIDES(HostPolicy, OnLoss)
HEDDLE_DEFINE_OVERRIDES(HostPolicy, HidesEcho)

template <class T, class Base>
constexpr uint32_t OverriddenHostHooks() {
  const bool flows = OverridesOnFlowStart<T, Base>() || OverridesOnFlowEnd<T, Base>();
  const bool acks = OverridesOnSendAck<T, Base>() || OverridesOnSendCnp<T, Base>();
  return (flows ? uint32_t{HostPolicy::kFlows} : 0) | (acks ? uint32_t{HostPolicy::kSendAck} : 0) |
         (OverridesOnSend<T, Base>() ? uint32_t{HostPolicy::kSend} : 0) |
         (OverridesOnData<T, Base>() ? uint32_t{HostPolicy::kData} : 0) |
         (OverridesOnAck<T, Base>() ? uint32_t{HostPolicy::kAck} : 0) |
         (OverridesOnLoss<T, Base>() ? uint32_t{HostPolicy::kLoss} : 0) |
         (OverridesHidesEcho<T, Base>() ? uint32_t{HostPolicy::kEcho} : 0);
}

template <class Base, class T>
uint32_t HostPolicy::HooksBelow(const T& policy) {
  return OverriddenHostHooks<T, Base>() & ~static_cast<const HostPolicy&>(policy).unused_hooks();
}

template <class T>
uint32_t HostPolicy::HooksOf(const T& policy) {
  return HooksBelow<HostPolicy>(policy);
}

}  // namespace heddle
