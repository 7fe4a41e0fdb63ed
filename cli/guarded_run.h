// SPDX-License-Identifier: Apache-2.0
// Work in a process of its own, for code that is not Heddle's: a plug-in may end the process that
// it runs in, with whatever exit code, or hang.

#pragma once

#include <functional>
#include <string>

namespace heddle {

struct Guarded {
  bool returned =
      false;  // Else it was ended otherwise, and `exit_code` says how, as shells have it.
  int exit_code = 0;
  bool hung = false;  // It was asked to stop and did not, so it was killed.
};

// Runs `work` in a copy of this process, which must have no threads, and waits for it. Signals that
// are counted (cli/stop_signals.h) are counted for both.
Guarded RunGuarded(const std::function<int()>& work);

// Nobody who debugs a program wants it to run elsewhere.
bool IsDebugged();

// The exit code of `work`, also if it throws; what it throws is told.
int CatchAll(const std::function<int()>& work);

}  // namespace heddle
