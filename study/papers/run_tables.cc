// SPDX-License-Identifier: Apache-2.0

#include "study/papers/run_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "study/sweep/csv.h"

namespace heddle {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 32;

void Split(std::string_view line, std::vector<std::string_view>& cells) {
  while (true) {
    const size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

// Empty, or what is wrong with `table.text`.
std::string Parse(RunTable& table) {
  CsvLines lines(table.text);
  const auto header = lines.Next();
  if (!header) return "is empty";
  Split(*header, table.header);
  for (size_t row = 1; const auto line = lines.Next(); ++row) {
    Split(*line, table.cells);
    if (table.cells.size() == row * table.header.size()) continue;
    return fmt::format("row {} has not as many cells as the header", row);
  }
  return "";
}

}  // namespace

std::optional<std::string> RunTables::ReadFile(const std::string& file, std::string& error) const {
  NoteUnchecked(folder_);
  return folder_.Read(file, kMaxBytes, error);
}

const RunTable* RunTables::Table(const std::string& file, std::string& error) {
  const auto [entry, is_new] = tables_.try_emplace(file);
  RunTable& table = entry->second;
  if (is_new) {
    auto text = ReadFile(file, error);
    if (text) {
      table.text = std::move(*text);
      const std::string wrong = Parse(table);
      if (!wrong.empty()) error = fmt::format("{}: {}", (run() / file).string(), wrong);
    }
    if (error.empty()) return &table;
    tables_.erase(entry);
    return nullptr;
  }
  return &table;
}

const FlatJson* RunTables::Json(const std::string& file, std::string& error) {
  if (const auto found = documents_.find(file); found != documents_.end()) return &found->second;
  const auto text = ReadFile(file, error);
  if (!text) return nullptr;
  auto json = ParseJson(*text);
  if (json) return &documents_.emplace(file, std::move(*json)).first->second;
  error = fmt::format("{}: is not JSON", (run() / file).string());
  return nullptr;
}

}  // namespace heddle
