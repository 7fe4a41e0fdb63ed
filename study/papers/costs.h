// SPDX-License-Identifier: Apache-2.0
// Adds up what the results of a paper's experiments cost to simulate, from the runs' own summaries.
// `heddle papers costs` prints it.

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
  size_t results = 0;          // Points that have a result; all numbers below are about these.
  double cpu_seconds = 0;      // CPU time of all threads, for building and running.
  double packet_hops = 0;      // Links crossed, summed over packets.
  int64_t most_memory = 0;     // Bytes of the run that took most.
  double longest_seconds = 0;  // CPU time of the run that took most.

  double NanosecondsPerHop() const { return packet_hops > 0 ? cpu_seconds * 1e9 / packet_hops : 0; }
};

// Returns the costs of one experiment. Results of other versions of Heddle count if `with_stale`.
// Fails if a summary.json cannot be read.
absl::StatusOr<ExperimentCosts> CostsOf(const std::string& name, const ExperimentPoints& points,
                                        bool with_stale);

// Returns a table with a row for each experiment and one for all.
std::string CostsText(const std::vector<ExperimentCosts>& all, bool markdown);

}  // namespace heddle
