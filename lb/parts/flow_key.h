// SPDX-License-Identifier: Apache-2.0
// A key for one direction of a flow: flow ids are unique, and the two directions differ in the host
// that sends. 48 bits.

#pragma once

#include <cstdint>

#include "core/packet.h"

namespace heddle {

inline uint64_t FlowKey(FlowId flow, HostId src) { return uint64_t{flow} << 16 | src; }
inline uint64_t FlowKey(const Packet& packet) { return FlowKey(packet.flow, packet.src); }

}  // namespace heddle
