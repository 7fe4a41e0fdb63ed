// SPDX-License-Identifier: Apache-2.0
// A sweep as a job array of Slurm.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "study/sweep/cost.h"
#include "study/sweep/plan.h"

namespace heddle {

struct SlurmSettings {
  double task_seconds = 1800;             // That a task should take; short points share one.
  size_t max_tasks = 1000;                // Slurm's MaxArraySize is 1001 by default.
  int jobs = 1;                           // Points at once in a task,
  int threads = 1;                        // each with so many threads.
  std::vector<std::string> options = {};  // Further lines for sbatch, such as "--partition=long".
};

// The points of each task, in order, so that tasks take about as long.
std::vector<std::vector<size_t>> PackTasks(const Plan& plan, const std::vector<size_t>& points,
                                           const CostModel& cost, const SlurmSettings& settings);

struct SlurmScript {
  std::string name;
  std::string program;   // This one, with all that a task needs but the points.
  std::string log_path;  // With %A and %a for the job and the task.
};

// The file that sbatch takes.
std::string WriteSlurmScript(const SlurmScript& script, const Plan& plan,
                             const std::vector<std::vector<size_t>>& tasks, const CostModel& cost,
                             const SlurmSettings& settings);

// A word as a shell reads it back.
std::string QuoteShell(const std::string& word);

}  // namespace heddle
