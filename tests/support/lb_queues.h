// SPDX-License-Identifier: Apache-2.0
// Simulates the queues of one leaf under a policy, and returns their statistics. Tests compare how
// evenly policies fill the queues.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/support/lb_bench.h"

namespace heddle {

struct QueueStats {
  double spread = 0;             // Standard deviation over ports, in bytes, averaged over arrivals.
  int64_t longest = 0;           // The longest queue of any port, in bytes.
  std::vector<int64_t> packets;  // By port.
};

// Packets of 1500 bytes arrive as a Poisson process that asks for `load` of all uplinks, each of
// one of 1000 flows, and leave through the ports that the policy chooses.
QueueStats DriveQueues(std::string_view settings, const LbSwitch::Shape& shape, double load,
                       int packets);

// The same for a leaf that has already handled packets.
QueueStats DriveQueues(LbSwitch& leaf, const LbSwitch::Shape& shape, double load, int packets);

}  // namespace heddle
