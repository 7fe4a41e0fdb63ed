// SPDX-License-Identifier: Apache-2.0
// Reading and writing whole files. A file that Heddle writes is there complete or not at all, and
// every failure is an absl::Status whose message a user can be shown as it is.

#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace heddle {

// The status of a system call on a file that set errno to `error`: "WHAT: Permission denied".
// ResourceExhausted means that there is no room, on the disk, in a quota or below the limit of a
// file's size; no other failure has that code.
absl::Status FileStatus(int error, std::string_view what);

// A whole file. The message does not name it: a caller that knows where the user wrote the name
// gives that place. NotFound or another code of FileStatus() if it cannot be read,
// FailedPrecondition if it is a folder, OutOfRange if it is larger than `limit`.
absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t limit);

// Where `file` is if relative paths start at `folder`; experiments say so to work from anywhere.
std::string AbsolutePath(const std::string& folder, const std::string& file);

// A hidden file beside `path`, such as ".run.lock" beside "run".
std::filesystem::path HiddenBeside(const std::filesystem::path& path, std::string_view ending);

// A file that is open for writing. Closing it brings it to the disk, and so finds out whether the
// disk had room for all of it.
class OutputFile {
 public:
  // Nothing is open.
  OutputFile() = default;
  // Takes over `stream`. Messages call the file `name`.
  OutputFile(std::FILE* stream, std::string name) : stream_(stream), name_(std::move(name)) {}
  // Closes it without a look at errors; for files that nobody will read.
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;

  bool is_open() const { return stream_ != nullptr; }
  int descriptor() const { return fileno(stream_); }
  absl::Status Append(std::string_view text);
  // Brings what has been appended to the disk.
  absl::Status Sync();
  absl::Status Close();

 private:
  std::FILE* stream_ = nullptr;
  std::string name_;
};

// Writes a file aside and renames it at the end, in one step for whoever reads what was there
// before. A process that is killed meanwhile leaves a hidden file behind, which nobody reads. The
// writer holds a lock on that file, which tells it from those that killed processes have left
// (study/sweep/left_overs.h).
class WholeFile {
 public:
  explicit WholeFile(std::filesystem::path path);
  // Removes what has not been committed.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  // After a failure nothing is written any more, and both return that failure.
  absl::Status Append(std::string_view text);
  absl::Status Commit();

 private:
  int Create();

  const std::filesystem::path path_;
  std::string aside_;  // Empty: there is no file aside.
  OutputFile file_;
  absl::Status status_;
};

// Writes all of a file at once. A file that says the same is left alone.
absl::Status WriteWholeFile(const std::filesystem::path& path, std::string_view text);

}  // namespace heddle
