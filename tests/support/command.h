// SPDX-License-Identifier: Apache-2.0
// Tests use these functions to run programs as a user would, and to read the files that they write.

#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace heddle {

struct CommandResult {
  int exit_code = -1;  // 128 + the signal if it was killed.
  std::string out;
  std::string err;
};

// Runs `command` with sh, in the folder `where`.
CommandResult RunCommand(const std::string& command,
                         const std::filesystem::path& where = std::filesystem::current_path());

// A folder that is deleted when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

  // Writes a file in the folder and returns its path.
  std::filesystem::path Write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

// Gives the folder of a run a manifest of what is in it now, as if the run had written that.
void MakeManifest(const std::filesystem::path& run);

std::string ReadFile(const std::filesystem::path& path);

// Returns every file below `folder` by its relative path, except summary.json, which holds
// wall-clock times, and its entry in manifest.csv.
std::map<std::string, std::string> ReadResults(const std::filesystem::path& folder);

}  // namespace heddle
