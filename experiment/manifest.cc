// SPDX-License-Identifier: Apache-2.0

#include "experiment/manifest.h"

#include <fmt/format.h>
#include <zlib.h>

#include <charconv>
#include <optional>
#include <vector>

#include "settings/csv.h"
#include "settings/number_text.h"

namespace heddle {
namespace {

constexpr std::string_view kHeader = "file,bytes,crc32\n";
constexpr size_t kManifestColumns = 3;

std::optional<uint32_t> ParseCrc(std::string_view text) {
  uint32_t crc = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), crc, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return crc;
}

}  // namespace

void FileRecord::Add(std::string_view text) {
  bytes += text.size();
  crc32 = static_cast<uint32_t>(
      crc32_z(crc32, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

std::string ManifestCsv(const Manifest& manifest) {
  std::string csv(kHeader);
  for (const auto& [name, record] : manifest) {
    csv += fmt::format("{},{},{:08x}\n", CsvCell(name), record.bytes, record.crc32);
  }
  return csv;
}

absl::StatusOr<Manifest> ParseManifest(std::string_view csv) {
  Manifest manifest;
  const absl::Status damaged = absl::DataLossError("is no manifest");
  CsvReader rows(csv);
  for (rows.Next(); rows.Next();) {  // The first one is the header.
    const std::vector<std::string_view>& cells = rows.cells();
    if (!rows.status().ok() || cells.size() != kManifestColumns) return damaged;
    const auto length = NumberFrom<uint64_t>(cells[1]);
    const auto sum = ParseCrc(cells[2]);
    if (!length || !sum || cells[0].find('/') != std::string_view::npos) return damaged;
    manifest.emplace(cells[0], FileRecord{*length, *sum});
  }
  // This also refuses another header, numbers in another notation, and repeated names.
  if (ManifestCsv(manifest) != csv) return damaged;
  return manifest;
}

}  // namespace heddle
