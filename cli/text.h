// SPDX-License-Identifier: Apache-2.0
// Rough figures for people.

#pragma once

#include <string>

namespace heddle {

std::string CountText(double number);   // "5.13 billion"
std::string AboutTime(double seconds);  // "about 12 min"
std::string AboutBytes(double bytes);   // "24 MB"

// For an option that names a file or folder: what is wrong with its text.
inline std::string NotEmpty(const std::string& text) {
  return text.empty() ? "is empty; leave it out for its default" : "";
}

// Whether stderr is a terminal that can write over a line.
bool IsTerminal();

}  // namespace heddle
