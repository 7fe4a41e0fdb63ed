// SPDX-License-Identifier: Apache-2.0
// How a user, or a batch system, stops a command.

#pragma once

#include <atomic>

namespace heddle {

// From now on SIGINT, SIGTERM, SIGHUP and SIGUSR1 are counted; one more than `patience` ends the
// program at once.
void CountStopSignals(int patience);

// For a copy of this process that is to be made (fork): what is counted here is counted there too.
void ShareStopSignals();
// In the copy: it is for the other process to take the signals.
void IgnoreStopSignals();

const std::atomic<int>& StopSignals();     // How many came,
const std::atomic<bool>& StopRequested();  // whether any did.

// 128 + the first signal, as shells have it; 143, that of SIGTERM, also for SIGUSR1, with which
// batch systems announce it.
int StoppedExitCode();

}  // namespace heddle
