// SPDX-License-Identifier: Apache-2.0

#include "cli/papers_command.h"

#include <absl/status/statusor.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cli/commands.h"
#include "cli/failures.h"
#include "cli/options.h"
#include "cli/shared_files.h"
#include "cli/stop_signals.h"
#include "cli/sweep_command.h"
#include "cli/text.h"
#include "experiment/estimate.h"
#include "settings/files.h"
#include "settings/status.h"
#include "settings/wording.h"
#include "study/papers/bench_run.h"
#include "study/papers/costs.h"
#include "study/papers/experiment_points.h"
#include "study/papers/judged_paper.h"
#include "study/papers/papers_output.h"
#include "study/sweep/left_overs.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

struct PapersArguments {
  std::vector<std::string> names;  // "pdlb", "pdlb-fig7"; none: all.
  std::string configs;
  LoadOptions load;  // The scale, and settings that differ from the experiments' own.
  std::string out = "results/papers";
  SweepArguments sweep;  // For each experiment.
  bool markdown = false;
  bool csv = false;
  bool with_stale = false;
  std::string check;

  fs::path folder() const { return fs::path(out) / load.scale; }
};

// A paper, and the chosen ones of its experiments.
struct ChosenPaper {
  Paper paper;
  std::set<std::string> experiments;
};

// --- Which papers ---

// Returns the papers in `folder` that are asked for, as far as they can be read.
std::vector<Paper> ReadPapers(const fs::path& folder, const std::vector<std::string>& names,
                              Diagnostics& diagnostics) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (fs::exists(entry.path() / "claims.yaml")) folders.push_back(entry.path());
  }
  if (error) diagnostics.Error({folder.string(), 0, 0}, "", error.message());
  std::ranges::sort(folders);
  const auto is_asked_for = [&](const std::string& id) {
    return names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
             return name == id || name.starts_with(id + "-");
           });
  };
  std::vector<Paper> papers;
  for (const fs::path& of_paper : folders) {
    if (!is_asked_for(of_paper.filename().string())) continue;
    if (auto paper = ReadPaper(of_paper, diagnostics)) papers.push_back(std::move(*paper));
  }
  return papers;
}

// Chooses the experiments that `name` means: all of a paper, or one of them. Returns false if there
// are none.
bool Choose(const std::string& name, std::vector<ChosenPaper>& papers) {
  bool found = false;
  for (ChosenPaper& chosen : papers) {
    for (const PaperExperiment& experiment : chosen.paper.experiments) {
      if (name != chosen.paper.id && name != chosen.paper.id + "-" + experiment.id) continue;
      chosen.experiments.insert(experiment.id);
      found = true;
    }
  }
  return found;
}

std::vector<std::string> KnownNames(const std::vector<ChosenPaper>& papers) {
  std::vector<std::string> names;
  for (const ChosenPaper& chosen : papers) {
    names.push_back(chosen.paper.id);
    for (const PaperExperiment& experiment : chosen.paper.experiments) {
      names.push_back(chosen.paper.id + "-" + experiment.id);
    }
  }
  return names;
}

// Checks all papers before anything runs. Returns nothing, and sets `exit_code`, if there is a
// mistake.
std::optional<std::vector<ChosenPaper>> ChosenPapers(const PapersArguments& arguments,
                                                     int& exit_code) {
  const auto shared = arguments.configs.empty() ? FindShared("configs/papers")
                                                : std::optional<fs::path>(arguments.configs);
  if (!shared) {
    exit_code = BadInput(
        "this program comes without the folder configs/papers; name the folder of papers with "
        "--configs");
    return std::nullopt;
  }
  Diagnostics diagnostics;
  std::vector<ChosenPaper> papers;
  for (Paper& paper : ReadPapers(*shared, arguments.names, diagnostics)) {
    papers.push_back({std::move(paper), {}});
  }
  if (!diagnostics.ok()) {
    exit_code = BadInput(diagnostics);
    return std::nullopt;
  }
  std::vector<std::string> names = arguments.names;
  if (names.empty()) {
    for (const ChosenPaper& chosen : papers) names.push_back(chosen.paper.id);
  }
  for (const std::string& name : names) {
    if (Choose(name, papers)) continue;
    std::vector<ChosenPaper> known;
    for (Paper& paper : ReadPapers(*shared, {}, diagnostics))
      known.push_back({std::move(paper), {}});
    exit_code = BadInput(fmt::format("no paper or experiment is called \"{}\"{}", name,
                                     Suggestion(name, KnownNames(known))));
    return std::nullopt;
  }
  for (const ChosenPaper& chosen : papers) {
    CheckPaper(chosen.paper, chosen.experiments, diagnostics);
  }
  if (diagnostics.ok()) return papers;
  exit_code = BadInput(diagnostics);
  return std::nullopt;
}

