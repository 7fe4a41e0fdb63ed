// SPDX-License-Identifier: Apache-2.0
// Reads and writes CSV as in RFC 4180, but without line breaks in cells: rows end with LF or CRLF,
// and a cell with a comma or a quote stands in quotes. Every CSV file that Heddle reads goes
// through here.

#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// Writes a cell, in quotes only if it needs them. A line break becomes a space.
std::string CsvCell(std::string_view text);

// Reads a text row by row, for large files and for callers that report each mistake with its line.
// The text must outlive the reader, and the reader its cells.
class CsvReader {
 public:
  // A byte order mark, with which some spreadsheets begin a file, is skipped.
  explicit CsvReader(std::string_view text);

  // Goes to the next row; false behind the last one.
  bool Next();

  const std::vector<std::string_view>& cells() const { return cells_; }
  int line() const { return line_; }  // From 1.
  // InvalidArgument if quotes stand where they must not, or if the first row has semicolons instead
  // of commas. The cells are then those before the mistake, and the next row can still be read.
  const absl::Status& status() const { return status_; }

 private:
  void SplitPlain(std::string_view row);
  absl::Status SplitQuoted(std::string_view row);
  absl::Status TakeQuotedCell(std::string_view& rest);

  std::string_view rest_;
  std::vector<std::string_view> cells_;
  std::deque<std::string> unquoted_;  // Cells that differ from the text, with quotes undone.
  int line_ = 0;
  absl::Status status_;
};

// A whole file: a header, and rows with as many cells. Cells are views of the text, as flows.csv
// may have a million rows.
class ParsedCsv {
 public:
  ParsedCsv() = default;  // A table without columns.
  // Returns InvalidArgument, naming the row, if `text` is not such a file.
  static absl::StatusOr<ParsedCsv> Parse(std::string text);

  std::vector<std::string_view> header;

  size_t rows() const { return header.empty() ? 0 : cells_.size() / header.size(); }
  std::span<const std::string_view> Row(size_t row) const {
    return std::span(cells_).subspan(row * header.size(), header.size());
  }
  std::string_view At(size_t row, size_t column) const {
    return cells_[row * header.size() + column];
  }
  // Returns nothing if there is no such column.
  std::optional<size_t> Column(std::string_view name) const;

 private:
  struct Source {
    explicit Source(std::string whole) : text(std::move(whole)), reader(text) {}

    const std::string text;
    CsvReader reader;
  };

  std::unique_ptr<Source> source_;       // Views stay valid when the table moves.
  std::vector<std::string_view> cells_;  // Row by row.
};

}  // namespace heddle
