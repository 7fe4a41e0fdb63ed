// SPDX-License-Identifier: Apache-2.0

#include "cli/collect_command.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/failures.h"
#include "experiment/experiment_file.h"
#include "settings/status.h"
#include "settings/wording.h"
#include "study/sweep/collect.h"
#include "study/sweep/slurm.h"

namespace heddle {

namespace {

// Returns true if the point has a load balancer or congestion control of a plug-in. The commands
// that ask have no plug-ins loaded.
bool NeedsPlugin(const SweepFolder& folder, size_t point) {
  Diagnostics diagnostics;
  const auto file =
      ExperimentFile::Read((folder.path() / "sweep.yaml").string(), LoadOptions(), diagnostics);
  if (file && point < file->size()) file->Load(point, diagnostics);
  return NamesUnknownPolicy(diagnostics);
}

// Returns advice about points in `state`, the first of which has the number `point` and is at
// `path`.
std::string RemedyFor(PointState state, size_t point, const std::filesystem::path& path,
                      const SweepFolder& folder, bool with_stale) {
  const std::string sweep = QuoteShell((folder.path() / "sweep.yaml").string()) + " --out " +
                            QuoteShell(folder.path().string());
  const auto with_plugin = [&] {
    return NeedsPlugin(folder, point) ? " with the same --plugin" : "";
  };
  switch (state) {
    case PointState::kMissing:
      return fmt::format(", and left out; \"heddle sweep {}\"{} runs missing points", sweep,
                         with_plugin());
    case PointState::kFailed:
      return fmt::format("; \"heddle sweep {} --retry-failed\"{} tries again", sweep,
                         with_plugin());
    case PointState::kDamaged:
      return fmt::format(
          ", and left out, such as {0}: \"heddle verify {0}\" prints the damage; delete that "
          "folder "
          "and repeat the sweep, or run all with --force",
          path.string());
    case PointState::kStale:
      return fmt::format(
          ": of another version of Heddle{}",
          with_stale ? "" : ", and left out; \"heddle collect --with-stale\" includes them");
    case PointState::kIncomplete:
      return ": some measured flows are unfinished";
    case PointState::kRunning:
    case PointState::kDone:
      break;
  }
  return ", and left out";
}

std::string CountText(size_t count, PointState state) {
  const std::string points = CountedNoun(count, "point");
  if (state == PointState::kFailed) return points + (count == 1 ? " has failed" : " have failed");
  return fmt::format("{} {} {}", points, count == 1 ? "is" : "are", NameOf(state));
}

}  // namespace

bool SayWhatIsNotDone(const std::vector<PointState>& states, const std::vector<std::string>& ids,
                      const SweepFolder& folder, bool with_stale) {
  struct Found {
    size_t count = 0;
    size_t first = 0;
  };
  std::map<PointState, Found> found;
  for (size_t i = 0; i < states.size(); ++i) {
    if (found[states[i]].count++ == 0) found[states[i]].first = i;
  }
  found.erase(PointState::kDone);
  for (const auto& [state, points] : found) {
    fmt::print(
        stderr, "heddle: {}{}\n", CountText(points.count, state),
        RemedyFor(state, points.first, folder.PointPath(ids[points.first]), folder, with_stale));
  }
  return found.empty();
}

CollectOutcome CollectFolder(const std::string& out, const std::string& into, bool with_stale,
                             bool quiet) {
  const SweepFolder folder{std::filesystem::path(out)};
  const absl::StatusOr<Plan> plan = folder.ReadPlan();
  if (!plan.ok()) {
    fmt::print(stderr, "heddle: {}\n", MessageOf(plan.status()));
    return {kExitBadInput, false};
  }
  const Collected collected = Collect(folder, *plan, with_stale, into);
  std::vector<std::string> ids;
  for (const PlannedPoint& point : plan->points) ids.push_back(point.id);
  if (!collected.status.ok()) {
    fmt::print(stderr, "heddle: {}\n", MessageOf(collected.status));
    SayWhatIsNotDone(collected.states, ids, folder, with_stale);
    return {kExitFailed, false};
  }
  if (!quiet) {
    fmt::print("{} of {}: {}/points.csv, {}/means.csv\n", collected.taken,
               CountedNoun(plan->points.size(), "point"), into, into);
  }
  const bool all = SayWhatIsNotDone(collected.states, ids, folder, with_stale);
  return {all ? kExitDone : kExitFailed, true};
}

void AddCollectCommand(CLI::App& app, std::function<int()>& command) {
  struct Arguments {
    std::string folder;
    bool with_stale = false;
    bool quiet = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* collect =
      app.add_subcommand("collect", "Merge the results of a sweep into points.csv and means.csv");
  collect->add_option("folder", arguments->folder, "Folder of the sweep")
      ->required()
      ->type_name("DIR");
  collect->add_flag("--with-stale", arguments->with_stale,
                    "Include results of other versions of Heddle");
  collect->add_flag("-q,--quiet", arguments->quiet, "Print nothing if there is no problem");
  collect->callback([&command, arguments] {
    command = [arguments] {
      return CollectFolder(arguments->folder, arguments->folder, arguments->with_stale,
                           arguments->quiet)
          .exit_code;
    };
  });
}

}  // namespace heddle
