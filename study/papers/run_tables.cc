// SPDX-License-Identifier: Apache-2.0

#include "study/papers/run_tables.h"

#include <cstddef>

#include "study/sweep/run_results.h"

namespace heddle {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 32;

// Returns the file that `files` has, or reads it with `read`.
template <class File, class Read>
absl::StatusOr<const File*> FindOrRead(std::map<std::string, File>& files, const std::string& file,
                                       const Read& read) {
  if (const auto found = files.find(file); found != files.end()) return &found->second;
  absl::StatusOr<File> now = read();
  if (!now.ok()) return now.status();
  return &files.emplace(file, *std::move(now)).first->second;
}

}  // namespace

absl::StatusOr<const ParsedCsv*> RunTables::Table(const std::string& file) {
  NoteUnchecked(folder_);
  return FindOrRead(tables_, file, [&] { return ReadRunTable(folder_, file, kMaxBytes); });
}

absl::StatusOr<const FlatJson*> RunTables::Json(const std::string& file) {
  NoteUnchecked(folder_);
  return FindOrRead(documents_, file, [&] { return ReadRunJson(folder_, file, kMaxBytes); });
}

}  // namespace heddle
