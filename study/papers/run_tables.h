// SPDX-License-Identifier: Apache-2.0
// The files of a finished run, read when they are asked for. flows.csv may have a million rows, so
// cells are views of the file's text.

#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/checked_folder.h"
#include "settings/json.h"

namespace heddle {

// Run folders have no quotes in their CSVs.
struct RunTable {
  std::string text;  // What the others are views of.
  std::vector<std::string_view> header;
  std::vector<std::string_view> cells;  // Row by row.

  size_t rows() const { return header.empty() ? 0 : cells.size() / header.size(); }
  std::string_view At(size_t row, size_t column) const {
    return cells[row * header.size() + column];
  }
};

class RunTables {
 public:
  explicit RunTables(std::filesystem::path run) : folder_(std::move(run)) {}
  RunTables(const RunTables&) = delete;
  RunTables& operator=(const RunTables&) = delete;

  // Null, and what is wrong in `error`, if it cannot be read.
  const RunTable* Table(const std::string& file, std::string& error);
  const FlatJson* Json(const std::string& file, std::string& error);

  const std::filesystem::path& run() const { return folder_.path(); }
  // True if a file could not be read because it is damaged.
  bool found_damage() const { return folder_.found_damage(); }

 private:
  std::optional<std::string> ReadFile(const std::string& file, std::string& error) const;

  const CheckedFolder folder_;
  std::map<std::string, RunTable> tables_;
  std::map<std::string, FlatJson> documents_;
};

}  // namespace heddle
