// SPDX-License-Identifier: Apache-2.0
// Looks through a graph of operations before it runs: which receive takes which message, and what
// could never finish.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workload/jobs/operation_graph.h"

namespace heddle {

// A send and the receive that takes its message. The sending and the receiving rank follow from
// the operations.
struct Match {
  uint32_t src;
  uint32_t send;  // Number of the operation at its rank.
  uint32_t dst;
  uint32_t receive;
};

// The k-th send from one rank to another with a tag matches the k-th receive of that tag there, in
// the order of operations. Messages to ranks with wildcards are left out.
std::vector<Match> MatchMessages(const OperationGraph& graph);

struct GraphProblem {
  uint32_t rank;  // Whose operation it is; kAnyRank: that of several.
  int line;       // Of that operation in the trace; 0: none.
  std::string message;
};

// What messages call an operation of a rank.
using OperationName = std::function<std::string(uint32_t rank, uint32_t op)>;

// Returns at most `most` reasons why the graph cannot run: messages without a receive, receives
// without a message, different sizes at the two ends, groups that are incomplete, operations that
// wait for each other. An empty result allows MakeGraphSchedule(). Messages call an operation
// "0:l2", or what `name` says.
std::vector<GraphProblem> GraphProblems(const OperationGraph& graph, size_t most = 20,
                                        OperationName name = nullptr);

}  // namespace heddle
