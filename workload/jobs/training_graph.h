// SPDX-License-Identifier: Apache-2.0
// Compiles a training step to a graph of operations: what each rank computes, sends and sums up,
// and what waits for what.

#pragma once

#include <cstdint>
#include <memory>

#include "workload/jobs/operation_graph.h"
#include "workload/jobs/training_model.h"

namespace heddle {

// Rank t + T (d + D p) is rank t of T of tensor parallelism, d of D of data parallelism, and in
// stage p. Needs settings without errors.
std::shared_ptr<const OperationGraph> MakeTrainingGraph(const TrainingSettings& settings,
                                                        uint32_t ranks);

}  // namespace heddle