// --- heddle papers list ---

// Returns the seconds that one core needs for all points. Points that differ only in their seed
// take equally long.
double SecondsOf(const ExperimentFile& file, Diagnostics& diagnostics) {
  std::map<std::vector<std::string>, double> seconds;  // By choices, without the seed.
  double sum = 0;
  for (size_t i = 0; i < file.size(); ++i) {
    std::vector<std::string> choices;
    for (const auto& [axis, label] : file.points().ChoicesOf(i)) {
      if (axis != "seed") choices.push_back(label);
    }
    const auto [entry, is_new] = seconds.try_emplace(choices, 0);
    if (is_new) entry->second = PlanPoint(file, i, diagnostics).work * SecondsPerWork();
    sum += entry->second;
  }
  return sum;
}

// Returns a text such as "96 points, about 3 min".
std::string CostText(const PaperExperiment& experiment, const LoadOptions& load, double& seconds,
                     Diagnostics& diagnostics) {
  if (experiment.bench) return "a benchmark of this machine";
  if (!experiment.from.empty()) return fmt::format("from {}", fmt::join(experiment.from, ", "));
  Diagnostics problems;
  const auto file = ExperimentFile::Read(experiment.file.string(), load, problems);
  const double of_this = file ? SecondsOf(*file, problems) : 0;
  TakeProblems(experiment, load, problems, diagnostics);
  if (!problems.ok()) return "";
  seconds += of_this;
  return fmt::format("{}, {}", CountedNoun(file->size(), "point"), AboutTime(of_this));
}

int ListPapers(const PapersArguments& arguments) {
  int exit_code = kExitDone;
  const auto papers = ChosenPapers(arguments, exit_code);
  if (!papers) return exit_code;
  for (const ChosenPaper& chosen : *papers) {
    Diagnostics diagnostics;
    double seconds = 0;
    std::set<fs::path> counted;  // Experiments that share a file run once.
    std::string lines;
    for (const PaperExperiment& experiment : chosen.paper.experiments) {
      if (!chosen.experiments.contains(experiment.id)) continue;
      const bool again = !experiment.file.empty() && !counted.insert(experiment.file).second;
      const std::string cost = again ? fmt::format("as {}", experiment.file.filename().string())
                                     : CostText(experiment, arguments.load, seconds, diagnostics);
      lines += fmt::format("  {:20} {:3} claims  {:28} {}\n", chosen.paper.id + "-" + experiment.id,
                           experiment.claims.size(), cost, experiment.about);
    }
    if (!diagnostics.ok()) return BadInput(diagnostics);
    fmt::print("{}: {}\n{}  scale {}: {} of one core\n\n", chosen.paper.name, chosen.paper.title,
               lines, arguments.load.scale, AboutTime(seconds));
  }
  return kExitDone;
}

// --- heddle papers run ---

struct PaperJob {
  const Paper* paper;
  const PaperExperiment* experiment;
};

// Returns the experiments that have points of their own, one for each file.
std::vector<PaperJob> JobsOf(const std::vector<ChosenPaper>& papers) {
  std::vector<PaperJob> jobs;
  std::set<std::pair<std::string, fs::path>> known;
  const auto add = [&](const Paper& paper, const PaperExperiment& experiment) {
    const fs::path folder = FolderOf(paper, experiment, "").path();
    if (known.emplace(paper.id, folder).second) jobs.push_back({&paper, &experiment});
  };
  for (const ChosenPaper& chosen : papers) {
    for (const PaperExperiment& experiment : chosen.paper.experiments) {
      if (!chosen.experiments.contains(experiment.id)) continue;
      if (experiment.from.empty()) add(chosen.paper, experiment);
      for (const std::string& id : experiment.from) add(chosen.paper, *chosen.paper.Find(id));
    }
  }
  return jobs;
}

