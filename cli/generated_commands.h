// SPDX-License-Identifier: Apache-2.0
// Commands that print descriptions of heddle for other programs: editors, shells and man.

#pragma once

#include <functional>

#include "cli/app.h"

namespace heddle {

// Adds heddle schema, completion and, hidden, man. Call it when `app` has all other commands.
void AddGeneratedCommands(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
