// SPDX-License-Identifier: Apache-2.0
// TIMELY (Mittal et al., SIGCOMM 2015): the rate follows the gradient of the round-trip time.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/units.h"
#include "transport/rate_control.h"

namespace heddle {

struct TimelySettings {
  double alpha = 0.875;
  double beta = 0.8;
  Duration t_low = 50_us;
  Duration t_high = 500_us;
  Duration min_rtt = 20_us;
  std::optional<BitRate> delta = std::nullopt;  // Not set: 1 Mbps per Gbps of the NIC.
  int64_t hyperactive_after = 5;
  int64_t hyperactive_factor = 5;
  Bytes segment{16'000};
  std::optional<BitRate> min_rate = std::nullopt;  // Not set: 0.1 % of the NIC's.

  void Declare(Fields& fields);
};

std::unique_ptr<const RateControl> MakeTimely(const TimelySettings& settings);

}  // namespace heddle
