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

#include "settings/files.h"
#include "settings/json.h"
#include "settings/status.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = size_t{1} << 26;  // The most bytes of a manifest or a summary.
constexpr const char* kOtherContents = "has other contents than were written";

// Runs write files with these endings. Users may have put others into the folder.
bool LooksLikeResults(const fs::path& file) {
  static constexpr std::array<std::string_view, 5> kEndings = {".csv", ".json", ".yaml", ".pcap",
                                                               ".pcapng"};
  return !file.filename().string().starts_with('.') &&
         std::ranges::find(kEndings, file.extension().string()) != kEndings.end();
}

bool SaysItHasAManifest(const fs::path& folder) {
  const auto text = ReadTextFile((folder / "summary.json").string(), kMaxBytes);
  const auto json = text.ok() ? ParseJson(*text) : text.status();
  return json.ok() && json->contains(kManifestKey);
}

absl::StatusOr<Manifest> ReadManifest(const fs::path& folder) {
  const auto text = ReadTextFile((folder / kManifestFile).string(), kMaxBytes);
  return text.ok() ? ParseManifest(*text) : text.status();
}

std::string OtherLength(uint64_t now, uint64_t written) {
  return fmt::format("has {} bytes; {} were written", now, written);
}

// Reads the file piece by piece, since it may be larger than memory.
absl::StatusOr<FileRecord> RecordOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(size_t{1} << 18);
  FileRecord record;
  while (file.read(piece.data(), std::ssize(piece)).gcount() > 0) {
    record.Add({piece.data(), static_cast<size_t>(file.gcount())});
  }
  if (file.bad() || !file.is_open()) return absl::UnavailableError("cannot be read");
  return record;
}

}  // namespace

CheckedFolder::CheckedFolder(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  if (!fs::exists(path_ / kManifestFile, error)) {
    if (SaysItHasAManifest(path_)) state_ = State::kDamaged;
    return;
  }
  auto manifest = ReadManifest(path_);
  state_ = manifest.ok() ? State::kSound : State::kDamaged;
  if (manifest.ok()) manifest_ = *std::move(manifest);
}

bool CheckedFolder::Has(const std::string& file) const {
  std::error_code error;
  return manifest_.contains(file) || fs::exists(path_ / file, error);
}

absl::StatusOr<std::string> CheckedFolder::Read(const std::string& file, size_t limit) const {
  auto text = is_checked() ? ReadListed(file, limit) : ReadTextFile((path_ / file).string(), limit);
  if (text.ok()) return text;
  if (absl::IsDataLoss(text.status())) found_damage_ = true;
  return Within(text.status(), (path_ / file).string());
}

// The messages do not name the file yet.
absl::StatusOr<std::string> CheckedFolder::ReadListed(const std::string& file, size_t limit) const {
  if (state_ == State::kDamaged) {
    return absl::DataLossError("manifest.csv beside it is damaged, or missing");
  }
  const auto record = manifest_.find(file);
  if (record == manifest_.end()) {
    std::error_code ignored;
    if (!fs::exists(path_ / file, ignored)) {
      return absl::NotFoundError(
          "the run has not written it");  // The experiment did not ask for the file.
    }
    return absl::DataLossError("is not in manifest.csv beside it");
  }
  auto text = ReadTextFile((path_ / file).string(), limit);
  if (!text.ok()) return absl::DataLossError(text.status().message());
  FileRecord read;
  read.Add(*text);
  if (read.bytes != record->second.bytes) {
    return absl::DataLossError(OtherLength(read.bytes, record->second.bytes));
  }
  if (read != record->second) return absl::DataLossError(kOtherContents);
  return text;
}

absl::Status CheckedFolder::Check(const std::string& file, const FileRecord& record,
                                  size_t read_up_to) const {
  std::error_code error;
  if (!fs::exists(path_ / file, error)) return absl::DataLossError("is missing");
  const auto bytes = fs::file_size(path_ / file, error);
  if (error) return FileStatus(error.value(), "cannot be read");
  if (bytes != record.bytes) return absl::DataLossError(OtherLength(bytes, record.bytes));
  if (bytes > read_up_to) return absl::OkStatus();
  const auto now = RecordOf(path_ / file);
  if (!now.ok()) return now.status();
  return *now == record ? absl::OkStatus() : absl::DataLossError(kOtherContents);
}

std::vector<DamagedFile> CheckedFolder::Damage(size_t read_up_to) const {
  if (state_ == State::kDamaged) {
    std::error_code error;
    const bool there = fs::exists(path_ / kManifestFile, error);
    return {{kManifestFile, there ? "is damaged, so the other files cannot be checked"
                                  : "is missing, so the other files cannot be checked"}};
  }
  std::vector<DamagedFile> damaged;
  for (const auto& [file, record] : manifest_) {
    const absl::Status status = Check(file, record, read_up_to);
    if (!status.ok()) damaged.push_back({file, MessageOf(status)});
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
