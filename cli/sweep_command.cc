// SPDX-License-Identifier: Apache-2.0

#include "cli/sweep_command.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "cli/commands.h"
#include "cli/failures.h"
#include "cli/options.h"
#include "cli/point_warnings.h"
#include "cli/program_path.h"
#include "cli/stop_signals.h"
#include "cli/text.h"
#include "experiment/version.h"
#include "settings/digest.h"
#include "settings/files.h"
#include "settings/number_text.h"
#include "settings/status.h"
#include "settings/wording.h"
#include "study/sweep/cost.h"
#include "study/sweep/left_overs.h"
#include "study/sweep/plan.h"
#include "study/sweep/result_row.h"
#include "study/sweep/runner.h"
#include "study/sweep/selection.h"
#include "study/sweep/sweep_folder.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxTableRows = 50;

// A Slurm task may see all cores of its node but own only some of them.
int UsableCores() {
  const char* of_task = std::getenv("SLURM_CPUS_PER_TASK");
  if (of_task != nullptr && std::atoi(of_task) > 0) return std::atoi(of_task);
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return CPU_COUNT(&cores);
}

int DefaultJobs(int threads) { return std::max(1, UsableCores() / threads); }

int JobsOf(const SweepArguments& arguments) {
  return arguments.jobs > 0 ? arguments.jobs : DefaultJobs(arguments.threads);
}

// Returns a number that Slurm gives to the tasks of a job array, or `otherwise` if it gives none.
absl::StatusOr<int64_t> SlurmNumber(const std::string& name,
                                    std::optional<int64_t> otherwise = std::nullopt) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr && otherwise) return *otherwise;
  if (value == nullptr) {
    return absl::FailedPreconditionError(
        fmt::format("{} is not set: this is not a task of a Slurm job array", name));
  }
  const auto number = NumberFrom<int64_t>(value);
  if (!number || *number < 0) {
    return absl::InvalidArgumentError(fmt::format("{}: {} is no number", name, value));
  }
  return *number;
}

// Returns the shard; "slurm" means this task's part of its job array.
absl::StatusOr<std::string> ShardText(const std::string& shard) {
  if (shard != "slurm") return shard;
  const auto id = SlurmNumber("SLURM_ARRAY_TASK_ID");
  if (!id.ok()) return id.status();
  const auto first = SlurmNumber("SLURM_ARRAY_TASK_MIN");
  if (!first.ok()) return first.status();
  const auto last = SlurmNumber("SLURM_ARRAY_TASK_MAX");
  if (!last.ok()) return last.status();
  // Slurm sets these two as well; a stand-in may not.
  const auto step = SlurmNumber("SLURM_ARRAY_TASK_STEP", /*otherwise=*/1);
  if (!step.ok()) return step.status();
  const int64_t each = std::max<int64_t>(*step, 1);
  const int64_t parts = (*last - *first) / each + 1;
  const auto count = SlurmNumber("SLURM_ARRAY_TASK_COUNT", /*otherwise=*/parts);
  if (!count.ok()) return count.status();
  if (*count != parts || *id < *first || *id > *last || (*id - *first) % each != 0) {
    return absl::InvalidArgumentError(
        "--shard slurm needs a job array of evenly spaced tasks, such as --array=1-8: each takes a "
        "part by its place between the first and the last");
  }
  return fmt::format("{}/{}", (*id - *first) / each + 1, parts);
}

