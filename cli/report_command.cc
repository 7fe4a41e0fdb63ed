// SPDX-License-Identifier: Apache-2.0

#include "cli/report_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/collect_command.h"
#include "cli/commands.h"
#include "cli/failures.h"
#include "cli/program_path.h"
#include "cli/text.h"
#include "experiment/checked_folder.h"
#include "study/sweep/child.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::string folder;
  std::string out;
  std::string figures;
  std::vector<std::string> formats = {"pdf"};
  bool with_stale = false;
  bool quiet = false;
};

// A folder that is removed with this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "heddle-report-XXXXXX").string();
    if (mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }  // Empty if there is none.

 private:
  std::string path_;
};

// Runs a program and returns its wait status; -1 if there is no such program.
int SpawnAndWait(const std::vector<char*>& argv) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  posix_spawnattr_setsigdefault(&attributes, &interrupt);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t process = 0;
  const int spawned = posix_spawnp(&process, argv[0], nullptr, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (spawned != 0) return -1;
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return status;
}

// Runs a program and waits. Returns its exit code, 128 + the signal if it was killed, 127 if there
// is no such program.
int RunProgram(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  // As in system(), Ctrl-C ends only the program, and this process finishes its own work.
  const auto interrupt = std::signal(SIGINT, SIG_IGN);
  const int status = SpawnAndWait(argv);
  std::signal(SIGINT, interrupt);
  if (status < 0) return 127;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Returns the folder of the Python package: in the source tree that this program was built from, or
// where it was installed.
std::optional<fs::path> PackageFolder() {
  std::vector<fs::path> candidates;
  if (const char* given = std::getenv("HEDDLE_REPORT")) {
    candidates = {given};
  } else {
    const fs::path here = ProgramPath().parent_path();
    candidates = {here.parent_path() / "share/heddle/report",
                  here.parent_path().parent_path() / "study/report"};
  }
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (fs::exists(candidate / "heddle_report/__main__.py", error)) return candidate;
  }
  return std::nullopt;
}

// A Python module, and the packages that contain it in Debian and in the Python index.
struct Needed {
  const char* module;
  const char* debian;
  const char* pypi;
};

std::vector<Needed> NeededFor(const ReportArguments& arguments) {
  std::vector<Needed> needed = {{"yaml", "python3-yaml", "pyyaml"},
                                {"plotly", "python3-plotly", "plotly"}};
  if (!arguments.figures.empty()) {
    needed.push_back({"matplotlib", "python3-matplotlib", "matplotlib"});
  }
  return needed;
}

// Returns the first python3 that has all modules. The one in the path may be a user's own, without
// the modules that the distribution has installed.
std::optional<std::string> FindPython(const std::vector<Needed>& needed) {
  std::vector<std::string> candidates = {"python3", "/usr/bin/python3"};
  if (const char* given = std::getenv("HEDDLE_PYTHON")) candidates = {given};
  for (const std::string& python : candidates) {
    // -I: Python takes no module from the current folder.
    std::vector<std::string> words = {python, "-I", "-c",
                                      "import importlib.util as u, sys; "
                                      "sys.exit(sys.version_info < (3, 10) or any(u.find_spec(m) "
                                      "is None for m in sys.argv[1:]))"};
    for (const Needed& one : needed) words.emplace_back(one.module);
    if (RunProgram(words) == 0) return python;
  }
  return std::nullopt;
}

std::string WhatToInstall(const std::vector<Needed>& needed) {
  std::vector<std::string> debian;
  std::vector<std::string> pypi;
  for (const Needed& one : needed) {
    debian.emplace_back(one.debian);
    pypi.emplace_back(one.pypi);
  }
  return fmt::format(
      "no python3 has the modules that a report needs; install {} (Debian, Ubuntu), or run \"pip "
      "install {}\" and set HEDDLE_PYTHON to its python3",
      fmt::join(debian, " "), fmt::join(pypi, " "));
}

std::vector<std::string> CommandLine(const ReportArguments& arguments, const std::string& python,
                                     const fs::path& package, const std::string& tables) {
  // -B: Python writes no compiled files beside the package. The first entry of its path would be
  // the current folder.
  std::vector<std::string> words = {python, "-B", "-c",
                                    "import os, sys\n"
                                    "sys.path[0] = sys.argv.pop(1)\n"
                                    "try:\n"
                                    " from heddle_report.__main__ import main\n"
                                    "except (MemoryError, SystemError):\n"
                                    " os.write(2, b'heddle: out of memory\\n')\n"
                                    " os._exit(1)\n"
                                    "sys.exit(main(sys.argv[1:]))",
                                    package.string()};
  if (!arguments.out.empty()) words.push_back("--out=" + arguments.out);
  if (!arguments.figures.empty()) {
    words.push_back("--figures=" + arguments.figures);
    words.push_back(fmt::format("--format={}", fmt::join(arguments.formats, ",")));
  }
  if (!tables.empty()) words.push_back("--tables=" + tables);
  if (arguments.quiet) words.emplace_back("--quiet");
  words.emplace_back("--");
  words.push_back(arguments.folder);
  return words;
}

