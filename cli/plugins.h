// SPDX-License-Identifier: Apache-2.0
// Load balancers from shared libraries, which register themselves as built-in ones do.

#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>

namespace heddle {

// The contents of a section of a 64-bit ELF file; empty if there is none, or it is no such file.
std::string_view ElfSection(std::string_view file, std::string_view name);

// Loads a plug-in if it was built for this very program; nothing of it runs otherwise. NotFound if
// the file cannot be read, FailedPrecondition if it is no plug-in or one for another Heddle,
// AlreadyExists if it is loaded already or takes a name that is taken, InvalidArgument if it has
// nothing to load. The message does not name the file.
absl::Status LoadPlugin(const std::string& path);
// True once a plug-in has been loaded.
bool HasPlugins();

}  // namespace heddle
