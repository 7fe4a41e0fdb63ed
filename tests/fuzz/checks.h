// SPDX-License-Identifier: Apache-2.0
// Helpers of the functions in targets.h.

#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "settings/diagnostics.h"
#include "settings/value.h"
#include "tests/fuzz/targets.h"

namespace heddle {

// Throws what a reader has promised and not kept.
void Require(bool holds, std::string_view promise);

std::string TextOf(FuzzInput input);

// A folder of this process alone, gone when it ends.
const std::filesystem::path& FuzzFolder();
// Writes a file there, which may be in a folder of its own, and returns its path.
std::string WriteInput(const std::string& name, std::string_view text);

// Requires that each error names its source and is one line.
void RequirePlaces(const Diagnostics& diagnostics);

// True if two documents have the same values, at whatever places.
bool AreEqual(const Value& a, const Value& b);

}  // namespace heddle
