// SPDX-License-Identifier: Apache-2.0

#include <absl/status/statusor.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/collect_command.h"
#include "cli/commands.h"
#include "cli/failures.h"
#include "settings/csv.h"
#include "settings/status.h"
#include "settings/wording.h"
#include "study/sweep/compare.h"
#include "study/sweep/setting_differences.h"

namespace heddle {
namespace {

struct CompareArguments {
  std::vector<std::string> words;  // A folder and two values, or two folders.
  std::string axis = "lb";
  std::vector<std::string> metrics = {"avg_slowdown", "p99_slowdown",    "avg_fct_us",
                                      "p99_fct_us",   "reordered_ratio", "goodput_gbps"};
  std::string size_class = "all/all";
  bool csv = false;
};

// The two compared sides, with names for messages.
struct Sides {
  std::vector<SweepFolder> folders;  // One folder for both sides, or A's and B's.
  std::vector<std::string> axes;     // All axes but the compared one.
  std::string a;
  std::string b;
  ComparedSide side_a;
  ComparedSide side_b;
};

absl::StatusOr<Sides> WithinOne(const CompareArguments& arguments) {
  const SweepFolder folder{std::filesystem::path(arguments.words[0])};
  const absl::StatusOr<Plan> plan = folder.ReadPlan();
  if (!plan.ok()) return plan.status();
  const auto a = FindValue(*plan, arguments.axis, arguments.words[1]);
  if (!a.ok()) return a.status();
  const auto b = FindValue(*plan, arguments.axis, arguments.words[2]);
  if (!b.ok()) return b.status();
  Sides sides{
      .folders = {folder}, .axes = plan->axes, .a = *a, .b = *b, .side_a = {}, .side_b = {}};
  std::erase(sides.axes, arguments.axis);
  sides.side_a = SideOf(folder, *plan, arguments.axis, sides.a);
  sides.side_b = SideOf(folder, *plan, arguments.axis, sides.b);
  return sides;
}

absl::StatusOr<Sides> BetweenTwo(const CompareArguments& arguments) {
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
  return Sides{.folders = {a, b},
               .axes = plan_a->axes,
               .a = arguments.words[0],
               .b = arguments.words[1],
               .side_a = SideOf(a, *plan_a, "", ""),
               .side_b = SideOf(b, *plan_b, "", "")};
}

double Percent(const ComparedMetric& metric) {
  return 100 * metric.difference.mean() / metric.a.mean();
}

// Returns four digits for the terminal, or all before the point if there are more; "" for NaN.
std::string Short(double value) {
  if (!std::isfinite(value)) return "-";
  return std::abs(value) < 9999.5 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

std::string Exact(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

// Prints the settings that differ at a combination that both sides have.
void PrintDifferences(const std::vector<SettingDifference>& differences) {
  constexpr size_t kMost = 20;
  if (differences.empty()) fmt::print("Their experiments have the same settings.\n");
  for (size_t i = 0; i < std::min(differences.size(), kMost); ++i) {
    const SettingDifference& one = differences[i];
    fmt::print("{:17}{}: A {}, B {}\n", i == 0 ? "They differ in" : "", one.key, one.a, one.b);
  }
  if (differences.size() > kMost) {
    fmt::print("{:17}and {}\n", "", CountedNoun(differences.size() - kMost, "more setting"));
  }
}

void PrintTable(const Sides& sides, const std::vector<Comparison>& comparisons,
                const std::vector<SettingDifference>& differences) {
  fmt::print("A: {}\nB: {}\n", sides.a, sides.b);
  if (sides.folders.size() == 2) PrintDifferences(differences);
  for (const Comparison& comparison : comparisons) {
    std::string choices;
    for (size_t i = 0; i < sides.axes.size(); ++i) {
      choices +=
          fmt::format("{}{}={}", choices.empty() ? "" : ", ", sides.axes[i], comparison.choices[i]);
    }
    fmt::print("\n{}{}{:24} {:>10} {:>10} {:>11} {:>23} {:>8} {:>6}  {}\n", choices,
               choices.empty() ? "" : "\n", "", "A", "B", "B - A", "95 % interval", "%", "seeds",
               "B is");
    for (const ComparedMetric& metric : comparison.metrics) {
      const double half_width = metric.difference.half_width();
      const double mean = metric.difference.mean();
      const std::string interval =
          std::isnan(half_width)
              ? "-"
              : fmt::format("{} to {}", Short(mean - half_width), Short(mean + half_width));
      fmt::print("{:24} {:>10} {:>10} {:>11} {:>23} {:>8} {:>6}  {}\n", metric.metric,
                 Short(metric.a.mean()), Short(metric.b.mean()), Short(mean), interval,
                 std::isfinite(Percent(metric)) ? fmt::format("{:+.1f}", Percent(metric)) : "-",
                 metric.difference.count(), NameOf(Judge(metric.metric, metric.difference)));
    }
  }
}

void PrintCsv(const Sides& sides, const std::vector<Comparison>& comparisons,
              const CompareOptions& options) {
  for (const std::string& axis : sides.axes) fmt::print("{},", CsvCell(axis));
  fmt::print("class_set,class,metric,a,b,a_mean,b_mean,difference,ci95,percent,seeds,verdict\n");
  for (const Comparison& comparison : comparisons) {
    for (const ComparedMetric& metric : comparison.metrics) {
      for (const std::string& choice : comparison.choices) fmt::print("{},", CsvCell(choice));
      fmt::print("{},{},{},{},{},{},{},{},{},{},{},{}\n", options.class_set, options.size_class,
                 metric.metric, CsvCell(sides.a), CsvCell(sides.b), Exact(metric.a.mean()),
                 Exact(metric.b.mean()), Exact(metric.difference.mean()),
                 Exact(metric.difference.half_width()), Exact(Percent(metric)),
                 metric.difference.count(), NameOf(Judge(metric.metric, metric.difference)));
    }
  }
}

// Warns if there are too few seeds for a verdict.
void WarnOfFewSeeds(const std::vector<Comparison>& comparisons) {
  const auto lacks_seeds = [](const Comparison& comparison) {
    return std::ranges::any_of(comparison.metrics, [](const ComparedMetric& metric) {
      return metric.difference.count() < 2;
    });
  };
  const auto short_one = std::ranges::find_if(comparisons, lacks_seeds);
  if (short_one == comparisons.end()) return;
  const bool are_planned = short_one->planned >= 2 && short_one->paired < short_one->planned;
  fmt::print(stderr,
             "heddle: an interval needs at least two seeds that both sides have finished; {}\n",
             are_planned ? "run the points that are not done" : "add \"seeds: 10\" to the sweep");
}

// Warns if the sides have different flows: differences are paired by seed, which helps only if a
// seed means the same flows.
void WarnOfOtherFlows(const std::vector<SettingDifference>& differences) {
  std::vector<std::string> keys;
  for (const SettingDifference& one : differences) {
    if (DecidesFlows(one.key)) keys.push_back(one.key);
  }
  if (keys.empty()) return;
  fmt::print(stderr,
             "heddle: warning: A and B have different flows even at the same seed, as they differ "
             "in {}: these flows may be the cause of B - A\n",
             fmt::join(keys, ", "));
}

void SayWhatOneSideLacks(const Sides& sides) {
  const auto say = [](std::string_view one, std::string_view other, size_t count) {
    if (count == 0) return;
    fmt::print(stderr, "heddle: {} of {} left out, as {} has no counterpart\n",
               CountedNoun(count, "combination"),
               count == 1 ? fmt::format("{} is", one) : fmt::format("{} are", one), other);
  };
  say("A", "B", CombinationsOnlyIn(sides.side_a, sides.side_b));
  say("B", "A", CombinationsOnlyIn(sides.side_b, sides.side_a));
}

// Returns true if all points that were to be compared are done.
bool AllAreDone(const Sides& sides) {
  std::vector<std::vector<PointState>> states(sides.folders.size());
  std::vector<std::vector<std::string>> ids(sides.folders.size());
  for (const ComparedSide* side : {&sides.side_a, &sides.side_b}) {
    const size_t folder = side == &sides.side_a ? 0 : sides.folders.size() - 1;
    for (const ComparedSide::Point& point : side->points) {
      states[folder].push_back(point.state);
      ids[folder].push_back(point.run.filename().string());
    }
  }
  bool all = true;
  for (size_t i = 0; i < states.size(); ++i) {
    all &= SayWhatIsNotDone(states[i], ids[i], sides.folders[i], /*with_stale=*/false);
  }
  return all;
}

int Compare(const CompareArguments& arguments) {
  auto sides = arguments.words.size() == 3 ? WithinOne(arguments) : BetweenTwo(arguments);
  if (!sides.ok()) return BadInput(sides.status());
  CompareOptions options{.metrics = arguments.metrics};
  const size_t slash = arguments.size_class.find('/');
  options.class_set = arguments.size_class.substr(0, slash);
  if (slash != std::string::npos) options.size_class = arguments.size_class.substr(slash + 1);
  const auto compared = Compare(sides->side_a, sides->side_b, options);
  if (!compared.ok()) return BadInput(compared.status());
  const std::vector<Comparison>& comparisons = *compared;
  if (comparisons.empty()) {
    fmt::print(stderr, "heddle: A and B have no finished points in common\n");
    AllAreDone(*sides);
    return kExitFailed;
  }
  const auto [a, b] = FirstPair(sides->side_a, sides->side_b);
  const std::vector<SettingDifference> differences = DifferencesOfRuns(a->run, b->run);
  arguments.csv ? PrintCsv(*sides, comparisons, options)
                : PrintTable(*sides, comparisons, differences);
  WarnOfOtherFlows(differences);
  SayWhatOneSideLacks(*sides);
  WarnOfFewSeeds(comparisons);
  return AllAreDone(*sides) ? kExitDone : kExitFailed;
}

}  // namespace

void AddCompareCommand(CLI::App& app, std::function<int()>& command) {
  CLI::App* compare = app.add_subcommand(
      "compare", "Compare two values of a sweep's axis, or two sweeps, seed by seed");
  const auto arguments = std::make_shared<CompareArguments>();
  compare
      ->add_option("what", arguments->words,
                   "Folder of a sweep and two values, A and B; or two folders")
      ->required()
      ->expected(2, 3)
      ->type_name("DIR A B");
  compare
      ->add_option("--axis", arguments->axis, "The axis of the sweep that has the values A and B")
      ->capture_default_str();
  compare->add_option("--metric", arguments->metrics, "Columns of points.csv; repeatable")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->capture_default_str();
  compare->add_option("--class", arguments->size_class, "Class set and class, as in smlxl/S")
      ->capture_default_str();
  compare->add_flag("--csv", arguments->csv, "Print CSV");
  compare->callback(
      [&command, arguments] { command = [arguments] { return Compare(*arguments); }; });
}

}  // namespace heddle
