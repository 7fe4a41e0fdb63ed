// SPDX-License-Identifier: Apache-2.0
// NCCL's parameters: how it cuts messages, how many it lets be unfinished, and what a step costs
// (NVIDIA/nccl, src/init.cc, src/include/collectives.h, src/graph/tuning.cc).

#pragma once

#include <cstdint>

#include "core/units.h"

namespace heddle {

enum class NcclProtocol { kSimple, kLl, kLl128 };
enum class NcclShape { kRing, kTree, kPat, kDirect };

// The bytes that carry `bytes` of payload over the network: LL and LL128 add flags.
int64_t NcclWireBytes(NcclProtocol protocol, int64_t bytes);

// The longest message that NCCL sends of a collective of `bytes` with so many channels.
int64_t NcclMessage(NcclProtocol protocol, NcclShape shape, int64_t bytes, int64_t channels,
                    bool scatters);

// The messages of a connection that may be unfinished: NCCL's eight steps.
uint32_t NcclUnfinished(NcclProtocol protocol, NcclShape shape);

// The time that a step takes beside the transfer, over the network and within a server.
struct NcclLatency {
  Duration network;
  Duration local;
};
NcclLatency NcclStepLatency(NcclProtocol protocol, NcclShape shape);

constexpr int64_t kNcclChannels = 2;
constexpr int64_t kNcclPeersAtOnce = 8;  // All-to-all.

}  // namespace heddle
