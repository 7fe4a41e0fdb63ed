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
#include <cstdio>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>

namespace heddle {
namespace {

namespace fs = std::filesystem;

// A folder that RemoveAll() must remove, and its lock.
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

// Returns true if `path` holds results, the only folders that may be removed. Any of these files
// may be missing from damaged results. (A flows.csv alone may be a flow list of the user.)
bool HoldsResults(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) &&
         (fs::is_empty(path, error) ||
          std::ranges::any_of(std::array{"summary.json", kManifestFile, "run.yaml"},
                              [&](const char* file) { return fs::exists(path / file, error); }));
}

// Returns true if both folders have results of the same experiment.
bool AreOfOneExperiment(const fs::path& a, const fs::path& b) {
  constexpr size_t kLimit = 100'000'000;
  const auto text_a = ReadTextFile((a / "run.yaml").string(), kLimit);
  const auto text_b = ReadTextFile((b / "run.yaml").string(), kLimit);
  return text_a.ok() && text_b.ok() && *text_a == *text_b;
}

// Returns true if `path` still names the open file `file`.
bool IsNamed(int file, const fs::path& path) {
  struct stat open = {};
  struct stat named = {};
  return fstat(file, &open) == 0 && stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

}  // namespace

RunFolder::RunFolder(fs::path path)
    : path_(WithoutSlash(path)),
      aside_(HiddenBeside(path_, "partial")),
      lock_path_(HiddenBeside(path_, "lock")) {}

RunFolder::~RunFolder() {
  files_.clear();  // Network file systems keep a removed file as long as it is open.
  if (open_) {
    std::error_code ignored;
    fs::remove_all(aside_, ignored);
    Forget(aside_);
  }
  if (lock_ >= 0) Unlock();
}

const absl::Status& RunFolder::Keep(const absl::Status& status) {
  status_.Update(status);
  return status_;
}

// The message names the folder's path: users do not know the hidden files in it.
absl::Status RunFolder::Unwritable(int error) const {
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  return FileStatus(error, fmt::format("the folder {} cannot be written", folder.string()));
}

// The lock ends with the process, however it ends, so a folder whose lock nobody holds is left
// over. The lock is on a file opened for writing, the only kind that network file systems share
// between machines.
absl::Status RunFolder::Lock() {
  for (;;) {
    const int file = open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return Unwritable(errno);
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
      const bool is_held = errno == EWOULDBLOCK;
      close(file);
      if (is_held) {
        return absl::AbortedError(path_.string() + ": another process is writing these results");
      }
      DoWithoutLock();
      return absl::OkStatus();
    }
    lock_ = file;
    if (IsNamed(file, lock_path_)) return absl::OkStatus();
    close(
        std::exchange(lock_,
                      -1));  // The former holder has just removed the file; there may be a new one.
  }
}

// Some cluster file systems have no locks. Two processes may then make the same results, but each
// in a folder of its own, so neither spoils the other's.
void RunFolder::DoWithoutLock() {
  unlink(lock_path_.c_str());
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  aside_ = HiddenBeside(path_, fmt::format("{}-{}.partial", host.data(), getpid()));
}

void RunFolder::Unlock() {
  unlink(lock_path_.c_str());
  close(std::exchange(lock_, -1));
}

