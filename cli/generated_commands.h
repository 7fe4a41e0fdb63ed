// SPDX-License-Identifier: Apache-2.0
// Commands that print descriptions of heddle for other programs: editors, shells and man. The
// descriptions are made from the declarations of settings and options, so they never differ from
// what heddle accepts.

#pragma once

#include <functional>

#include "cli/app.h"

namespace heddle {

// Adds heddle schema, completion and, hidden, man. Call it when `app` has all other commands.
void AddGeneratedCommands(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
