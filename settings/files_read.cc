// SPDX-License-Identifier: Apache-2.0

#include "settings/files_read.h"

#include "settings/digest.h"
#include "settings/files.h"

namespace heddle {

absl::StatusOr<std::string> FilesRead::Read(const std::string& path, size_t limit) {
  absl::StatusOr<std::string> text = ReadTextFile(path, limit);
  if (text.ok()) digests_.insert_or_assign(path, Digest(*text));
  return text;
}

}  // namespace heddle
