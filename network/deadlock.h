// SPDX-License-Identifier: Apache-2.0
// Finds PFC deadlocks: ports that wait for each other in a circle. A paused port keeps its packets
// in the buffer, so the input that they came from pauses the port before. If that goes round,
// nothing moves any more (Guo et al., SIGCOMM 2016, section 4.2).

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "network/network.h"

namespace heddle {

// Returns the ports of one circle, each named as "s0 port 2", in the order of waiting. All have
// been paused in the same class for `patience` at `now`, which is between windows. Empty if there
// is no circle.
std::vector<std::string> FindDeadlock(Network& network, Time now, Duration patience);

}  // namespace heddle
