// SPDX-License-Identifier: Apache-2.0

#include "measure/rank_operations.h"

#include <algorithm>
#include <tuple>

#include "workload/jobs/graph_tables.h"

namespace heddle {
namespace {

using Kind = Operation::Kind;

// The messages that the receives of each rank take, by operation; none for ranks with wildcards.
class Receives {
 public:
  explicit Receives(const GraphTables& tables) : of_(tables.graph().ranks()) {
    const OperationGraph& graph = tables.graph();
    for (uint32_t rank = 0; rank < graph.ranks(); ++rank) {
      of_[rank].assign(graph.OpsOf(rank).size(), RankOperation::kNoMessage);
    }
    for (uint32_t rank = 0; rank < graph.ranks(); ++rank) {
      for (uint32_t op = 0; op < graph.OpsOf(rank).size(); ++op) {
        const Operation& its = graph.At(rank, op);
        if (its.kind != Kind::kSend || graph.HasWildcards(its.peer)) continue;
        const uint64_t slot = tables.SlotOf(rank, op);
        of_[its.peer][tables.ReceiveOf(slot)] = slot;
      }
    }
  }

  uint64_t Of(uint32_t rank, uint32_t op) const { return of_[rank][op]; }

 private:
  std::vector<std::vector<uint64_t>> of_;
};

void AddGraphOperations(const HostJobs& host, size_t place, const Receives& receives,
                        std::vector<RankOperation>& rows) {
  const Job& job = host.JobOf(place);
  const GraphTables& tables = *job.schedule().graph();
  const uint32_t rank = host.RankOf(place);
  const size_t ops = tables.graph().OpsOf(rank).size();
  const auto times = host.OperationsOf(place);
  for (size_t i = 0; i < times.size(); ++i) {
    const uint32_t op = static_cast<uint32_t>(i % ops);
    const Kind kind = tables.graph().At(rank, op).kind;
    uint64_t message = RankOperation::kNoMessage;
    if (kind == Kind::kSend) message = tables.SlotOf(rank, op);
    if (kind == Kind::kReceive) message = receives.Of(rank, op);
    rows.push_back({&job, static_cast<uint32_t>(i / ops), rank, op, kind, message, times[i]});
  }
}

Kind KindOf(HostJobs::Deed::Kind kind) {
  switch (kind) {
    case HostJobs::Deed::Kind::kSend:
      return Kind::kSend;
    case HostJobs::Deed::Kind::kReceive:
      return Kind::kReceive;
    case HostJobs::Deed::Kind::kCompute:
      break;
  }
  return Kind::kCompute;
}

// Numbers the deeds of each iteration: sends, receives, computations, each in the order of the
// schedule, so that numbers do not depend on times.
void AddDeeds(const HostJobs& host, size_t place, Time end, std::vector<RankOperation>& rows) {
  const auto noted = host.DeedsOf(place);
  std::vector<HostJobs::Deed> deeds(noted.begin(), noted.end());
  std::ranges::sort(deeds, {}, [](const HostJobs::Deed& deed) {
    return std::tuple(deed.place.iteration, deed.kind, deed.place.index);
  });
  uint32_t op = 0;
  for (size_t i = 0; i < deeds.size(); ++i) {
    HostJobs::Deed& deed = deeds[i];
    op = i > 0 && deeds[i - 1].place.iteration == deed.place.iteration ? op + 1 : 0;
    if (deed.times.end != kNever && deed.times.end > end) deed.times.end = kNever;
    const bool is_computation = deed.kind == HostJobs::Deed::Kind::kCompute;
    rows.push_back({&host.JobOf(place), deed.place.iteration, host.RankOf(place), op,
                    KindOf(deed.kind),
                    is_computation ? RankOperation::kNoMessage : deed.place.index, deed.times});
  }
}

}  // namespace

const Operation* RankOperation::in_graph() const {
  const GraphTables* tables = job->schedule().graph();
  return tables == nullptr ? nullptr : &tables->graph().At(rank, op);
}

std::string_view RankOperation::label() const {
  const Operation* its = in_graph();
  return its == nullptr ? std::string_view() : std::string_view(its->label);
}

std::optional<int64_t> RankOperation::peer() const {
  if (!is_message()) return std::nullopt;
  if (const Operation* its = in_graph()) {
    return its->peer == kAnyRank ? std::nullopt : std::optional<int64_t>(its->peer);
  }
  const Message its = job->schedule().MessageOf(message);
  return is_send() ? its.dst : its.src;
}

std::optional<int64_t> RankOperation::bytes() const {
  if (!is_message()) return std::nullopt;
  const Operation* its = in_graph();
  return its != nullptr ? its->bytes : job->schedule().MessageOf(message).bytes;
}

std::optional<int64_t> RankOperation::tag() const {
  const Operation* its = in_graph();
  if (its == nullptr || !is_message() || its->tag == kAnyTag) return std::nullopt;
  return its->tag;
}

std::optional<int64_t> RankOperation::channel() const {
  if (!is_send()) return std::nullopt;
  const Operation* its = in_graph();
  return its != nullptr ? its->channel : job->schedule().MessageOf(message).channel;
}

std::optional<int64_t> RankOperation::step() const {
  if (!is_message() || in_graph() != nullptr) return std::nullopt;
  return job->schedule().MessageOf(message).step;
}

std::optional<FlowId> RankOperation::flow() const {
  if (!is_sent()) return std::nullopt;
  return job->IdOf({iteration, message});
}

std::vector<RankOperation> OperationsOf(const std::vector<HostJobs*>& hosts, Time end) {
  std::vector<RankOperation> rows;
  std::vector<std::pair<const Job*, Receives>> graphs;
  const auto receives_of = [&](const Job& job) -> const Receives& {
    for (const auto& [known, receives] : graphs) {
      if (known == &job) return receives;
    }
    return graphs.emplace_back(&job, Receives(*job.schedule().graph())).second;
  };
  for (const HostJobs* host : hosts) {
    for (size_t place = 0; place < host->ranks(); ++place) {
      const Job& job = host->JobOf(place);
      if (job.schedule().graph() == nullptr) {
        AddDeeds(*host, place, end, rows);
      } else {
        AddGraphOperations(*host, place, receives_of(job), rows);
      }
    }
  }
  std::ranges::sort(rows, {}, [](const RankOperation& row) {
    return std::tuple(row.job->number(), row.iteration, row.rank, row.op);
  });
  return rows;
}

}  // namespace heddle
