// SPDX-License-Identifier: Apache-2.0
// Which files a thing was read from, so that a result can be told from one of other contents.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace heddle {

// Every file that this thread reads with ReadTextFile while this lives. One at a time.
class FilesRead {
 public:
  FilesRead();
  ~FilesRead();
  FilesRead(const FilesRead&) = delete;
  FilesRead& operator=(const FilesRead&) = delete;

  // Digests of contents by path.
  const std::map<std::string, uint64_t>& digests() const { return digests_; }

  // For whoever reads a file in another way.
  static void Note(const std::string& path, std::string_view contents);

 private:
  std::map<std::string, uint64_t> digests_;
};

}  // namespace heddle
