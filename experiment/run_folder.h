// SPDX-License-Identifier: Apache-2.0
// A folder of results that is there complete or not at all: it is written aside and renamed at the
// end, with a manifest of all its files (experiment/manifest.h) as the last of them.

#pragma once

#include <absl/status/status.h>
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/manifest.h"
#include "settings/files.h"

namespace heddle {

// After a failure nothing is written any more, and whatever is asked of it returns that failure:
//   Aborted             another process is writing these results
//   AlreadyExists       there are results, and they are not to be replaced
//   FailedPrecondition  there is something that is no folder of results
//   ResourceExhausted   there is no room: on the disk, in a quota, or below a file's limit
//   DataLoss            what had been written is no longer there
// and the codes of FileStatus() (settings/files.h).
class RunFolder {
 public:
  // Results will be at `path`. Nothing is written yet.
  explicit RunFolder(std::filesystem::path path);
  // Removes what has not been committed.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Makes the folder aside. Results that are there already are replaced in the end if `replace`.
  absl::Status Open(bool replace);

  // Writes one file, to the last byte.
  absl::Status Write(const std::string& name, std::string_view text);

  // Files that are written piece by piece, several at a time. Append() starts those that have not
  // been; Finish() ends them all.
  absl::Status Start(const std::string& name);
  absl::Status Append(std::string_view name, std::string_view text);
  absl::Status Finish();

  // Puts the folder in its place, in one step, if all files that have been written are still there
  // as they were.
  absl::Status Commit();

  const std::filesystem::path& path() const { return path_; }
  // The first failure.
  const absl::Status& status() const { return status_; }

  // Whether a process is writing results for `path`.
  static bool IsBeingWritten(const std::filesystem::path& path);

  // Removes what a process that is gone has left of results for `path`. False if one is at it.
  static bool RemoveLeftOvers(const std::filesystem::path& path);

  // For a program that must stop at once: removes every folder that is being written.
  static void RemoveAll();

 private:
  struct File {
    std::string name;
    OutputFile output;  // Not open: closed for now.
  };
  // The length and checksum of a file that was written, and its identity in the file system.
  struct Written {
    FileRecord record;
    dev_t device;
    ino_t inode;
  };

  // Keeps `status` if it is the first failure, and returns the one that is kept.
  const absl::Status& Keep(const absl::Status& status);
  absl::Status CheckPlace(bool replace) const;
  absl::Status MakeAside();
  absl::Status Unwritable(int error) const;
  absl::Status OpenFile(const std::string& name, const char* mode, OutputFile& output) const;
  absl::Status StartFile(const std::string& name);
  absl::Status AppendTo(std::string_view name, std::string_view text);
  absl::Status CloseAll();
  absl::Status CheckThatAllIsThere() const;
  absl::Status PutInPlace();
  absl::Status MakeRoom();
  absl::Status Close(File& file);
  absl::Status Lock();
  void DoWithoutLock();
  void Unlock();
  absl::Status Replace();

  const std::filesystem::path path_;
  std::filesystem::path aside_;
  const std::filesystem::path lock_path_;
  absl::Status status_;
  int lock_ = -1;            // Held if it is not -1.
  std::vector<File> files_;  // Being written.
  std::map<std::string, Written, std::less<>> written_;
  size_t streams_ = 0;  // Of `files_`, open.
  size_t oldest_ = 0;   // The file that is closed next.
  bool open_ = false;
};

}  // namespace heddle
