// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/slurm.h"

#include <absl/strings/str_replace.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "settings/wording.h"
#include "study/sweep/selection.h"

namespace heddle {
namespace {

// Other machines may be slower, and estimates wrong; unused time costs nothing.
constexpr double kTimeMargin = 4;
constexpr double kLeastMinutes = 10;
constexpr double kMemoryMargin = 1.5;
constexpr double kLeastMemory = 200e6;
constexpr int kSecondsToStop = 60;

double SecondsOf(const Plan& plan, const std::vector<size_t>& points, const CostModel& cost) {
  double seconds = 0;
  for (const size_t point : points) seconds += cost.Seconds(plan.points[point]);
  return seconds;
}

// Returns the seconds of the longest task, each of which runs `jobs` points at once.
double LongestTask(const Plan& plan, const std::vector<std::vector<size_t>>& tasks,
                   const CostModel& cost, const SlurmSettings& settings) {
  double longest = 0;
  for (const std::vector<size_t>& task : tasks) {
    double seconds = SecondsOf(plan, task, cost) / settings.jobs;
    // One point may take longer than its share.
    for (const size_t point : task) seconds = std::max(seconds, cost.Seconds(plan.points[point]));
    longest = std::max(longest, seconds);
  }
  return longest;
}

double LargestPoint(const Plan& plan, const std::vector<std::vector<size_t>>& tasks,
                    const CostModel& cost) {
  double bytes = 0;
  for (const std::vector<size_t>& task : tasks) {
    for (const size_t point : task) bytes = std::max(bytes, cost.MemoryBytes(plan.points[point]));
  }
  return bytes;
}

}  // namespace

std::vector<std::vector<size_t>> PackTasks(const Plan& plan, const std::vector<size_t>& points,
                                           const CostModel& cost, const SlurmSettings& settings) {
  const double target =
      std::max(settings.task_seconds * settings.jobs,
               SecondsOf(plan, points, cost) / static_cast<double>(settings.max_tasks));
  const size_t most_points = (points.size() + settings.max_tasks - 1) / settings.max_tasks;
  std::vector<std::vector<size_t>> tasks;
  double seconds = 0;
  for (const size_t point : points) {
    const double more = cost.Seconds(plan.points[point]);
    const bool full =
        tasks.empty() || (seconds + more > target && tasks.back().size() >= most_points);
    if (full) {
      tasks.emplace_back();
      seconds = 0;
    }
    tasks.back().push_back(point);
    seconds += more;
  }
  return tasks;
}

std::string WriteSlurmScript(const SlurmScript& script, const Plan& plan,
                             const std::vector<std::vector<size_t>>& tasks, const CostModel& cost,
                             const SlurmSettings& settings) {
  const double longest = LongestTask(plan, tasks, cost, settings);
  const double minutes = std::max(kLeastMinutes, std::ceil(longest * kTimeMargin / 60));
  const double bytes =
      std::max(kLeastMemory, LargestPoint(plan, tasks, cost) * kMemoryMargin * settings.jobs);
  std::string text = fmt::format(
      "#!/bin/bash\n"
      "# {} in {}; the longest takes about {:.0f} s, {}.\n"
      "#SBATCH --job-name={}\n"
      "#SBATCH --array=0-{}\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --cpus-per-task={}\n"
      "#SBATCH --time={:.0f}\n"
      "#SBATCH --mem={:.0f}M\n"
      "#SBATCH --requeue\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --signal=B:USR1@{}\n"
      "#SBATCH --output={}\n",
      [&] {
        size_t points = 0;
        for (const auto& task : tasks) points += task.size();
        return CountedNoun(points, "point");
      }(),
      CountedNoun(tasks.size(), "task"), longest,
      cost.measured > 0 ? "estimated from " + CountedNoun(cost.measured, "finished point")
                        : std::string("estimated from the packets expected"),
      script.name, tasks.size() - 1, settings.jobs * settings.threads, minutes,
      std::ceil(bytes * 1e-6), kSecondsToStop, script.log_path);
  for (const std::string& option : settings.options) text += fmt::format("#SBATCH {}\n", option);
  text += "\npoints=(\n";
  for (const std::vector<size_t>& task : tasks) text += fmt::format("  {}\n", NumbersText(task));
  // With exec, signals reach heddle itself.
  text += fmt::format(")\nexec {} --only \"${{points[SLURM_ARRAY_TASK_ID]}}\"\n", script.program);
  return text;
}

std::string QuoteShell(const std::string& word) {
  const bool plain =
      !word.empty() &&
      word.find_first_not_of(
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%") ==
          std::string::npos;
  if (plain) return word;
  return fmt::format("'{}'", absl::StrReplaceAll(word, {{"'", "'\\''"}}));
}

}  // namespace heddle
