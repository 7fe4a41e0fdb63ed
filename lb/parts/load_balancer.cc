// SPDX-License-Identifier: Apache-2.0

#include "lb/parts/load_balancer.h"

namespace heddle {

// Made on first use: the files that register run their initialisers in no particular order.
Kinds<LoadBalancer>& LoadBalancers() {
  static Kinds<LoadBalancer> kinds("load balancer");
  return kinds;
}

}  // namespace heddle
