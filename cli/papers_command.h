// SPDX-License-Identifier: Apache-2.0
// heddle papers: lists and runs the experiments of papers, judges the papers' claims by the results
// and prints the cost of the runs. HeddleMain() adds the commands. Each checks all chosen papers
// before it begins; each experiment runs as a sweep.

#pragma once

#include <functional>

#include "cli/plugins.h"

#include "cli/app.h"

namespace heddle {

// Adds the commands to `app`. If the user gives one, `command` becomes its function; `plugins` are
// loaded before it runs.
void AddPapersCommand(CLI::App& app, const Plugins& plugins, std::function<int()>& command);

}  // namespace heddle
