// SPDX-License-Identifier: Apache-2.0
// Writes counts and rounded numbers for people: in errors, warnings, and what commands print. Files
// that programs read have exact numbers instead.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle {

// Returns "1 point" or "3 points". Give `many` if the plural does not end in -s.
std::string CountedNoun(size_t count, std::string_view one, std::string_view many = "");

// Returns a number with so many significant digits, but all digits before the point: "1,234", where
// {:.3g} writes "1.23e+03".
std::string PlainNumber(double value, int digits);

}  // namespace heddle
