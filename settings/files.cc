// SPDX-License-Identifier: Apache-2.0

#include "settings/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

namespace heddle {
namespace {

// Abseil's codes, except for ResourceExhausted. Abseil also uses it for too many open files, and
// does not use it for a file beyond its size limit.
absl::StatusCode CodeOf(int error) {
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return absl::StatusCode::kResourceExhausted;
  }
  const absl::StatusCode code = absl::ErrnoToStatusCode(error);
  const bool is_told = code != absl::StatusCode::kOk &&  // OK: the call set no errno.
                       code != absl::StatusCode::kResourceExhausted;
  return is_told ? code : absl::StatusCode::kUnavailable;
}

// The mode of a file made in the usual way; mkstemp lets only the owner read.
mode_t UsualMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

absl::Status FileStatus(int error, std::string_view what) {
  return absl::Status(CodeOf(error), fmt::format("{}: {}", what, std::strerror(error)));
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t limit) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::FailedPreconditionError("is a folder; a file is expected");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return FileStatus(errno, "cannot be read");
  std::string text;
  std::vector<char> chunk(1 << 16);
  while (text.size() <= limit && file.read(chunk.data(), std::ssize(chunk)).gcount() > 0) {
    text.append(chunk.data(), static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) return FileStatus(errno, "cannot be read");
  if (text.size() > limit) {
    return absl::OutOfRangeError(fmt::format("is larger than {} bytes", limit));
  }
  return text;
}

std::string AbsolutePath(const std::string& folder, const std::string& file) {
  return std::filesystem::absolute(std::filesystem::path(folder) / file).lexically_normal();
}

std::filesystem::path HiddenBeside(const std::filesystem::path& path, std::string_view ending) {
  return path.parent_path() / fmt::format(".{}.{}", path.filename().string(), ending);
}

// --- OutputFile ---

OutputFile::~OutputFile() {
  if (stream_ != nullptr) std::fclose(stream_);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : stream_(std::exchange(other.stream_, nullptr)), name_(std::move(other.name_)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(stream_, other.stream_);
  std::swap(name_, other.name_);
  return *this;
}

absl::Status OutputFile::Append(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stream_) == text.size()) return absl::OkStatus();
  return FileStatus(errno, name_);
}

absl::Status OutputFile::Sync() {
  errno = 0;
  if (std::fflush(stream_) == 0 && fsync(fileno(stream_)) == 0) return absl::OkStatus();
  return FileStatus(errno, name_);
}

absl::Status OutputFile::Close() {
  absl::Status synced = Sync();
  errno = 0;
  const bool closed = std::fclose(std::exchange(stream_, nullptr)) == 0;
  return synced.ok() && !closed ? FileStatus(errno, name_) : synced;
}

// --- WholeFile ---

WholeFile::WholeFile(std::filesystem::path path) : path_(std::move(path)) {
  errno = 0;
  const int file = Create();
  std::FILE* stream = file < 0 ? nullptr : fdopen(file, "wb");
  if (stream == nullptr) {
    status_ = FileStatus(errno, path_.string());
    aside_.clear();
    return;
  }
  file_ = OutputFile(stream, path_.string());
  if (fchmod(file, UsualMode()) != 0) status_ = FileStatus(errno, path_.string());
}

// Returns -1, with errno, if the file cannot be made.
int WholeFile::Create() {
  for (;;) {
    aside_ = HiddenBeside(path_, "XXXXXX");
    const int file = mkostemp(aside_.data(), O_CLOEXEC);
    struct stat status = {};
    // Before the lock, another process may have removed the file as a left-over.
    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) != 0) return file;
    if (fstat(file, &status) != 0 || status.st_nlink > 0) return file;
    close(file);
  }
}

WholeFile::~WholeFile() {
  if (!aside_.empty()) unlink(aside_.c_str());
}

absl::Status WholeFile::Append(std::string_view text) {
  if (status_.ok()) status_ = file_.Append(text);
  return status_;
}

// The lock is held until the file has its name.
absl::Status WholeFile::Commit() {
  if (status_.ok()) status_ = file_.Sync();
  if (!status_.ok()) return status_;
  errno = 0;
  if (rename(aside_.c_str(), path_.c_str()) != 0) {
    status_ = FileStatus(errno, path_.string());
    return status_;
  }
  aside_.clear();
  status_ = file_.Close();
  return status_;
}

absl::Status WriteWholeFile(const std::filesystem::path& path, std::string_view text) {
  const auto before = ReadTextFile(path.string(), text.size());
  if (before.ok() && *before == text) return absl::OkStatus();
  WholeFile file(path);
  file.Append(text).IgnoreError();  // Commit() returns the error.
  return file.Commit();
}

}  // namespace heddle
