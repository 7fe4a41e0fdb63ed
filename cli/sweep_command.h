// SPDX-License-Identifier: Apache-2.0
// heddle sweep: runs the points of a file, here or on a cluster. heddle run and heddle papers call
// Sweep() too.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/plugins.h"
#include "experiment/experiment_file.h"
#include "study/sweep/slurm.h"

namespace heddle {

struct SweepArguments {
  std::string file;
  std::vector<std::string> sets;
  std::optional<uint64_t> seed;
  std::string scale = std::string(kFullScale);
  std::string out;
  int threads = 1;
  int jobs = 0;  // 0: as many as there are cores for.
  std::string only;
  std::string shard;
  bool dry_run = false;
  bool retry_failed = false;
  bool replace_stale = false;
  bool force = false;
  bool quiet = false;
  std::string title;  // Set for one sweep among many, which prints no tables.
  bool slurm = false;
  bool submit = false;
  double task_minutes = 30;
  SlurmSettings slurm_settings;
  const Plugins* plugins = nullptr;  // The loaded plug-ins.
};

// Runs, lists or submits the points of `file`, which must have been read without errors.
int Sweep(const ExperimentFile& file, const SweepArguments& arguments);

// Adds the command to `app`. If the user gives it, `command` becomes its function; `plugins` are
// loaded before it runs.
void AddSweepCommand(CLI::App& app, const Plugins& plugins, std::function<int()>& command);

}  // namespace heddle
