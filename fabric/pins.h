// SPDX-License-Identifier: Apache-2.0
// Pins flows to a given path, whatever the load balancer would choose. Pins are set between windows
// when a flow starts, and switches ask for the path of each packet.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/packet.h"

namespace heddle {

struct Pin {
  uint16_t path = kNoPath;      // For data; kNoPath: the load balancer chooses.
  uint16_t ack_path = kNoPath;  // For the packets that answer data.

  bool pins() const { return path != kNoPath || ack_path != kNoPath; }
};

// Written between windows only, when a flow starts; read by switches while they run.
class Pins {
 public:
  void Set(FlowId flow, Pin pin) {
    if (!pin.pins()) return;
    if (pins_.size() <= flow) pins_.resize(size_t{flow} + 1);
    pins_[flow] = pin;
  }

  // The path that `packet` is pinned to, kNoPath if it is not pinned.
  uint16_t PathOf(const Packet& packet) const {
    if (packet.kind >= PacketKind::kControl || packet.flow >= pins_.size()) return kNoPath;
    const Pin& pin = pins_[packet.flow];
    const bool forward = packet.kind == PacketKind::kData || packet.kind == PacketKind::kSyn;
    return forward ? pin.path : pin.ack_path;
  }

 private:
  std::vector<Pin> pins_;  // By flow, up to the last pinned one.
};

}  // namespace heddle
