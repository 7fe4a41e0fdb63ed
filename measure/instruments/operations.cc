// SPDX-License-Identifier: Apache-2.0
// measure.operations: what became of each operation of traces, rank by rank.

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "measure/instruments.h"
#include "measure/table.h"
#include "workload/jobs/graph_tables.h"
#include "workload/jobs/host_jobs.h"

namespace heddle {
namespace {

// One operation in one iteration.
struct OperationRow {
  const Job* job;
  uint32_t rank;
  uint32_t iteration;
  uint32_t op;
  HostJobs::OperationTimes times;

  const GraphTables& tables() const { return *job->schedule().graph(); }
  const Operation& its() const { return tables().graph().At(rank, op); }
  bool is_send() const { return its().kind == Operation::Kind::kSend; }
  bool is_message() const { return is_send() || its().kind == Operation::Kind::kReceive; }
  bool is_sent() const { return is_send() && times.sent != kNever; }

  // The values of messages; empty for other operations, and where a receive takes any.
  std::optional<int64_t> IfMessage(int64_t value) const {
    return is_message() ? std::optional(value) : std::nullopt;
  }
  std::optional<int64_t> peer() const {
    return its().peer == kAnyRank ? std::nullopt : IfMessage(its().peer);
  }
  std::optional<int64_t> tag() const {
    return its().tag == kAnyTag ? std::nullopt : IfMessage(its().tag);
  }
  // A send starts when its flow does, if it goes over the network.
  Time start() const { return is_sent() ? times.sent : times.posted; }
};

std::optional<int64_t> IfReached(Time at) {
  return at == kNever ? std::nullopt : std::optional(at.ps);
}

constexpr Column<OperationRow> kColumns[] = {
    {"job", [](const OperationRow& row) { return row.job->number(); }},
    {"iter", [](const OperationRow& row) { return row.iteration; }},
    {"rank", [](const OperationRow& row) { return row.rank; }},
    {"host", [](const OperationRow& row) { return row.job->HostOf(row.rank); }},
    {"op", [](const OperationRow& row) { return row.op; }},
    {"label", [](const OperationRow& row) { return std::string_view(row.its().label); }},
    {"kind", [](const OperationRow& row) { return WordOf(row.its().kind); }},
    {"peer", [](const OperationRow& row) { return row.peer(); }},
    {"bytes", [](const OperationRow& row) { return row.IfMessage(row.its().bytes); }},
    {"tag", [](const OperationRow& row) { return row.tag(); }},
    {"channel",
     [](const OperationRow& row) {
       return row.is_send() ? std::optional(row.its().channel) : std::nullopt;
     }},
    {"ready_ps", [](const OperationRow& row) { return IfReached(row.times.ready); }},
    {"posted_ps", [](const OperationRow& row) { return IfReached(row.times.posted); }},
    {"start_ps", [](const OperationRow& row) { return IfReached(row.start()); }},
    {"end_ps", [](const OperationRow& row) { return IfReached(row.times.end); }},
    {"flow_id", [](const OperationRow& row) -> std::optional<int64_t> {
       if (!row.is_sent()) return std::nullopt;
       return row.job->IdOf({row.iteration, row.tables().SlotOf(row.rank, row.op)});
     }}};

class Operations final : public Instrument {
 public:
  explicit Operations(const RunPlan& plan) : hosts_(plan.jobs) {}

  void Finish(Time /*end*/, RunNotes& /*notes*/) override {
    std::vector<OperationRow> rows;
    if (hosts_ != nullptr) {
      for (const HostJobs* host : *hosts_) AddRowsOf(*host, rows);
    }
    std::ranges::sort(rows, {}, [](const OperationRow& row) {
      return std::tuple(row.job->number(), row.iteration, row.rank, row.op);
    });
    run().Write("operations.csv", Table(kColumns).Text(rows));
  }

 private:
  void Begin() override {
    if (hosts_ == nullptr) return;
    for (HostJobs* host : *hosts_) host->RecordOperations();
  }

  static void AddRowsOf(const HostJobs& host, std::vector<OperationRow>& rows) {
    for (size_t place = 0; place < host.ranks(); ++place) {
      const Job& job = host.JobOf(place);
      if (job.schedule().graph() == nullptr) continue;
      const uint32_t rank = host.RankOf(place);
      const size_t ops = job.schedule().graph()->graph().OpsOf(rank).size();
      const auto times = host.OperationsOf(place);
      for (size_t i = 0; i < times.size(); ++i) {
        rows.push_back(
            {&job, rank, static_cast<uint32_t>(i / ops), static_cast<uint32_t>(i % ops), times[i]});
      }
    }
  }

  const std::vector<HostJobs*>* hosts_;
};

[[maybe_unused]] const bool registered = RegisterOption<Operations>(
    {.name = "operations", .place = InstrumentPlace::kMeasure, .order = 30},
    "operations.csv: when each operation of traces is ready, starts and ends.");

}  // namespace
}  // namespace heddle
