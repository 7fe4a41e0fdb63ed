// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/failures.h"
#include "cli/guarded_run.h"
#include "cli/plugins.h"
#include "cli/stop_signals.h"
#include "cli/sweep_command.h"
#include "cli/text.h"
#include "core/check.h"
#include "experiment/experiment_file.h"
#include "experiment/manifest.h"
#include "experiment/run.h"
#include "experiment/run_folder.h"
#include "experiment/version.h"
#include "settings/status.h"
#include "study/sweep/child.h"

namespace heddle {
namespace {

// A progress line on the terminal, which is overwritten in place.
class ProgressLine {
 public:
  ProgressLine(size_t run, size_t runs, std::string label)
      : prefix_(runs > 1 ? fmt::format("[{}/{}] {}", run, runs, label) : label) {}
  ~ProgressLine() { Clear(); }

  void Show(const Progress& progress) {
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
  const std::string prefix_;
  bool shown_ = false;
};

struct PlannedRun {
  Experiment experiment;
  std::filesystem::path folder;
};

std::vector<ExperimentFile> ReadFiles(const RunArguments& arguments, Diagnostics& diagnostics) {
  std::vector<ExperimentFile> files;
  for (const std::string& path : arguments.files) {
    const LoadOptions options{arguments.sets, arguments.seed, arguments.scale,
                              /*one_seed=*/arguments.trace.has_value(),
                              arguments.plugins->digests()};
    auto file = ExperimentFile::Read(path, options, diagnostics);
    if (file) files.push_back(std::move(*file));
  }
  return files;
}

std::filesystem::path FolderOf(const ExperimentFile& file, const RunArguments& arguments) {
  if (arguments.out.empty()) {
    return std::filesystem::path("results") / (file.name() + (arguments.trace ? ".trace" : ""));
  }
  if (arguments.files.size() == 1) return arguments.out;
  return std::filesystem::path(arguments.out) / file.name();
}

void RefuseSharedFolders(const std::vector<ExperimentFile>& files, const RunArguments& arguments,
                         Diagnostics& diagnostics) {
  std::set<std::filesystem::path> folders;
  for (const ExperimentFile& file : files) {
    const std::filesystem::path folder = FolderOf(file, arguments);
    if (folders.insert(folder.lexically_normal()).second) continue;
    diagnostics.Error({file.source(), 0, 0}, "",
                      fmt::format("two experiments would write to {}; give them different names",
                                  folder.string()));
  }
}

// Loads the experiments of files without a sweep.
std::vector<PlannedRun> PlanRuns(const std::vector<ExperimentFile>& files,
                                 const RunArguments& arguments, Diagnostics& diagnostics) {
  std::vector<PlannedRun> runs;
  for (const ExperimentFile& file : files) {
    if (!file.is_sweep()) runs.push_back({file.Load(0, diagnostics), FolderOf(file, arguments)});
  }
  return runs;
}

// Simulates the runs one after the other; adds a row to `table` for each complete one.
int RunInTurn(const std::vector<PlannedRun>& runs, const RunArguments& arguments,
              std::vector<TableRow>& table) {
  std::set<std::string> warned;  // Several runs may have the same warnings.
  int exit_code = kExitDone;
  for (size_t i = 0; i < runs.size(); ++i) {
    const PlannedRun& planned = runs[i];
    const std::string& label = planned.experiment.settings.name;
    ProgressLine line(i + 1, runs.size(), label);
    SimulationOptions options;
    options.threads = arguments.threads;
    if (!arguments.quiet && IsTerminal()) {
      options.progress = [&](const Progress& progress) { line.Show(progress); };
    }
    options.stop = &StopRequested();
    std::optional<Tracer> tracer;
    if (arguments.trace) options.instruments.push_back(&tracer.emplace(*arguments.trace));
    const auto outcome = RunToFolder(planned.experiment, options, planned.folder, arguments.force);
    line.Clear();
    if (absl::IsCancelled(outcome.status())) {
      fmt::print(stderr, "heddle: stopped; {} of {} runs are complete\n", i, runs.size());
      return StoppedExitCode();
    }
    if (!outcome.ok()) {
      fmt::print(stderr, "heddle: {}\n", MessageOf(outcome.status()));
      return absl::IsInvalidArgument(outcome.status()) ? kExitBadInput : kExitFailed;
    }
    for (const std::string& warning : outcome->warnings) {
      if (arguments.quiet || !warned.insert(warning).second) continue;
      fmt::print(stderr, "{}: warning: {}\n", label, warning);
    }
    if (!outcome->complete) {
      fmt::print(
          stderr,
          "{}: some measured flows are unfinished, or have not started, at the end of the run\n",
          label);
      exit_code = kExitFailed;
    }
    table.push_back(outcome->row);
  }
  return exit_code;
}

// Names the runs without a result; the first one was running.
std::string NamesOf(const std::vector<PlannedRun>& runs) {
  const auto under_way = std::ranges::find_if(runs, [](const PlannedRun& planned) {
    return !std::filesystem::exists(planned.folder / kManifestFile);
  });
  return (under_way == runs.end() ? runs.back() : *under_way).experiment.settings.name;
}

// Returns true if the run would write into the folder of another point of a sweep. Such a folder is
// named by its experiment's id, so other results in it would be mistaken for that experiment's.
bool IsFolderOfAnotherPoint(const PlannedRun& planned) {
  std::filesystem::path folder = std::filesystem::absolute(planned.folder).lexically_normal();
  if (folder.filename().empty()) folder = folder.parent_path();  // "points/ID/".
  const std::filesystem::path points = folder.parent_path();
  return points.filename() == "points" &&
         std::filesystem::exists(points.parent_path() / "plan.csv") &&
         folder.filename() != planned.experiment.Id();
}

int RunAndPrint(const std::vector<PlannedRun>& runs, const RunArguments& arguments) {
  std::vector<TableRow> table;
  const int exit_code = RunInTurn(runs, arguments, table);
  if (!arguments.quiet && !table.empty()) {
    const std::filesystem::path where =
        runs.size() == 1 ? runs.front().folder : runs.front().folder.parent_path();
    fmt::print("{}Results: {}\n", FormatTable(table), where.string());
  }
  return exit_code;
}

// Simulates the runs in a second process. If a plug-in ends that one, this one reports it and
// tidies up.
int RunWithPlugins(const std::vector<PlannedRun>& runs, const RunArguments& arguments) {
  const auto work = [&] {
    return CatchAll([&] { return RunAndPrint(runs, arguments); }, NamesOf(runs),
                    "an exception came out of the simulation, probably from a plug-in");
  };
  const absl::StatusOr<Guarded> guarded = RunGuarded(work, /*patience=*/std::chrono::seconds(5));
  if (!guarded.ok()) return Fail(kExitFailed, guarded.status());
  const Guarded& run = *guarded;
  if (run.returned) return run.exit_code;
  for (const PlannedRun& planned : runs) RunFolder::RemoveLeftOvers(planned.folder);
  if (run.hung) {
    fmt::print(stderr, "heddle: stopped; the run did not react to the signal and was killed\n");
    return StoppedExitCode();
  }
  if (run.exit_code == kExitBrokenInvariant) return run.exit_code;  // The process has reported it.
  if (run.exit_code > 128) {
    const int signal = run.exit_code - 128;
    fmt::print(stderr, "heddle: {}: {} ended the run; there are no results; {}\n", NamesOf(runs),
               NameOfSignal(signal),
               signal == SIGKILL ? "was there too little memory?" : "does a plug-in crash?");
    return run.exit_code;
  }
  fmt::print(stderr,
             "heddle: {}: the process ended itself with exit code {} before there were results; "
             "does a plug-in call exit?\n",
             NamesOf(runs), run.exit_code);
  return kExitFailed;
}

int RunAll(const std::vector<PlannedRun>& runs, const RunArguments& arguments) {
  // Check first, before any simulation runs in vain.
  for (const PlannedRun& planned : runs) {
    if (IsFolderOfAnotherPoint(planned)) {
      fmt::print(stderr, "heddle: {} belongs to a point of a sweep; name another folder\n",
                 planned.folder.string());
      return kExitBadInput;
    }
    RunFolder folder(planned.folder);
    const absl::Status status = folder.Open(arguments.force);
    if (status.ok()) continue;
    fmt::print(stderr, "heddle: {}\n", MessageOf(status));
    return std::filesystem::exists(planned.folder) ? kExitBadInput : kExitFailed;
  }
  if (IsDebugBuild()) fmt::print(stderr, "heddle: this is a Debug build; expect it to be slow\n");
  CountStopSignals(/*patience=*/1);
  return !arguments.plugins->empty() && !IsDebugged() ? RunWithPlugins(runs, arguments)
                                                      : RunAndPrint(runs, arguments);
}

// Runs the points of a file as `heddle sweep` does.
int RunSweep(const ExperimentFile& file, const RunArguments& arguments) {
  SweepArguments sweep;
  sweep.out = FolderOf(file, arguments).string();
  sweep.threads = arguments.threads;
  sweep.force = arguments.force;
  sweep.quiet = arguments.quiet;
  sweep.plugins = arguments.plugins;
  return Sweep(file, sweep);
}

// Returns a value in one line, in the syntax of --set.
std::string InOneLine(const Value& value) {
  std::vector<std::string> parts;
  for (const Value& item : value.items) parts.push_back(InOneLine(item));
  for (const Value::Entry& entry : value.entries) {
    parts.push_back(fmt::format("{}: {}", entry.key, InOneLine(entry.value)));
  }
  if (value.kind == Value::Kind::kList) return fmt::format("[{}]", fmt::join(parts, ", "));
  if (value.kind == Value::Kind::kMap) return fmt::format("{{{}}}", fmt::join(parts, ", "));
  return value.text;
}

// Returns the values of `key` at all points, in their order, each once.
std::vector<std::string> ValuesOf(const Points& points, const std::string& key) {
  std::vector<std::string> values;
  std::set<std::string> known;
  for (size_t i = 0; i < points.size(); ++i) {
    const Value* value = points.ChoiceOf(i, key);
    std::string text = value == nullptr ? "" : InOneLine(*value);
    if (known.insert(text).second) values.push_back(std::move(text));
  }
  return values;
}

// Returns "--set lb=ecmp (or rps, drill)"; empty if all points have the same value.
std::string ChoiceFor(const Points& points, const std::string& key) {
  constexpr size_t kMostShown = 8;
  std::vector<std::string> others = ValuesOf(points, key);
  if (others.size() < 2) return "";
  const std::string first = others.front();
  others.erase(others.begin());
  if (others.size() > kMostShown) {
    const std::string more = fmt::format("{} more", others.size() - kMostShown);
    others.resize(kMostShown);
    others.push_back(more);
  }
  const bool is_plain = first.find_first_of(" {[\"'") == std::string::npos;
  const std::string option = key == "seed" ? "--seed " + first
                             : is_plain    ? fmt::format("--set {}={}", key, first)
                                           : fmt::format("--set '{}={}'", key, first);
  return fmt::format("{} (or {})", option, fmt::join(others, ", "));
}

std::string ProblemWithPoints(const Points& points) {
  std::vector<std::string> choices;
  for (const std::string& key : points.Axes()) {
    if (std::string choice = ChoiceFor(points, key); !choice.empty()) choices.push_back(choice);
  }
  return fmt::format(
      "a trace needs a single run, but this is a sweep of {} points; choose one with {}",
      points.size(), fmt::join(choices, " "));
}

// Traces the only point of the only file.
int RunTraced(const std::vector<ExperimentFile>& files, const RunArguments& arguments,
              Diagnostics& diagnostics) {
  std::vector<PlannedRun> runs;
  if (diagnostics.ok()) {
    if (files.size() > 1) return BadInput("a trace needs a single run; name one file");
    if (files.front().size() > 1) return BadInput(ProblemWithPoints(files.front().points()));
    runs.push_back({files.front().Load(0, diagnostics), FolderOf(files.front(), arguments)});
  }
  if (!diagnostics.ok()) return BadInput(diagnostics);
  const Experiment& experiment = runs.front().experiment;
  const std::optional<std::string> problem =
      ProblemWith(*arguments.trace, experiment.graph, experiment.forecasts);
  return problem ? BadInput(*problem) : RunAll(runs, arguments);
}

}  // namespace

int Run(const RunArguments& arguments) {
  Diagnostics diagnostics;
  const std::vector<ExperimentFile> files = ReadFiles(arguments, diagnostics);
  RefuseSharedFolders(files, arguments, diagnostics);
  if (arguments.trace) return RunTraced(files, arguments, diagnostics);
  const std::vector<PlannedRun> runs = PlanRuns(files, arguments, diagnostics);
  for (const ExperimentFile& file : files) {
    // A single sweep is checked later, when it is planned.
    if (file.is_sweep() && (files.size() > 1 || !diagnostics.ok())) file.Check(diagnostics);
  }
  if (!diagnostics.ok()) return BadInput(diagnostics);
  // Sweeps run first: their points run in copies of this process, which must not have threads yet.
  int exit_code = kExitDone;
  for (const ExperimentFile& file : files) {
    if (file.is_sweep()) exit_code = std::max(exit_code, RunSweep(file, arguments));
    if (StopRequested()) return exit_code;
  }
  if (runs.empty()) return exit_code;
  return std::max(exit_code, RunAll(runs, arguments));
}

}  // namespace heddle
