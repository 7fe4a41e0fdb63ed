// SPDX-License-Identifier: Apache-2.0
// All-reduce in servers of several ranks: a reduce-scatter within each server, then an all-reduce
// among the ranks of equal place in all servers, then an all-gather within each server.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "workload/jobs/schedule.h"

namespace heddle {

struct HierarchicalSettings {
  uint32_t ranks = 4;
  uint32_t server = 2;  // Ranks of a server; divides `ranks`.
  int64_t bytes = 0;    // The buffer.
  // The schedules of the three phases, for a number of ranks and a buffer.
  using Phase = std::function<std::shared_ptr<const Schedule>(uint32_t ranks, int64_t bytes)>;
  Phase scatter;
  Phase reduce;
  Phase gather;
};

std::unique_ptr<Schedule> MakeHierarchical(const HierarchicalSettings& settings);

}  // namespace heddle
