// SPDX-License-Identifier: Apache-2.0
// Writes a sweep as a job array of Slurm, for `heddle sweep --slurm`. Each task of the array runs a
// few points, so that tasks take about as long.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "study/sweep/cost.h"
#include "study/sweep/plan.h"

namespace heddle {

struct SlurmSettings {
  double task_seconds = 1800;  // The time that a task should take; short points share one.
  size_t max_tasks = 1000;     // Slurm's MaxArraySize is 1001 by default.
  int jobs = 1;                // Points that a task runs at once.
  int threads = 1;             // Threads of each point.
  std::vector<std::string> options = {};  // Further lines for sbatch, such as "--partition=long".
};

// Divides `points`, in order, into tasks that take about the same time.
std::vector<std::vector<size_t>> PackTasks(const Plan& plan, const std::vector<size_t>& points,
                                           const CostModel& cost, const SlurmSettings& settings);

struct SlurmScript {
  std::string name;
  std::string program;   // The command of a task, without its points.
  std::string log_path;  // With %A and %a for the job and the task.
};

// Returns the script for sbatch.
std::string WriteSlurmScript(const SlurmScript& script, const Plan& plan,
                             const std::vector<std::vector<size_t>>& tasks, const CostModel& cost,
                             const SlurmSettings& settings);

// Quotes a word for a shell.
std::string QuoteShell(const std::string& word);

}  // namespace heddle
