// SPDX-License-Identifier: Apache-2.0
// heddle collect and heddle compare: what a sweep has come to.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "study/sweep/sweep_folder.h"

namespace heddle {

struct CollectOutcome {
  int exit_code;
  bool has_tables;  // Also if points are missing, which makes the exit code kExitFailed.
};

// Says on stderr which of these points are not done, a line for each state, and what would change
// that. `ids` are those of `states`. Whether all are done.
bool SayWhatIsNotDone(const std::vector<PointState>& states, const std::vector<std::string>& ids,
                      const SweepFolder& folder, bool with_stale);

// Collects the sweep in the folder `out` into tables in the folder `into`; says on stderr what is
// missing.
CollectOutcome CollectFolder(const std::string& out, const std::string& into, bool with_stale,
                             bool quiet);

// Each adds its command to `app`; if it is given, `command` becomes what does it.
void AddCollectCommand(CLI::App& app, std::function<int()>& command);
void AddCompareCommand(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
