// SPDX-License-Identifier: Apache-2.0

#include "settings/files_read.h"

#include "settings/digest.h"
#include "settings/yaml.h"

namespace heddle {

std::optional<std::string> FilesRead::Read(const std::string& path, size_t limit,
                                           std::string& message) {
  std::optional<std::string> text = ReadTextFile(path, limit, message);
  if (text) digests_.insert_or_assign(path, Digest(*text));
  return text;
}

}  // namespace heddle
