// SPDX-License-Identifier: Apache-2.0
// Makes the scripts with which shells complete commands, options, names and files. `heddle
// completion` prints them.

#pragma once

#include <string>
#include <vector>

#include "cli/command_table.h"

namespace heddle {

std::string BashCompletion(const std::vector<CommandInfo>& commands);
std::string ZshCompletion(const std::vector<CommandInfo>& commands);
std::string FishCompletion(const std::vector<CommandInfo>& commands);

}  // namespace heddle
