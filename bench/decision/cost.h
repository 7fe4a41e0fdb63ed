// SPDX-License-Identifier: Apache-2.0
// Measures the cost of one decision of a load balancer on this machine, part by part. `heddle bench
// lb` and the papers' benchmarks call it, with recorded packets (bench/decision/recording.h); a
// result is one row of their tables.

#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/decision/cost_meter.h"
#include "bench/decision/recording.h"

namespace heddle {

// Nanoseconds per packet of each CostPart.
struct DecisionCost {
  double decide_ns = 0;
  double switch_ns = 0;
  std::optional<double> send_ns;  // Set if the scheme acts at hosts.
  std::optional<double> host_ns;
  size_t switch_bytes = 0;  // Bytes of state, at the end.
  size_t host_bytes = 0;
  std::optional<double> misses;  // Last-level cache misses per decision, if the machine tells.
};

struct CostPlan {
  std::string balancer;  // A text that ReadBalancer() accepts.
  size_t candidates = 4;
  int rounds = 3;  // The fastest round counts. One more round goes before, to fill tables.
};

// Returns FailedPrecondition if the scheme refuses such a fabric, InvalidArgument if it makes no
// policies.
absl::StatusOr<DecisionCost> MeasureDecisions(const CostPlan& plan,
                                              const std::vector<RecordedPacket>& packets);

// Returns true if this machine counts cache misses for this program.
bool CountsCacheMisses();

}  // namespace heddle
