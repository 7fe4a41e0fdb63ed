// SPDX-License-Identifier: Apache-2.0
// NSCC in three tiers of 100 Gbps and links of 1 us.

#pragma once

#include "core/units.h"
#include "transport/uet/nscc.h"

namespace heddle::nscc_kit {

inline constexpr Duration kRtt = 14'022'720_ps;

inline NsccRules Rules(Duration rtt = kRtt, double rate = 100e9) {
  return {.packet = 4'150,
          .payload = 4'086,
          .rate = rate,
          .rtt = rtt,
          .target = Duration{rtt.ps * 3 / 4}};
}

inline Time At(Duration time) { return Time{} + time; }

}  // namespace heddle::nscc_kit
