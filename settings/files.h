// SPDX-License-Identifier: Apache-2.0
// Reads and writes whole files. A file that Heddle writes is there completely or not at all. Every
// failure is an absl::Status whose message can be shown to the user as it is.

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
// ResourceExhausted means that the disk, a quota or the limit of a file's size is exhausted; no
// other failure has that code.
absl::Status FileStatus(int error, std::string_view what);

// Reads a whole file. Returns a code of FileStatus(), such as NotFound, if the file cannot be read,
// FailedPrecondition if it is a folder, and OutOfRange if it is larger than `limit`. The message
// does not name the file, because the caller knows where the user wrote its name.
absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t limit);

// The absolute path of `file`, where relative paths start at `folder`. So experiments work from any
// working directory.
std::string AbsolutePath(const std::string& folder, const std::string& file);

// A hidden file beside `path`, such as ".run.lock" beside "run".
std::filesystem::path HiddenBeside(const std::filesystem::path& path, std::string_view ending);

// A file that is open for writing. Close() brings the text to the disk, and so finds out whether
// the disk had room for all of it.
class OutputFile {
 public:
  // No file is open.
  OutputFile() = default;
  // Takes over `stream`. Messages call the file `name`.
  OutputFile(std::FILE* stream, std::string name) : stream_(stream), name_(std::move(name)) {}
  // Closes the file and ignores errors; for files that nobody will read.
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;

  bool is_open() const { return stream_ != nullptr; }
  int descriptor() const { return fileno(stream_); }
  absl::Status Append(std::string_view text);
  // Brings the appended text to the disk.
  absl::Status Sync();
  absl::Status Close();

 private:
  std::FILE* stream_ = nullptr;
  std::string name_;
};

// Writes a hidden file and renames it at the end, so that readers see either the old file or the
// new one. A process that is killed meanwhile leaves the hidden file behind, which nobody reads.
// The writer holds a lock on the hidden file, which tells it from files that killed processes have
// left (study/sweep/left_overs.h).
class WholeFile {
 public:
  explicit WholeFile(std::filesystem::path path);
  // Removes the hidden file unless it has been committed.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  // After a failure both write nothing more and return that failure.
  absl::Status Append(std::string_view text);
  absl::Status Commit();

 private:
  int Create();

  const std::filesystem::path path_;
  std::string aside_;  // The hidden file's name; empty if there is none.
  OutputFile file_;
  absl::Status status_;
};

// Writes a whole file at once. A file that already has this text is left alone.
absl::Status WriteWholeFile(const std::filesystem::path& path, std::string_view text);

}  // namespace heddle
