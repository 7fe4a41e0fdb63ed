// SPDX-License-Identifier: Apache-2.0
// A folder of results that is either complete or absent. A run writes it under a hidden name;
// Commit() adds a manifest of all its files (experiment/manifest.h) and renames it.

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

// After a failure nothing more is written, and every call returns that failure:
//   Aborted             another process is writing these results
//   AlreadyExists       there are results, and they are not to be replaced
//   FailedPrecondition  there is something that is no folder of results
//   ResourceExhausted   there is no room: on the disk, in a quota, or below a file's limit
//   DataLoss            what had been written is no longer there, or something else is at the path
// and the codes of FileStatus() (settings/files.h).
class RunFolder {
 public:
  // The results will be at `path`. The constructor writes nothing.
  explicit RunFolder(std::filesystem::path path);
  // Removes all files that have not been committed.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Makes the hidden folder. If `replace`, Commit() replaces results that are already at the path.
  absl::Status Open(bool replace);

  // Writes one whole file.
  absl::Status Write(const std::string& name, std::string_view text);

  // These write files piece by piece, several at a time. Append() starts a file that has not been
  // started; Finish() ends all files.
  absl::Status Start(const std::string& name);
  absl::Status Append(std::string_view name, std::string_view text);
  absl::Status Finish();

  // Renames the folder to its final path, in one step, if all written files are still there and
  // unchanged. If something has come to that path since Open(), other than results that may be
  // replaced or are of the same experiment, it stays, and the folder goes to a path beside it.
  absl::Status Commit();

  const std::filesystem::path& path() const { return path_; }
  // The first failure.
  const absl::Status& status() const { return status_; }

  // Returns true if a process is writing results for `path`.
  static bool IsBeingWritten(const std::filesystem::path& path);

  // Removes unfinished results for `path` that a dead process has left. Returns false if a process
  // is writing them.
  static bool RemoveLeftOvers(const std::filesystem::path& path);

  // Removes every folder that is being written. A program that must stop at once calls it.
  static void RemoveAll();

 private:
  struct File {
    std::string name;
    OutputFile output;  // Closed if other files need its place.
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
  absl::Status PutBeside();
  absl::Status MoveTo(const std::filesystem::path& path);
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
  int lock_ = -1;            // The descriptor of the lock; -1 if it is not held.
  std::vector<File> files_;  // Files that are being written.
  std::map<std::string, Written, std::less<>> written_;
  size_t streams_ = 0;  // The number of `files_` that are open.
  size_t oldest_ = 0;   // The file that is closed next.
  bool open_ = false;
  bool replace_ = false;  // Results at the path may be replaced.
};

}  // namespace heddle
