// SPDX-License-Identifier: Apache-2.0
// Files that come with the program.

#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace heddle {

// Where `name` (such as "configs/papers") is: under share/heddle if the program is installed,
// beside the sources if it is in a build tree. Nothing if it is neither.
std::optional<std::filesystem::path> FindShared(const std::string& name);

}  // namespace heddle
