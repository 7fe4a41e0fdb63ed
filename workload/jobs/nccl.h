// SPDX-License-Identifier: Apache-2.0
// NCCL's parameters: how it cuts messages, how many it lets be unfinished, and what a step costs
// (NVIDIA/nccl, src/init.cc, src/include/collectives.h, src/enqueue.cc, src/graph/tuning.cc).

#pragma once

#include <cstdint>

#include "core/units.h"

namespace heddle {

enum class NcclProtocol { kSimple, kLl, kLl128 };
// kChain: a broadcast, which NCCL sends along the ring of ranks.
enum class NcclShape { kRing, kTree, kPat, kChain, kDirect };

// The bytes that carry `bytes` of payload over the network: LL and LL128 add flags.
int64_t NcclWireBytes(NcclProtocol protocol, int64_t bytes);

// What NCCL looks at when it cuts a collective into messages.
struct NcclCollective {
  NcclProtocol protocol = NcclProtocol::kSimple;
  NcclShape shape = NcclShape::kRing;
  int64_t bytes = 0;  // Of payload.
  int64_t channels = 1;
  uint32_t ranks = 2;
  uint32_t server = 1;    // Ranks of a server.
  bool scatters = false;  // It is a reduce-scatter.
};

// The longest message of the collective, in bytes over the network.
int64_t NcclMessage(const NcclCollective& its);

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
