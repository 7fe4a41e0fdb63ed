// SPDX-License-Identifier: Apache-2.0
// The rows of collectives.csv: one for each collective that all of its ranks have finished. In a
// collective job, each iteration is one; training steps and Chakra traces have several.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"
#include "measure/ideal_schedule.h"
#include "measure/rank_times.h"
#include "workload/jobs/host_jobs.h"
#include "workload/jobs/job.h"
#include "workload/jobs/job_operation.h"
#include "workload/jobs/operation_graph.h"

namespace heddle {

// A schedule of more messages has no ideal time: finding it would take as long as the run.
constexpr double kMostIdealMessages = 1e7;

struct CollectiveRow {
  uint32_t job;
  size_t iteration;
  uint32_t turn;  // Among those of its group in the iteration.
  std::string_view group;
  const JobOperation& operation;
  const RankTimes& ranks;
  std::optional<IdealSchedule::Result> ideal;
  int64_t retransmissions;
};

std::string CollectivesHeader();
// Stops the program if the row is faster than its ideal time.
void AppendCollective(const CollectiveRow& row, std::string& text);

// The collectives inside the iterations of a graph's job, by iteration, then by their number in the
// graph.
class GraphCollectives {
 public:
  // The schedule of `job`, which outlives this, is a graph.
  explicit GraphCollectives(const Job& job);

  // Adds what the rank in this place of a host, which belongs to the job, has noted.
  void Add(const HostJobs& host, size_t place);

  // `retransmissions_of(iteration, collective)` counts those of a collective's messages.
  template <class RetransmissionsOf>
  void AppendTo(std::string& text, IdealSchedule& ideal,
                const RetransmissionsOf& retransmissions_of) {
    const size_t count = collectives().size();
    for (size_t i = 0; i < times_.size(); ++i) {
      const size_t number = i % count;
      if (!IsDone(i)) continue;
      AppendRow(i, IdealOf(number, ideal), retransmissions_of(i / count, number), text);
    }
  }

 private:
  std::span<const OperationGraph::Collective> collectives() const;
  bool IsDone(size_t i) const;
  std::optional<IdealSchedule::Result> IdealOf(size_t collective, IdealSchedule& ideal);
  void AppendRow(size_t i, const std::optional<IdealSchedule::Result>& ideal,
                 int64_t retransmissions, std::string& text) const;

  const Job& job_;
  std::vector<RankTimes> times_;
  // Collectives that have the same schedule among the same ranks share their ideal time.
  std::map<std::pair<const Schedule*, std::vector<uint32_t>>, IdealSchedule::Result> ideals_;
  double walked_ = 0;  // Messages for all of them.
};

}  // namespace heddle
