// SPDX-License-Identifier: Apache-2.0

#include <absl/status/statusor.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/collect_command.h"
#include "cli/commands.h"
#include "cli/compare_output.h"
#include "cli/failures.h"
#include "settings/status.h"
#include "settings/wording.h"
#include "study/sweep/compare.h"
#include "study/sweep/setting_differences.h"

namespace heddle {
namespace {

const std::vector<std::string> kUsual = {"avg_slowdown", "p99_slowdown",    "avg_fct_us",
                                         "p99_fct_us",   "reordered_ratio", "goodput_gbps"};
// Usual, too, if any run has jobs.
const std::vector<std::string> kOfJobs = {"run_mean_iter_us", "run_p99_iter_us", "run_busbw_gbs"};

struct CompareArguments {
  std::vector<std::string> words;  // A folder and two values or more, or two folders.
  std::string axis = "lb";
  std::vector<std::string> metrics;  // Empty: the usual ones.
  std::string size_class = "all/all";
  bool csv = false;
};

// The sides of a comparison and their folders: one for all sides, or the reference's and the
// other's.
struct CompareTask {
  std::vector<SweepFolder> folders;
  ComparedSides sides;
};

// Leaves out axes that change together with the compared one, such as the transport that each load
// balancer has, and says so.
void LeaveOutAxesThatFollow(ComparedSides& sides) {
  std::vector<NamedSide*> all = {&sides.reference};
  for (OtherSide& side : sides.others) all.push_back(&side);
  std::vector<const ComparedSide*> points;
  for (const NamedSide* side : all) points.push_back(&side->points);
  const std::vector<size_t> follow = AxesThatFollow(points);
  for (size_t i = follow.size(); i-- > 0;) {
    const auto axis = static_cast<ptrdiff_t>(follow[i]);
    const std::string& name = sides.axes[follow[i]];
    std::vector<std::string> values;
    for (NamedSide* side : all) {
      const std::string& value = side->points.points.front().choices[follow[i]];
      values.push_back(fmt::format("{} has {}", side->called, sides.labels.Shown(name, value)));
      for (ComparedSide::Point& point : side->points.points) {
        point.choices.erase(point.choices.begin() + axis);
      }
    }
    fmt::print(stderr, "heddle: the sides differ in {}, too: {}\n", name, fmt::join(values, ", "));
    sides.axes.erase(sides.axes.begin() + axis);
  }
}

absl::StatusOr<CompareTask> WithinOne(const CompareArguments& arguments) {
  const SweepFolder folder{std::filesystem::path(arguments.words[0])};
  const absl::StatusOr<Plan> plan = folder.ReadPlan();
  if (!plan.ok()) return plan.status();
  CompareTask task{
      .folders = {folder},
      .sides = {.reference = {}, .others = {}, .axes = plan->axes, .labels = folder.ReadLabels()}};
  std::erase(task.sides.axes, arguments.axis);
  const bool are_two = arguments.words.size() == 3;
  for (size_t i = 1; i < arguments.words.size(); ++i) {
    const auto value = FindValue(*plan, arguments.axis, arguments.words[i], task.sides.labels);
    if (!value.ok()) return value.status();
    const std::string& shown = task.sides.labels.Shown(arguments.axis, *value);
    NamedSide side{.name = *value,
                   .shown = shown,
                   .called = are_two ? (i == 1 ? "A" : "B") : shown,
                   .points = SideOf(folder, *plan, arguments.axis, *value)};
    if (i == 1) {
      task.sides.reference = std::move(side);
    } else {
      task.sides.others.push_back({std::move(side)});
    }
  }
  LeaveOutAxesThatFollow(task.sides);
  return task;
}

absl::StatusOr<CompareTask> BetweenTwo(const CompareArguments& arguments) {
  const SweepFolder a{std::filesystem::path(arguments.words[0])};
  const SweepFolder b{std::filesystem::path(arguments.words[1])};
  const absl::StatusOr<Plan> plan_a = a.ReadPlan();
  if (!plan_a.ok()) return plan_a.status();
  const absl::StatusOr<Plan> plan_b = b.ReadPlan();
  if (!plan_b.ok()) return plan_b.status();
  if (plan_a->axes != plan_b->axes) {
    return absl::InvalidArgumentError(fmt::format("the sweeps have different axes: {}; {}",
                                                  fmt::join(plan_a->axes, ", "),
                                                  fmt::join(plan_b->axes, ", ")));
  }
  const auto side = [&](size_t word, const std::string& called, ComparedSide points) {
    const std::string& name = arguments.words[word];
    return NamedSide{.name = name, .shown = name, .called = called, .points = std::move(points)};
  };
  return CompareTask{.folders = {a, b},
                     .sides = {.reference = side(0, "A", SideOf(a, *plan_a, "", "")),
                               .others = {{side(1, "B", SideOf(b, *plan_b, "", ""))}},
                               .axes = plan_a->axes,
                               .labels = a.ReadLabels()}};
}

// Warns if there are too few seeds for a verdict.
void WarnOfFewSeeds(const ComparedSides& sides) {
  const auto lacks_seeds = [](const Comparison& comparison) {
    return std::ranges::any_of(comparison.metrics, [](const ComparedMetric& metric) {
      return metric.difference.count() < 2;
    });
  };
  for (const OtherSide& side : sides.others) {
    const auto short_one = std::ranges::find_if(side.comparisons, lacks_seeds);
    if (short_one == side.comparisons.end()) continue;
    const bool are_planned = short_one->planned >= 2 && short_one->paired < short_one->planned;
    fmt::print(stderr,
               "heddle: an interval needs at least two seeds that both sides have finished; {}\n",
               are_planned ? "run the points that are not done" : "add \"seeds: 10\" to the sweep");
    return;
  }
}

// Warns if the sides have different flows: differences are paired by seed, which helps only if a
// seed means the same flows.
void WarnOfOtherFlows(const NamedSide& a, const NamedSide& b,
                      const std::vector<SettingDifference>& differences) {
  std::vector<std::string> keys;
  for (const SettingDifference& one : differences) {
    if (DecidesFlows(one.key)) keys.push_back(one.key);
  }
  if (keys.empty()) return;
  fmt::print(stderr,
             "heddle: warning: {0} and {1} have different flows even at the same seed, as they "
             "differ in {2}: these flows may be the cause of {1} - {0}\n",
             a.called, b.called, fmt::join(keys, ", "));
}

void SayWhatOneSideLacks(const NamedSide& a, const NamedSide& b) {
  const auto say = [](const NamedSide& one, const NamedSide& other) {
    const size_t count = CombinationsOnlyIn(one.points, other.points);
    if (count == 0) return;
    fmt::print(stderr, "heddle: {} of {} left out, as {} has no counterpart\n",
               CountedNoun(count, "combination"),
               fmt::format("{} {}", one.called, count == 1 ? "is" : "are"), other.called);
  };
  say(a, b);
  say(b, a);
}

// Returns true if all points that were to be compared are done.
bool AllAreDone(const CompareTask& task) {
  std::vector<std::vector<PointState>> states(task.folders.size());
  std::vector<std::vector<std::string>> ids(task.folders.size());
  const auto add = [&](const NamedSide& side, size_t folder) {
    for (const ComparedSide::Point& point : side.points.points) {
      states[folder].push_back(point.state);
      ids[folder].push_back(point.run.filename().string());
    }
  };
  add(task.sides.reference, 0);
  for (const OtherSide& side : task.sides.others) add(side, task.folders.size() - 1);
  bool all = true;
  for (size_t i = 0; i < states.size(); ++i) {
    all &= SayWhatIsNotDone(states[i], ids[i], task.folders[i], /*with_stale=*/false);
  }
  return all;
}

// Compares each of the others with the reference. Returns true if any has points in common with it.
absl::StatusOr<bool> CompareAll(ComparedSides& sides, const CompareOptions& options) {
  bool any = false;
  for (OtherSide& side : sides.others) {
    auto compared = Compare(sides.reference.points, side.points, options);
    if (!compared.ok()) return compared.status();
    side.comparisons = *std::move(compared);
    any |= !side.comparisons.empty();
  }
  for (const OtherSide& side : sides.others) {
    if (!side.comparisons.empty()) continue;
    fmt::print(stderr, "heddle: {} and {} have no finished points in common\n",
               sides.reference.called, side.called);
  }
  return any;
}

bool HasValues(const ComparedSides& sides, const std::string& name) {
  for (const OtherSide& side : sides.others) {
    for (const Comparison& comparison : side.comparisons) {
      for (const ComparedMetric& metric : comparison.metrics) {
        if (metric.metric == name && metric.difference.count() > 0) return true;
      }
    }
  }
  return false;
}

void LeaveOutJobsIfNone(ComparedSides& sides) {
  for (const std::string& name : kOfJobs) {
    if (HasValues(sides, name)) continue;
    for (OtherSide& side : sides.others) {
      for (Comparison& comparison : side.comparisons) {
        std::erase_if(comparison.metrics,
                      [&](const auto& metric) { return metric.metric == name; });
      }
    }
  }
}

std::vector<SettingDifference> DifferencesBetween(const NamedSide& a, const NamedSide& b) {
  const auto [first, second] = FirstPair(a.points, b.points);
  if (first == nullptr) return {};
  return DifferencesOfRuns(first->run, second->run);
}

int Compare(const CompareArguments& arguments) {
  auto task = arguments.words.size() == 2 ? BetweenTwo(arguments) : WithinOne(arguments);
  if (!task.ok()) return BadInput(task.status());
  const bool usual = arguments.metrics.empty();
  CompareOptions options{.metrics = usual ? kUsual : arguments.metrics};
  if (usual) options.metrics.insert(options.metrics.end(), kOfJobs.begin(), kOfJobs.end());
  const size_t slash = arguments.size_class.find('/');
  options.class_set = arguments.size_class.substr(0, slash);
  if (slash != std::string::npos) options.size_class = arguments.size_class.substr(slash + 1);
  ComparedSides& sides = task->sides;
  const auto any = CompareAll(sides, options);
  if (!any.ok()) return BadInput(any.status());
  if (!*any) {
    AllAreDone(*task);
    return kExitFailed;
  }
  if (usual) LeaveOutJobsIfNone(sides);
  if (arguments.csv) {
    PrintCsv(sides, options);
  } else if (sides.others.size() == 1) {
    PrintTwo(sides, task->folders.size() == 2,
             DifferencesBetween(sides.reference, sides.others.front()));
  } else {
    PrintMany(sides);
  }
  for (const OtherSide& side : sides.others) {
    WarnOfOtherFlows(sides.reference, side, DifferencesBetween(sides.reference, side));
    SayWhatOneSideLacks(sides.reference, side);
  }
  WarnOfFewSeeds(sides);
  return AllAreDone(*task) ? kExitDone : kExitFailed;
}

}  // namespace

void AddCompareCommand(CLI::App& app, std::function<int()>& command) {
  CLI::App* compare = app.add_subcommand(
      "compare", "Compare values of a sweep's axis, or two sweeps, seed by seed");
  const auto arguments = std::make_shared<CompareArguments>();
  compare
      ->add_option("what", arguments->words,
                   "Folder of a sweep and two values or more, the first of which is the reference; "
                   "or two folders")
      ->required()
      ->expected(2, -1)  // Two or more; the help then adds "..." itself.
      ->type_name("DIR A B");
  compare->add_option("--axis", arguments->axis, "The axis of the sweep that has these values")
      ->capture_default_str();
  compare
      ->add_option(
          "--metric", arguments->metrics,
          fmt::format("A column of points.csv; repeatable (default: {}; with jobs also {})",
                      fmt::join(kUsual, ", "), fmt::join(kOfJobs, ", ")))
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  compare->add_option("--class", arguments->size_class, "Class set and class, as in smlxl/S")
      ->capture_default_str();
  compare->add_flag("--csv", arguments->csv, "Print CSV");
  compare->callback(
      [&command, arguments] { command = [arguments] { return Compare(*arguments); }; });
}

}  // namespace heddle
