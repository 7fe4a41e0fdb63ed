// SPDX-License-Identifier: Apache-2.0

#include "lb/parts/load_balancer.h"

namespace heddle {

// Made on first use, because the initialisers that register load balancers run in any order.
Kinds<LoadBalancer>& LoadBalancers() {
  static Kinds<LoadBalancer> kinds("load balancer");
  return kinds;
}

}  // namespace heddle
