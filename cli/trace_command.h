// SPDX-License-Identifier: Apache-2.0
// heddle trace: runs one experiment and writes its packets, for Wireshark and Perfetto.
// HeddleMain() adds the command. It is heddle run with options that say which packets to record;
// the results are the same as without a trace.

#pragma once

#include <functional>

#include "cli/app.h"
#include "cli/commands.h"

namespace heddle {

// Adds the command with its own options to `app`; it shares `arguments` with heddle run. If the
// user gives the command, `command` becomes its function.
CLI::App* AddTraceCommand(CLI::App& app, RunArguments& arguments, std::function<int()>& command);

}  // namespace heddle
