// SPDX-License-Identifier: Apache-2.0

#include "tests/support/command.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "experiment/manifest.h"

namespace heddle {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = fs::temp_directory_path() / "heddle_test_XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path TemporaryFolder::Write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
  return path_ / name;
}

CommandResult RunCommand(const std::string& command, const fs::path& where) {
  const TemporaryFolder streams;
  const std::string line = "cd '" + where.string() + "' && { " + command + "\n} >'" +
                           (streams / "out").string() + "' 2>'" + (streams / "err").string() + "'";
  const int status = std::system(line.c_str());
  CommandResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = ReadFile(streams / "out");
  result.err = ReadFile(streams / "err");
  return result;
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

void MakeManifest(const fs::path& run) {
  fs::remove(run / kManifestFile);
  Manifest manifest;
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    manifest[entry.path().filename().string()].Add(ReadFile(entry.path()));
  }
  std::ofstream(run / kManifestFile, std::ios::binary) << ManifestCsv(manifest);
}

std::map<std::string, std::string> ReadResults(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().filename() == "summary.json") continue;
    std::string& text = files[entry.path().lexically_relative(folder).string()];
    text = ReadFile(entry.path());
    if (entry.path().filename() != kManifestFile) continue;
    const size_t row = text.find("\nsummary.json,");
    if (row != std::string::npos) text.erase(row, text.find('\n', row + 1) - row);
  }
  return files;
}

}  // namespace heddle
