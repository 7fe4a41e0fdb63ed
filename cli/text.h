// SPDX-License-Identifier: Apache-2.0
// Rough figures for people.

#pragma once

#include <string>

namespace heddle {

std::string CountText(double number);   // "5.13 billion"
std::string AboutTime(double seconds);  // "about 12 min"
std::string AboutBytes(double bytes);   // "24 MB"

// Whether stderr is a terminal that can write over a line.
bool IsTerminal();

}  // namespace heddle
