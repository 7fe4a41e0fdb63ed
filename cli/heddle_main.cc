// SPDX-License-Identifier: Apache-2.0

#include "cli/heddle_main.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench_command.h"
#include "cli/collect_command.h"
#include "cli/commands.h"
#include "cli/failures.h"
#include "cli/generated_commands.h"
#include "cli/guarded_run.h"
#include "cli/model_command.h"
#include "cli/new_policy_command.h"
#include "cli/options.h"
#include "cli/papers_command.h"
#include "cli/plugins.h"
#include "cli/program_path.h"
#include "cli/report_command.h"
#include "cli/stop_signals.h"
#include "cli/sweep_command.h"
#include "cli/text.h"
#include "cli/trace_command.h"
#include "cli/verify_command.h"
#include "core/check.h"
#include "experiment/checked_folder.h"
#include "experiment/version.h"
#include "settings/diagnostics.h"
#include "settings/digest.h"
#include "settings/files.h"
#include "settings/status.h"
#include "study/sweep/child.h"

namespace heddle {
namespace {

constexpr size_t kMaxProgramBytes = size_t{1} << 32;

void AddExperimentOptions(CLI::App& command, RunArguments& arguments) {
  command.add_option("files", arguments.files, "Experiments (YAML)")->required()->type_name("FILE");
  AddSetOption(command, arguments.sets);
  command.add_option("--seed", arguments.seed, "Override the seed")
      ->type_name("N")
      ->check(CLI::Range(std::numeric_limits<int64_t>::max()));
  command.add_option("--scale", arguments.scale, "Name of a scale that the files define")
      ->type_name("NAME")
      ->capture_default_str();
}

void AddRunOptions(CLI::App& command, RunArguments& arguments) {
  command.add_option("-j,--threads", arguments.threads, "Threads of one simulation")
      ->envname("HEDDLE_THREADS")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      .add_option("-o,--out", arguments.out,
                  "Folder of the results (default: results/ and the experiment's name)")
      ->type_name("DIR")
      ->check(NotEmpty)
      ->check(NoFileInPlace);
  command.add_flag("-q,--quiet", arguments.quiet,
                   "Print no progress, table or warnings; summary.json has the warnings");
  command.add_flag("--force", arguments.force, "Replace existing results");
}

void AddPluginOption(CLI::App& command, std::vector<std::string>& files) {
  command
      .add_option("--plugin", files,
                  "Plug-in with load balancers, congestion controls or instruments of your own, "
                  "built for this heddle; repeatable")
      ->type_name("FILE.so")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

// Loads plug-ins one after the other, since a later one must not reuse a name of an earlier one.
bool LoadPlugins(const std::vector<std::string>& files, Plugins& plugins) {
  if (!files.empty()) SuspectPlugins();
  for (const std::string& file : files) {
    const absl::Status status = plugins.Load(file);
    if (status.ok()) continue;
    fmt::print(stderr, "heddle: --plugin {}: {}\n", file, MessageOf(status));
    return false;
  }
  return true;
}

// Returns true if `word` is a command of `app` or an option; otherwise prints an error with a
// suggestion.
bool NamesCommand(const CLI::App& app, std::string_view word) {
  if (word.starts_with('-')) return true;
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == word) return true;
    const bool hidden = command->get_group().empty();
    if (!hidden) known.push_back(command->get_name());
  }
  std::fprintf(stderr, "heddle: no %s is called \"%s\"%s\n",
               app.get_name() == "model" ? "model" : "command", std::string(word).c_str(),
               Suggestion(word, known).c_str());
  return false;
}

// Runs the work of a command, with the loading of plug-ins, in a second process. If a plug-in ends
// that one, this one reports it.
int RunWithPlugins(const std::function<int()>& work) {
  CountStopSignals(/*patience=*/0);  // Commands that stop in good order set theirs.
  const absl::StatusOr<Guarded> guarded = RunGuarded(work, /*patience=*/std::nullopt);
  if (!guarded.ok()) return Fail(kExitFailed, guarded.status());
  const int exit_code = guarded->exit_code;
  // The process has reported a broken invariant itself.
  if (guarded->returned || exit_code == kExitBrokenInvariant) return exit_code;
  if (exit_code > 128) {
    fmt::print(stderr, "heddle: {} ended the command; does a plug-in crash?\n",
               NameOfSignal(exit_code - 128));
    return exit_code;
  }
  fmt::print(stderr,
             "heddle: the process ended itself with exit code {} before the command was done; "
             "does a plug-in call exit?\n",
             exit_code);
  return kExitFailed;
}

void WarnOfUnchecked() {
  const UncheckedFolders unchecked = UncheckedSoFar();
  if (unchecked.count == 0) return;
  fmt::print(
      stderr,
      "heddle: warning: {} without checksums (manifest.csv), of an early Heddle, such as {}; "
      "{} used unchecked\n",
      unchecked.count == 1 ? "1 result is" : fmt::format("{} results are", unchecked.count),
      unchecked.first.string(), unchecked.count == 1 ? "its files are" : "their files are");
}

// The path names the program's file even if another build has replaced it since the start.
void AddProgramToCommit() {
  constexpr const char* kThisProgram = "/proc/self/exe";
  const absl::StatusOr<std::string> contents = ReadTextFile(kThisProgram, kMaxProgramBytes);
  AddToCommit(
      fmt::format("{}-{}", ProgramPath().filename().string(),
                  contents.ok() ? fmt::format("{:016x}", Digest(*contents)) : "unreadable"));
}

int Main(int argc, char** argv) {
  CLI::App app("Heddle simulates load balancing in datacenter networks, packet by packet.",
               "heddle");
  app.set_version_flag("--version", VersionText());
  // At least two spaces follow each option that has its meaning on the same line.
  app.get_formatter()->column_width(34);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 failed or incomplete, 2 bad input, 3 broken invariant.");
  std::function<int()> command;
  std::vector<std::string> plugin_files;
  Plugins plugins;

  RunArguments run_arguments;
  run_arguments.plugins = &plugins;
  CLI::App* run = app.add_subcommand("run", "Run experiments and write their results");
  AddExperimentOptions(*run, run_arguments);
  AddRunOptions(*run, run_arguments);
  run->callback([&] { command = [&] { return Run(run_arguments); }; });

  RunArguments trace_arguments;
  trace_arguments.plugins = &plugins;
  CLI::App* trace = AddTraceCommand(app, trace_arguments, command);
  AddExperimentOptions(*trace, trace_arguments);
  AddRunOptions(*trace, trace_arguments);

  RunArguments check_arguments;
  check_arguments.plugins = &plugins;
  CLI::App* check = app.add_subcommand(
      "check", "Check experiments and print their load, traffic and expected run time");
  AddExperimentOptions(*check, check_arguments);
  check->add_flag("-v,--verbose", check_arguments.verbose, "Print each point of a sweep");
  check->callback([&] { command = [&] { return Check(check_arguments); }; });

  CLI::App* list = app.add_subcommand(
      "list", "List load balancers, transports, topologies, workloads and size distributions");
  list->callback([&] { command = [] { return List(); }; });

  std::string name;
  CLI::App* describe = app.add_subcommand("describe",
                                          "Describe a load balancer, transport, topology, workload "
                                          "or size distribution, with its settings, or a section "
                                          "of settings, such as port or pfc");
  describe
      ->add_option("name", name,
                   "A name that heddle list prints, \"experiment\", or a section of settings")
      ->required();
  describe->callback([&] { command = [&] { return DescribeName(name); }; });

  AddSweepCommand(app, plugins, command);
  AddCollectCommand(app, command);
  AddCompareCommand(app, command);
  AddReportCommand(app, command);
  AddVerifyCommand(app, command);
  AddPapersCommand(app, plugins, command);
  AddModelCommand(app, command);
  AddNewPolicyCommand(app, command);
  AddBenchCommand(app, command);

  AddGeneratedCommands(app, command);

  for (CLI::App* with : {run, trace, check, list, describe, app.get_subcommand("sweep"),
                         app.get_subcommand("bench")->get_subcommand("lb"),
                         app.get_subcommand("papers")->get_subcommand("list"),
                         app.get_subcommand("papers")->get_subcommand("run"),
                         app.get_subcommand("papers")->get_subcommand("claims"),
                         app.get_subcommand("schema"), app.get_subcommand("completion")}) {
    AddPluginOption(*with, plugin_files);
  }

  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return kExitBadInput;
  }
  if (!NamesCommand(app, argv[1])) return kExitBadInput;
  for (const char* parent : {"model", "bench", "papers"}) {
    if (argc < 3 || argv[1] != std::string_view(parent)) continue;
    if (!NamesCommand(*app.get_subcommand(parent), argv[2])) return kExitBadInput;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitBadInput;
  }
  const auto work = [&] {
    if (!LoadPlugins(plugin_files, plugins)) return kExitBadInput;
    const int exit_code = command();
    WarnOfUnchecked();
    return FinishOutput(exit_code);
  };
  return plugin_files.empty() || IsDebugged() ? work() : RunWithPlugins(work);
}

}  // namespace

int HeddleMain(int argc, char** argv, Program program) {
  // With SIGXFSZ ignored, a file that exceeds its size limit is an error to report, like a full
  // disk.
  std::signal(SIGXFSZ, SIG_IGN);
  return CatchAll([&] {
    if (program == Program::kOwn) AddProgramToCommit();
    return Main(argc, argv);
  });
}

}  // namespace heddle
