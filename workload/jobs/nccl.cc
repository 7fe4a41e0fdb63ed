// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/nccl.h"

#include <algorithm>

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

// A ring's chunk has four steps of Simple, sent in two slices.
int64_t StepsOfMessage(NcclProtocol protocol, NcclShape shape) {
  return protocol == NcclProtocol::kSimple && shape == NcclShape::kRing ? 2 : 1;
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

int64_t NcclMessage(NcclProtocol protocol, NcclShape shape, int64_t bytes, int64_t channels,
                    bool scatters) {
  int64_t message = BufferOf(protocol) / kSteps * StepsOfMessage(protocol, shape);
  if (shape != NcclShape::kPat) return message;
  const int64_t parts = channels * (scatters ? 16 : 32);
  while (message > 64 * kKibibyte && message * parts > bytes) message /= 2;
  return std::max(message, 64 * kKibibyte);
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
