// SPDX-License-Identifier: Apache-2.0
// Estimates the time and memory of a run before it is simulated. Commands show the estimates, and
// sweeps plan jobs by them. The time is a number of work units times the seconds that this machine
// needs for one unit; experiment/run_costs.h has the table of units.

#pragma once

#include "experiment/experiment.h"

namespace heddle {

// Returns the expected number of links that data packets and their ACKs cross, without background
// traffic. Each data packet has one ACK.
double ExpectedPacketHops(const Experiment& experiment);

// Returns the expected work of a run. The unit is one packet-hop of the calibration run.
double ExpectedWork(const Experiment& experiment);

// Simulates the calibration run, a small network with DCTCP, and returns the CPU seconds that one
// packet-hop took. It takes a few milliseconds.
double MeasureSecondsPerWork();

// Returns MeasureSecondsPerWork() of the first call: the least of several measurements, since other
// load on the machine makes some of them too long.
double SecondsPerWork();

// Returns the expected time of the run on one thread of this machine.
double ExpectedSeconds(const Experiment& experiment);

// Returns the expected peak memory, as far as it depends on hosts and flows.
double ExpectedMemoryBytes(const Experiment& experiment);

}  // namespace heddle
