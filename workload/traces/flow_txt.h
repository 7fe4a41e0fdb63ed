// SPDX-License-Identifier: Apache-2.0
// Reads flow.txt, the list of flows of HPCC's simulator (alibaba-edu/High-Precision-Congestion-
// Control) and of ConWeave's, as a graph: each flow is a send that waits for its start, and a
// receive. A rank is a host of the list.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/units.h"
#include "workload/file_errors.h"
#include "workload/jobs/operation_graph.h"

namespace heddle {

struct FlowTxtSettings {
  std::optional<Duration> t0;     // Subtracted from all starts.
  std::optional<uint32_t> ranks;  // Default: the largest host of the list decides.
};

std::optional<OperationGraph> ReadFlowTxt(std::string_view text, const FlowTxtSettings& settings,
                                          FileErrors& errors);

}  // namespace heddle
