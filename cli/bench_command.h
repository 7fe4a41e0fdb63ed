// SPDX-License-Identifier: Apache-2.0
// heddle bench: what load balancers cost on this machine.

#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace heddle {

// Adds the command to `app`; if it is given, `command` becomes what does it.
void AddBenchCommand(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
