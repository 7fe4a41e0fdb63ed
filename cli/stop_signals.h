// SPDX-License-Identifier: Apache-2.0
// Counts the signals by which a user or a batch system stops a command. Commands look at the count
// between steps of their work.

#pragma once

#include <atomic>

namespace heddle {

// From now on SIGINT, SIGTERM, SIGHUP and SIGUSR1 are counted; one more than `patience` ends the
// program at once.
void CountStopSignals(int patience);

// Call it before fork(): signals counted in this process then count in the copy too.
void ShareStopSignals();
// Call it in the copy, which then leaves signals to the other process.
void IgnoreStopSignals();

const std::atomic<int>& StopSignals();     // The number of signals so far.
const std::atomic<bool>& StopRequested();  // True after the first signal.

// Returns 128 + the first signal, as shells do. SIGUSR1, with which batch systems announce SIGTERM,
// also gives 143, the code of SIGTERM.
int StoppedExitCode();

}  // namespace heddle
