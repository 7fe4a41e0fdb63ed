// SPDX-License-Identifier: Apache-2.0
// A folder of results that is there complete or not at all: it is written aside and renamed at the
// end, with a manifest of all its files (experiment/manifest.h) as the last of them.

#pragma once

#include <sys/types.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/manifest.h"

namespace heddle {

class RunFolder {
 public:
  // Results will be at `path`. Nothing is written yet.
  explicit RunFolder(std::filesystem::path path);
  // Removes what has not been committed.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Makes the folder aside. False, and what is wrong in error(), if it cannot be, if another
  // process is writing there (then busy() is true), if there are results already and `replace` is
  // false, or if there is something else.
  bool Open(bool replace);

  // Writes one file. False, and what is wrong in error(), if it could not be written to the last
  // byte.
  bool Write(const std::string& name, std::string_view text);

  // Files that are written piece by piece, several at a time. Append() starts those that have not
  // been; Finish() ends them all.
  bool Start(const std::string& name);
  bool Append(std::string_view name, std::string_view text);
  bool Finish();

  // Puts the folder in its place, in one step. False if a file that has been written is no longer
  // there as it was.
  bool Commit();

  const std::filesystem::path& path() const { return path_; }
  const std::string& error() const { return error_; }
  bool busy() const { return busy_; }
  // True if there was no room: on the disk, in a quota, or below the limit of a file's size.
  bool lacks_room() const { return lacks_room_; }

  // Whether a process is writing results for `path`.
  static bool IsBeingWritten(const std::filesystem::path& path);

  // Removes what a process that is gone has left of results for `path`. False if one is at it.
  static bool RemoveLeftOvers(const std::filesystem::path& path);

  // For a program that must stop at once: removes every folder that is being written.
  static void RemoveAll();

 private:
  struct File {
    std::string name;
    std::FILE* stream;  // Null: closed for now.
  };
  // The length and checksum of a file that was written, and its identity in the file system.
  struct Written {
    FileRecord record;
    dev_t device;
    ino_t inode;
  };

  bool Fail(const std::string& what);
  bool FailAt(const std::string& name);
  bool FailAsUnwritable(int error);
  bool IsAllThere();
  bool WriteManifest();
  bool PutInPlace();
  bool MakeRoom();
  bool Close(File& file);
  bool Lock();
  void DoWithoutLock();
  void Unlock();
  bool Replace();

  const std::filesystem::path path_;
  std::filesystem::path aside_;
  const std::filesystem::path lock_path_;
  std::string error_;
  bool busy_ = false;
  bool lacks_room_ = false;
  int lock_ = -1;            // Held if it is not -1.
  std::vector<File> files_;  // Being written.
  std::map<std::string, Written, std::less<>> written_;
  size_t streams_ = 0;  // Of `files_`, open.
  size_t oldest_ = 0;   // Whose stream is closed next.
  bool open_ = false;
};

}  // namespace heddle
