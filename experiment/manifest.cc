// SPDX-License-Identifier: Apache-2.0

#include "experiment/manifest.h"

#include <fmt/format.h>
#include <zlib.h>

#include <charconv>

#include "settings/number_text.h"

namespace heddle {
namespace {

constexpr std::string_view kHeader = "file,bytes,crc32\n";

// The text up to `end`, which is taken off `rest` with it; nothing if there is no `end`.
std::optional<std::string_view> Take(std::string_view& rest, char end) {
  const size_t at = rest.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  return taken;
}

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
    csv += fmt::format("{},{},{:08x}\n", name, record.bytes, record.crc32);
  }
  return csv;
}

std::optional<Manifest> ParseManifest(std::string_view csv) {
  if (!csv.starts_with(kHeader)) return std::nullopt;
  Manifest manifest;
  std::string_view rest = csv.substr(kHeader.size());
  while (!rest.empty()) {
    const auto name = Take(rest, ',');
    const auto bytes = name ? Take(rest, ',') : std::nullopt;
    const auto crc = bytes ? Take(rest, '\n') : std::nullopt;
    if (!crc) return std::nullopt;
    const auto length = NumberFrom<uint64_t>(*bytes);
    const auto sum = ParseCrc(*crc);
    if (!length || !sum || name->find('/') != std::string_view::npos) return std::nullopt;
    manifest.emplace(*name, FileRecord{*length, *sum});
  }
  if (ManifestCsv(manifest) != csv) return std::nullopt;
  return manifest;
}

}  // namespace heddle
