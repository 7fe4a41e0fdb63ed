// SPDX-License-Identifier: Apache-2.0
// Which way ACKs, NACKs and congestion notifications go, whatever the load balancer would do with
// them: the other half of an experiment in which only what happens to data is compared.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/random.h"
#include "fabric/around_policy.h"
#include "lb/parts/follow_path.h"

namespace heddle {

enum class AckPath {
  kPolicy,     // As the load balancer says.
  kEcmp,       // By the hash of the 5-tuple.
  kSymmetric,  // Back along the path of the packet that they answer.
  kSpray,      // Each along a random path.
};

inline bool GoesBack(PacketKind kind) {
  return kind == PacketKind::kAck || kind == PacketKind::kNack || kind == PacketKind::kCnp;
}

// A scheme that wants to see every packet sees these too and may keep them; only the port that it
// would choose for them does not count.
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

  // A scheme that writes paths into packets means the one that it would have chosen. Under others
  // there is nothing to put right.
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

// At a host, for AckPath::kSymmetric: paths are numbered alike from both ends.
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
