// SPDX-License-Identifier: Apache-2.0

#include "settings/csv.h"

#include <absl/strings/str_replace.h>
#include <fmt/format.h>

#include <algorithm>

#include "settings/status.h"

namespace heddle {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view WithoutLeadingBlanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

// Where numbers have a decimal comma, spreadsheets write semicolons between cells.
absl::Status CheckSeparator(std::string_view first_row) {
  const bool has_other = first_row.find(',') == std::string_view::npos &&
                         first_row.find(';') != std::string_view::npos;
  if (!has_other) return absl::OkStatus();
  return absl::InvalidArgumentError("has semicolons between its cells; commas are expected");
}

}  // namespace

std::string CsvCell(std::string_view text) {
  std::string cell = absl::StrReplaceAll(std::string(text), {{"\n", " "}, {"\r", " "}});
  if (cell.find_first_of(",\"") == std::string::npos) return cell;
  return fmt::format("\"{}\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}));
}

// --- CsvReader ---

CsvReader::CsvReader(std::string_view text) : rest_(text) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

bool CsvReader::Next() {
  if (rest_.empty()) return false;
  ++line_;
  const size_t end = std::min(rest_.find('\n'), rest_.size());
  std::string_view row = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  if (row.ends_with('\r')) row.remove_suffix(1);
  cells_.clear();
  status_ = line_ == 1 ? CheckSeparator(row) : absl::OkStatus();
  if (!status_.ok()) return true;
  if (row.find('"') != std::string_view::npos) {
    status_ = SplitQuoted(row);
  } else {
    SplitPlain(row);
  }
  return true;
}

void CsvReader::SplitPlain(std::string_view rest) {
  for (;;) {
    const size_t comma = rest.find(',');
    cells_.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

absl::Status CsvReader::SplitQuoted(std::string_view rest) {
  for (;;) {
    if (const std::string_view cell = WithoutLeadingBlanks(rest); cell.starts_with('"')) {
      rest = cell.substr(1);
      if (absl::Status status = TakeQuotedCell(rest); !status.ok()) return status;
    } else {
      cells_.push_back(rest.substr(0, rest.find(',')));
      if (cells_.back().find('"') != std::string_view::npos) {
        return absl::InvalidArgumentError("has a quote in a cell that does not begin with one");
      }
      rest.remove_prefix(cells_.back().size());
    }
    if (rest.empty()) return absl::OkStatus();
    rest.remove_prefix(1);
  }
}

// On entry, `rest` is the text behind the cell's first quote. On return, it is the text behind the
// cell: it begins with a comma or is empty.
absl::Status CsvReader::TakeQuotedCell(std::string_view& rest) {
  size_t end = rest.find('"');
  bool has_quotes = false;
  while (end != std::string_view::npos && rest.substr(end + 1).starts_with('"')) {
    has_quotes = true;
    end = rest.find('"', end + 2);
  }
  if (end == std::string_view::npos) {
    return absl::InvalidArgumentError("has a quoted cell without an end");
  }
  std::string_view cell = rest.substr(0, end);
  if (has_quotes) {
    cell = unquoted_.emplace_back(absl::StrReplaceAll(std::string(cell), {{"\"\"", "\""}}));
  }
  rest = WithoutLeadingBlanks(rest.substr(end + 1));
  if (!rest.empty() && rest.front() != ',') {
    return absl::InvalidArgumentError("has text behind a quoted cell");
  }
  cells_.push_back(cell);
  return absl::OkStatus();
}

// --- ParsedCsv ---

absl::StatusOr<ParsedCsv> ParsedCsv::Parse(std::string text) {
  ParsedCsv table;
  table.source_ = std::make_unique<Source>(std::move(text));
  CsvReader& reader = table.source_->reader;
  if (!reader.Next()) return absl::InvalidArgumentError("is empty");
  for (size_t row = 0;; ++row) {
    if (!reader.status().ok()) {
      return Within(reader.status(), fmt::format("row {}", row), " ");
    }
    const std::vector<std::string_view>& cells = reader.cells();
    if (row == 0) {
      table.header = cells;
    } else if (cells.size() == table.header.size()) {
      table.cells_.insert(table.cells_.end(), cells.begin(), cells.end());
    } else {
      return absl::InvalidArgumentError(
          fmt::format("row {} has more or fewer cells than the header", row));
    }
    if (!reader.Next()) return table;
  }
}

std::optional<size_t> ParsedCsv::Column(std::string_view name) const {
  const auto found = std::ranges::find(header, name);
  if (found == header.end()) return std::nullopt;
  return static_cast<size_t>(found - header.begin());
}

}  // namespace heddle
