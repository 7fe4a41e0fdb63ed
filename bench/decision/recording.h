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

// The packets that leaf 0 of a leaf-spine sends to its uplinks: 16 hosts at 25 Gbps under DCTCP,
// web search at 60 % load.
std::vector<RecordedPacket> RecordLeaf();

// `recorded`, again and again, until there are `count`, from about `flows` live flows: each flow of
// the recording stands for many, of which every packet draws one. By default as many packets as are
// needed for every flow to have come in the first round.
std::vector<RecordedPacket> WithLiveFlows(const std::vector<RecordedPacket>& recorded, size_t count,
                                          size_t flows);
std::vector<RecordedPacket> WithLiveFlows(const std::vector<RecordedPacket>& recorded,
                                          size_t flows);

}  // namespace heddle
