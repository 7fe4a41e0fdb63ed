// SPDX-License-Identifier: Apache-2.0
// An OperationGraph is what the ranks of a job do in one iteration, operation by operation: sends,
// receives, computations and collectives, with the operations that each one waits for. The readers
// of traces and the templates of training steps build one; GraphProblems() (graph_check.h) checks
// it, and MakeGraphSchedule() (graph_schedule.h) runs it.
//
// Ranks wait for each other through messages. An operation may also wait for one of another rank
// directly; it learns of its end after the time that news needs between the two hosts.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "workload/jobs/job_operation.h"
#include "workload/jobs/schedule.h"

namespace heddle {

constexpr uint32_t kAnyRank = std::numeric_limits<uint32_t>::max();  // A receive's source.
constexpr int64_t kAnyTag = -1;                                      // A receive's tag.

struct Operation {
  enum class Kind : uint8_t { kSend, kReceive, kCompute, kCollective };

  Kind kind = Kind::kCompute;
  bool posted = false;          // A send that is finished as soon as it has started.
  uint16_t nic = kUnnamedNic;   // Sends and receives: the NIC that the trace names.
  uint32_t peer = 0;            // Sends: to whom. Receives: from whom, or kAnyRank.
  uint32_t channel = 0;         // Sends; see Message::channel.
  uint32_t stream = kNoStream;  // One operation of a stream runs at a time.
  uint32_t collective = 0;      // Number of the collective.
  int64_t bytes = 0;            // Sends and receives.
  int64_t tag = 0;              // Sends: from 0. Receives: likewise, or kAnyTag.
  Duration time{0};             // Computations.
  uint32_t needs = kNeedsAll;   // It starts when so many of those it waits for have finished.
  int line = 0;                 // Of the trace; 0: unknown.
  std::string label;            // Empty: "op" with its number.

  static constexpr uint32_t kNeedsAll = std::numeric_limits<uint32_t>::max();
};

class OperationGraph {
 public:
  // One operation that several ranks perform together by a schedule of its own. All start their
  // parts when their own dependencies allow it.
  struct Collective {
    std::shared_ptr<const Schedule> schedule;  // May be shared by collectives.
    std::vector<uint32_t> group;               // By the rank within `schedule`.
    uint32_t channel = 0;                      // Added to the channels of its messages.
    std::string label;
    JobOperation operation = {};
    std::string group_name = {};  // For collectives.csv.
    uint32_t turn = 0;            // How many collectives of its group come before.
  };

  // `after` starts when `before` has finished, or when it has started.
  struct Edge {
    uint32_t before;
    uint32_t after;
    bool at_start;
  };

  // `after` starts when `before` of another rank has finished, and the news of it is there.
  struct FarEdge {
    uint32_t rank;  // Of `before`.
    uint32_t before;
    uint32_t after;
  };

  explicit OperationGraph(uint32_t ranks) : ops_(ranks), edges_(ranks), far_edges_(ranks) {}

  // --- Building ---

  // Return the operation's number at its rank. They are counted from 0.
  uint32_t Add(uint32_t rank, Operation operation);
  uint32_t AddSend(uint32_t rank, uint32_t to, int64_t bytes, int64_t tag = 0);
  uint32_t AddReceive(uint32_t rank, uint32_t from, int64_t bytes, int64_t tag = 0);
  uint32_t AddCompute(uint32_t rank, Duration time, uint32_t stream = 0);

  // Adds the collective, and returns its number. AddPart() adds the operation by which a rank of
  // its group takes part; every rank of the group needs one.
  uint32_t AddCollective(Collective collective);
  uint32_t AddPart(uint32_t rank, uint32_t collective, uint32_t stream = kNoStream);

  // `op` of `rank` starts only when `before` has finished.
  void Require(uint32_t rank, uint32_t op, uint32_t before) {
    edges_[rank].push_back({before, op, false});
  }
  // `op` of `rank` starts only when `before` has started.
  void RequireStart(uint32_t rank, uint32_t op, uint32_t before) {
    edges_[rank].push_back({before, op, true});
  }

  // `op` of `rank` starts only when it has heard that `before` of `other` has finished.
  void RequireFar(uint32_t rank, uint32_t op, uint32_t other, uint32_t before) {
    far_edges_[rank].push_back({other, before, op});
  }

  Operation& At(uint32_t rank, uint32_t op) { return ops_[rank][op]; }

  // --- Looking ---

  uint32_t ranks() const { return static_cast<uint32_t>(ops_.size()); }
  std::span<const Operation> OpsOf(uint32_t rank) const { return ops_[rank]; }
  std::span<const Edge> EdgesOf(uint32_t rank) const { return edges_[rank]; }
  std::span<const FarEdge> FarEdgesOf(uint32_t rank) const { return far_edges_[rank]; }
  std::span<const Collective> collectives() const { return collectives_; }
  const Operation& At(uint32_t rank, uint32_t op) const { return ops_[rank][op]; }

  // Returns true if a receive of `rank` takes messages from any rank or with any tag. Which message
  // each of its receives gets is then known only as the job runs.
  bool HasWildcards(uint32_t rank) const;

  // "l2", or "op2".
  std::string LabelOf(uint32_t rank, uint32_t op) const;
  // "0:l2".
  std::string NameOf(uint32_t rank, uint32_t op) const;

 private:
  std::vector<std::vector<Operation>> ops_;      // By rank.
  std::vector<std::vector<Edge>> edges_;         // By rank of `after`.
  std::vector<std::vector<FarEdge>> far_edges_;  // Likewise.
  std::vector<Collective> collectives_;
};

std::string_view WordOf(Operation::Kind kind);  // "send".

}  // namespace heddle
