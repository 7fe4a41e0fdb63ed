// SPDX-License-Identifier: Apache-2.0
// heddle verify: checks that results are still as they were written. HeddleMain() adds the command.
// It compares each file of a run, or of all points of a sweep, with manifest.csv; it changes
// nothing.

#pragma once

#include <functional>

#include "cli/app.h"

namespace heddle {

// Adds the command to `app`. If the user gives it, `command` becomes its function.
void AddVerifyCommand(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
