// SPDX-License-Identifier: Apache-2.0
// The functions in targets.h use these helpers to read their input and to check promises.

#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "settings/diagnostics.h"
#include "settings/value.h"
#include "tests/fuzz/targets.h"

namespace heddle {

// Throws `promise` if it does not hold.
void Require(bool holds, std::string_view promise);

std::string TextOf(FuzzInput input);

// A folder of this process alone; it is deleted when the process ends.
const std::filesystem::path& FuzzFolder();
// Writes a file in FuzzFolder() and returns its path. `name` may contain a folder.
std::string WriteInput(const std::string& name, std::string_view text);

// Requires that each error names its source and is one line.
void RequirePlaces(const Diagnostics& diagnostics);

// Returns true if two documents have the same values; places may differ.
bool AreEqual(const Value& a, const Value& b);

}  // namespace heddle
