// SPDX-License-Identifier: Apache-2.0
// Load balancers from shared libraries, which register themselves as built-in ones do.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle {

// The contents of a section of a 64-bit ELF file; empty if there is none, or it is no such file.
std::string_view ElfSection(std::string_view file, std::string_view name);

// Loads a plug-in if it was built for this very program; nothing of it runs otherwise. Returns what
// is wrong with it.
std::optional<std::string> LoadPlugin(const std::string& path);
// True once a plug-in has been loaded.
bool HasPlugins();

}  // namespace heddle
