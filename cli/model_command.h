// SPDX-License-Identifier: Apache-2.0
// heddle model: prints the curves of papers' analytic models as CSV.

#pragma once

#include <functional>

#include "cli/app.h"

namespace heddle {

// Adds the command to `app`. If the user gives it, `command` becomes its function.
void AddModelCommand(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
