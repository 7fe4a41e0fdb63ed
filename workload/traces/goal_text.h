// SPDX-License-Identifier: Apache-2.0
// Reads GOAL as text, the form that LogGOPSim's txt2bin reads and that Schedgen and ATLAHS write:
// the operations of each rank, one a line, and which of them requires which.

#pragma once

#include <optional>
#include <string_view>

#include "workload/file_errors.h"
#include "workload/jobs/operation_graph.h"
#include "workload/traces/goal_builder.h"

namespace heddle {

// Mistakes go to `errors`, with their lines; then there is no graph. The graph has yet to pass
// GraphProblems().
std::optional<OperationGraph> ReadGoalText(std::string_view text, const GoalSettings& settings,
                                           FileErrors& errors);

}  // namespace heddle
