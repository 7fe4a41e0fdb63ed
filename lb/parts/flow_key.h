// SPDX-License-Identifier: Apache-2.0
// A 48-bit key for one direction of a flow, for tables of flows. Flow ids are unique, and the two
// directions differ in the sending host.

#pragma once

#include <cstdint>

#include "core/packet.h"

namespace heddle {

inline uint64_t FlowKey(FlowId flow, HostId src) { return uint64_t{flow} << 16 | src; }
inline uint64_t FlowKey(const Packet& packet) { return FlowKey(packet.flow, packet.src); }

}  // namespace heddle
