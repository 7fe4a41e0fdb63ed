// SPDX-License-Identifier: Apache-2.0
// What the results of a paper's experiments have cost to simulate, as their runs say themselves.

#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "study/papers/experiment_points.h"

namespace heddle {

struct ExperimentCosts {
  std::string experiment;  // "pdlb-fig7"
  size_t points = 0;
  size_t results = 0;          // Points that have one; the rest is about these.
  double cpu_seconds = 0;      // Of all threads: building and running.
  double packet_hops = 0;      // Packets by links that they went over.
  int64_t most_memory = 0;     // Bytes, of the one run that took most.
  double longest_seconds = 0;  // CPU time of the one run that took most.

  double NanosecondsPerHop() const { return packet_hops > 0 ? cpu_seconds * 1e9 / packet_hops : 0; }
};

// Results of other versions of Heddle count if `with_stale`. Fails if a summary.json cannot be
// read.
absl::StatusOr<ExperimentCosts> CostsOf(const std::string& name, const ExperimentPoints& points,
                                        bool with_stale);

// A row for each, and one for all.
std::string CostsText(const std::vector<ExperimentCosts>& all, bool markdown);

}  // namespace heddle