absl::StatusOr<std::vector<size_t>> Select(const SweepArguments& arguments, size_t count) {
  if (!arguments.only.empty()) return ParseNumbers(arguments.only, count);
  if (!arguments.shard.empty()) {
    const auto shard = ShardText(arguments.shard);
    return shard.ok() ? ParseShard(*shard, count) : shard.status();
  }
  std::vector<size_t> all(count);
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

bool IsPart(const SweepArguments& arguments) {
  return !arguments.only.empty() || !arguments.shard.empty();
}

// Returns the existing plan if it agrees with `file` at the `selected` points. So tasks of a large
// sweep need not look at all its points.
std::optional<Plan> PlanThere(const ExperimentFile& file, const SweepFolder& folder,
                              const std::vector<size_t>& selected) {
  absl::StatusOr<Plan> plan = folder.ReadPlan();
  if (!plan.ok() || plan->points.size() != file.size()) return std::nullopt;
  Diagnostics diagnostics;
  for (const size_t point : selected) {
    if (PlanPoint(file, point, diagnostics) != plan->points[point]) return std::nullopt;
  }
  return *std::move(plan);
}

// Results of points that are not in `plan` stay, but tables made from them are removed, so that
// nobody takes them for tables of `plan`.
void LeaveOldPlan(const SweepFolder& folder, const Plan& old, const Plan& plan) {
  std::set<std::string> gone;
  for (const PlannedPoint& point : old.points) gone.insert(point.id);
  for (const PlannedPoint& point : plan.points) gone.erase(point.id);
  folder.RemoveTables();
  if (gone.empty()) return;
  fmt::print(stderr,
             "heddle: {} had another plan; {} of its {} {} not in the new plan, but {} kept "
             "in points/; the old tables and report are removed\n",
             folder.path().string(), gone.size(), CountedNoun(old.points.size(), "point"),
             gone.size() == 1 ? "is" : "are", gone.size() == 1 ? "is" : "are");
}

// Returns an error if points that are run by their numbers are not in the plan of the folder:
// `collect` would not see them. A task of a job array may have waited while the plan grew.
absl::Status CheckAreIn(const Plan& there, const Plan& plan, const std::vector<size_t>& selected,
                        const SweepFolder& folder) {
  std::set<std::string> ids;
  for (const PlannedPoint& point : there.points) ids.insert(point.id);
  for (const size_t point : selected) {
    if (ids.contains(plan.points[point].id)) continue;
    return absl::InvalidArgumentError(fmt::format(
        "{} has the plan of another sweep, without point {} ({}) of this one; to replace the plan, "
        "run the whole sweep, its shards, or --slurm; or name another folder with --out",
        folder.path().string(), point + 1, plan.points[point].label));
  }
  return absl::OkStatus();
}

// Points that are run by their numbers do not replace the plan of the whole. Shards do: together
// they are the whole.
absl::Status WritePlan(const ExperimentFile& file, const SweepFolder& folder, const Plan& plan,
                       const std::vector<size_t>& selected, bool by_number) {
  if (absl::Status status = folder.Make(); !status.ok()) return status;
  const absl::StatusOr<Plan> there = folder.ReadPlan();
  if (there.ok() && *there == plan) return absl::OkStatus();
  if (there.ok() && by_number) return CheckAreIn(*there, plan, selected, folder);
  if (there.ok()) LeaveOldPlan(folder, *there, plan);
  return folder.WritePlan(file, plan);
}

std::vector<PointReport> InspectAll(const SweepFolder& folder, const Plan& plan) {
  std::vector<PointReport> reports;
  for (const PlannedPoint& point : plan.points) reports.push_back(folder.Inspect(point.id));
  return reports;
}

bool IsToRun(PointState state, const SweepArguments& arguments) {
  switch (state) {
    case PointState::kMissing:
    case PointState::kRunning:
    case PointState::kDamaged:
      return true;
    case PointState::kFailed:
      return arguments.retry_failed || arguments.force;
    case PointState::kStale:
      return arguments.replace_stale || arguments.force;
    case PointState::kDone:
    case PointState::kIncomplete:
      break;
  }
  return arguments.force;
}

// Returns a text such as "3 done, 1 failed".
std::string CountsText(const std::vector<PointReport>& reports, const std::vector<size_t>& points) {
  std::map<PointState, size_t> counts;
  for (const size_t point : points) ++counts[reports[point].state];
  std::string text;
  for (const auto& [state, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, NameOf(state));
  }
  return text;
}

// Prints the points that have failed or are unusable.
void PrintFailures(const SweepFolder& folder, const Plan& plan,
                   const std::vector<PointReport>& reports, const std::vector<size_t>& points) {
  for (const size_t point : points) {
    const PointReport& report = reports[point];
    const std::string start = fmt::format("  {} {}", point + 1, plan.points[point].label);
    if (report.state == PointState::kFailed) {
      const std::string message =
          report.message.substr(0, report.message.find_last_not_of('\n') + 1);
      fmt::print(stderr, "{}: failed with {}{}{}\n", start, report.status,
                 message.empty() ? "" : ": ", message);
    } else if (report.state == PointState::kIncomplete) {
      fmt::print(
          stderr,
          "{}: some measured flows are unfinished, or have not started, at the end of the run\n",
          start);
    } else if (report.state == PointState::kDamaged) {
      fmt::print(stderr, "{}: damaged; \"heddle verify {}\" prints the damage\n", start,
                 QuoteShell(folder.PointPath(plan.points[point].id).string()));
    }
  }
  const auto stale = std::ranges::find_if(
      points, [&](size_t point) { return reports[point].state == PointState::kStale; });
  if (stale == points.end()) return;
  fmt::print(stderr,
             "  Stale results are of another version of Heddle, such as {}; --replace-stale runs "
             "their points again\n",
             reports[*stale].version);
}

// --- --dry-run and status ---

void PrintList(const Plan& plan, const std::vector<PointReport>& reports,
               const std::vector<size_t>& points, const CostModel& cost) {
  fmt::print("{:>7}  {:16}  {:10}  {:>20}  {:>8}  {}\n", "point", "id", "state", "time", "memory",
             "");
  for (const size_t i : points) {
    const PlannedPoint& point = plan.points[i];
    const PointReport& report = reports[i];
    const bool has_result = report.run_seconds > 0;
    fmt::print(
        "{:>7}  {:16}  {:10}  {:>20}  {:>8}  {}\n", i + 1, point.id, NameOf(report.state),
        has_result ? fmt::format("{:.1f} s", report.run_seconds) : AboutTime(cost.Seconds(point)),
        AboutBytes(has_result ? report.memory_bytes : cost.MemoryBytes(point)), point.label);
  }
}

void PrintTotals(const Plan& plan, const std::vector<PointReport>& reports,
                 const std::vector<size_t>& points, const CostModel& cost, int jobs) {
  double seconds = 0;
  double memory = 0;
  for (const size_t i : points) {
    const PointState state = reports[i].state;
    if (state != PointState::kMissing && state != PointState::kRunning &&
        state != PointState::kDamaged) {
      continue;
    }
    seconds += cost.Seconds(plan.points[i]);
    memory = std::max(memory, cost.MemoryBytes(plan.points[i]));
  }
  fmt::print("{}: {}\n", CountedNoun(points.size(), "point"), CountsText(reports, points));
  if (seconds == 0) return;
  fmt::print("To do: {} on one core, {} with {} at once, about {} of memory each; {}\n",
             AboutTime(seconds), AboutTime(seconds / jobs), CountedNoun(jobs, "point"),
             AboutBytes(memory),
             cost.measured > 0 ? "estimated from " + CountedNoun(cost.measured, "finished point")
                               : "estimated from packets, flows and the speed of this machine");
}

// --- Slurm ---

// Returns the command of a task, without its points. It reads a copy of the document, so that later
// changes to the file do not affect waiting tasks.
absl::StatusOr<std::string> TaskCommand(const ExperimentFile& file, const SweepFolder& folder,
                                        const SweepArguments& arguments) {
  const std::string text = file.Text();
  const fs::path document = folder.path() / "slurm" / fmt::format("{:016x}.yaml", Digest(text));
  std::error_code failed;
  fs::create_directories(document.parent_path(), failed);
  if (failed) return FileStatus(failed.value(), document.parent_path().string());
  if (absl::Status status = WriteWholeFile(document, text); !status.ok()) return status;
  const fs::path program = ProgramPath();
  if (program.empty()) return absl::NotFoundError("the path of this program cannot be found out");
  std::vector<std::string> words = {program.string(),
                                    "sweep",
                                    fs::absolute(document).string(),
                                    "--out",
                                    fs::absolute(folder.path()).string(),
                                    "--quiet",
                                    "--jobs",
                                    fmt::format("{}", arguments.slurm_settings.jobs),
                                    "--threads",
                                    fmt::format("{}", arguments.threads)};
  if (arguments.retry_failed) words.emplace_back("--retry-failed");
  if (arguments.replace_stale) words.emplace_back("--replace-stale");
  if (arguments.force) words.emplace_back("--force");
  for (const std::string& plugin : arguments.plugins->files()) {
    words.insert(words.end(), {"--plugin", fs::absolute(plugin).string()});
  }
  for (std::string& word : words) word = QuoteShell(word);
  return absl::StrJoin(words, " ");
}

int SubmitScript(const std::string& script) {
  std::fflush(stdout);
  std::FILE* sbatch = popen("sbatch", "w");
  if (sbatch == nullptr) return Fail(kExitFailed, "sbatch cannot be started");
  const bool written = std::fwrite(script.data(), 1, script.size(), sbatch) == script.size();
  const int status = pclose(sbatch);
  if (written && status == 0) return kExitDone;
  return Fail(kExitFailed, "sbatch failed; nothing was submitted");
}

int PrintOrSubmit(const ExperimentFile& file, const SweepFolder& folder, const Plan& plan,
                  const std::vector<size_t>& points, const CostModel& cost,
                  const SweepArguments& arguments) {
  if (points.empty()) return Fail(kExitDone, "no point is missing; there is nothing to submit");
  SlurmSettings settings = arguments.slurm_settings;
  settings.task_seconds = arguments.task_minutes * 60;
  settings.threads = arguments.threads;
  const auto command = TaskCommand(file, folder, arguments);
  if (!command.ok()) return Fail(kExitFailed, command.status());
  const std::string script =
      WriteSlurmScript({.name = file.name(),
                        .program = *command,
                        .log_path = (fs::absolute(folder.path()) / "slurm" / "%A_%a.log").string()},
                       plan, PackTasks(plan, points, cost, settings), cost, settings);
  if (arguments.submit) return SubmitScript(script);
  fmt::print("{}", script);
  return kExitDone;
}

// --- Running ---

// A progress line on the terminal, which is overwritten in place.
class SweepLine {
 public:
  SweepLine(bool enabled, const std::string& title)
      : enabled_(enabled), start_(title.empty() ? "" : title + ": ") {}
  ~SweepLine() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

  void Show(const RunnerProgress& progress) {
    if (!enabled_) return;
    std::string left = "?";
    if (progress.share > 0.002) {
      left = AboutTime(progress.seconds * (1 - progress.share) / progress.share);
    }
    const std::string failed =
        progress.failed > 0 ? fmt::format(", {} failed", progress.failed) : "";
    fmt::print(stderr, "\r{}{} of {} done{}, {} running, {:.0f} % of the work, {} left\033[K",
               start_, progress.done, CountedNoun(progress.all, "point"), failed,
               progress.running.size(), 100 * progress.share, left);
    std::fflush(stderr);
    shown_ = true;
  }

 private:
  const bool enabled_;
  const std::string start_;
  bool shown_ = false;
};

// Prints a table of the points that have results.
void PrintTable(const SweepFolder& folder, const Plan& plan, const std::vector<size_t>& points) {
  std::vector<TableRow> rows;
  if (points.size() <= kMaxTableRows) {
    for (const size_t point : points) {
      auto row = ReadTableRow(folder.PointPath(plan.points[point].id), plan.points[point].label);
      if (row.ok()) rows.push_back(*std::move(row));
    }
  }
  if (rows.empty() && points.size() > kMaxTableRows) {
    fmt::print("{} points are too many for a table; see heddle collect and compare\n",
               points.size());
  }
  fmt::print("{}Results: {}\n", FormatTable(rows), folder.path().string());
}

// Prints which points are not run, and why, and which are run again.
void SayWhatIsThere(const std::vector<PointReport>& reports, const std::vector<size_t>& selected,
                    const std::vector<size_t>& to_run) {
  std::map<PointState, size_t> kept;
  for (const size_t point : selected) ++kept[reports[point].state];
  for (const size_t point : to_run) --kept[reports[point].state];
  const size_t failed = kept[PointState::kFailed];
  const size_t stale = kept[PointState::kStale];
  const size_t there = selected.size() - to_run.size() - failed - stale;
  const auto damaged = std::ranges::count_if(
      to_run, [&](size_t point) { return reports[point].state == PointState::kDamaged; });
  std::string text =
      fmt::format("{} of {} {} results already", there, CountedNoun(selected.size(), "point"),
                  selected.size() == 1 ? "has" : "have");
  if (failed > 0) {
    text += fmt::format("; {} failed before and {} not tried again (use --retry-failed)", failed,
                        failed == 1 ? "is" : "are");
  }
  if (stale > 0) {
    text +=
        fmt::format("; {} {} of another version of Heddle and not run again (use --replace-stale)",
                    stale, stale == 1 ? "is" : "are");
  }
  if (damaged > 0) {
    text += fmt::format("; {} {} damaged and run again", damaged, damaged == 1 ? "is" : "are");
  }
  fmt::print(stderr, "heddle: {}\n", text);
}

int RunHere(const ExperimentFile& file, const SweepFolder& folder, const Plan& plan,
            std::vector<PointReport>& reports, const std::vector<size_t>& selected,
            const std::vector<size_t>& to_run, const SweepArguments& arguments) {
  if (to_run.size() < selected.size() && !arguments.quiet && arguments.title.empty()) {
    SayWhatIsThere(reports, selected, to_run);
  }
  if (IsDebugBuild() && !to_run.empty()) {
    fmt::print(stderr, "heddle: this is a Debug build; expect it to be slow\n");
  }
  if (!to_run.empty() && folder.RemoveTables()) {
    fmt::print(stderr,
               "heddle: removed tables and report from {}, as more points will have results\n",
               folder.path().string());
  }
  RemoveLeftOvers(folder.path());
  RemoveLeftOvers(folder.path() / "points");
  CountStopSignals(/*patience=*/2);
  SweepLine line(!arguments.quiet && IsTerminal(), arguments.title);
  std::vector<size_t> ended;
  RunnerOptions options;
  options.jobs = JobsOf(arguments);
  options.threads = arguments.threads;
  options.replace = arguments.force || arguments.replace_stale;
  options.has_plugins = !arguments.plugins->files().empty();
  options.stops = &StopSignals();
  options.progress = [&](const RunnerProgress& progress) { line.Show(progress); };
  options.ended = [&](size_t point, const PointReport& report) {
    reports[point] = report;
    ended.push_back(point);
  };
  const absl::Status status = RunPoints(file, plan, to_run, folder, options);
  // `heddle collect` may have made tables of the points that there were meanwhile.
  if (!ended.empty()) folder.RemoveTables();
  if (!status.ok()) {
    return Fail(kExitFailed, fmt::format("{}; stopped with {}", MessageOf(status),
                                         CountsText(reports, selected)));
  }
  std::ranges::sort(ended);
  if (!arguments.quiet) PrintPointWarnings(folder, plan, ended);
  if (StopRequested()) {
    fmt::print(stderr, "heddle: stopped; {}\n", CountsText(reports, selected));
    return StoppedExitCode();
  }
  return kExitDone;
}

int Report(const SweepFolder& folder, const Plan& plan, const std::vector<PointReport>& reports,
           const std::vector<size_t>& selected, const SweepArguments& arguments) {
  const bool all_done = std::ranges::all_of(
      selected, [&](size_t point) { return reports[point].state == PointState::kDone; });
  if (!all_done) {
    const std::string start = arguments.title.empty() ? "heddle" : arguments.title;
    fmt::print(stderr, "{}: {}: {}\n", start, CountedNoun(selected.size(), "point"),
               CountsText(reports, selected));
    PrintFailures(folder, plan, reports, selected);
  }
  if (!arguments.quiet && arguments.title.empty()) PrintTable(folder, plan, selected);
  return all_done ? kExitDone : kExitFailed;
}

int Status(const std::string& out) {
  const SweepFolder folder{fs::path(out)};
  const absl::StatusOr<Plan> plan = folder.ReadPlan();
  if (!plan.ok()) return BadInput(plan.status());
  const std::vector<PointReport> reports = InspectAll(folder, *plan);
  std::vector<size_t> all(plan->points.size());
  std::iota(all.begin(), all.end(), size_t{0});
  const CostModel cost = CostModelOf(*plan, reports);
  PrintList(*plan, reports, all, cost);
  PrintTotals(*plan, reports, all, cost, DefaultJobs(/*threads=*/1));
  PrintFailures(folder, *plan, reports, all);
  return kExitDone;
}

int SweepFile(const SweepArguments& arguments) {
  Diagnostics diagnostics;
  const auto file = ExperimentFile::Read(arguments.file,
                                         {arguments.sets, arguments.seed, arguments.scale,
                                          /*one_seed=*/false, arguments.plugins->digests()},
                                         diagnostics);
  if (diagnostics.ok()) return Sweep(*file, arguments);
  if (file) file->Check(diagnostics);
  return BadInput(diagnostics);
}

}  // namespace

