// SPDX-License-Identifier: Apache-2.0

#include "experiment/checked_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "settings/json.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = size_t{1} << 26;  // Of a manifest or a summary.
constexpr std::string_view kOtherContents = "has other contents than were written";

// Runs write files with these endings. Users may have put others into the folder.
bool LooksLikeResults(const fs::path& file) {
  static constexpr std::array<std::string_view, 5> kEndings = {".csv", ".json", ".yaml", ".pcap",
                                                               ".pcapng"};
  return !file.filename().string().starts_with('.') &&
         std::ranges::find(kEndings, file.extension().string()) != kEndings.end();
}

bool SaysItHasAManifest(const fs::path& folder) {
  std::string ignored;
  const auto text = ReadTextFile((folder / "summary.json").string(), kMaxBytes, ignored);
  const auto json = text ? ParseJson(*text) : std::nullopt;
  return json && json->contains(kManifestKey);
}

std::string OtherLength(uint64_t now, uint64_t written) {
  return fmt::format("has {} bytes; {} were written", now, written);
}

// Piece by piece, as it may be larger than memory.
std::optional<FileRecord> RecordOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(size_t{1} << 18);
  FileRecord record;
  while (file.read(piece.data(), std::ssize(piece)).gcount() > 0) {
    record.Add({piece.data(), static_cast<size_t>(file.gcount())});
  }
  if (file.bad() || !file.is_open()) return std::nullopt;
  return record;
}

}  // namespace

CheckedFolder::CheckedFolder(fs::path path) : path_(std::move(path)) {
  std::string ignored;
  std::error_code error;
  if (!fs::exists(path_ / kManifestFile, error)) {
    if (SaysItHasAManifest(path_)) state_ = State::kDamaged;
    return;
  }
  const auto text = ReadTextFile((path_ / kManifestFile).string(), kMaxBytes, ignored);
  auto manifest = text ? ParseManifest(*text) : std::nullopt;
  state_ = manifest ? State::kSound : State::kDamaged;
  if (manifest) manifest_ = std::move(*manifest);
}

bool CheckedFolder::Has(const std::string& file) const {
  std::error_code error;
  return manifest_.contains(file) || fs::exists(path_ / file, error);
}

std::optional<std::string> CheckedFolder::Read(const std::string& file, size_t limit,
                                               std::string& error) const {
  const auto fail = [&](std::string_view what) {
    found_damage_ = is_checked();
    error = fmt::format("{}: {}", (path_ / file).string(), what);
    return std::nullopt;
  };
  if (state_ == State::kDamaged) return fail("manifest.csv beside it is damaged, or missing");
  const auto record = manifest_.find(file);
  if (is_checked() && record == manifest_.end()) {
    std::error_code ignored;
    if (fs::exists(path_ / file, ignored)) return fail("is not in manifest.csv beside it");
    error = fmt::format("{}: the run has not written it", (path_ / file).string());
    return std::nullopt;  // No damage: it was not asked for.
  }
  std::string what;
  auto text = ReadTextFile((path_ / file).string(), limit, what);
  if (!text) return fail(what);
  if (!is_checked()) return text;
  FileRecord read;
  read.Add(*text);
  if (read.bytes != record->second.bytes) {
    return fail(OtherLength(read.bytes, record->second.bytes));
  }
  if (read != record->second) return fail(kOtherContents);
  return text;
}

std::string CheckedFolder::WhatIsWrongWith(const std::string& file, const FileRecord& record,
                                           size_t read_up_to) const {
  std::error_code error;
  if (!fs::exists(path_ / file, error)) return "is missing";
  const auto bytes = fs::file_size(path_ / file, error);
  if (error) return fmt::format("cannot be read: {}", error.message());
  if (bytes != record.bytes) return OtherLength(bytes, record.bytes);
  if (bytes > read_up_to) return "";
  const auto now = RecordOf(path_ / file);
  if (!now) return "cannot be read";
  return *now == record ? "" : std::string(kOtherContents);
}

std::vector<DamagedFile> CheckedFolder::Damage(size_t read_up_to) const {
  if (state_ == State::kDamaged) {
    std::error_code error;
    const bool there = fs::exists(path_ / kManifestFile, error);
    return {{kManifestFile, there ? "is damaged, so nothing can be said of the others"
                                  : "is missing, so nothing can be said of the others"}};
  }
  std::vector<DamagedFile> damaged;
  for (const auto& [file, record] : manifest_) {
    std::string what = WhatIsWrongWith(file, record, read_up_to);
    if (!what.empty()) damaged.push_back({file, std::move(what)});
  }
  return damaged;
}

std::vector<DamagedFile> CheckedFolder::AllDamage() const {
  std::vector<DamagedFile> damaged = Damage(std::numeric_limits<size_t>::max());
  if (state_ != State::kSound) return damaged;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    const std::string file = entry.path().filename().string();
    if (file == kManifestFile || manifest_.contains(file) || !LooksLikeResults(file)) continue;
    damaged.push_back({file, "is not in manifest.csv"});
  }
  std::ranges::sort(damaged, {}, &DamagedFile::file);
  return damaged;
}

std::string TextOf(const CheckedFolder& folder, const DamagedFile& damaged) {
  return fmt::format("{}: {}", (folder.path() / damaged.file).string(), damaged.what);
}

namespace {

std::mutex unchecked_mutex;
std::set<fs::path>& Unchecked() {
  static std::set<fs::path> folders;
  return folders;
}

}  // namespace

void NoteUnchecked(const CheckedFolder& folder) {
  if (folder.is_checked()) return;
  const std::lock_guard guard(unchecked_mutex);
  Unchecked().insert(folder.path());
}

UncheckedFolders UncheckedSoFar() {
  const std::lock_guard guard(unchecked_mutex);
  if (Unchecked().empty()) return {};
  return {Unchecked().size(), *Unchecked().begin()};
}

}  // namespace heddle
