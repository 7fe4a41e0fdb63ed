// SPDX-License-Identifier: Apache-2.0
// Makes the control packets that switches of a scheme send to each other. Tests of schemes deliver
// them on a bench.

#pragma once

#include "core/packet.h"

namespace heddle {

// A control packet of 64 bytes from host 1, about a flow from host 0.
template <class Header>
Packet ControlPacket(const Header& header, FlowId flow = 0) {
  Packet packet;
  packet.kind = PacketKind::kControl;
  packet.bytes = 64;
  packet.flow = flow;
  packet.src = 1;
  packet.dst = 0;
  packet.SetScheme(header);
  return packet;
}

}  // namespace heddle
