// SPDX-License-Identifier: Apache-2.0
// heddle collect and heddle compare: what a sweep has come to.

#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace heddle {

// Each adds its command to `app`; if it is given, `command` becomes what does it.
void AddCollectCommand(CLI::App& app, std::function<int()>& command);
void AddCompareCommand(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
