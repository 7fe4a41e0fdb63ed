// SPDX-License-Identifier: Apache-2.0

#include "experiment/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>

namespace heddle {
namespace {

namespace fs = std::filesystem;

// What a process that must stop at once takes away: the folder aside, and its lock.
struct OpenFolder {
  fs::path aside;
  fs::path lock;
};
// A trace has a file for each link; processes may have 1024 files open, or fewer.
constexpr size_t kMaxStreams = 128;

std::mutex open_mutex;
std::vector<OpenFolder>& OpenFolders() {
  static std::vector<OpenFolder> folders;
  return folders;
}

void Forget(const fs::path& aside) {
  const std::lock_guard guard(open_mutex);
  std::erase_if(OpenFolders(), [&](const OpenFolder& folder) { return folder.aside == aside; });
}

fs::path WithoutSlash(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

// Anything else is not ours to remove. Of damaged results any of these may be missing.
bool HoldsResults(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) &&
         (fs::is_empty(path, error) ||
          std::ranges::any_of(std::array{"summary.json", kManifestFile, "run.yaml", "flows.csv"},
                              [&](const char* file) { return fs::exists(path / file, error); }));
}

bool MeansNoRoom(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

// Beside `path` and hidden.
fs::path Beside(const fs::path& path, std::string_view ending) {
  return path.parent_path() / fmt::format(".{}.{}", path.filename().string(), ending);
}

// Whether the file that is open is still the one with that name.
bool IsNamed(int file, const fs::path& path) {
  struct stat open = {};
  struct stat named = {};
  return fstat(file, &open) == 0 && stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

}  // namespace

RunFolder::RunFolder(fs::path path)
    : path_(WithoutSlash(path)),
      aside_(Beside(path_, "partial")),
      lock_path_(Beside(path_, "lock")) {}

RunFolder::~RunFolder() {
  for (const File& file : files_) {
    if (file.stream != nullptr) std::fclose(file.stream);
  }
  if (open_) {
    std::error_code ignored;
    fs::remove_all(aside_, ignored);
    Forget(aside_);
  }
  if (lock_ >= 0) Unlock();
}

bool RunFolder::Fail(const std::string& what) {
  if (error_.empty()) error_ = what;
  return false;
}

// The hidden files in it are nothing that a user has named.
bool RunFolder::FailAsUnwritable(int error) {
  lacks_room_ |= MeansNoRoom(error);
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  return Fail(
      fmt::format("the folder {} cannot be written: {}", folder.string(), std::strerror(error)));
}

// The lock goes with the process, however it ends; what nobody holds is left over. It is on a file,
// opened for writing: network file systems have no other locks that reach other machines.
bool RunFolder::Lock() {
  for (;;) {
    const int file = open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return FailAsUnwritable(errno);
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
      busy_ = errno == EWOULDBLOCK;
      close(file);
      if (busy_) return Fail(path_.string() + ": another process is writing these results");
      DoWithoutLock();
      return true;
    }
    lock_ = file;
    if (IsNamed(file, lock_path_)) return true;
    close(std::exchange(lock_,
                        -1));  // Whoever held it has just taken it away: there may be a new one.
  }
}

// Some cluster file systems have no locks. Two processes may then make the same results, but each
// in a folder of its own, so neither spoils the other's.
void RunFolder::DoWithoutLock() {
  unlink(lock_path_.c_str());
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  aside_ = Beside(path_, fmt::format("{}-{}.partial", host.data(), getpid()));
}

void RunFolder::Unlock() {
  unlink(lock_path_.c_str());
  close(std::exchange(lock_, -1));
}

bool RunFolder::IsBeingWritten(const fs::path& path) {
  const int file = open(Beside(WithoutSlash(path), "lock").c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  const bool held = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(file);
  return held;
}

bool RunFolder::Open(bool replace) {
  std::error_code error;
  if (fs::exists(path_, error) && !replace) {
    return Fail(fmt::format("{}: exists; choose another --out, or replace it with --force",
                            path_.string()));
  }
  if (fs::exists(path_, error) && !HoldsResults(path_)) {
    return Fail(
        fmt::format("{}: holds no results of a run, so it is not replaced", path_.string()));
  }
  if (path_.has_parent_path()) fs::create_directories(path_.parent_path(), error);
  if (error) return Fail(fmt::format("{}: {}", path_.parent_path().string(), error.message()));
  if (!Lock()) return false;
  fs::create_directory(aside_, error);
  if (error) return FailAsUnwritable(error.value());
  for (const fs::directory_entry& left_over : fs::directory_iterator(aside_, error)) {
    fs::remove_all(left_over.path(), error);
  }
  if (error) return Fail(fmt::format("{}: {}", aside_.string(), error.message()));
  open_ = true;
  const std::lock_guard guard(open_mutex);
  OpenFolders().push_back({aside_, lock_path_});
  return true;
}

bool RunFolder::RemoveLeftOvers(const fs::path& path) {
  RunFolder folder(path);
  // Without locks it cannot be told who is at it.
  if (!folder.Lock() || folder.lock_ < 0) return false;
  std::error_code ignored;
  fs::remove_all(folder.aside_, ignored);
  return true;
}

bool RunFolder::FailAt(const std::string& name) {
  lacks_room_ |= MeansNoRoom(errno);
  return Fail(fmt::format("{}: {}", (path_ / name).string(), std::strerror(errno)));
}

bool RunFolder::Write(const std::string& name, std::string_view text) {
  return Start(name) && Append(name, text) && Finish();
}

bool RunFolder::Start(const std::string& name) {
  if (!MakeRoom()) return false;
  errno = 0;
  std::FILE* stream = std::fopen((aside_ / name).c_str(), "wb");
  if (stream == nullptr) return FailAt(name);
  files_.push_back({name, stream});
  ++streams_;
  struct stat status = {};
  if (fstat(fileno(stream), &status) != 0) return FailAt(name);
  written_.insert_or_assign(name, Written{{}, status.st_dev, status.st_ino});
  return true;
}

bool RunFolder::Append(std::string_view name, std::string_view text) {
  const auto file = std::ranges::find(files_, name, &File::name);
  if (file == files_.end()) return Start(std::string(name)) && Append(name, text);
  if (file->stream == nullptr) {
    if (!MakeRoom()) return false;
    errno = 0;
    file->stream = std::fopen((aside_ / file->name).c_str(), "ab");
    if (file->stream == nullptr) return FailAt(file->name);
    ++streams_;
  }
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file->stream) != text.size()) {
    return FailAt(file->name);
  }
  written_.find(name)->second.record.Add(text);
  return true;
}

// Streams are closed in turn: what is written by many is written in large pieces.
bool RunFolder::MakeRoom() {
  if (streams_ < kMaxStreams) return true;
  for (;; ++oldest_) {
    File& file = files_[oldest_ % files_.size()];
    if (file.stream != nullptr) return Close(file);
  }
}

bool RunFolder::Finish() {
  bool finished = true;
  for (File& file : files_) {
    if (file.stream != nullptr) finished = Close(file) && finished;
  }
  files_.clear();
  return finished;
}

// Errors of a full disk may show only now.
bool RunFolder::Close(File& file) {
  errno = 0;
  const bool flushed = std::fflush(file.stream) == 0 && fsync(fileno(file.stream)) == 0;
  const bool closed = std::fclose(std::exchange(file.stream, nullptr)) == 0;
  --streams_;
  return (flushed && closed) || FailAt(file.name);
}

bool RunFolder::Commit() { return Finish() && IsAllThere() && WriteManifest() && PutInPlace(); }

// A folder may be removed while a run writes to it, with all files in it or some; and what is
// opened again may then be new.
bool RunFolder::IsAllThere() {
  for (const auto& [name, written] : written_) {
    struct stat status = {};
    if (stat((aside_ / name).c_str(), &status) != 0) {
      return Fail(fmt::format("{}: is gone, although it was written: {}; was the folder removed?",
                              (path_ / name).string(), std::strerror(errno)));
    }
    if (status.st_dev == written.device && status.st_ino == written.inode &&
        static_cast<uint64_t>(status.st_size) == written.record.bytes) {
      continue;
    }
    return Fail(fmt::format("{}: is not what was written; does something else write there?",
                            (path_ / name).string()));
  }
  return true;
}

bool RunFolder::WriteManifest() {
  Manifest manifest;
  for (const auto& [name, written] : written_) manifest.emplace(name, written.record);
  return Write(kManifestFile, ManifestCsv(manifest));
}

bool RunFolder::PutInPlace() {
  if (fs::exists(path_)) return Replace();
  std::error_code error;
  fs::rename(aside_, path_, error);
  if (error) return Fail(fmt::format("{}: {}", path_.string(), error.message()));
  open_ = false;
  Forget(aside_);
  return true;
}

// The two folders change places in one step, and the destructor removes the old one.
bool RunFolder::Replace() {
  const int swapped = renameat2(AT_FDCWD, aside_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE);
  if (swapped == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) {
    return Fail(fmt::format("{}: {}", path_.string(), std::strerror(errno)));
  }
  // Some network file systems cannot do that: the old results make room first.
  std::error_code error;
  fs::remove_all(path_, error);
  if (error) return Fail(fmt::format("{}: {}", path_.string(), error.message()));
  return PutInPlace();
}

void RunFolder::RemoveAll() {
  std::error_code ignored;
  for (const OpenFolder& folder : OpenFolders()) {
    fs::remove_all(folder.aside, ignored);
    fs::remove(folder.lock, ignored);
  }
}

}  // namespace heddle
