// SPDX-License-Identifier: Apache-2.0
// Cuts the text of a trace into lines of words. Blank lines are left out, and so is everything
// behind a '#'.

#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace heddle {

struct TextLine {
  int number = 0;  // From 1.
  std::vector<std::string_view> words;
};

class TextLines {
 public:
  explicit TextLines(std::string_view text) : rest_(text) {}

  // Reads the next line that has words; false if there is none.
  bool Next(TextLine& line) {
    while (!rest_.empty()) {
      const size_t end = std::min(rest_.find('\n'), rest_.size());
      std::string_view text = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      text = text.substr(0, text.find('#'));
      line = {number_, WordsOf(text)};
      if (!line.words.empty()) return true;
    }
    return false;
  }

 private:
  static std::vector<std::string_view> WordsOf(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r";
    std::vector<std::string_view> words;
    for (size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;
         at = text.find_first_not_of(kBlanks, at)) {
      const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
      words.push_back(text.substr(at, end - at));
      at = end;
    }
    return words;
  }

  std::string_view rest_;
  int number_ = 0;
};

}  // namespace heddle
