// SPDX-License-Identifier: Apache-2.0
// Tells why the ranks of a job have not finished when nothing happens any more: what each operation
// waits for, and which operations wait for each other.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workload/jobs/job.h"
#include "workload/jobs/schedule.h"

namespace heddle {

// How far a rank has come.
struct RankState {
  uint32_t iteration = 0;                                   // The one that has begun last.
  bool is_finished = false;                                 // It has finished all iterations.
  std::span<const RankProgram::OperationState> operations;  // Empty if none has begun.
};

struct JobWaits {
  int64_t operations = 0;          // That have not finished in the ranks' last iterations.
  std::vector<std::string> first;  // What the first of them wait for: "1:l1 waits for 0:l2".
  std::string cycle;               // "0:l1 -> 0:l2 -> 0:l1"; empty if there is none.
};

// `ranks`: the state of each rank, by its number. `most`: the length of `first`. The result is
// empty for schedules that are no graphs.
JobWaits WaitsOf(const Job& job, std::span<const RankState> ranks, size_t most = 20);

}  // namespace heddle
