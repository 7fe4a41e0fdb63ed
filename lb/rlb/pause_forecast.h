// SPDX-License-Identifier: Apache-2.0
// RLB's forecast of a pause (PFC): when an input that keeps growing as it does will have reached
// the threshold above which the switch pauses the sender at its far end. RLB asks once per sampling
// period.

#pragma once

#include <cstdint>

#include "core/units.h"

namespace heddle {

// Returns the time until an input with `held` bytes, which had `before` a time `period` ago, holds
// more than `pause_above`: none if it does already, kNever if it does not grow.
inline Duration TimeToPause(Bytes before, Bytes held, Bytes pause_above, Duration period) {
  if (held > pause_above) return Duration{0};
  if (held <= before) return Duration{kNever.ps};
  const double periods =
      static_cast<double>((pause_above - held).count) / static_cast<double>((held - before).count);
  const double ps = periods * static_cast<double>(period.ps);
  return ps < static_cast<double>(kNever.ps) ? Duration{static_cast<int64_t>(ps)}
                                             : Duration{kNever.ps};
}

}  // namespace heddle
