// SPDX-License-Identifier: Apache-2.0
// A file that is there complete or not at all: it is written aside and renamed at the end, in one
// step for whoever reads what was there before. A process that is killed meanwhile leaves a hidden
// file behind, which nobody reads; a lock on it, held while it is written, tells it from others
// (study/sweep/left_overs.h).

#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace heddle {

class WholeFile {
 public:
  explicit WholeFile(std::filesystem::path path);
  // Removes what has not been committed.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  // False, and what is wrong in error(), if it cannot be written to the last byte.
  bool Append(std::string_view text);
  bool Commit();

  const std::string& error() const { return error_; }

 private:
  int Create();
  bool Fail(const std::string& what);

  const std::filesystem::path path_;
  std::string aside_;
  std::FILE* stream_ = nullptr;
  std::string error_;
};

// All of it at once; what is wrong, empty if nothing is. A file that says the same is left alone.
std::string WriteWholeFile(const std::filesystem::path& path, std::string_view text);

}  // namespace heddle
