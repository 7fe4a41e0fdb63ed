// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/left_overs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "experiment/run_folder.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

// Returns the run NAME that ".NAME.lock" or ".NAME.partial" belongs to; "" for other files.
std::string RunOf(const std::string& file) {
  for (const std::string_view ending : {".lock", ".partial"}) {
    if (file.size() > ending.size() + 1 && file.starts_with('.') && file.ends_with(ending)) {
      return file.substr(1, file.size() - ending.size() - 1);
    }
  }
  return "";
}

// Returns true for names such as ".plan.csv.XXXXXX", if sweeps or papers write the file.
bool IsPartOfFile(const std::string& file) {
  constexpr size_t kRandom = 6;
  if (!file.starts_with('.') || file.size() < kRandom + 3) return false;
  const size_t dot = file.size() - kRandom - 1;
  if (file[dot] != '.') return false;
  const auto is_alphanumeric = [](unsigned char c) { return std::isalnum(c) != 0; };
  if (!std::ranges::all_of(file.substr(dot + 1), is_alphanumeric)) return false;
  const std::string name = file.substr(1, dot - 1);
  static constexpr std::array<std::string_view, 6> kFiles = {
      "sweep.yaml", "plan.csv", "points.csv", "means.csv", "claims.csv", "papers.json"};
  return name.ends_with(".failed") || std::ranges::find(kFiles, name) != kFiles.end();
}

void RemoveUnlessLocked(const fs::path& path) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  if (flock(file, LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
  close(file);
}

}  // namespace

void RemoveLeftOvers(const fs::path& folder) {
  std::set<std::string> runs;  // A set, since a run may have left two entries.
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (std::string run = RunOf(file); !run.empty()) {
      runs.insert(std::move(run));
    } else if (IsPartOfFile(file)) {
      files.push_back(entry.path());
    }
  }
  for (const std::string& run : runs) RunFolder::RemoveLeftOvers(folder / run);
  for (const fs::path& file : files) RemoveUnlessLocked(file);
}

}  // namespace heddle
