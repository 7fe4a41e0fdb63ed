// SPDX-License-Identifier: Apache-2.0
// lb.csv: what the load balancer of each node has counted, and the state that it keeps.

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measure/instrument.h"

namespace heddle {

// The load balancer of one node.
struct PolicyReport {
  VertexId vertex;
  int64_t state_bytes;
  std::vector<std::pair<std::string, int64_t>> counters;

  friend bool operator==(const PolicyReport&, const PolicyReport&) = default;
};

// The sum over all nodes, by counter.
std::map<std::string, int64_t> SumOfCounters(std::span<const PolicyReport> reports);

class PolicyCounts final : public Instrument {
 public:
  void Finish(Time end, RunNotes& notes) override;

  // After the run: by vertex. Hosts where the scheme does nothing have none.
  std::vector<PolicyReport>& reports() { return reports_; }

 private:
  std::vector<PolicyReport> reports_;
};

}  // namespace heddle
