// SPDX-License-Identifier: Apache-2.0
// heddle papers: the experiments of papers, and what became of their claims.

#pragma once

#include <functional>

#include "cli/plugins.h"

#include "cli/app.h"

namespace heddle {

// Adds the commands to `app`; if one is given, `command` becomes what does it. `plugins` are loaded
// by then.
void AddPapersCommand(CLI::App& app, const Plugins& plugins, std::function<int()>& command);

}  // namespace heddle
