// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "settings/yaml.h"

namespace heddle {
namespace {

// As if it had been made in the usual way; mkstemp lets nobody else read.
mode_t UsualMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

WholeFile::WholeFile(std::filesystem::path path) : path_(std::move(path)) {
  errno = 0;
  const int file = Create();
  if (file >= 0) stream_ = fdopen(file, "wb");
  if (stream_ == nullptr || fchmod(file, UsualMode()) != 0) Fail(std::strerror(errno));
}

// -1, with errno, if it cannot be.
int WholeFile::Create() {
  for (;;) {
    aside_ = path_.parent_path() / fmt::format(".{}.XXXXXX", path_.filename().string());
    const int file = mkostemp(aside_.data(), O_CLOEXEC);
    struct stat status = {};
    // Before it was locked, somebody may have taken it for what is left over.
    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) != 0) return file;
    if (fstat(file, &status) != 0 || status.st_nlink > 0) return file;
    close(file);
  }
}

WholeFile::~WholeFile() {
  if (stream_ == nullptr) return;
  std::fclose(stream_);
  unlink(aside_.c_str());
}

bool WholeFile::Fail(const std::string& what) {
  if (error_.empty()) error_ = fmt::format("{}: {}", path_.string(), what);
  return false;
}

bool WholeFile::Append(std::string_view text) {
  if (!error_.empty()) return false;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stream_) == text.size()) return true;
  return Fail(std::strerror(errno));
}

bool WholeFile::Commit() {
  if (!error_.empty()) return false;
  errno = 0;
  // Errors of a full disk may show only now.
  if (std::fflush(stream_) != 0 || fsync(fileno(stream_)) != 0 ||
      rename(aside_.c_str(), path_.c_str()) != 0) {
    return Fail(std::strerror(errno));
  }
  if (std::fclose(std::exchange(stream_, nullptr)) != 0) return Fail(std::strerror(errno));
  return true;
}

std::string WriteWholeFile(const std::filesystem::path& path, std::string_view text) {
  std::string ignored;
  const auto before = ReadTextFile(path.string(), text.size(), ignored);
  if (before && *before == text) return "";
  WholeFile file(path);
  file.Append(text) && file.Commit();
  return file.error();
}

}  // namespace heddle
