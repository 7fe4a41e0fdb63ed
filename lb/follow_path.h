// SPDX-License-Identifier: Apache-2.0
// The switch's part of schemes that choose paths at the host: take the uplink that the packet's
// path names. Packets without a path, and choices that the path says nothing about, are hashed as
// in ECMP.

#pragma once

#include <algorithm>
#include <cstdint>

#include "fabric/switch.h"
#include "lb/ecmp_hash.h"

namespace heddle {

class FollowPath final : public SwitchPolicy {
 public:
  explicit FollowPath(uint64_t salt) : salt_(salt) {}

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    if (packet.path != kNoPath && !view.Uplinks().empty()) {
      const PortIndex uplink = view.UplinkOf(packet.path);
      if (std::ranges::binary_search(candidates.ports, uplink)) return Decision::Forward(uplink);
    }
    const size_t choice = MapToRange(EcmpHash(packet, salt_), candidates.ports.size());
    return Decision::Forward(candidates.ports[choice]);
  }

  size_t StateBytes() const override { return sizeof(salt_); }

 private:
  const uint64_t salt_;
};

}  // namespace heddle
