// SPDX-License-Identifier: Apache-2.0
// The benchmarks of decision_bench: one for each part of the cost, registered load balancer, number
// of candidates and number of live flows. decision_bench registers them all, and `heddle bench lb`
// measures the same numbers of candidates and flows by default.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/decision/cost_meter.h"

namespace heddle {

inline const std::vector<size_t> kCostCandidates = {4, 8, 16, 64};
inline const std::vector<size_t> kCostFlows = {1'000, 100'000, 1'000'000};

struct CostCase {
  CostPart part;
  std::string balancer;
  size_t candidates;
  size_t flows;

  std::string Name() const;  // "decide/letflow/candidates:16/flows:100000"
};

// Returns all cases, sorted by flows, candidates and load balancer. Schemes that do nothing at
// hosts have no cases for the hosts' parts.
std::vector<CostCase> AllCostCases();

}  // namespace heddle
