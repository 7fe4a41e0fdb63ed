// SPDX-License-Identifier: Apache-2.0

#include "settings/wording.h"

#include <fmt/format.h>

#include <cmath>

namespace heddle {

std::string CountedNoun(size_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

std::string PlainNumber(double value, int digits) {
  if (value < std::pow(10, digits) - 0.5) return fmt::format("{:.{}g}", value, digits);
  std::string text = fmt::format("{:.0f}", value);
  for (size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

}  // namespace heddle
