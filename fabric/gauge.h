// SPDX-License-Identifier: Apache-2.0
// A gauge shows a part of a load balancer's state during the run. A policy returns its gauges when
// a time series samples them (measure.record.lb), between windows; reading them changes nothing.

#pragma once

#include <string>

namespace heddle {

// One value that rises and falls, as it is at this instant. Values that only rise are counters.
struct Gauge {
  std::string name;
  double value;
};

}  // namespace heddle
