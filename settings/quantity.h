// SPDX-License-Identifier: Apache-2.0
// Reads and writes numbers with units as users write them: "40Gbps", "1.5us", "64KiB". No space
// before the unit, no bare numbers where a unit belongs; 1 KB is 1000 B, 1 KiB is 1024 B. A value
// that is not a whole number of picoseconds, bits per second or bytes is refused, never rounded.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"

namespace heddle {

// Each function reads `text` into `value` and returns nothing, or the error message. The caller
// knows the place and passes the message to Diagnostics. The type is no absl::Status, because
// plug-ins compile this header and Abseil's would take longer than all others here.
using ParseError = std::optional<std::string>;

ParseError ParseQuantity(std::string_view text, Duration& value);
ParseError ParseQuantity(std::string_view text, BitRate& value);
ParseError ParseQuantity(std::string_view text, Bytes& value);
ParseError ParseQuantity(std::string_view text, int64_t& value);  // In decimal digits.
ParseError ParseQuantity(std::string_view text, double& value);   // Finite; also "1/16".
ParseError ParseQuantity(std::string_view text, bool& value);     // "true" or "false".
ParseError ParseQuantity(std::string_view text, std::string& value);

// The shortest text that reads back as the same value.
std::string FormatQuantity(Duration value);
std::string FormatQuantity(BitRate value);
std::string FormatQuantity(Bytes value);
std::string FormatQuantity(int64_t value);
std::string FormatQuantity(double value);
std::string FormatQuantity(bool value);
std::string FormatQuantity(const std::string& value);

// Rounds to five digits, for people: "109.47ms".
std::string RoundedQuantity(Duration value);

}  // namespace heddle
