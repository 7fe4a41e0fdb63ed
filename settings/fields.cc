// SPDX-License-Identifier: Apache-2.0

#include "settings/fields.h"

#include <fmt/format.h>

#include "settings/diagnostics.h"

namespace heddle {

Fields::Scalar Fields::ScalarOfWords(const std::vector<std::string>& words,
                                     const std::function<void(size_t)>& choose,
                                     const std::function<size_t()>& chosen) {
  std::string type;
  for (const std::string& word : words) type += (type.empty() ? "" : " | ") + word;
  Scalar scalar{type, nullptr, nullptr};
  scalar.shape.words = words;
  scalar.parse = [words, choose](std::string_view text) -> ParseError {
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] != text) continue;
      choose(i);
      return std::nullopt;
    }
    return fmt::format("\"{}\" is not known here{}", text, Suggestion(text, words));
  };
  scalar.text = [words, chosen] {
    const size_t i = chosen();
    return i < words.size() ? words[i] : std::string();
  };
  scalar.is_text = true;  // YAML gives some words, such as off, a meaning of its own.
  return scalar;
}

template struct Range<Duration>;
template struct Range<BitRate>;
template struct Range<Bytes>;
template struct Range<int64_t>;
template struct Range<double>;
template struct Range<bool>;
template struct Range<std::string>;
template struct ScalarFor<Duration>;
template struct ScalarFor<BitRate>;
template struct ScalarFor<Bytes>;
template struct ScalarFor<int64_t>;
template struct ScalarFor<double>;
template struct ScalarFor<bool>;
template struct ScalarFor<std::string>;

}  // namespace heddle
