// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "experiment/experiment.h"
#include "experiment/run.h"
#include "experiment/run_folder.h"
#include "experiment/version.h"

namespace heddle {
namespace {

std::atomic<bool> stop_requested{false};
std::atomic<int> stop_signal{0};

// The first signal ends the run between two windows, the second the program.
extern "C" void OnSignal(int signal) {
  if (stop_requested.exchange(true)) std::_Exit(128 + signal);
  stop_signal = signal;
}

void InstallSignalHandlers() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
  // A file that grows too large is an error to report, not a reason to die.
  std::signal(SIGXFSZ, SIG_IGN);
}

// One line on the terminal that is written over.
class ProgressLine {
 public:
  ProgressLine(bool enabled, size_t run, size_t runs, std::string label)
      : enabled_(enabled),
        prefix_(runs > 1 ? fmt::format("[{}/{}] {}", run, runs, label) : label) {}
  ~ProgressLine() { Clear(); }

  void Show(const Progress& progress) {
    if (!enabled_) return;
    const double share =
        progress.flows_expected > 0
            ? std::min(1.0, static_cast<double>(progress.flows_done) / progress.flows_expected)
            : 0;
    std::string left = "?";
    if (share > 0.005) left = fmt::format("{:.0f} s", progress.seconds * (1 - share) / share);
    fmt::print(stderr,
               "\r{}  {:.3f} ms simulated, {} flows done ({:.0f} %), {:.1f} M packet-hops/s, {} "
               "left\033[K",
               prefix_, Seconds(progress.now - Time{}) * 1e3, progress.flows_done, 100 * share,
               static_cast<double>(progress.hops) / progress.seconds * 1e-6, left);
    std::fflush(stderr);
    shown_ = true;
  }

  void Clear() {
    if (shown_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
  }

 private:
  const bool enabled_;
  const std::string prefix_;
  bool shown_ = false;
};

struct Job {
  Experiment experiment;
  std::filesystem::path folder;
};

// Everything that is to be run; empty if anything is wrong with any of it.
std::vector<Job> LoadJobs(const RunArguments& arguments, Diagnostics& diagnostics) {
  std::vector<Job> jobs;
  std::set<std::filesystem::path> folders;
  for (const std::string& file : arguments.files) {
    for (Experiment& experiment :
         LoadExperiments(file, {arguments.sets, arguments.seed}, diagnostics)) {
      std::filesystem::path folder = arguments.out;
      if (arguments.out.empty()) {
        folder = std::filesystem::path("results") / experiment.settings.name;
        if (arguments.trace) folder += ".trace";
      }
      if (!arguments.out.empty() && arguments.files.size() > 1) folder /= experiment.settings.name;
      if (!experiment.label.empty()) folder /= experiment.label;
      if (!folders.insert(folder.lexically_normal()).second) {
        diagnostics.Error(
            {file, 0, 0}, "",
            fmt::format("two experiments would write to {}; give them names", folder.string()));
      }
      jobs.push_back({std::move(experiment), std::move(folder)});
    }
  }
  if (!diagnostics.ok()) jobs.clear();
  return jobs;
}

// What keeps `jobs` from being traced, if anything.
std::optional<std::string> ProblemWithTrace(const std::vector<Job>& jobs,
                                            const TraceSettings& trace) {
  if (jobs.size() == 1) return ProblemWith(trace, jobs.front().experiment.graph);
  const std::string& label = jobs.front().experiment.label;
  return fmt::format("a trace is of one run, and these are {}{}", jobs.size(),
                     label.empty() ? "" : "; choose one with --set, such as --set lb=ecmp");
}

// Points of a sweep whose results are there already are not run again.
void SkipFinished(std::vector<Job>& jobs) {
  const size_t skipped = std::erase_if(jobs, [](const Job& job) {
    return !job.experiment.label.empty() && HoldsResultsOf(job.experiment, job.folder);
  });
  if (skipped == 0) return;
  fmt::print(stderr, "heddle: {} runs of the sweep are complete; --force would repeat them\n",
             skipped);
}

bool IsTerminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

// Runs them one after the other, as far as they go; a row in `table` for each that is complete.
int RunJobs(const std::vector<Job>& jobs, const RunArguments& arguments,
            std::vector<TableRow>& table) {
  std::set<std::string> warned;  // The points of a sweep share most warnings.
  int exit_code = kExitDone;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    const std::string& label =
        job.experiment.label.empty() ? job.experiment.settings.name : job.experiment.label;
    ProgressLine line(!arguments.quiet && IsTerminal(), i + 1, jobs.size(), label);
    SimulationOptions options;
    options.threads = arguments.threads;
    options.progress = [&](const Progress& progress) { line.Show(progress); };
    options.stop = &stop_requested;
    if (arguments.trace) options.trace = &*arguments.trace;
    const RunOutcome outcome = RunToFolder(job.experiment, options, job.folder, arguments.force);
    line.Clear();
    if (outcome.status == RunOutcome::Status::kStopped) {
      fmt::print(stderr, "heddle: stopped; {} of {} runs are complete\n", i, jobs.size());
      return 128 + stop_signal;
    }
    if (outcome.status == RunOutcome::Status::kFailed) {
      fmt::print(stderr, "heddle: {}\n", outcome.error);
      return kExitFailed;
    }
    for (const std::string& warning : outcome.warnings) {
      if (arguments.quiet || !warned.insert(warning).second) continue;
      fmt::print(stderr, "{}: warning: {}\n", label, warning);
    }
    if (outcome.status == RunOutcome::Status::kIncomplete) {
      fmt::print(stderr,
                 "{}: measured flows are unfinished, or have not started, at the end of the run\n",
                 label);
      exit_code = kExitFailed;
    }
    table.push_back(outcome.row);
  }
  return exit_code;
}

}  // namespace

int Run(const RunArguments& arguments) {
  Diagnostics diagnostics;
  std::vector<Job> jobs = LoadJobs(arguments, diagnostics);
  if (!diagnostics.ok()) {
    fmt::print(stderr, "{}", diagnostics.Report());
    return kExitBadInput;
  }
  if (arguments.trace) {
    if (const auto problem = ProblemWithTrace(jobs, *arguments.trace)) {
      fmt::print(stderr, "heddle: {}\n", *problem);
      return kExitBadInput;
    }
  }
  if (!arguments.force && !arguments.trace) SkipFinished(jobs);
  // Before anything is simulated for nothing.
  for (const Job& job : jobs) {
    RunFolder folder(job.folder);
    if (folder.Open(arguments.force)) continue;
    fmt::print(stderr, "heddle: {}\n", folder.error());
    return std::filesystem::exists(job.folder) ? kExitBadInput : kExitFailed;
  }
  if (IsDebugBuild()) fmt::print(stderr, "heddle: this is a Debug build; expect it to be slow\n");
  InstallSignalHandlers();
  std::vector<TableRow> table;
  const int exit_code = RunJobs(jobs, arguments, table);
  if (!arguments.quiet && !table.empty()) {
    const std::filesystem::path where =
        jobs.size() == 1 ? jobs.front().folder : jobs.front().folder.parent_path();
    fmt::print("{}Results: {}\n", FormatTable(table), where.string());
  }
  return exit_code;
}

}  // namespace heddle
