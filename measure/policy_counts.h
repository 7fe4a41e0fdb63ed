// SPDX-License-Identifier: Apache-2.0
// lb.csv: the counters of each node's load balancer, and the bytes of state that it keeps. The
// instrument reads them once, at the end of the run.

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measure/instrument.h"

namespace heddle {

// The counters and state of one node's load balancer.
struct PolicyReport {
  VertexId vertex;
  int64_t state_bytes;
  std::vector<std::pair<std::string, int64_t>> counters;

  friend bool operator==(const PolicyReport&, const PolicyReport&) = default;
};

// Returns the sum over all nodes, by counter.
std::map<std::string, int64_t> SumOfCounters(std::span<const PolicyReport> reports);

class PolicyCounts final : public Instrument {
 public:
  void Finish(Time end, RunNotes& notes) override;

  // Valid after the run; by vertex. Hosts where the scheme does nothing have no report.
  std::vector<PolicyReport>& reports() { return reports_; }

 private:
  std::vector<PolicyReport> reports_;
};

}  // namespace heddle
