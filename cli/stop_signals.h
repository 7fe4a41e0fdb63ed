// SPDX-License-Identifier: Apache-2.0
// Counts the signals by which a user or a batch system stops a command. Commands look at the count
// between steps of their work.

#pragma once

#include <atomic>

namespace heddle {

// From now on SIGINT, SIGTERM, SIGHUP and SIGUSR1 are counted; one more than `patience` ends the
// program at once. In a copy that leaves signals to its parent, this sets the parent's patience.
void CountStopSignals(int patience);

// Call it before fork(): signals counted in this process then count in the copy too.
void ShareStopSignals();
// Call it in the copy, which then ignores signals.
void LeaveStopSignalsToParent();

const std::atomic<int>& StopSignals();     // The number of signals so far.
const std::atomic<bool>& StopRequested();  // True after the first signal.

// Returns 128 + the first signal, as shells do. SIGUSR1, with which batch systems announce SIGTERM,
// also gives 143, the code of SIGTERM.
int StoppedExitCode();

}  // namespace heddle