int Sweep(const ExperimentFile& file, const SweepArguments& arguments) {
  const SweepFolder folder(arguments.out.empty() ? fs::path("results") / file.name()
                                                 : fs::path(arguments.out));
  const auto selected = Select(arguments, file.size());
  if (!selected.ok()) return BadInput(selected.status());
  Diagnostics diagnostics;
  std::optional<Plan> plan;
  if (IsPart(arguments)) plan = PlanThere(file, folder, *selected);
  if (!plan) plan = MakePlan(file, diagnostics);
  if (!diagnostics.ok()) return BadInput(diagnostics);
  std::vector<PointReport> reports(plan->points.size());
  for (const size_t point : *selected) reports[point] = folder.Inspect(plan->points[point].id);
  const CostModel cost = CostModelOf(*plan, reports);
  if (arguments.dry_run) {
    PrintList(*plan, reports, *selected, cost);
    PrintTotals(*plan, reports, *selected, cost, JobsOf(arguments));
    return kExitDone;
  }
  if (folder.IsRun()) {
    return Fail(kExitBadInput,
                fmt::format("{} has the results of a single run; name another folder for the sweep",
                            folder.path().string()));
  }
  const absl::Status written =
      WritePlan(file, folder, *plan, *selected, /*by_number=*/!arguments.only.empty());
  if (absl::IsInvalidArgument(written)) return BadInput(written);
  if (!written.ok()) return Fail(kExitFailed, written);
  std::vector<size_t> to_run;
  std::ranges::copy_if(*selected, std::back_inserter(to_run),
                       [&](size_t point) { return IsToRun(reports[point].state, arguments); });
  if (arguments.slurm) return PrintOrSubmit(file, folder, *plan, to_run, cost, arguments);
  const int exit_code = RunHere(file, folder, *plan, reports, *selected, to_run, arguments);
  if (exit_code != kExitDone) return exit_code;
  return Report(folder, *plan, reports, *selected, arguments);
}

