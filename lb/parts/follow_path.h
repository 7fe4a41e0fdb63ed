// SPDX-License-Identifier: Apache-2.0
// Switch policies that forward a packet to the uplink that its path names, for schemes in which
// hosts or leaves choose paths. FollowPath does only this; FollowPins wraps another policy.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "fabric/around_policy.h"
#include "fabric/ecmp_hash.h"
#include "fabric/pins.h"
#include "fabric/switch.h"

namespace heddle {

// Returns nothing if there is no path, or its uplink is not among the candidates.
inline std::optional<PortIndex> OnPath(const SwitchView& view, uint16_t path,
                                       const Candidates& candidates) {
  if (path == kNoPath || view.Uplinks().empty()) return std::nullopt;
  const PortIndex uplink = view.UplinkOf(path);
  if (!candidates.Has(uplink)) return std::nullopt;
  return uplink;
}

inline std::optional<PortIndex> OnItsPath(const SwitchView& view, const Packet& packet,
                                          const Candidates& candidates) {
  return OnPath(view, packet.path, candidates);
}

// Returns the port that the packet's path names; without one, the port of ECMP.
inline PortIndex PathOrHash(const SwitchView& view, const Packet& packet,
                            const Candidates& candidates, uint64_t salt) {
  if (candidates.ports.size() == 1) return candidates.ports.front();
  if (const auto uplink = OnItsPath(view, packet, candidates)) return *uplink;
  return EcmpPort(packet, salt, candidates.ports);
}

class FollowPath final : public SwitchPolicy {
 public:
  explicit FollowPath(uint64_t salt) : salt_(salt) {}

  bool only_chooses() const override { return true; }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    return Decision::Forward(PathOrHash(view, packet, candidates, salt_));
  }

  size_t StateBytes() const override { return sizeof(salt_); }

 private:
  const uint64_t salt_;
};

// Wraps the policy of any scheme: datagrams and flows pinned to a path take it without asking the
// scheme; all other calls are forwarded. A scheme that asks for every packet also sees those of
// pinned flows and may hold or consume them; only its choice of a port for them is ignored.
class FollowPins final : public AroundSwitchPolicy {
 public:
  // `flows` is null if no flow is pinned.
  FollowPins(SwitchPolicyPtr scheme, const Pins* flows)
      : AroundSwitchPolicy(std::move(scheme)), flows_(flows) {}

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    const auto uplink = PinOf(view, packet, candidates);
    if (!uplink) return scheme().OnPacket(view, packet, in_port, candidates);
    if (packet.kind != PacketKind::kDatagram && asks_always()) {
      const Decision decision = scheme().OnPacket(view, packet, in_port, candidates);
      if (decision.kind != Decision::Kind::kForward) return decision;
    }
    return Decision::Forward(*uplink);
  }

 private:
  std::optional<PortIndex> PinOf(const SwitchView& view, const Packet& packet,
                                 const Candidates& candidates) const {
    if (candidates.ports.size() == 1) return std::nullopt;
    if (packet.kind == PacketKind::kDatagram) return OnItsPath(view, packet, candidates);
    if (flows_ == nullptr) return std::nullopt;
    return OnPath(view, flows_->PathOf(packet), candidates);
  }

  const Pins* const flows_;
};

}  // namespace heddle
