// SPDX-License-Identifier: Apache-2.0
// What one decision of a load balancer costs on this machine, part by part: one row of the table
// that `heddle bench lb` prints, on the packets that a leaf forwards in a simulation, with their
// times, sizes and order, data and ACKs mixed.

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
  std::optional<double> send_ns;  // If the scheme acts at hosts.
  std::optional<double> host_ns;
  size_t switch_bytes = 0;  // State, at the end.
  size_t host_bytes = 0;
  std::optional<double> misses;  // Last-level cache misses per decision, if the machine tells.
};

struct CostPlan {
  std::string balancer;  // As ReadBalancer() reads it, which finds no mistake in it.
  size_t candidates = 4;
  int rounds = 3;  // The least of them counts. One more goes before, to fill tables.
};

// FailedPrecondition if the scheme refuses such a fabric, InvalidArgument if it makes no policies.
absl::StatusOr<DecisionCost> MeasureDecisions(const CostPlan& plan,
                                              const std::vector<RecordedPacket>& packets);

// Whether this machine counts cache misses for this program.
bool CountsCacheMisses();

}  // namespace heddle