int Report(const ReportArguments& arguments) {
  constexpr size_t kReadAll = std::numeric_limits<size_t>::max();
  const fs::path folder = arguments.folder;
  std::error_code error;
  const bool is_papers = fs::exists(folder / "papers.json", error);
  const bool is_sweep = !is_papers && fs::exists(folder / "plan.csv", error);
  const bool is_run =
      fs::exists(folder / "run.yaml", error) || fs::exists(folder / kManifestFile, error);
  if (!fs::exists(folder, error)) {
    return BadInput(fmt::format("{}: there is no such folder", arguments.folder));
  }
  if (!is_papers && !is_sweep && !is_run) {
    return Fail(kExitBadInput, fmt::format("{}: has neither the plan.csv of a sweep, nor the "
                                           "run.yaml of a run, nor the papers.json of papers",
                                           arguments.folder));
  }
  if (!is_papers && !is_sweep) {
    const CheckedFolder run(folder);
    const std::vector<DamagedFile> damage = run.Damage(kReadAll);
    if (!damage.empty()) return Fail(kExitFailed, TextOf(run, damage.front()));
    NoteUnchecked(run);
  }
  const auto package = PackageFolder();
  if (!package) {
    return Fail(
        kExitFailed,
        "the folder study/report/ is neither in the source tree nor in the installation of heddle; "
        "set HEDDLE_REPORT to this folder");
  }
  const std::vector<Needed> needed = NeededFor(arguments);
  const auto python = FindPython(needed);
  if (!python) return Fail(kExitFailed, WhatToInstall(needed));
  CollectOutcome outcome{kExitDone, true};
  // If the results belong to another user, the page can go to another folder.
  std::optional<TemporaryFolder> aside;
  if (is_sweep && !arguments.out.empty()) aside.emplace();
  if (aside && aside->path().empty()) {
    return Fail(kExitFailed,
                "cannot create a temporary folder; set TMPDIR to a folder that can be written");
  }
  const std::string tables = aside ? aside->path() : "";
  if (is_sweep) {
    outcome = CollectFolder(arguments.folder, aside ? tables : arguments.folder,
                            arguments.with_stale, /*quiet=*/true);
    if (!outcome.has_tables) return outcome.exit_code;
  }
  const int exit_code = RunProgram(CommandLine(arguments, *python, *package, tables));
  if (exit_code > 128 && exit_code != 128 + SIGINT) {
    const int signal = exit_code - 128;
    const bool may_lack_memory =
        signal == SIGKILL || signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT;
    return Fail(exit_code, fmt::format("{} was ended by {} before the report was complete{}",
                                       *python, NameOfSignal(signal),
                                       may_lack_memory ? "; there may be too little memory" : ""));
  }
  return exit_code == kExitDone ? outcome.exit_code : exit_code;
}

}  // namespace

void AddReportCommand(CLI::App& app, std::function<int()>& command) {
  const auto arguments = std::make_shared<ReportArguments>();
  CLI::App* report = app.add_subcommand(
      "report",
      "Show the results of a sweep, a run or papers as one page, and as figures for a paper");
  report->add_option("folder", arguments->folder, "Folder of the sweep, of a run, or of papers")
      ->required()
      ->type_name("DIR");
  report
      ->add_option("-o,--out", arguments->out,
                   "File of the page (default: report.html in the folder)")
      ->type_name("FILE");
  report
      ->add_option("--figures", arguments->figures,
                   "Also write figures for a paper into this folder")
      ->type_name("DIR")
      ->check(NoFileInPlace);
  report->add_option("--format", arguments->formats, "Formats of figures: pdf, svg, png")
      ->delimiter(',')
      ->check(CLI::IsMember({"pdf", "svg", "png"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  report->add_flag("--with-stale", arguments->with_stale,
                   "Include results of other versions of Heddle");
  report->add_flag("-q,--quiet", arguments->quiet, "Print nothing if there is no problem");
  report->callback([&command, arguments] { command = [arguments] { return Report(*arguments); }; });
}

}  // namespace heddle
