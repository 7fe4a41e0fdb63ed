// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

namespace heddle {

// Something of a load balancer's state that rises and falls, as it is now; to draw over time.
// Counters, which only rise, are told apart.
struct Gauge {
  std::string name;
  double value;
};

}  // namespace heddle
