// SPDX-License-Identifier: Apache-2.0
// manifest.csv of a run's folder: the length and the CRC-32 of each of the other files. Readers
// compare a file with it, and so notice damage. It is written last. A folder without it is damaged
// if its summary.json names a manifest; otherwise it is older than manifests, and read unchecked.

#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace heddle {

inline constexpr const char* kManifestFile = "manifest.csv";
// The key of summary.json that tells a folder whose manifest is lost from one that is older than
// manifests.
inline constexpr const char* kManifestKey = "manifest";

struct FileRecord {
  uint64_t bytes = 0;
  uint32_t crc32 = 0;  // The CRC of zlib: ISO-HDLC, as in Ethernet, gzip and PNG.

  // Adds text that is appended to the file.
  void Add(std::string_view text);

  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

using Manifest = std::map<std::string, FileRecord>;  // By file name.

std::string ManifestCsv(const Manifest& manifest);
// Returns DataLoss unless `csv` is, to the byte, a text that ManifestCsv() writes.
absl::StatusOr<Manifest> ParseManifest(std::string_view csv);

}  // namespace heddle
