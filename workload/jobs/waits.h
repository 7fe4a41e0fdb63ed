// SPDX-License-Identifier: Apache-2.0
// Tells why the ranks of a job have not finished when nothing happens any more: what each operation
// or rank waits for, which operations wait for each other, and which messages have been sent and
// have not arrived.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "workload/jobs/job.h"
#include "workload/jobs/schedule.h"

namespace heddle {

// How far a rank has come.
struct RankState {
  bool has_begun = false;
  uint32_t iteration = 0;                                   // The one that has begun last.
  bool is_finished = false;                                 // It has finished all iterations.
  std::span<const RankProgram::OperationState> operations;  // Empty if none has begun.
  // Whether the receiving half of a message to it has been closed; not set before it has begun.
  std::function<bool(Job::Place)> is_closed;
};

// A message over the network that is open at its sender or its receiver when the run ends.
struct OpenMessage {
  Time sent = kNever;  // kNever: only its receiver has not closed it.
  bool has_arrived = false;
};
using OpenMessages = std::map<FlowId, OpenMessage>;

struct JobWaits {
  int64_t operations = 0;          // Graphs: unfinished ones of the ranks' last iterations.
  std::vector<std::string> first;  // What the first operations or ranks wait for.
  bool has_more = false;
  std::string cycle;  // "0:l1 -> 0:l2 -> 0:l1"; empty if there is none.
};

// `ranks`: the state of each rank, by its number. `most`: the length of `first`. Operations of
// graphs: "1:l1 waits for 0:l2". Else ranks: "rank 3 waits for the message of step 2 from rank 1
// (100000 bytes), which has not been sent". Those that wait for a message under way come first.
JobWaits WaitsOf(const Job& job, std::span<const RankState> ranks, const OpenMessages& open,
                 size_t most = 20);

}  // namespace heddle
