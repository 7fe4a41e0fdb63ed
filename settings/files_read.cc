// SPDX-License-Identifier: Apache-2.0

#include "settings/files_read.h"

#include "settings/digest.h"

namespace heddle {
namespace {

thread_local FilesRead* listening = nullptr;

}  // namespace

FilesRead::FilesRead() { listening = this; }
FilesRead::~FilesRead() { listening = nullptr; }

void FilesRead::Note(const std::string& path, std::string_view contents) {
  if (listening != nullptr) listening->digests_.insert_or_assign(path, Digest(contents));
}

}  // namespace heddle
