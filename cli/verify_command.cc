// SPDX-License-Identifier: Apache-2.0

#include "cli/verify_command.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "cli/commands.h"
#include "experiment/checked_folder.h"
#include "settings/status.h"
#include "settings/wording.h"
#include "study/sweep/sweep_folder.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

bool IsRun(const fs::path& folder) {
  std::error_code error;
  return std::ranges::any_of(
      std::initializer_list<const char*>{kManifestFile, "summary.json", "run.yaml"},
      [&](const char* file) { return fs::exists(folder / file, error); });
}

// Lists the folders of runs in `folder`: all points of a sweep, also those of an earlier plan, or
// the folder itself if it is a run's or a point's. Returns nothing for other folders.
std::optional<std::vector<fs::path>> RunsIn(const fs::path& folder) {
  if (IsRun(folder)) return std::vector{folder};
  std::error_code error;
  std::vector<fs::path> runs;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "points", error)) {
    const bool hidden = entry.path().filename().string().starts_with('.');
    if (!hidden && entry.is_directory(error)) runs.push_back(entry.path());
  }
  if (error) return std::nullopt;
  std::ranges::sort(runs);
  return runs;
}

class Verifier {
 public:
  void Check(const fs::path& path) {
    const CheckedFolder run(path);
    ++folders_;
    files_ += run.files();
    NoteUnchecked(run);
    if (!run.is_checked()) ++unchecked_;
    const std::vector<DamagedFile> damage =
        IsRun(path) ? run.AllDamage() : std::vector<DamagedFile>{{"", "has no results"}};
    for (const DamagedFile& damaged : damage) Say(TextOf(run, damaged));
  }
  void CheckPlan(const SweepFolder& sweep) {
    const absl::Status status = sweep.ReadPlan().status();
    if (!status.ok()) Say(MessageOf(status));
  }

  int Conclude(bool quiet) const {
    const std::string checked = fmt::format("{} and {} files", FoldersText(), files_);
    if (damaged_ > 0) {
      fmt::print("{}: {} damaged\n", checked, damaged_);
      return kExitFailed;
    }
    const bool any = unchecked_ < folders_;
    if (!quiet && any) fmt::print("{}: all as they were written\n", checked);
    if (!quiet && !any) fmt::print("{}: not checked, as there is no manifest.csv\n", FoldersText());
    return kExitDone;
  }

 private:
  std::string FoldersText() const { return CountedNoun(folders_, "folder"); }
  void Say(const std::string& damage) {
    fmt::print("{}\n", damage);
    ++damaged_;
  }

  size_t folders_ = 0;
  size_t unchecked_ = 0;
  size_t files_ = 0;
  size_t damaged_ = 0;
};

int Verify(const std::string& name, bool quiet) {
  const fs::path folder = name;
  const auto runs = RunsIn(folder);
  if (!runs) {
    std::error_code error;
    fmt::print(stderr, "heddle: {}: {}\n", name,
               fs::exists(folder, error) ? "is not the folder of a run, a sweep or a point"
                                         : "there is no such folder");
    return kExitBadInput;
  }
  Verifier verifier;
  std::error_code error;
  if (fs::exists(folder / "plan.csv", error)) verifier.CheckPlan(SweepFolder(folder));
  for (const fs::path& run : *runs) verifier.Check(run);
  return verifier.Conclude(quiet);
}

}  // namespace

void AddVerifyCommand(CLI::App& app, std::function<int()>& command) {
  struct Arguments {
    std::string folder;
    bool quiet = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verify = app.add_subcommand(
      "verify", "Check that the files of a run or a sweep are still as they were written");
  verify->add_option("folder", arguments->folder, "Folder of a sweep, of a run, or of a point")
      ->required()
      ->type_name("DIR");
  verify->add_flag("-q,--quiet", arguments->quiet, "Print nothing if there is no problem");
  verify->footer(
      "Every file is read and compared with manifest.csv beside it, which the run wrote last.\n"
      "Output of collect, compare, report and papers is not checked: run these commands again.\n"
      "Exit codes: 0 nothing is damaged, 1 something is, 2 the folder has no results.");
  verify->callback([&command, arguments] {
    command = [arguments] { return Verify(arguments->folder, arguments->quiet); };
  });
}

}  // namespace heddle
