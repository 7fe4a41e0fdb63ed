// SPDX-License-Identifier: Apache-2.0
// Graphs of operations in tests: their schedules, their problems, and parts of random ones.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/timed_play.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/graph_check.h"
#include "workload/jobs/graph_schedule.h"

namespace heddle::graph_kit {

inline std::vector<std::string> ProblemsOf(const OperationGraph& graph) {
  std::vector<std::string> messages;
  for (const GraphProblem& problem : GraphProblems(graph)) messages.push_back(problem.message);
  return messages;
}

inline std::unique_ptr<Schedule> ScheduleOf(OperationGraph graph) {
  EXPECT_THAT(ProblemsOf(graph), ::testing::IsEmpty());
  return MakeGraphSchedule(std::make_shared<const OperationGraph>(std::move(graph)));
}

// Each message takes 1 us, and is finished for its sender after 2 us.
inline MessageTimes OneUs(const Message& /*message*/) { return {1_us, 2_us}; }

inline std::shared_ptr<const Schedule> RingOf(uint32_t ranks, std::optional<BitRate> reduce = {}) {
  CollectiveSettings settings;
  settings.size = Bytes{100'000 * ranks};
  settings.reduce_rate = reduce;
  return settings.Make(ranks, 1, 1);
}

// `op` waits for up to two earlier operations of its rank: for their start, or for their end.
inline void RequireEarlier(OperationGraph& graph, uint32_t rank, uint32_t op, Rng& rng) {
  for (int i = 0; op > 0 && i < 2; ++i) {
    const uint32_t before = rng.Below(op);
    if (rng.Below(4) == 0) {
      graph.RequireStart(rank, op, before);
    } else {
      graph.Require(rank, op, before);
    }
  }
}

}  // namespace heddle::graph_kit
