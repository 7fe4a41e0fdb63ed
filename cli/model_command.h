// SPDX-License-Identifier: Apache-2.0
// heddle model: prints the predictions of the papers' analytic models (lb/pdlb, lb/tr) as CSV.
// HeddleMain() adds the command. Nothing is simulated; options are read and checked as settings of
// an experiment are.

#pragma once

#include <functional>

#include "cli/app.h"

namespace heddle {

// Adds the command to `app`. If the user gives it, `command` becomes its function.
void AddModelCommand(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
