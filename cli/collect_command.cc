// SPDX-License-Identifier: Apache-2.0

#include "cli/collect_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "sweep/collect.h"

namespace heddle {

CollectOutcome CollectFolder(const std::string& out, const std::string& into, bool with_stale,
                             bool quiet) {
  const SweepFolder folder{std::filesystem::path(out)};
  std::string error;
  const std::optional<Plan> plan = folder.ReadPlan(error);
  if (!plan) {
    fmt::print(stderr, "heddle: {}\n", error);
    return {kExitBadInput, false};
  }
  const Collected collected = Collect(folder, *plan, with_stale, into);
  if (!collected.error.empty()) {
    fmt::print(stderr, "heddle: {}\n", collected.error);
    return {kExitFailed, false};
  }
  std::map<PointState, size_t> counts;
  for (const PointState state : collected.states) ++counts[state];
  if (!quiet) {
    fmt::print("{} of {} points: {}/points.csv, {}/means.csv\n", collected.taken,
               plan->points.size(), into, into);
  }
  for (const auto& [state, count] : counts) {
    if (state == PointState::kDone) continue;
    fmt::print(stderr, "heddle: {} points are {}{}\n", count, NameOf(state),
               state == PointState::kIncomplete ? ": their measured flows are unfinished"
               : state == PointState::kStale
                   ? fmt::format(": by another version of Heddle{}",
                                 with_stale ? "" : ", and left out; --with-stale takes them")
                   : std::string(", and left out"));
  }
  const bool all = counts[PointState::kDone] == plan->points.size();
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
                    "Also results of other versions of Heddle");
  collect->add_flag("-q,--quiet", arguments->quiet, "Say nothing if all is well");
  collect->callback([&command, arguments] {
    command = [arguments] {
      return CollectFolder(arguments->folder, arguments->folder, arguments->with_stale,
                           arguments->quiet)
          .exit_code;
    };
  });
}

}  // namespace heddle
