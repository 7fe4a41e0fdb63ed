// SPDX-License-Identifier: Apache-2.0
// HPCC (Li et al., SIGCOMM 2019): from what switches tell of their ports a sender computes how much
// is in flight on the busiest link of its path, in units of what the link holds in a round trip,
// and sets its window so that this comes to a little less than one.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/units.h"
#include "transport/rate_control.h"

namespace heddle {

struct HpccSettings {
  double eta = 0.95;
  int64_t max_stage = 5;
  std::optional<Duration> base_rtt = std::nullopt;  // Not set: that of the network.
  BaseRtt rtt_scope = BaseRtt::kLongest;
  std::optional<Bytes> w_ai = std::nullopt;       // On the wire. Not set: from the rate, or flows.
  std::optional<BitRate> ai_rate = std::nullopt;  // Not set: from the flows.
  int64_t flows = 100;
  std::optional<BitRate> min_rate = std::nullopt;  // Not set: 0.1 % of the NIC's.

  void Declare(Fields& fields);
};

std::unique_ptr<const RateControl> MakeHpcc(const HpccSettings& settings);

}  // namespace heddle
