// SPDX-License-Identifier: Apache-2.0
// heddle model: the analytic models of papers, as curves in CSV.

#pragma once

#include <functional>

#include "cli/app.h"

namespace heddle {

// Adds the command to `app`; if it is given, `command` becomes what does it.
void AddModelCommand(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
