// SPDX-License-Identifier: Apache-2.0

#include "settings/fields.h"

#include "settings/diagnostics.h"

namespace heddle {

std::string Fields::UnknownWord(std::string_view text, const std::vector<std::string>& words) {
  return fmt::format("\"{}\" is not known here{}", text, Suggestion(text, words));
}

}  // namespace heddle
