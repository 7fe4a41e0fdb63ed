// SPDX-License-Identifier: Apache-2.0
// measure.operations: what became of each operation of jobs, rank by rank.

#include <optional>
#include <vector>

#include "measure/instruments.h"
#include "measure/rank_operations.h"
#include "measure/table.h"

namespace heddle {
namespace {

std::optional<int64_t> IfReached(Time at) {
  return at == kNever ? std::nullopt : std::optional(at.ps);
}

constexpr Column<RankOperation> kOperationsColumns[] = {
    {"job", [](const RankOperation& row) { return row.job->number(); }},
    {"iter", [](const RankOperation& row) { return row.iteration; }},
    {"rank", [](const RankOperation& row) { return row.rank; }},
    {"host", [](const RankOperation& row) { return row.job->HostOf(row.rank); }},
    {"op", [](const RankOperation& row) { return row.op; }},
    {"label", [](const RankOperation& row) { return row.label(); }},
    {"kind", [](const RankOperation& row) { return WordOf(row.kind); }},
    {"peer", [](const RankOperation& row) { return row.peer(); }},
    {"bytes", [](const RankOperation& row) { return row.bytes(); }},
    {"tag", [](const RankOperation& row) { return row.tag(); }},
    {"channel", [](const RankOperation& row) { return row.channel(); }},
    {"step", [](const RankOperation& row) { return row.step(); }},
    {"ready_ps", [](const RankOperation& row) { return IfReached(row.times.ready); }},
    {"posted_ps", [](const RankOperation& row) { return IfReached(row.times.posted); }},
    {"start_ps", [](const RankOperation& row) { return IfReached(row.start()); }},
    {"end_ps", [](const RankOperation& row) { return IfReached(row.times.end); }},
    {"flow_id", [](const RankOperation& row) { return row.flow(); }}};

class Operations final : public Instrument {
 public:
  explicit Operations(const RunPlan& plan) : hosts_(plan.jobs) {}

  void Finish(Time end, RunNotes& /*notes*/) override {
    std::vector<RankOperation> rows;
    if (hosts_ != nullptr) rows = OperationsOf(*hosts_, end);
    run().Write("operations.csv", Table(kOperationsColumns).Text(rows));
  }

 private:
  void Begin() override {
    if (hosts_ == nullptr) return;
    for (HostJobs* host : *hosts_) host->RecordOperations();
  }

  const std::vector<HostJobs*>* hosts_;
};

[[maybe_unused]] const bool registered = RegisterOption<Operations>(
    {.name = "operations", .place = InstrumentPlace::kMeasure, .order = 30},
    "operations.csv: when each operation of jobs is ready, starts and ends: messages, computations "
    "and collectives, rank by rank.");

}  // namespace
}  // namespace heddle
