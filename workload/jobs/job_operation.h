// SPDX-License-Identifier: Apache-2.0
// What a collective operation is called, and how its bandwidth is counted.

#pragma once

#include <cstdint>
#include <string>

namespace heddle {

// An empty name: no collective operation.
struct JobOperation {
  std::string name;       // "all_reduce"
  std::string algorithm;  // "ring"
  int64_t bytes = 0;      // S, see docs/metrics.md.
  // The bus bandwidth is this times S over the time (nccl-tests, doc/PERFORMANCE.md). 0: none.
  double bus_factor = 0;
};

}  // namespace heddle
