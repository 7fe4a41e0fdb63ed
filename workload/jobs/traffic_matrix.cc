// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/traffic_matrix.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "settings/csv.h"
#include "settings/status.h"

namespace heddle {
namespace {

constexpr size_t kMostMatrixBytes = size_t{1} << 30;
constexpr int kMostMistakes = 20;

std::optional<int64_t> ParseBytes(std::string_view cell) {
  while (cell.starts_with(' ')) cell.remove_prefix(1);
  while (cell.ends_with(' ')) cell.remove_suffix(1);
  int64_t bytes = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), bytes);
  if (error != std::errc() || end != cell.data() + cell.size() || bytes < 0) return std::nullopt;
  return bytes;
}

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
  auto bytes = std::make_shared<std::vector<int64_t>>();
  int mistakes = 0;
  size_t columns = 0;
  size_t rows = 0;
  CsvReader reader(*text);
  const auto fail = [&](const std::string& message) {
    diagnostics.Error({file, reader.line(), 1}, "", message);
    ++mistakes;
  };
  while (mistakes < kMostMistakes && reader.Next()) {
    const auto& cells = reader.cells();
    if (!reader.status().ok()) {
      fail(MessageOf(reader.status()));
      continue;
    }
    if (cells.size() == 1 && cells.front().empty()) continue;
    if (++rows == 1) columns = cells.size();
    if (cells.size() != columns) {
      fail(fmt::format("has {} cells, the first row {}", cells.size(), columns));
    }
    for (const std::string_view cell : cells) {
      const std::optional<int64_t> value = ParseBytes(cell);
      if (!value) fail(fmt::format("\"{}\" is no number of bytes", cell));
      bytes->push_back(value.value_or(0));
    }
  }
  if (mistakes == 0 && rows != columns) {
    fail(fmt::format("has {} rows of {} cells; it must have as many rows as cells", rows, columns));
  }
  if (mistakes > 0) return nullptr;
  return bytes;
}

}  // namespace heddle
