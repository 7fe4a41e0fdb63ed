// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/csv.h"

#include <algorithm>

namespace heddle {

std::string CsvCell(std::string_view text) {
  std::string cell(text);
  std::ranges::replace(cell, '\n', ' ');
  std::ranges::replace(cell, '\r', ' ');
  if (cell.find_first_of(",\"") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::vector<std::string> SplitCsvLine(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      const bool escaped = quoted && i + 1 < line.size() && line[i + 1] == '"';
      if (escaped) cells.back() += line[i++];
      if (!escaped) quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

std::optional<std::string_view> CsvLines::Next() {
  if (rest_.empty()) return std::nullopt;
  const size_t end = std::min(rest_.find('\n'), rest_.size());
  const std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  return line;
}

}  // namespace heddle
