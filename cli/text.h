// SPDX-License-Identifier: Apache-2.0
// Formats rounded numbers, times and sizes for messages of commands, and has small helpers of
// several commands. Output that programs read, such as CSV, has exact numbers instead.

#pragma once

#include <string>

namespace heddle {

std::string CountText(double number);   // "5.13 billion"
std::string AboutTime(double seconds);  // "about 12 min"
std::string AboutBytes(double bytes);   // "24 MB"

// A check for an option that names a file or folder: returns an error message, or "".
inline std::string NotEmpty(const std::string& text) {
  return text.empty() ? "is empty; leave it out for its default" : "";
}

// The same for an option that names a folder, which need not exist yet: a file must stand neither
// in its place nor in that of a folder around it.
std::string NoFileInPlace(const std::string& folder);

// Returns true if stderr is a terminal that can overwrite a line.
bool IsTerminal();

}  // namespace heddle
