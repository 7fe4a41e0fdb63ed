// SPDX-License-Identifier: Apache-2.0
// The clock of a leaf that stamps packets, which need not show the right time.

#pragma once

#include <cstdint>

#include "core/random.h"
#include "core/units.h"
#include "settings/fields.h"

namespace heddle {

inline void DeclareClockSpread(Fields& fields, Duration& spread) {
  fields.Add("clock_spread", spread, {.at_least = Duration{0}, .at_most = 1_s},
             "Each leaf's clock is ahead of the right time by a random part of this.");
}

// How far ahead the clock of the leaf with this salt is. In whole nanoseconds, as stamps are: then
// clocks alone change nothing in how delays between two leaves differ.
inline Duration ClockAhead(Duration spread, uint64_t salt) {
  const double ns = static_cast<double>(spread.ps / 1'000);
  return 1'000_ps * static_cast<int64_t>(Rng::Stream(salt, "clock", 0).Uniform() * ns);
}

}  // namespace heddle