int RunBenchJob(const PaperJob& job, const ExperimentPoints& points, const std::string& title,
                const PapersArguments& arguments) {
  const bool shows = !arguments.sweep.quiet && IsTerminal();
  BenchRunOptions options;
  options.replace = arguments.sweep.force || arguments.sweep.replace_stale;
  options.stop = [] { return StopRequested().load(); };
  options.progress = [&](size_t done, size_t all) {
    if (!shows) return;
    fmt::print(stderr, "\r{}: {} of {} measured\033[K", title, done, all);
    std::fflush(stderr);
  };
  CountStopSignals(/*patience=*/2);
  const absl::Status status = RunBench(points, options);
  if (shows) fmt::print(stderr, "\r\033[K");
  if (!status.ok()) {
    return Fail(kExitFailed,
                fmt::format("{}-{}: {}", job.paper->id, job.experiment->id, MessageOf(status)));
  }
  return StopRequested() ? StoppedExitCode() : kExitDone;
}

// Returns the files of all jobs after checking every point; mistakes are in the diagnostics.
std::vector<ExperimentFile> FilesOf(const std::vector<PaperJob>& jobs, const LoadOptions& load,
                                    Diagnostics& diagnostics) {
  std::vector<ExperimentFile> files;
  for (const PaperJob& job : jobs) {
    if (job.experiment->bench) {
      CheckBench(*job.experiment, diagnostics);
      continue;
    }
    Diagnostics problems;
    auto file = ExperimentFile::Read(job.experiment->file.string(), load, problems);
    if (file) file->Check(problems);
    TakeProblems(*job.experiment, load, problems, diagnostics);
    if (file) files.push_back(std::move(*file));
  }
  return files;
}

int RunPapers(const PapersArguments& arguments) {
  int exit_code = kExitDone;
  const auto papers = ChosenPapers(arguments, exit_code);
  if (!papers) return exit_code;
  const std::vector<PaperJob> jobs = JobsOf(*papers);
  Diagnostics diagnostics;
  const std::vector<ExperimentFile> files = FilesOf(jobs, arguments.load, diagnostics);
  if (!diagnostics.ok()) return BadInput(diagnostics);
  auto file = files.begin();
  for (size_t i = 0; i < jobs.size(); ++i) {
    const PaperJob& job = jobs[i];
    const std::string title =
        fmt::format("[{}/{}] {}-{}", i + 1, jobs.size(), job.paper->id, job.experiment->id);
    int code = kExitDone;
    if (job.experiment->bench) {
      const auto points = ExperimentPoints::Load(*job.paper, *job.experiment, arguments.load,
                                                 arguments.folder(), diagnostics);
      code = RunBenchJob(job, *points, title, arguments);
    } else {
      SweepArguments sweep = arguments.sweep;
      sweep.out = FolderOf(*job.paper, *job.experiment, arguments.folder()).path().string();
      sweep.title = title;
      code = Sweep(*file++, sweep);
    }
    if (StopRequested()) return code;
    exit_code = std::max(exit_code, code);
  }
  if (!arguments.sweep.quiet && !arguments.sweep.dry_run) {
    fmt::print("Results: {}\n", arguments.folder().string());
  }
  return exit_code;
}

// --- heddle papers claims ---

absl::Status WriteOutputs(const std::vector<JudgedPaper>& judged,
                          const PapersArguments& arguments) {
  std::error_code failed;
  fs::create_directories(arguments.folder(), failed);
  if (failed) return FileStatus(failed.value(), arguments.folder().string());
  RemoveLeftOvers(arguments.folder());
  const absl::Status status = WriteWholeFile(arguments.folder() / "claims.csv", ClaimsCsv(judged));
  if (!status.ok()) return status;
  return WriteWholeFile(arguments.folder() / "papers.json", PapersJson(judged, arguments.load));
}

// Returns true if the claim belongs to an experiment that was asked for; other claims are not
// compared.
bool IsAskedFor(const std::string& claim, const std::vector<ChosenPaper>& papers) {
  return std::ranges::any_of(papers, [&](const ChosenPaper& chosen) {
    const bool is_whole = chosen.experiments.size() == chosen.paper.experiments.size();
    if (is_whole) return claim.starts_with(chosen.paper.id + "-");
    return std::ranges::any_of(chosen.experiments, [&](const std::string& experiment) {
      return claim.starts_with(fmt::format("{}-{}.", chosen.paper.id, experiment));
    });
  });
}

