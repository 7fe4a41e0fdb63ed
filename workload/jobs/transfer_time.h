// SPDX-License-Identifier: Apache-2.0
// The time that bytes take at a rate, for sizes beyond those of packets.

#pragma once

#include <absl/numeric/int128.h>

#include <cstdint>

#include "core/units.h"

namespace heddle {

// Rounded up to a picosecond, like SerializationDelay(), but for any size.
inline Duration TransferTime(int64_t bytes, BitRate rate) {
  const absl::uint128 ps = absl::uint128(static_cast<uint64_t>(bytes)) * 8 *
                           static_cast<uint64_t>(kPicosecondsPerSecond);
  const uint64_t bps = static_cast<uint64_t>(rate.bps);
  return Duration{static_cast<int64_t>((ps + (bps - 1)) / bps)};
}

}  // namespace heddle