bool RunFolder::IsBeingWritten(const fs::path& path) {
  const int file = open(HiddenBeside(WithoutSlash(path), "lock").c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  const bool held = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(file);
  return held;
}

absl::Status RunFolder::Open(bool replace) {
  replace_ = replace;
  absl::Status status = CheckPlace(replace);
  if (status.ok()) status = Lock();
  if (status.ok()) status = MakeAside();
  return Keep(status);
}

absl::Status RunFolder::CheckPlace(bool replace) const {
  std::error_code error;
  if (fs::exists(path_, error) && !replace) {
    return absl::AlreadyExistsError(
        fmt::format("{}: exists; choose another --out{}", path_.string(),
                    HoldsResults(path_) ? ", or replace it with --force" : ""));
  }
  if (fs::exists(path_, error) && !HoldsResults(path_)) {
    return absl::FailedPreconditionError(
        fmt::format("{}: has no results of a run, so it is not replaced", path_.string()));
  }
  if (path_.has_parent_path()) fs::create_directories(path_.parent_path(), error);
  return error ? FileStatus(error.value(), path_.parent_path().string()) : absl::OkStatus();
}

absl::Status RunFolder::MakeAside() {
  std::error_code error;
  fs::create_directory(aside_, error);
  if (error) return Unwritable(error.value());
  for (const fs::directory_entry& left_over : fs::directory_iterator(aside_, error)) {
    fs::remove_all(left_over.path(), error);
  }
  if (error) return FileStatus(error.value(), aside_.string());
  open_ = true;
  const std::lock_guard guard(open_mutex);
  OpenFolders().push_back({aside_, lock_path_});
  return absl::OkStatus();
}

bool RunFolder::RemoveLeftOvers(const fs::path& path) {
  RunFolder folder(path);
  // Without locks nobody can tell if a process is writing the folder.
  if (!folder.Lock().ok() || folder.lock_ < 0) return false;
  std::error_code ignored;
  fs::remove_all(folder.aside_, ignored);
  return true;
}

absl::Status RunFolder::Write(const std::string& name, std::string_view text) {
  Start(name).IgnoreError();  // Finish() returns the first failure.
  Append(name, text).IgnoreError();
  return Finish();
}

absl::Status RunFolder::Start(const std::string& name) {
  return status_.ok() ? Keep(StartFile(name)) : status_;
}

absl::Status RunFolder::Append(std::string_view name, std::string_view text) {
  return status_.ok() ? Keep(AppendTo(name, text)) : status_;
}

absl::Status RunFolder::Finish() { return Keep(CloseAll()); }

absl::Status RunFolder::Commit() {
  Finish().IgnoreError();
  if (status_.ok()) Keep(CheckThatAllIsThere()).IgnoreError();
  if (!status_.ok()) return status_;
  Manifest manifest;
  for (const auto& [name, written] : written_) manifest.emplace(name, written.record);
  if (absl::Status status = Write(kManifestFile, ManifestCsv(manifest)); !status.ok()) {
    return status;
  }
  return Keep(PutInPlace());
}

// Messages name a file by its final path.
absl::Status RunFolder::OpenFile(const std::string& name, const char* mode,
                                 OutputFile& output) const {
  errno = 0;
  std::FILE* stream = std::fopen((aside_ / name).c_str(), mode);
  if (stream == nullptr) return FileStatus(errno, (path_ / name).string());
  output = OutputFile(stream, (path_ / name).string());
  return absl::OkStatus();
}

absl::Status RunFolder::StartFile(const std::string& name) {
  if (absl::Status status = MakeRoom(); !status.ok()) return status;
  OutputFile output;
  if (absl::Status status = OpenFile(name, "wb", output); !status.ok()) return status;
  struct stat identity = {};
  errno = 0;
  if (fstat(output.descriptor(), &identity) != 0) {
    return FileStatus(errno, (path_ / name).string());
  }
  ++streams_;
  files_.push_back({name, std::move(output)});
  written_.insert_or_assign(name, Written{{}, identity.st_dev, identity.st_ino});
  return absl::OkStatus();
}

absl::Status RunFolder::AppendTo(std::string_view name, std::string_view text) {
  auto file = std::ranges::find(files_, name, &File::name);
  if (file == files_.end()) {
    if (absl::Status status = StartFile(std::string(name)); !status.ok()) return status;
    file = files_.end() - 1;
  }
  if (!file->output.is_open()) {
    if (absl::Status status = MakeRoom(); !status.ok()) return status;
    if (absl::Status status = OpenFile(file->name, "ab", file->output); !status.ok()) return status;
    ++streams_;
  }
  if (absl::Status status = file->output.Append(text); !status.ok()) return status;
  written_.find(name)->second.record.Add(text);
  return absl::OkStatus();
}

// Streams are closed in turn. Where there are many, they are written in large pieces.
absl::Status RunFolder::MakeRoom() {
  if (streams_ < kMaxStreams) return absl::OkStatus();
  for (;; ++oldest_) {
    File& file = files_[oldest_ % files_.size()];
    if (file.output.is_open()) return Close(file);
  }
}

absl::Status RunFolder::CloseAll() {
  absl::Status status;
  for (File& file : files_) {
    if (file.output.is_open()) status.Update(Close(file));
  }
  files_.clear();
  return status;
}

absl::Status RunFolder::Close(File& file) {
  --streams_;
  return file.output.Close();
}

// A user may remove the folder, or some of its files, while a run writes to it. A file that is
// opened again may then be a new one.
absl::Status RunFolder::CheckThatAllIsThere() const {
  for (const auto& [name, written] : written_) {
    struct stat status = {};
    if (stat((aside_ / name).c_str(), &status) != 0) {
      return absl::DataLossError(
          fmt::format("{}: was written but is gone: {}; was the folder removed?",
                      (path_ / name).string(), std::strerror(errno)));
    }
    if (status.st_dev == written.device && status.st_ino == written.inode &&
        static_cast<uint64_t>(status.st_size) == written.record.bytes) {
      continue;
    }
    return absl::DataLossError(fmt::format(
        "{}: differs from the contents that were written; does another program write there?",
        (path_ / name).string()));
  }
  return absl::OkStatus();
}

absl::Status RunFolder::PutInPlace() {
  if (!fs::exists(path_)) return MoveTo(path_);
  if (HoldsResults(path_) && (replace_ || AreOfOneExperiment(aside_, path_))) return Replace();
  return PutBeside();
}

absl::Status RunFolder::MoveTo(const fs::path& path) {
  std::error_code error;
  fs::rename(aside_, path, error);
  if (error) return FileStatus(error.value(), path.string());
  open_ = false;
  Forget(aside_);
  return absl::OkStatus();
}

// Something else has come to the path during the run, such as a sweep. It stays, and the results go
// to a folder beside it.
absl::Status RunFolder::PutBeside() {
  fs::path beside;
  for (int number = 2; beside.empty() || fs::exists(beside); ++number) {
    beside = fmt::format("{}-{}", path_.string(), number);
  }
  if (absl::Status status = MoveTo(beside); !status.ok()) return status;
  return absl::DataLossError(
      fmt::format("{}: appeared during the run and was not replaced; the results are in {}",
                  path_.string(), beside.string()));
}

// The two folders swap names in one step, and the destructor removes the old one.
absl::Status RunFolder::Replace() {
  const int swapped = renameat2(AT_FDCWD, aside_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE);
  if (swapped == 0) return absl::OkStatus();
  if (errno != EINVAL && errno != ENOSYS) return FileStatus(errno, path_.string());
  // Some network file systems cannot swap names. There the old results are moved away first.
  std::error_code error;
  fs::remove_all(path_, error);
  if (error) return FileStatus(error.value(), path_.string());
  return MoveTo(path_);
}

void RunFolder::RemoveAll() {
  std::error_code ignored;
  for (const OpenFolder& folder : OpenFolders()) {
    fs::remove_all(folder.aside, ignored);
    fs::remove(folder.lock, ignored);
  }
}

}  // namespace heddle
