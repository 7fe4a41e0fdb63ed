// SPDX-License-Identifier: Apache-2.0
// Runs work in a process of its own, for code that is not Heddle's: a plug-in may end its process,
// with any exit code, or hang. Commands call it when plug-ins are loaded.

#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace heddle {

struct Guarded {
  bool returned = false;  // False: the process ended before `work` returned.
  int exit_code = 0;  // The result of `work`; else the process's exit code, or 128 + its signal.
  bool hung = false;  // True if it was killed because it did not stop when asked to.
};

// Runs `work` in a copy of this process, which must have no threads, and waits for it. Signals that
// are counted (cli/stop_signals.h) are counted for both. After the first one the copy has
// `patience` to end, or all time if there is none; then it is killed. Fails if no process can be
// started.
absl::StatusOr<Guarded> RunGuarded(const std::function<int()>& work,
                                   std::optional<std::chrono::seconds> patience);

// Under a debugger, callers run the work in their own process.
bool IsDebugged();

// Writes what stdout has buffered. If that fails, as on a full disk, prints an error and returns 1
// instead of an exit code of 0.
int FinishOutput(int exit_code);

// Returns the exit code of `work`. Prints an exception, after the name of `what` was done, and
// returns 1: memory has run out, or a plug-in has thrown. Heddle's own code throws nothing.
// `origin` says where an exception probably came from, if plug-ins are loaded.
int CatchAll(const std::function<int()>& work, const std::string& what = "",
             const std::string& origin = "");

}  // namespace heddle
