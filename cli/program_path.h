// SPDX-License-Identifier: Apache-2.0
// Where this program is.

#pragma once

#include <filesystem>

namespace heddle {

// Returns the path of the running program, with links followed; empty if it cannot be found out.
std::filesystem::path ProgramPath();

}  // namespace heddle
