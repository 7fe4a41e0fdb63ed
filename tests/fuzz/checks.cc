// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/checks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace heddle {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    // Every input is a file, so the folder is in memory if the system has such a folder.
    const fs::path memory = "/dev/shm";
    const bool has_memory = access(memory.c_str(), W_OK | X_OK) == 0;
    std::string name = (has_memory ? memory : fs::temp_directory_path()) / "heddle_fuzz_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

void Require(bool holds, std::string_view promise) {
  if (!holds) throw std::logic_error("broken: " + std::string(promise));
}

std::string TextOf(FuzzInput input) { return {input.begin(), input.end()}; }

const fs::path& FuzzFolder() {
  static const Folder folder;
  return folder.path();
}

std::string WriteInput(const std::string& name, std::string_view text) {
  const fs::path path = FuzzFolder() / name;
  std::error_code ignored;
  fs::remove(path, ignored);  // Some file systems write to the disk whatever replaces a file.
  std::ofstream file(path, std::ios::binary);
  if (!file) {
    fs::create_directories(path.parent_path());
    file.open(path, std::ios::binary);
  }
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
  return path;
}

void RequirePlaces(const Diagnostics& diagnostics) {
  for (const Diagnostics::Problem& problem : diagnostics.problems()) {
    Require(!problem.place.source.empty(), "an error names its source: " + problem.line);
    Require(problem.place.line >= 0 && problem.place.column >= 0, "places count from 1");
    Require(problem.line.find('\n') == std::string::npos, "an error is a line: " + problem.line);
  }
}

bool AreEqual(const Value& a, const Value& b) {
  const auto entries_equal = [](const Value::Entry& x, const Value::Entry& y) {
    return x.key == y.key && AreEqual(x.value, y.value);
  };
  return a.kind == b.kind && a.text == b.text && std::ranges::equal(a.items, b.items, AreEqual) &&
         std::ranges::equal(a.entries, b.entries, entries_equal);
}

}  // namespace heddle
