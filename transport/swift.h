// SPDX-License-Identifier: Apache-2.0
// Swift (Kumar et al., SIGCOMM 2020): a window that aims at a delay, which grows with the hops and
// shrinks with the window. Hosts have no delay of their own here, so only the fabric's window is
// there.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/units.h"
#include "transport/rate_control.h"

namespace heddle {

struct SwiftSettings {
  double ai = 1.0;
  double beta = 0.8;
  double max_mdf = 0.5;
  Duration base = 25_us;
  std::optional<Duration> per_hop = std::nullopt;   // Not set: base / 6.5.
  std::optional<Duration> fs_range = std::nullopt;  // Not set: 5 base.
  double fs_min = 0.1;
  double fs_max = 100;
  double min_cwnd = 0.001;
  double max_cwnd = 1'000;
  std::optional<double> initial_cwnd = std::nullopt;  // Not set: base at line rate.
  int64_t retx_reset = 5;

  void Declare(Fields& fields);
};

std::unique_ptr<const RateControl> MakeSwift(const SwiftSettings& settings);

// The delay that a window of `cwnd` packets aims at over so many links.
Duration SwiftTarget(const SwiftSettings& settings, double cwnd, int links);

}  // namespace heddle
