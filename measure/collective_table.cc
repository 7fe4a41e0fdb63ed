// SPDX-License-Identifier: Apache-2.0

#include "measure/collective_table.h"

#include "core/check.h"
#include "measure/table.h"
#include "settings/csv.h"
#include "workload/jobs/graph_tables.h"

namespace heddle {
namespace {

std::optional<double> BandwidthOf(const CollectiveRow& row, double factor) {
  if (factor == 0) return std::nullopt;
  return factor * GigabytesPerSecond(row.operation.bytes, row.ranks.time());
}

constexpr Column<CollectiveRow> kCollectiveColumns[] = {
    {"job", [](const CollectiveRow& row) { return row.job; }},
    {"iter", [](const CollectiveRow& row) { return row.iteration; }},
    {"seq", [](const CollectiveRow& row) { return row.turn; }},
    {"group", [](const CollectiveRow& row) { return CsvCell(row.group); }},
    {"op", [](const CollectiveRow& row) { return std::string_view(row.operation.name); }},
    {"algorithm",
     [](const CollectiveRow& row) { return std::string_view(row.operation.algorithm); }},
    {"ranks", [](const CollectiveRow& row) { return row.ranks.ranks; }},
    {"bytes", [](const CollectiveRow& row) { return row.operation.bytes; }},
    {"start_ps", [](const CollectiveRow& row) { return row.ranks.begin.ps; }},
    {"end_ps", [](const CollectiveRow& row) { return row.ranks.end.ps; }},
    {"cct_us", [](const CollectiveRow& row) { return InUs(row.ranks.time()); }},
    {"ideal_us",
     [](const CollectiveRow& row) {
       return row.ideal ? std::optional(InUs(row.ideal->time)) : std::nullopt;
     }},
    {"slowdown",
     [](const CollectiveRow& row) -> std::optional<double> {
       if (!row.ideal) return std::nullopt;
       return static_cast<double>(row.ranks.time().ps) / static_cast<double>(row.ideal->time.ps);
     }},
    {"algbw_gbs",
     [](const CollectiveRow& row) {
       return BandwidthOf(row, row.operation.bus_factor == 0 ? 0 : 1);
     }},
    {"busbw_gbs",
     [](const CollectiveRow& row) { return BandwidthOf(row, row.operation.bus_factor); }},
    {"mean_rank_us", [](const CollectiveRow& row) { return InUs(row.ranks.mean()); }},
    {"min_rank_us", [](const CollectiveRow& row) { return InUs(Duration{row.ranks.shortest_ps}); }},
    {"max_rank_us", [](const CollectiveRow& row) { return InUs(Duration{row.ranks.longest_ps}); }},
    {"straggler_us",
     [](const CollectiveRow& row) { return InUs(row.ranks.end - row.ranks.first_end); }},
    {"straggler_ratio",
     [](const CollectiveRow& row) {
       const double ranks = static_cast<double>(row.ranks.ranks);
       return static_cast<double>(row.ranks.longest_ps) * ranks /
              static_cast<double>(row.ranks.time_ps);
     }},
    {"slowest_rank", [](const CollectiveRow& row) { return row.ranks.slowest; }},
    {"messages",
     [](const CollectiveRow& row) {
       return row.ideal ? std::optional(row.ideal->messages) : std::nullopt;
     }},
    {"retx", [](const CollectiveRow& row) { return row.retransmissions; }}};

}  // namespace

std::string CollectivesHeader() { return Table(kCollectiveColumns).Header(); }

void AppendCollective(const CollectiveRow& row, std::string& text) {
  HEDDLE_CHECK(!row.ideal || row.ranks.time() >= row.ideal->time,
               "collective {} of group \"{}\" in iteration {} of job {} took {} ps, less than the "
               "{} ps that it needs on an idle network",
               row.turn, row.group, row.iteration, row.job, row.ranks.time().ps,
               row.ideal->time.ps);
  Table(kCollectiveColumns).Append(text, row);
}

GraphCollectives::GraphCollectives(const Job& job) : job_(job) {}

std::span<const OperationGraph::Collective> GraphCollectives::collectives() const {
  return job_.schedule().graph()->graph().collectives();
}

void GraphCollectives::Add(const HostJobs& host, size_t place) {
  const uint32_t rank = host.RankOf(place);
  const std::vector<uint32_t> parts = job_.schedule().graph()->PartsAt(rank);
  const auto times = host.PartsOf(place);
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i].begin == kNever) continue;
    const size_t at = i / parts.size() * collectives().size() + parts[i % parts.size()];
    if (at >= times_.size()) times_.resize(at + 1);
    times_[at].Add(rank, times[i].begin, times[i].end);
  }
}

bool GraphCollectives::IsDone(size_t i) const {
  const std::vector<uint32_t>& group = collectives()[i % collectives().size()].group;
  return times_[i].ranks == static_cast<int64_t>(group.size());
}

std::optional<IdealSchedule::Result> GraphCollectives::IdealOf(size_t collective,
                                                               IdealSchedule& ideal) {
  const OperationGraph::Collective& its = collectives()[collective];
  const std::pair key(its.schedule.get(), its.group);
  const auto known = ideals_.find(key);
  if (known != ideals_.end()) return known->second;
  const double messages = its.schedule->Totals().messages;
  if (walked_ + messages > kMostIdealMessages) return std::nullopt;
  walked_ += messages;
  return ideals_.emplace(key, ideal.Of(*its.schedule, job_, its.group)).first->second;
}

void GraphCollectives::AppendRow(size_t i, const std::optional<IdealSchedule::Result>& ideal,
                                 int64_t retransmissions, std::string& text) const {
  const OperationGraph::Collective& its = collectives()[i % collectives().size()];
  AppendCollective({.job = job_.number(),
                    .iteration = i / collectives().size(),
                    .turn = its.turn,
                    .group = its.group_name,
                    .operation = its.operation,
                    .ranks = times_[i],
                    .ideal = ideal,
                    .retransmissions = retransmissions},
                   text);
}

}  // namespace heddle
