// SPDX-License-Identifier: Apache-2.0
// heddle verify: whether results are still as they were written.

#pragma once

#include <functional>

#include "cli/app.h"

namespace heddle {

// Adds the command to `app`; if it is given, `command` becomes what does it.
void AddVerifyCommand(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
