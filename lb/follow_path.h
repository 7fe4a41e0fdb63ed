// SPDX-License-Identifier: Apache-2.0
// The switch's part of schemes that choose paths at the host: take the uplink that the packet's
// path names.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "fabric/around_policy.h"
#include "fabric/switch.h"
#include "lb/ecmp_hash.h"

namespace heddle {

// Empty if the packet has no path, or its path says nothing about the choice between these.
inline std::optional<PortIndex> OnItsPath(const SwitchView& view, const Packet& packet,
                                          const Candidates& candidates) {
  if (packet.path == kNoPath || view.Uplinks().empty()) return std::nullopt;
  const PortIndex uplink = view.UplinkOf(packet.path);
  if (!candidates.Has(uplink)) return std::nullopt;
  return uplink;
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

// Around the policy of any scheme: datagrams pinned to a path take it, where the scheme is not
// asked; with all others it deals as if this were not there.
class FollowPins final : public AroundSwitchPolicy {
 public:
  using AroundSwitchPolicy::AroundSwitchPolicy;

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    if (packet.kind == PacketKind::kDatagram && candidates.ports.size() > 1) {
      const auto uplink = OnItsPath(view, packet, candidates);
      if (uplink) return Decision::Forward(*uplink);
    }
    return scheme().OnPacket(view, packet, in_port, candidates);
  }
};

}  // namespace heddle
