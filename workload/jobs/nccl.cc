// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/nccl.h"

#include <algorithm>
#include <bit>

namespace heddle {
namespace {

constexpr int64_t kKibibyte = 1024;
constexpr int64_t kSteps = 8;  // A buffer's.

// A channel's buffer for one peer.
int64_t BufferOf(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::kSimple:
      return 4096 * kKibibyte;
    case NcclProtocol::kLl:
      return 512 * kKibibyte;
    case NcclProtocol::kLl128:
      return 4'915'200;
  }
  return 0;
}

// A ring's chunk has four steps of Simple, sent in two slices; that of a broadcast has one step.
int64_t StepsOfMessage(NcclProtocol protocol, NcclShape shape) {
  return protocol == NcclProtocol::kSimple && shape == NcclShape::kRing ? 2 : 1;
}

int64_t PatMessage(const NcclCollective& its, int64_t message) {
  const int64_t parts = its.channels * (its.scatters ? 16 : 32);
  while (message > 64 * kKibibyte && message * parts > its.bytes) message /= 2;
  return std::max(message, 64 * kKibibyte);
}

// Trees with LL128 have shorter chunks for small buffers, so that the chunks fill the tree's
// levels: calcCollChunking() in NCCL's src/enqueue.cc. `chunk` is payload. NCCL halves a chunk as
// long as it is above the limit, so the result may be below it; the divisions of bytes are whole,
// and the other numbers are floats there, too.
int64_t Ll128TreeChunk(const NcclCollective& its, int64_t chunk) {
  const uint32_t servers = (its.ranks + its.server - 1) / its.server;
  const float ranks_of_server = static_cast<float>(its.ranks) / static_cast<float>(servers);
  const float levels = static_cast<float>(std::bit_width(servers)) + 0.1F * ranks_of_server;
  const auto is_long = [&](float per_level, int64_t limit) {
    const float chunks = static_cast<float>(its.bytes / (its.channels * chunk));
    return chunks < levels * per_level / ranks_of_server && chunk > limit;
  };
  while (is_long(64, 128 * kKibibyte)) chunk /= 2;
  while (is_long(16, 32 * kKibibyte)) chunk /= 2;
  return chunk;
}

}  // namespace

int64_t NcclWireBytes(NcclProtocol protocol, int64_t bytes) {
  switch (protocol) {
    case NcclProtocol::kSimple:
      return bytes;
    case NcclProtocol::kLl:
      return 2 * bytes;
    case NcclProtocol::kLl128:
      return (bytes * 128 + 119) / 120;
  }
  return bytes;
}

int64_t NcclMessage(const NcclCollective& its) {
  const int64_t message = BufferOf(its.protocol) / kSteps * StepsOfMessage(its.protocol, its.shape);
  if (its.shape == NcclShape::kPat) return PatMessage(its, message);
  if (its.shape == NcclShape::kTree && its.protocol == NcclProtocol::kLl128) {
    return NcclWireBytes(its.protocol, Ll128TreeChunk(its, message / 128 * 120));
  }
  return message;
}

uint32_t NcclUnfinished(NcclProtocol protocol, NcclShape shape) {
  return static_cast<uint32_t>(kSteps / StepsOfMessage(protocol, shape));
}

NcclLatency NcclStepLatency(NcclProtocol protocol, NcclShape shape) {
  const bool is_tree = shape == NcclShape::kTree;
  switch (protocol) {
    case NcclProtocol::kSimple:
      return {14_us, is_tree ? 4_us : 3400_ns};
    case NcclProtocol::kLl:
      return {is_tree ? 5_us : 2700_ns, 600_ns};
    case NcclProtocol::kLl128:
      return {is_tree ? 8500_ns : 4_us, is_tree ? 1250_ns : 1900_ns};
  }
  return {};
}

}  // namespace heddle
