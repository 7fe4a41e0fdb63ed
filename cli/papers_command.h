// SPDX-License-Identifier: Apache-2.0
// heddle papers: runs the experiments of papers and judges the papers' claims.

#pragma once

#include <functional>

#include "cli/plugins.h"

#include "cli/app.h"

namespace heddle {

// Adds the commands to `app`. If the user gives one, `command` becomes its function; `plugins` are
// loaded before it runs.
void AddPapersCommand(CLI::App& app, const Plugins& plugins, std::function<int()>& command);

}  // namespace heddle
