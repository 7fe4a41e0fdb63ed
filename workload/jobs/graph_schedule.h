// SPDX-License-Identifier: Apache-2.0
// Runs a graph of operations as the schedule of a job. Of the operations that become ready at one
// instant, those with lower numbers start first; those of a stream start in the order in which they
// became ready.
//
// A rank has finished an iteration when all its operations have started, and all but sends have
// finished. It also waits for the sends that operations of other ranks wait for.

#pragma once

#include <memory>

#include "workload/jobs/operation_graph.h"
#include "workload/jobs/schedule.h"

namespace heddle {

// `graph` must have no GraphProblems(). Messages are numbered by (rank, operation), those of
// collectives behind.
std::unique_ptr<Schedule> MakeGraphSchedule(std::shared_ptr<const OperationGraph> graph);

}  // namespace heddle
