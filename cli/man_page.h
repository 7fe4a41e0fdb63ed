// SPDX-License-Identifier: Apache-2.0
// Makes the man page heddle.1, in the man macros of roff. `heddle man` prints it when Heddle is
// built. Commands and options come from the command table; exit codes, the environment and examples
// are written in man_page.cc.

#pragma once

#include <string>
#include <vector>

#include "cli/command_table.h"

namespace heddle {

std::string ManPage(const std::vector<CommandInfo>& commands);

}  // namespace heddle