void AddSweepCommand(CLI::App& app, const Plugins& plugins, std::function<int()>& command) {
  CLI::App* sweep = app.add_subcommand("sweep", "Run every point of a sweep, here or on a cluster");
  const auto arguments = std::make_shared<SweepArguments>();
  arguments->plugins = &plugins;
  SweepArguments& a = *arguments;
  CLI::Option* file =
      sweep->add_option("file", a.file, "Experiment with a sweep (YAML)")->type_name("FILE");
  AddSetOption(*sweep, a.sets);
  sweep->add_option("--seed", a.seed, "Override the seed")
      ->type_name("N")
      ->check(CLI::Range(std::numeric_limits<int64_t>::max()));
  sweep->add_option("--scale", a.scale, "Name of a scale that the file defines")
      ->type_name("NAME")
      ->capture_default_str();
  sweep
      ->add_option("-o,--out", a.out,
                   "Folder of the sweep (default: results/ and the experiment's name)")
      ->type_name("DIR")
      ->check(NotEmpty)
      ->check(NoFileInPlace);
  sweep
      ->add_option("--jobs", a.jobs, "Number of points to run at once (default: one for each core)")
      ->check(CLI::Range(1, 4096));
  sweep->add_option("-j,--threads", a.threads, "Threads of each simulation")
      ->envname("HEDDLE_THREADS")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  CLI::Option* only =
      sweep->add_option("--only", a.only, "Run only these points, by number, such as 3,7-9")
          ->type_name("LIST")
          ->check(NotEmpty);
  sweep
      ->add_option("--shard", a.shard,
                   "Run only the I-th of N parts; slurm: the part of this task of a job array")
      ->type_name("I/N")
      ->check(NotEmpty)
      ->excludes(only);
  CLI::Option* dry_run = sweep->add_flag("--dry-run", a.dry_run,
                                         "List the points with their expected time and memory");
  sweep->add_flag("--retry-failed", a.retry_failed, "Also run points that failed before");
  sweep->add_flag("--replace-stale", a.replace_stale,
                  "Also run points with results of another version of Heddle");
  sweep->add_flag("--force", a.force, "Run all points again and replace their results");
  sweep->add_flag("-q,--quiet", a.quiet,
                  "Print no progress, table or warnings; summary.json has the warnings");
  CLI::Option* slurm =
      sweep
          ->add_flag("--slurm", a.slurm, "Print a Slurm job array for the points that are not done")
          ->excludes(dry_run);
  sweep->add_flag("--submit", a.submit, "Submit the job array with sbatch instead of printing it")
      ->needs(slurm);
  sweep->add_option("--task-minutes", a.task_minutes, "Target duration of each task, in minutes")
      ->needs(slurm)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sweep->add_option("--max-tasks", a.slurm_settings.max_tasks, "Maximum number of tasks")
      ->needs(slurm)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sweep
      ->add_option("--sbatch", a.slurm_settings.options,
                   "An option for sbatch, such as --sbatch=--partition=long; repeatable")
      ->needs(slurm)
      ->type_name("OPTION")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  const auto out = std::make_shared<std::string>();
  CLI::App* status = sweep->add_subcommand("status", "Print the state of each point of a sweep");
  status->add_option("folder", *out, "Folder of the sweep")->required()->type_name("DIR");
  status->callback([&command, out] { command = [out] { return Status(*out); }; });
  sweep->callback([&command, arguments, sweep, file] {
    if (!sweep->get_subcommands().empty()) return;
    if (file->count() == 0) throw CLI::RequiredError("file");
    if (arguments->slurm && arguments->jobs > 0) arguments->slurm_settings.jobs = arguments->jobs;
    command = [arguments] { return SweepFile(*arguments); };
  });
}

}  // namespace heddle
