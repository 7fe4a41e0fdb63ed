// SPDX-License-Identifier: Apache-2.0

#include "settings/files_read.h"

#include "settings/digest.h"
#include "settings/files.h"
#include "settings/status.h"

namespace heddle {

absl::StatusOr<std::string> FilesRead::Read(const std::string& path, size_t limit) {
  absl::StatusOr<std::string> text = ReadTextFile(path, limit);
  if (text.ok()) digests_.insert_or_assign(path, Digest(*text));
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(MessageOf(text.status()) +
                               "; relative paths, also those of --set, start at the folder of the "
                               "experiment's file");
  }
  return text;
}

}  // namespace heddle