int CompareVerdicts(const Verdicts& before, const Verdicts& now,
                    const std::vector<ChosenPaper>& papers) {
  size_t differences = 0;
  const auto say = [&](const std::string& claim, std::string_view was, std::string_view is) {
    fmt::print("{}: was {}, is {}\n", claim, was, is);
    ++differences;
  };
  for (const auto& [claim, verdict] : now) {
    const auto earlier = before.find(claim);
    if (earlier == before.end()) {
      say(claim, "not there", verdict);
    } else if (earlier->second != verdict) {
      say(claim, earlier->second, verdict);
    }
  }
  for (const auto& [claim, verdict] : before) {
    if (!now.contains(claim) && IsAskedFor(claim, papers)) say(claim, verdict, "not there");
  }
  fmt::print("{} of {} verdicts differ\n", differences, now.size());
  return differences == 0 ? kExitDone : kExitFailed;
}

absl::StatusOr<Verdicts> VerdictsBefore(const std::string& file) {
  constexpr size_t kMaxBytes = size_t{1} << 26;
  const auto text = ReadTextFile(file, kMaxBytes);
  if (!text.ok()) return Within(text.status(), file);
  auto verdicts = ParseVerdicts(*text);
  if (verdicts.ok()) return verdicts;
  return Within(verdicts.status(), file);
}

bool SayWhatIsDamaged(const std::vector<JudgedPaper>& judged) {
  std::set<fs::path> damaged;
  for (const JudgedPaper& paper : judged) {
    damaged.insert(paper.damaged.begin(), paper.damaged.end());
  }
  if (damaged.empty()) return false;
  const std::string first = damaged.begin()->string();
  fmt::print(
      stderr,
      "heddle: {} damaged, and left out, such as {}: \"heddle verify {}\" prints the damage; "
      "delete that folder and run the papers again\n",
      damaged.size() == 1 ? "1 point is" : fmt::format("{} points are", damaged.size()), first,
      first);
  return true;
}

int JudgePapers(const PapersArguments& arguments) {
  int exit_code = kExitDone;
  const auto papers = ChosenPapers(arguments, exit_code);
  if (!papers) return exit_code;
  std::optional<Verdicts> before;
  if (!arguments.check.empty()) {
    auto read = VerdictsBefore(arguments.check);
    if (!read.ok()) return BadInput(read.status());
    before = *std::move(read);
  }
  Diagnostics diagnostics;
  std::vector<JudgedPaper> judged;
  for (const ChosenPaper& chosen : *papers) {
    judged.push_back(JudgePaper(chosen.paper, chosen.experiments,
                                {arguments.load, arguments.folder(), arguments.with_stale},
                                diagnostics));
  }
  const bool is_damaged = SayWhatIsDamaged(judged);
  if (before) {
    if (!diagnostics.ok()) return BadInput(diagnostics);
    const int differ = CompareVerdicts(*before, VerdictsOf(judged), *papers);
    return is_damaged ? kExitFailed : differ;
  }
  fmt::print("{}", arguments.csv        ? ClaimsCsv(judged)
                   : arguments.markdown ? ClaimsMarkdown(judged)
                                        : ClaimsText(judged));
  // Incomplete files of claims would be mistaken for complete ones, so none are written.
  if (!diagnostics.ok()) return BadInput(diagnostics);
  if (is_damaged) return kExitFailed;
  const absl::Status written = WriteOutputs(judged, arguments);
  return written.ok() ? kExitDone : Fail(kExitFailed, written);
}

// --- heddle papers costs ---

int PrintCosts(const PapersArguments& arguments) {
  int exit_code = kExitDone;
  const auto papers = ChosenPapers(arguments, exit_code);
  if (!papers) return exit_code;
  Diagnostics diagnostics;
  std::vector<ExperimentCosts> costs;
  for (const PaperJob& job : JobsOf(*papers)) {
    if (job.experiment->bench) continue;  // A benchmark measures times itself.
    const auto points = ExperimentPoints::Load(*job.paper, *job.experiment, arguments.load,
                                               arguments.folder(), diagnostics);
    if (!points) return BadInput(diagnostics);
    auto of_job = CostsOf(fmt::format("{}-{}", job.paper->id, job.experiment->id), *points,
                          arguments.with_stale);
    if (!of_job.ok()) return Fail(kExitFailed, of_job.status());
    costs.push_back(*std::move(of_job));
  }
  fmt::print("{}", CostsText(costs, arguments.markdown));
  return kExitDone;
}

