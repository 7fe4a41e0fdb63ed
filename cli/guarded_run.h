// SPDX-License-Identifier: Apache-2.0
// Work in a process of its own, for code that is not Heddle's: a plug-in may end the process that
// it runs in, with whatever exit code, or hang.

#pragma once

#include <absl/status/statusor.h>

#include <functional>

namespace heddle {

struct Guarded {
  bool returned = false;  // False: the process ended before `work` returned.
  int exit_code = 0;      // What `work` returned; else the status, or 128 + the signal.
  bool hung = false;      // It was asked to stop and did not, so it was killed.
};

// Runs `work` in a copy of this process, which must have no threads, and waits for it. Signals that
// are counted (cli/stop_signals.h) are counted for both. Fails if no process can be started.
absl::StatusOr<Guarded> RunGuarded(const std::function<int()>& work);

// Under a debugger, callers run the work in their own process.
bool IsDebugged();

// Returns the exit code of `work`. Prints what is thrown all the same, and returns 1: no memory is
// left, or a plug-in's code has thrown. Heddle's own throws nothing.
int CatchAll(const std::function<int()>& work);

}  // namespace heddle
