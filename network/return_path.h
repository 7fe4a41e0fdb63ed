// SPDX-License-Identifier: Apache-2.0
// Chooses the paths of ACKs, NACKs and congestion notifications in place of the load balancer, so
// that an experiment compares only what happens to data. Network wraps each policy in these classes
// unless the setting is kPolicy.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/random.h"
#include "fabric/around_policy.h"
#include "lb/parts/follow_path.h"

namespace heddle {

enum class AckPath {
  kPolicy,     // The load balancer chooses.
  kEcmp,       // The hash of the 5-tuple chooses.
  kSymmetric,  // Back along the path of the packet that they answer.
  kSpray,      // Each along a random path.
};

inline bool GoesBack(PacketKind kind) {
  return kind == PacketKind::kAck || kind == PacketKind::kNack || kind == PacketKind::kCnp;
}

// A scheme that wants to see every packet sees these too and may keep them. If it forwards one, its
// choice of port is ignored.
class ReturnPaths final : public AroundSwitchPolicy {
 public:
  ReturnPaths(SwitchPolicyPtr scheme, AckPath way, SwitchId id, uint64_t seed)
      : AroundSwitchPolicy(std::move(scheme)),
        way_(way),
        salt_(EcmpSalt(id, seed)),
        rng_(Rng::Stream(seed, "ack path", id)) {}

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    if (!GoesBack(packet.kind) || candidates.ports.size() == 1) {
      return scheme().OnPacket(view, packet, in_port, candidates);
    }
    if (asks_always()) {
      const Decision decision = scheme().OnPacket(view, packet, in_port, candidates);
      if (decision.kind != Decision::Kind::kForward) return decision;
    }
    return Decision::Forward(PortFor(view, packet, candidates));
  }

  // If a scheme writes paths into packets, the path of a returning packet is restored. Other
  // schemes need no repair.
  uint32_t unused_hooks() const override { return ~scheme_hooks() & kEnqueue; }
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    const uint16_t path = packet.path;
    AroundSwitchPolicy::OnEnqueue(view, packet, port);
    if (GoesBack(packet.kind)) packet.path = path;
  }

 private:
  PortIndex PortFor(const SwitchView& view, const Packet& packet, const Candidates& candidates) {
    const size_t n = candidates.ports.size();
    if (way_ == AckPath::kSpray) return candidates.ports[rng_.Below(static_cast<uint32_t>(n))];
    if (way_ == AckPath::kSymmetric) {
      if (const auto uplink = OnItsPath(view, packet, candidates)) return *uplink;
    }
    return EcmpPort(packet, salt_, candidates.ports);
  }

  const AckPath way_;
  const uint64_t salt_;
  Rng rng_;
};

// Sends ACKs and CNPs back along the data packet's path, for AckPath::kSymmetric. A path has the
// same id at both ends.
class MirrorAcks final : public AroundHostPolicy {
 public:
  using AroundHostPolicy::AroundHostPolicy;

  void OnSendAck(HostView& view, const Packet& data, Packet& ack) override {
    AroundHostPolicy::OnSendAck(view, data, ack);
    ack.path = data.taken;
  }
  void OnSendCnp(HostView& view, uint16_t taken, Packet& cnp) override {
    AroundHostPolicy::OnSendCnp(view, taken, cnp);
    cnp.path = taken;
  }
};

}  // namespace heddle
