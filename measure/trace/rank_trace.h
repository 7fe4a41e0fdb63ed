// SPDX-License-Identifier: Apache-2.0
// The ranks of jobs in the timeline of a trace: a process for each rank, with slices for its
// computations, collectives, sends and receives, and an arrow from each send to its receive. The
// tracer calls RanksAsJson() once, at the end of the run.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/units.h"
#include "measure/rank_operations.h"

namespace heddle {

struct RankTrace {
  // Events of Chrome's Trace Event Format, each behind a comma and a line end.
  std::string json;
  bool is_whole = true;  // False: some operations had no room.
};

// Which operations are shown.
struct RankTraceSettings {
  Time from;  // Those that are under way in [from, to).
  Time to;
  Time end;         // Of the run; unfinished operations end with it.
  int64_t limit;    // At most so many, the first to start.
  int first_group;  // The viewer's number of the first rank's process; the others follow.
};

// `operations` are ordered as OperationsOf() returns them. A receive is shown from the start of its
// message, or from when the rank expects it if that is later.
RankTrace RanksAsJson(std::span<const RankOperation> operations, const RankTraceSettings& settings);

}  // namespace heddle
