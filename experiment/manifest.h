// SPDX-License-Identifier: Apache-2.0
// manifest.csv of a run's folder: how long each of its other files was when it was written, and its
// CRC-32. Who reads such a file can tell by it whether it still is what the run has written. It is
// written last, so a folder without one is not complete.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace heddle {

inline constexpr const char* kManifestFile = "manifest.csv";
// In summary.json of those that have one, with its name: without it they are damaged, and not of
// before there were manifests.
inline constexpr const char* kManifestKey = "manifest";

struct FileRecord {
  uint64_t bytes = 0;
  uint32_t crc32 = 0;  // That of zlib: ISO-HDLC, as in Ethernet, gzip and PNG.

  // Takes what is appended to the file.
  void Add(std::string_view text);

  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

using Manifest = std::map<std::string, FileRecord>;  // By file name.

std::string ManifestCsv(const Manifest& manifest);
// Nothing if it is not, to the byte, what ManifestCsv() writes.
std::optional<Manifest> ParseManifest(std::string_view csv);

}  // namespace heddle
