// SPDX-License-Identifier: Apache-2.0
// Reads numbers as programs write them into CSV and JSON. Numbers that users write have units, and
// a reader of their own (settings/quantity.h).

#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace heddle {

// Returns the number, or nothing if `text` is not a number to its end.
template <class Number>
std::optional<Number> NumberFrom(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace heddle
