// SPDX-License-Identifier: Apache-2.0
// heddle papers: the experiments of papers, and what became of their claims.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/app.h"

namespace heddle {

// Adds the commands to `app`; if one is given, `command` becomes what does it. `plugins` is filled
// in by then.
void AddPapersCommand(CLI::App& app, const std::vector<std::string>& plugins,
                      std::function<int()>& command);

}  // namespace heddle
