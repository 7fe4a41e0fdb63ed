// SPDX-License-Identifier: Apache-2.0
// Finds files that come with the program, such as the experiments of papers, for a program that is
// installed or in its build tree. heddle papers calls it if the user names no folder.

#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace heddle {

// Returns the path of `name` (such as "configs/papers"): under share/heddle if the program is
// installed, beside the sources if it is in a build tree; nothing if it is in neither.
std::optional<std::filesystem::path> FindShared(const std::string& name);

}  // namespace heddle
