// SPDX-License-Identifier: Apache-2.0
// The operations of a job's ranks as a run has recorded them, for operations.csv and for traces:
// those of graphs with their labels, and the messages and computations of collectives.

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "workload/jobs/host_jobs.h"
#include "workload/jobs/job.h"
#include "workload/jobs/operation_graph.h"

namespace heddle {

// One operation of a rank in one iteration.
struct RankOperation {
  static constexpr uint64_t kNoMessage = std::numeric_limits<uint64_t>::max();

  const Job* job = nullptr;
  uint32_t iteration = 0;
  uint32_t rank = 0;
  uint32_t op = 0;  // Counted from 0 at its rank.
  Operation::Kind kind = Operation::Kind::kCompute;
  // The number of its message in the schedule; kNoMessage: a computation, a collective, or a
  // receive of a rank with wildcards.
  uint64_t message = kNoMessage;
  HostJobs::OperationTimes times;

  bool is_send() const { return kind == Operation::Kind::kSend; }
  bool is_message() const { return is_send() || kind == Operation::Kind::kReceive; }

  std::string_view label() const;
  // The next three are set for messages, but not where a receive takes any.
  std::optional<int64_t> peer() const;
  std::optional<int64_t> bytes() const;
  std::optional<int64_t> tag() const;
  std::optional<int64_t> channel() const;  // Of sends.
  std::optional<int64_t> step() const;     // Of messages of collectives.

  // A send starts when its flow does, if it goes over the network.
  Time start() const { return is_sent() ? times.sent : times.posted; }
  std::optional<FlowId> flow() const;  // Of sends over the network.

 private:
  const Operation* in_graph() const;
  bool is_sent() const { return is_send() && times.sent != kNever; }
};

// Returns all operations of the jobs on `hosts`, which have recorded them until `end`: by job,
// iteration, rank, then number.
std::vector<RankOperation> OperationsOf(const std::vector<HostJobs*>& hosts, Time end);

}  // namespace heddle
