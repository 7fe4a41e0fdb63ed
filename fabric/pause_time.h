// SPDX-License-Identifier: Apache-2.0
// Converts the length of a pause from quanta to time (PFC, IEEE 802.1Qbb). Hosts and switches call
// it when a pause frame takes effect.

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/units.h"

namespace heddle {

// A quantum is the time of 512 bits at `rate`, the rate of the paused link (IEEE 802.3, annex 31B).
// The result is rounded up. SerializationDelay would overflow for the bytes of 65,535 quanta, so
// the quotient of one quantum and its remainder are multiplied apart.
constexpr Duration PauseTime(uint16_t quanta, BitRate rate) {
  constexpr int64_t kQuantum = 512 * kPicosecondsPerSecond;
  constexpr int64_t kLongest = kNever.ps / 65'536;  // A cap, reached on links below 16 bps.
  const int64_t rest = quanta * (kQuantum % rate.bps);
  const int64_t whole = quanta * std::min(kQuantum / rate.bps, kLongest);
  return {whole + (rest + rate.bps - 1) / rate.bps};
}

}  // namespace heddle
