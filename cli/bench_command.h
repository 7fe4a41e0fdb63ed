// SPDX-License-Identifier: Apache-2.0
// heddle bench: measures the cost of load balancers on this machine. HeddleMain() adds the command.
// It reads no experiment and writes no file: it replays a recorded leaf (bench/decision/) and
// prints a table.

#pragma once

#include <functional>

#include "cli/app.h"

namespace heddle {

// Adds the command to `app`. If the user gives it, `command` becomes its function.
void AddBenchCommand(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
