// SPDX-License-Identifier: Apache-2.0
// Reads the files of a run's folder and checks each of them against the manifest. All commands that
// use results read them through it, and so notice damage.

#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "experiment/manifest.h"

namespace heddle {

struct DamagedFile {
  std::string file;
  std::string what;  // "is missing".

  friend bool operator==(const DamagedFile&, const DamagedFile&) = default;
};

class CheckedFolder {
 public:
  // Reads the manifest.
  explicit CheckedFolder(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  // False for a folder that is older than manifests, whose files are taken as they are.
  bool is_checked() const { return state_ != State::kUnchecked; }

  bool Has(const std::string& file) const;
  // Returns the file's text. NotFound: the run has not written the file. DataLoss: the file was
  // written but is missing, damaged, or larger than `limit`. In a folder that is not checked, the
  // codes are those of ReadTextFile().
  absl::StatusOr<std::string> Read(const std::string& file, size_t limit) const;
  // True once a Read() has found damage.
  bool found_damage() const { return found_damage_; }

  // Damage() lists files that are missing or have the wrong length, and files of at most
  // `read_up_to` bytes with the wrong checksum, by name. AllDamage() reads all files, and also
  // lists files that the manifest lacks and that look like those of a run.
  std::vector<DamagedFile> Damage(size_t read_up_to) const;
  std::vector<DamagedFile> AllDamage() const;
  size_t files() const { return manifest_.size(); }

 private:
  enum class State { kSound, kUnchecked, kDamaged };

  absl::StatusOr<std::string> ReadListed(const std::string& file, size_t limit) const;
  absl::Status Check(const std::string& file, const FileRecord& record, size_t read_up_to) const;

  const std::filesystem::path path_;
  State state_ = State::kUnchecked;
  Manifest manifest_;
  mutable bool found_damage_ = false;
};

// Returns a line such as "out/flows.csv: is missing".
std::string TextOf(const CheckedFolder& folder, const DamagedFile& damaged);

// Counts folders without a manifest whose results were used, for a warning at the end of a command.
void NoteUnchecked(const CheckedFolder& folder);  // Counts `folder` if it has no manifest.
struct UncheckedFolders {
  size_t count = 0;
  std::filesystem::path first;
};
UncheckedFolders UncheckedSoFar();

}  // namespace heddle
