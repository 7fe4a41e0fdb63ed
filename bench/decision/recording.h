// SPDX-License-Identifier: Apache-2.0
// The packets on which decisions are measured: those that a leaf forwards in a simulation, with
// their times, sizes and order, data and ACKs mixed.

#pragma once

#include <cstddef>
#include <vector>

#include "core/packet.h"
#include "core/units.h"

namespace heddle {

struct RecordedPacket {
  Time at;  // Since the first one.
  Packet packet;
};

// What leaf 0 of a leaf-spine sends to its uplinks: 16 hosts at 25 Gbps under DCTCP, web search at
// 60 % load.
std::vector<RecordedPacket> RecordLeaf();

// `recorded`, again and again, until there are `count`, from about `flows` live flows: each flow of
// the recording stands for many, of which every packet draws one.
std::vector<RecordedPacket> WithLiveFlows(const std::vector<RecordedPacket>& recorded, size_t count,
                                          size_t flows);

}  // namespace heddle
