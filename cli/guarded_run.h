// SPDX-License-Identifier: Apache-2.0
// Runs work in a process of its own, for code that is not Heddle's: a plug-in may end its process,
// with any exit code, or hang. Commands call it when plug-ins are loaded.

#pragma once

#include <absl/status/statusor.h>

#include <functional>

namespace heddle {

struct Guarded {
  bool returned = false;  // False: the process ended before `work` returned.
  int exit_code = 0;  // The result of `work`; else the process's exit code, or 128 + its signal.
  bool hung = false;  // True if it was killed because it did not stop when asked to.
};

// Runs `work` in a copy of this process, which must have no threads, and waits for it. Signals that
// are counted (cli/stop_signals.h) are counted for both. Fails if no process can be started.
absl::StatusOr<Guarded> RunGuarded(const std::function<int()>& work);

// Under a debugger, callers run the work in their own process.
bool IsDebugged();

// Returns the exit code of `work`. Prints an exception and returns 1: memory has run out, or a
// plug-in has thrown. Heddle's own code throws nothing.
int CatchAll(const std::function<int()>& work);

}  // namespace heddle
