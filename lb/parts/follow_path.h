// SPDX-License-Identifier: Apache-2.0
// The switch's part of schemes that choose paths at the host: take the uplink that the packet's
// path names.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "fabric/around_policy.h"
#include "fabric/pins.h"
#include "fabric/switch.h"
#include "lb/parts/ecmp_hash.h"

namespace heddle {

// Empty if there is no path, or it says nothing about the choice between these.
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

// The port that its path names; by its hash, as in ECMP, if there is none.
inline PortIndex PathOrHash(const SwitchView& view, const Packet& packet,
                            const Candidates& candidates, uint64_t salt) {
  if (candidates.ports.size() == 1) return candidates.ports.front();
  if (const auto uplink = OnItsPath(view, packet, candidates)) return *uplink;
  return EcmpPort(packet, salt, candidates.ports);
}

class FollowPath final : public SwitchPolicy {
 public:
  explicit FollowPath(uint64_t salt) : salt_(salt) {}

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    return Decision::Forward(PathOrHash(view, packet, candidates, salt_));
  }

  size_t StateBytes() const override { return sizeof(salt_); }

 private:
  const uint64_t salt_;
};

// Around the policy of any scheme: datagrams and flows pinned to a path take it, where the scheme
// is not asked; with all others it deals as if this were not there. A scheme that wants to see
// every packet sees those of pinned flows too and may keep them; only the port that it would choose
// for them does not count.
class FollowPins final : public AroundSwitchPolicy {
 public:
  // `flows` is null if none is pinned.
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
