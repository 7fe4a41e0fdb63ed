// SPDX-License-Identifier: Apache-2.0
// heddle collect merges the results of a sweep into two tables; heddle compare compares two values
// of an axis, or two sweeps. HeddleMain() adds both commands, and heddle report calls
// CollectFolder(). Points without a usable result are left out and reported, never guessed.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "study/sweep/sweep_folder.h"

namespace heddle {

struct CollectOutcome {
  int exit_code;
  bool has_tables;  // True also if points are missing, although the exit code is then kExitFailed.
};

// Prints to stderr which points are not done, a line for each state with a remedy. `ids` belong to
// `states`. Returns true if all points are done.
bool SayWhatIsNotDone(const std::vector<PointState>& states, const std::vector<std::string>& ids,
                      const SweepFolder& folder, bool with_stale);

// Collects the sweep in the folder `out` into tables in the folder `into`; prints to stderr which
// points are missing.
CollectOutcome CollectFolder(const std::string& out, const std::string& into, bool with_stale,
                             bool quiet);

// Each adds its command to `app`. If the user gives it, `command` becomes its function.
void AddCollectCommand(CLI::App& app, std::function<int()>& command);
void AddCompareCommand(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
