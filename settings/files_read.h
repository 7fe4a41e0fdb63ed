// SPDX-License-Identifier: Apache-2.0
// Records the files that an experiment was read from. The experiment's id includes their digests,
// so that changed contents give another id. The code that loads an experiment makes one FilesRead
// and passes it to all code that reads a file for the experiment; files read in any other way do
// not count.

#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace heddle {

class FilesRead {
 public:
  // Reads a whole file as ReadTextFile does, and remembers its contents. A file that cannot be read
  // is not remembered.
  absl::StatusOr<std::string> Read(const std::string& path, size_t limit);

  // Digests of contents by path.
  const std::map<std::string, uint64_t>& digests() const { return digests_; }

 private:
  std::map<std::string, uint64_t> digests_;
};

}  // namespace heddle
