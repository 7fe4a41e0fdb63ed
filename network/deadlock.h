// SPDX-License-Identifier: Apache-2.0
// Ports that wait for each other in a circle. With PFC a paused port keeps its packets, which keep
// memory, for want of which the input they came from pauses the port before: if that goes round,
// nothing moves any more (Guo et al., SIGCOMM 2016, section 4.2).

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "network/network.h"

namespace heddle {

// The ports of one circle, each named as "s0 port 2", in the order of waiting; all have been paused
// in the same class for `patience` at `now`, which is between windows. Empty if there is none.
std::vector<std::string> FindDeadlock(Network& network, Time now, Duration patience);

}  // namespace heddle
