// SPDX-License-Identifier: Apache-2.0
// Lines of CSV files as RFC 4180 has them, without line breaks in cells.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// A cell as it is written: in quotes only if it needs them. A line break becomes a space.
std::string CsvCell(std::string_view text);

std::vector<std::string> SplitCsvLine(std::string_view line);

// The lines of a file, header first.
class CsvLines {
 public:
  explicit CsvLines(std::string_view text) : rest_(text) {}
  // Nothing at the end.
  std::optional<std::string_view> Next();

 private:
  std::string_view rest_;
};

}  // namespace heddle