// --- Options ---

void AddCommonOptions(CLI::App& app, PapersArguments& arguments) {
  app.add_option("names", arguments.names,
                 "Papers, such as pdlb, or experiments, such as pdlb-fig7 (default: all)");
  app.add_option("--scale", arguments.load.scale,
                 "Name of a scale that the experiments define, such as ci")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--configs", arguments.configs,
                 "Folder of the papers (default: the folder that comes with the program)")
      ->type_name("DIR")
      ->envname("HEDDLE_PAPERS");
}

// Results of changed settings need a folder of their own, or they would be mistaken for the
// paper's.
void AddResultOptions(CLI::App& app, PapersArguments& arguments) {
  CLI::Option* out = app.add_option("-o,--out", arguments.out,
                                    "Folder of the results; each scale has a folder in it")
                         ->type_name("DIR")
                         ->check(NotEmpty)
                         ->check(NoFileInPlace)
                         ->capture_default_str();
  AddSetOption(app, arguments.load.sets)->needs(out);
}

void AddStaleOption(CLI::App& app, PapersArguments& arguments) {
  app.add_flag("--with-stale", arguments.with_stale, "Include results of other versions of Heddle");
}

void AddRunOptions(CLI::App& app, SweepArguments& sweep) {
  app.add_option("--jobs", sweep.jobs,
                 "Number of points to run at once (default: one for each core)")
      ->check(CLI::Range(1, 4096));
  app.add_option("-j,--threads", sweep.threads, "Threads of each simulation")
      ->envname("HEDDLE_THREADS")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--retry-failed", sweep.retry_failed, "Also run points that failed before");
  app.add_flag("--replace-stale", sweep.replace_stale,
               "Also run points with results of another version of Heddle");
  app.add_flag("--force", sweep.force, "Run all points again and replace their results");
  app.add_flag("-q,--quiet", sweep.quiet, "Print no progress");
}

}  // namespace

void AddPapersCommand(CLI::App& app, const Plugins& plugins, std::function<int()>& command) {
  CLI::App* papers =
      app.add_subcommand("papers", "Run the experiments of papers, and judge the papers' claims");
  papers->require_subcommand(1);
  const auto add = [&](const char* name, const char* meaning, int (*run)(const PapersArguments&)) {
    CLI::App* added = papers->add_subcommand(name, meaning);
    const auto arguments = std::make_shared<PapersArguments>();
    arguments->sweep.plugins = &plugins;
    AddCommonOptions(*added, *arguments);
    added->callback([&command, arguments, run] {
      command = [arguments, run] {
        arguments->load.plugins = arguments->sweep.plugins->digests();
        return run(*arguments);
      };
    });
    return std::pair(added, arguments);
  };
  const auto [list, list_arguments] =
      add("list", "List papers and their experiments, with the number of points and the run time",
          ListPapers);
  AddSetOption(*list, list_arguments->load.sets);
  const auto [run, run_arguments] =
      add("run", "Run the papers' experiments, each as a sweep", RunPapers);
  AddResultOptions(*run, *run_arguments);
  AddRunOptions(*run, run_arguments->sweep);
  const auto [claims, claims_arguments] =
      add("claims", "Judge the papers' claims by the existing results", JudgePapers);
  AddResultOptions(*claims, *claims_arguments);
  AddStaleOption(*claims, *claims_arguments);
  CLI::Option* markdown =
      claims->add_flag("--markdown", claims_arguments->markdown, "Print tables in Markdown");
  claims->add_flag("--csv", claims_arguments->csv, "Print CSV")->excludes(markdown);
  claims
      ->add_option("--check", claims_arguments->check,
                   "Compare the verdicts with those in FILE, an earlier claims.csv")
      ->type_name("FILE");
  const auto [costs, costs_arguments] =
      add("costs", "Print the CPU time and memory that the existing results took", PrintCosts);
  AddResultOptions(*costs, *costs_arguments);
  AddStaleOption(*costs, *costs_arguments);
  costs->add_flag("--markdown", costs_arguments->markdown, "Print a table in Markdown");
}

}  // namespace heddle
