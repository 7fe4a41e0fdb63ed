// SPDX-License-Identifier: Apache-2.0
// heddle bench: what load balancers cost on this machine.

#pragma once

#include <functional>

#include "cli/app.h"

namespace heddle {

// Adds the command to `app`; if it is given, `command` becomes what does it.
void AddBenchCommand(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
