// SPDX-License-Identifier: Apache-2.0
// Estimates the work and memory of a run before it is simulated. Commands show the estimates, and
// sweeps plan jobs by them.

#pragma once

#include "experiment/experiment.h"

namespace heddle {

// Returns the expected number of links that data packets and their ACKs cross, without background
// traffic. Each data packet has one ACK.
double ExpectedPacketHops(const Experiment& experiment);

// The time that one thread needs for one packet crossing one port and wire, on a machine of 2024;
// see docs/validation.md.
inline constexpr double kSecondsPerHop = 60e-9;

// Returns the expected peak memory, as far as it depends on hosts and flows.
double ExpectedMemoryBytes(const Experiment& experiment);

}  // namespace heddle
