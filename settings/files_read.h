// SPDX-License-Identifier: Apache-2.0
// Which files an experiment was read from: its id has their digests, so that a result is told from
// one of other contents. Whoever loads an experiment makes one of these and hands it to all that
// reads a file for it; a file that is read in any other way does not count.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace heddle {

class FilesRead {
 public:
  // Reads a whole file as ReadTextFile does, and remembers its contents. One that cannot be read is
  // not remembered.
  std::optional<std::string> Read(const std::string& path, size_t limit, std::string& message);

  // Digests of contents by path.
  const std::map<std::string, uint64_t>& digests() const { return digests_; }

 private:
  std::map<std::string, uint64_t> digests_;
};

}  // namespace heddle
