// SPDX-License-Identifier: Apache-2.0
// What a run is expected to take, before anything is simulated.

#pragma once

#include "experiment/experiment.h"

namespace heddle {

// Links crossed by data and their ACKs, one for each packet; the background's are not known.
double ExpectedPacketHops(const Experiment& experiment);

// Of one packet crossing one port and wire on one thread, on a machine of 2024; see
// docs/validation.md.
inline constexpr double kSecondsPerHop = 60e-9;

// The most memory it will hold, as far as hosts and flows decide that.
double ExpectedMemoryBytes(const Experiment& experiment);

}  // namespace heddle
