// SPDX-License-Identifier: Apache-2.0
// Records the packets on which decisions are measured. A leaf forwards them in a simulation, so
// their times, sizes and order are realistic, with data and ACKs mixed.

#pragma once

#include <cstddef>
#include <vector>

#include "core/packet.h"
#include "core/units.h"

namespace heddle {

struct RecordedPacket {
  Time at;  // Time since the first packet.
  Packet packet;
};

// Returns the packets that leaf 0 of a leaf-spine sends to its uplinks: 16 hosts at 25 Gbps under
// DCTCP, web search at 60 % load.
std::vector<RecordedPacket> RecordLeaf();

// Repeats `recorded` until there are `count` packets of about `flows` live flows. Each recorded
// flow stands for many flows, and each packet draws one of them. The default count lets every flow
// occur in the first round.
std::vector<RecordedPacket> WithLiveFlows(const std::vector<RecordedPacket>& recorded, size_t count,
                                          size_t flows);
std::vector<RecordedPacket> WithLiveFlows(const std::vector<RecordedPacket>& recorded,
                                          size_t flows);

}  // namespace heddle
