// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/traffic_matrix.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "settings/csv.h"
#include "settings/status.h"
#include "workload/file_errors.h"

namespace heddle {
namespace {

constexpr size_t kMostMatrixBytes = size_t{1} << 30;
// A file of kMostMatrixBytes has no more rows of as many cells, of two characters each.
constexpr size_t kMostRanks = size_t{1} << 15;
static_assert(2 * kMostRanks * kMostRanks > kMostMatrixBytes);
// Far beyond any job, and far enough below 2^63 that no later sum or product overflows: protocols
// add headers to each message, and totals count every cell.
constexpr int64_t kMostCellBytes = 1'000'000'000'000'000;  // 1 PB.
constexpr int64_t kMostBytes = 1'000'000'000'000'000'000;  // 1 EB.

std::optional<int64_t> ParseBytes(std::string_view cell) {
  while (cell.starts_with(' ')) cell.remove_prefix(1);
  while (cell.ends_with(' ')) cell.remove_suffix(1);
  int64_t bytes = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), bytes);
  if (error != std::errc() || end != cell.data() + cell.size() || bytes < 0) return std::nullopt;
  return bytes;
}

// Finds a row that would take many times the file's length in memory, and could not be one of a
// square.
std::optional<int> LineOfTooManyCells(std::string_view text) {
  int line = 1;
  size_t cells = 1;
  for (const char c : text) {
    if (c == ',' && ++cells > kMostRanks) return line;
    if (c != '\n') continue;
    ++line;
    cells = 1;
  }
  return std::nullopt;
}

class MatrixReader {
 public:
  MatrixReader(const std::string& file, Diagnostics& diagnostics) : errors_(file, diagnostics) {}

  std::shared_ptr<const std::vector<int64_t>> Read(std::string_view text) {
    if (const auto line = LineOfTooManyCells(text)) {
      line_ = *line;
      Fail(fmt::format("has more than {} cells", kMostRanks));
      return nullptr;
    }
    CsvReader reader(text);
    while (!errors_.full() && reader.Next()) {
      line_ = reader.line();
      if (!reader.status().ok()) {
        Fail(MessageOf(reader.status()));
        continue;
      }
      const auto& cells = reader.cells();
      if (cells.size() > 1 || !cells.front().empty()) ReadRow(cells);
    }
    if (!errors_.any() && rows_ != columns_) {
      Fail(fmt::format("has {} rows of {} cells; it must have as many rows as cells", rows_,
                       columns_));
    }
    if (errors_.any()) return nullptr;
    return std::make_shared<const std::vector<int64_t>>(std::move(bytes_));
  }

 private:
  void ReadRow(const std::vector<std::string_view>& cells) {
    if (++rows_ == 1) columns_ = cells.size();
    if (cells.size() != columns_) {
      Fail(fmt::format("has {} cells, the first row {}", cells.size(), columns_));
    }
    for (const std::string_view cell : cells) {
      if (errors_.full()) return;
      ReadCell(cell);
    }
  }

  void ReadCell(std::string_view cell) {
    const std::optional<int64_t> value = ParseBytes(cell);
    if (!value) return Fail(fmt::format("\"{}\" is no number of bytes", cell));
    if (*value > kMostCellBytes) {
      return Fail(fmt::format("\"{}\" is too large; a cell has at most 1 PB (10^15)", cell));
    }
    if (*value > kMostBytes - total_) {
      total_ = 0;  // Otherwise each further cell would be a mistake, too.
      return Fail("with this row, the cells add up to more than 1 EB (10^18 bytes)");
    }
    total_ += *value;
    bytes_.push_back(*value);
  }

  void Fail(const std::string& message) { errors_.Add(line_, message); }

  FileErrors errors_;
  std::vector<int64_t> bytes_;
  int64_t total_ = 0;
  int line_ = 1;
  size_t columns_ = 0;
  size_t rows_ = 0;
};

}  // namespace

std::shared_ptr<const std::vector<int64_t>> ReadTrafficMatrix(const std::string& file,
                                                              std::string_view path,
                                                              FilesRead& files,
                                                              Diagnostics& diagnostics) {
  const absl::StatusOr<std::string> text = files.Read(file, kMostMatrixBytes);
  if (!text.ok()) {
    diagnostics.ErrorAt(path, MessageOf(Within(text.status(), file, " ")));
    return nullptr;
  }
  return MatrixReader(file, diagnostics).Read(*text);
}

}  // namespace heddle
