// SPDX-License-Identifier: Apache-2.0
// What a load balancer shows of its state while a run goes on. A policy returns its gauges when a
// time series samples them (measure.record.lb), between windows; reading them changes nothing.

#pragma once

#include <string>

namespace heddle {

// One value that rises and falls, as it is at this instant. Counters, which only rise, are apart.
struct Gauge {
  std::string name;
  double value;
};

}  // namespace heddle
