// SPDX-License-Identifier: Apache-2.0
// Makes the man page heddle.1, in the man macros of roff.

#pragma once

#include <string>
#include <vector>

#include "cli/command_table.h"

namespace heddle {

std::string ManPage(const std::vector<CommandInfo>& commands);

}  // namespace heddle
