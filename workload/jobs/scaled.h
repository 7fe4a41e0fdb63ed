// SPDX-License-Identifier: Apache-2.0
// Sizes and times of training steps and traces that are made smaller, as whole ones take long to
// simulate.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/units.h"

namespace heddle {

// Rounded, and at least 1 unless it is 0. A scale of 1 changes nothing, however large the size.
inline int64_t ScaledBytes(int64_t bytes, double scale) {
  if (scale == 1 || bytes == 0) return bytes;
  return std::max<int64_t>(std::llround(static_cast<double>(bytes) * scale), 1);
}

inline Duration ScaledTime(Duration time, double scale) {
  if (scale == 1) return time;
  return Duration{static_cast<int64_t>(static_cast<double>(time.ps) * scale)};
}

}  // namespace heddle
