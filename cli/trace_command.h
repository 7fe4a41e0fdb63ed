// SPDX-License-Identifier: Apache-2.0
// heddle trace: one run, written down packet by packet.

#pragma once

#include <functional>

#include "cli/app.h"
#include "cli/commands.h"

namespace heddle {

// Adds the command with the options that are its own to `app`; `arguments` are those it shares with
// heddle run. Sets `command` to what it does when it is chosen.
CLI::App* AddTraceCommand(CLI::App& app, RunArguments& arguments, std::function<int()>& command);

}  // namespace heddle
