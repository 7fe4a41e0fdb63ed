// SPDX-License-Identifier: Apache-2.0
// Reads GOAL in its binary form, which LogGOPSim's txt2bin writes (src/LogGOPSim/Parser.hpp).

#pragma once

#include <optional>
#include <string_view>

#include "workload/file_errors.h"
#include "workload/jobs/operation_graph.h"
#include "workload/traces/goal_builder.h"

namespace heddle {

// Mistakes go to `errors`, with the rank and the number of the operation; then there is no graph.
std::optional<OperationGraph> ReadGoalBinary(std::string_view bytes, const GoalSettings& settings,
                                             FileErrors& errors);

}  // namespace heddle
