// SPDX-License-Identifier: Apache-2.0
// The clock offset of a leaf that stamps packets. Schemes that measure one-way delays add it to the
// true time, so that they must cope with clocks that are not synchronised.

#pragma once

#include <cstdint>

#include "core/random.h"
#include "core/units.h"
#include "settings/fields.h"

namespace heddle {

inline void DeclareClockSpread(Fields& fields, Duration& spread) {
  fields.Add("clock_spread", spread, {.at_least = Duration{0}, .at_most = 1_s},
             "Each leaf's clock is ahead of the true time by a random part of this.");
}

// Returns how far ahead the clock of the leaf with this salt is. Whole nanoseconds like the stamps,
// so that offsets never change the differences between delays by rounding.
inline Duration ClockAhead(Duration spread, uint64_t salt) {
  const double ns = static_cast<double>(spread.ps / 1'000);
  return 1'000_ps * static_cast<int64_t>(Rng::Stream(salt, "clock", 0).Uniform() * ns);
}

}  // namespace heddle
