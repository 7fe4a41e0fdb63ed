// SPDX-License-Identifier: Apache-2.0
// TR's code for the length of a queue in a few bits of an ACK. A spine calls EncodeQueue() when an
// ACK passes, and a leaf calls DecodeQueue().

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/units.h"

namespace heddle {

// The header of an ACK that has passed a spine: the spine's queue in the opposite direction.
struct TrHeader {
  uint8_t code = 0;
  bool is_set = false;
};

// Returns the queue in steps of buffer / 2^bits, rounded down.
inline uint8_t EncodeQueue(Bytes queue, Bytes buffer, int bits) {
  const int64_t codes = int64_t{1} << bits;
  // Divides first, because an unlimited buffer is a very large number of bytes.
  const double step = static_cast<double>(buffer.count) / static_cast<double>(codes);
  const double code = static_cast<double>(queue.count) / step;
  return static_cast<uint8_t>(std::min(static_cast<double>(codes - 1), code));
}

inline Bytes DecodeQueue(uint8_t code, Bytes buffer, int bits) {
  return {static_cast<int64_t>(static_cast<double>(buffer.count) /
                               static_cast<double>(int64_t{1} << bits) * code)};
}

}  // namespace heddle
