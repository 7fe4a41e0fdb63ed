// SPDX-License-Identifier: Apache-2.0

#include "measure/job_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "measure/collective_table.h"
#include "measure/ideal_schedule.h"
#include "measure/rank_times.h"
#include "measure/table.h"
#include "settings/csv.h"
#include "workload/jobs/graph_tables.h"
#include "workload/jobs/waits.h"

namespace heddle {
namespace {

// All ranks of a job in one iteration. Ranks are the same in all of them, so sums are divided by
// their number in the end.
struct IterationSum : RankTimes {
  int64_t computed_ps = 0;
  int64_t exposed_ps = 0;
  int64_t most_exposed_ps = 0;

  void Add(uint32_t rank, const HostJobs::Iteration& its) {
    RankTimes::Add(rank, its.begin, its.end);
    if (its.end == kNever) return;
    const Duration exposed = its.end - its.begin - its.computed;
    computed_ps += its.computed.ps;
    exposed_ps += exposed.ps;
    most_exposed_ps = std::max(most_exposed_ps, exposed.ps);
  }
};

// A job with what it did. Only iterations that all ranks have finished count.
struct JobSum {
  const Job* job;
  std::vector<IterationSum> iterations;
  std::set<HostId> hosts;
  std::optional<IdealSchedule::Result> ideal;
  std::optional<GraphCollectives> collectives;  // Of a graph.

  bool IsDone(size_t iteration) const {
    return iterations[iteration].ranks == job->schedule().ranks();
  }
};

double Mean(int64_t sum_ps, int64_t count) {
  return static_cast<double>(sum_ps) * 1e-6 / static_cast<double>(count);
}

double GigabytesPerSecond(int64_t bytes, double us) {
  return static_cast<double>(bytes) / us * 1e-3;
}

// --- Tables ---

struct IterationRow {
  const JobSum& sum;
  size_t number;

  const IterationSum& its() const { return sum.iterations[number]; }
};

constexpr Column<IterationRow> kIterations[] = {
    {"job", [](const IterationRow& row) { return row.sum.job->number(); }},
    {"iter", [](const IterationRow& row) { return row.number; }},
    {"measured",
     [](const IterationRow& row) {
       return row.sum.job->IsMeasured(static_cast<uint32_t>(row.number));
     }},
    {"start_ps", [](const IterationRow& row) { return row.its().begin.ps; }},
    {"end_ps", [](const IterationRow& row) { return row.its().end.ps; }},
    {"time_us", [](const IterationRow& row) { return InUs(row.its().time()); }},
    {"exposed_comm_us",
     [](const IterationRow& row) { return Mean(row.its().exposed_ps, row.its().ranks); }},
    {"straggler_us",
     [](const IterationRow& row) { return InUs(row.its().end - row.its().first_end); }},
    {"slowest_rank", [](const IterationRow& row) { return row.its().slowest; }}};

// The measured iterations of a job.
struct JobRow {
  const JobSum& sum;
  std::vector<double> times_us;  // Ascending.
  int64_t time_ps = 0;
  int64_t rank_iterations = 0;
  int64_t computed_ps = 0;
  int64_t exposed_ps = 0;
  int64_t most_exposed_ps = 0;
  Time start;
  Time end;
  PercentileMethod percentiles = PercentileMethod::kLinear;
  std::optional<double> alone_us = std::nullopt;  // The mean iteration without neighbours.

  std::optional<double> neighbour_cost() const {
    if (!alone_us || times_us.empty()) return std::nullopt;
    return *mean_us() / *alone_us - 1;
  }
  const JobSettings& settings() const { return sum.job->settings(); }
  std::optional<ExactUs> ideal_us() const {
    return sum.ideal ? std::optional(InUs(sum.ideal->time)) : std::nullopt;
  }
  std::optional<double> Percentile(double p) const {
    if (times_us.empty()) return std::nullopt;
    return heddle::Percentile(times_us, p, percentiles);
  }
  std::optional<double> mean_us() const {
    if (times_us.empty()) return std::nullopt;
    return Mean(time_ps, static_cast<int64_t>(times_us.size()));
  }
  std::optional<double> PerRank(int64_t sum_ps) const {
    if (rank_iterations == 0) return std::nullopt;
    return Mean(sum_ps, rank_iterations);
  }
  std::optional<double> Bandwidth(double factor) const {
    if (factor == 0 || times_us.empty()) return std::nullopt;
    return factor * GigabytesPerSecond(settings().operation.bytes, *mean_us());
  }
};

constexpr Column<JobRow> kJobs[] = {
    {"job", [](const JobRow& row) { return row.sum.job->number(); }},
    {"label", [](const JobRow& row) { return CsvCell(row.settings().label); }},
    {"kind", [](const JobRow& row) { return std::string_view(row.settings().kind); }},
    {"ranks", [](const JobRow& row) { return row.sum.job->schedule().ranks(); }},
    {"hosts", [](const JobRow& row) { return row.sum.hosts.size(); }},
    {"placement", [](const JobRow& row) { return std::string_view(row.settings().placement); }},
    {"iterations", [](const JobRow& row) { return row.settings().iterations; }},
    {"measured", [](const JobRow& row) { return row.times_us.size(); }},
    {"start_ps", [](const JobRow& row) { return row.start.ps; }},
    {"end_ps", [](const JobRow& row) { return row.end.ps; }},
    {"mean_iter_us", [](const JobRow& row) { return row.mean_us(); }},
    {"p50_iter_us", [](const JobRow& row) { return row.Percentile(0.5); }},
    {"p99_iter_us", [](const JobRow& row) { return row.Percentile(0.99); }},
    {"max_iter_us", [](const JobRow& row) { return row.Percentile(1); }},
    {"min_iter_us", [](const JobRow& row) { return row.Percentile(0); }},
    {"ideal_iter_us", [](const JobRow& row) { return row.ideal_us(); }},
    {"slowdown",
     [](const JobRow& row) -> std::optional<double> {
       if (!row.sum.ideal || row.times_us.empty()) return std::nullopt;
       return *row.mean_us() / Microseconds(row.sum.ideal->time);
     }},
    {"compute_us", [](const JobRow& row) { return row.PerRank(row.computed_ps); }},
    {"exposed_comm_us", [](const JobRow& row) { return row.PerRank(row.exposed_ps); }},
    {"max_exposed_comm_us", [](const JobRow& row) { return InUs(Duration{row.most_exposed_ps}); }},
    {"algbw_gbs",
     [](const JobRow& row) {
       return row.Bandwidth(row.settings().operation.bus_factor == 0 ? 0 : 1);
     }},
    {"busbw_gbs",
     [](const JobRow& row) { return row.Bandwidth(row.settings().operation.bus_factor); }},
    {"messages", [](const JobRow& row) { return row.sum.ideal ? row.sum.ideal->messages : 0; }},
    {"bytes_network",
     [](const JobRow& row) { return row.sum.ideal ? row.sum.ideal->bytes_network : 0; }},
    {"bytes_local",
     [](const JobRow& row) { return row.sum.ideal ? row.sum.ideal->bytes_local : 0; }},
    {"alone_iter_us", [](const JobRow& row) { return row.alone_us; }},
    {"neighbour_cost", [](const JobRow& row) { return row.neighbour_cost(); }}};

JobRow RowOf(const JobSum& sum, PercentileMethod percentiles) {
  JobRow row{.sum = sum,
             .times_us = {},
             .start = sum.iterations.empty() ? Time{} : sum.iterations.front().begin,
             .end = {},
             .percentiles = percentiles};
  for (size_t i = 0; i < sum.iterations.size(); ++i) {
    const IterationSum& its = sum.iterations[i];
    row.end = std::max(row.end, its.end);
    if (!sum.IsDone(i) || !sum.job->IsMeasured(static_cast<uint32_t>(i))) continue;
    row.times_us.push_back(Microseconds(its.time()));
    row.time_ps += its.time().ps;
    row.rank_iterations += its.ranks;
    row.computed_ps += its.computed_ps;
    row.exposed_ps += its.exposed_ps;
    row.most_exposed_ps = std::max(row.most_exposed_ps, its.most_exposed_ps);
  }
  std::ranges::sort(row.times_us);
  return row;
}

std::vector<JobSum> SumsOf(std::span<const std::unique_ptr<Job>> jobs,
                           const std::vector<HostJobs*>& hosts) {
  std::vector<JobSum> sums;
  for (const std::unique_ptr<Job>& job : jobs) {
    const std::vector<HostId>& placed = job->settings().host_of_rank;
    sums.push_back({.job = job.get(),
                    .iterations = {},
                    .hosts = {placed.begin(), placed.end()},
                    .ideal = std::nullopt,
                    .collectives = std::nullopt});
    if (job->schedule().graph() != nullptr) sums.back().collectives.emplace(*job);
  }
  for (const HostJobs* host : hosts) {
    for (size_t place = 0; place < host->ranks(); ++place) {
      JobSum& sum = sums[host->JobOf(place).number() - 1];
      const std::span<const HostJobs::Iteration> its = host->IterationsOf(place);
      if (sum.iterations.size() < its.size()) sum.iterations.resize(its.size());
      for (size_t i = 0; i < its.size(); ++i) sum.iterations[i].Add(host->RankOf(place), its[i]);
      if (sum.collectives) sum.collectives->Add(*host, place);
    }
  }
  return sums;
}

}  // namespace

namespace {

std::vector<RankState> StatesOf(const Job& job, const std::vector<HostJobs*>& hosts) {
  std::vector<RankState> ranks(job.schedule().ranks());
  for (const HostJobs* host : hosts) {
    for (size_t place = 0; place < host->ranks(); ++place) {
      if (&host->JobOf(place) != &job) continue;
      const auto iterations = host->IterationsOf(place);
      RankState& rank = ranks[host->RankOf(place)];
      if (iterations.empty()) continue;
      rank.iteration = static_cast<uint32_t>(iterations.size() - 1);
      rank.is_finished =
          iterations.size() == job.settings().iterations && iterations.back().end != kNever;
      rank.operations = host->StatesOf(place);
    }
  }
  return ranks;
}

std::string WaitsWarning(const Job& job, int64_t unfinished, const JobWaits& waits) {
  std::string text = fmt::format("job {}: {} of {} ranks have not finished", job.number(),
                                 unfinished, job.schedule().ranks());
  if (waits.operations == 0) return text;
  text += fmt::format("; {} of their operations are unfinished: {}", waits.operations,
                      fmt::join(waits.first, "; "));
  if (waits.operations > static_cast<int64_t>(waits.first.size())) text += "; ...";
  if (waits.cycle.empty()) return text;
  return text + fmt::format("; operations wait for each other: {}", waits.cycle);
}

}  // namespace

void JobResults::OnEnd(const FlowRecord& record) {
  if (record.sender.retransmissions == 0) return;
  const auto job = std::ranges::find_if(
      jobs_, [&](const std::unique_ptr<Job>& its) { return its->Owns(record.spec.id); });
  if (job == jobs_.end()) return;
  const Job::Place place = (*job)->PlaceOf(record.spec.id);
  if (place.index >= (*job)->schedule().work().slots()) return;  // Of the barrier behind.
  const GraphTables* graph = (*job)->schedule().graph();
  uint32_t collective = 0;
  if (graph != nullptr) {
    if (!graph->IsOfCollective(place.index)) return;
    collective = graph->CollectiveOf(place.index);
  }
  retransmissions_[{(*job)->number(), place.iteration, collective}] +=
      record.sender.retransmissions;
}

int64_t JobResults::RetransmissionsOf(const Job& job, size_t iteration, size_t collective) const {
  const auto found = retransmissions_.find(
      {job.number(), static_cast<uint32_t>(iteration), static_cast<uint32_t>(collective)});
  return found == retransmissions_.end() ? 0 : found->second;
}

void JobResults::Finish(Time /*end*/, RunNotes& notes) {
  if (jobs_.empty()) return;
  std::string jobs = Table(kJobs).Header();
  std::string iterations = Table(kIterations).Header();
  std::string collectives = CollectivesHeader();
  IdealSchedule ideal(network().routing(), sizes_, may_detour_, spreads_);
  for (JobSum& sum : SumsOf(jobs_, hosts_)) {
    const Job& job = *sum.job;
    const Schedule& work = job.schedule().work();
    if (work.Totals().messages <= kMostIdealMessages) {
      sum.ideal = ideal.Of(work, job);
    }
    for (size_t i = 0; i < sum.iterations.size(); ++i) {
      if (!sum.IsDone(i)) continue;
      const IterationRow row{sum, i};
      HEDDLE_CHECK(!sum.ideal || row.its().time() >= sum.ideal->time,
                   "iteration {} of job {} took {} ps, less than the {} ps that it needs on an "
                   "idle network",
                   i, job.number(), row.its().time().ps, sum.ideal->time.ps);
      Table(kIterations).Append(iterations, row);
      if (job.settings().operation.name.empty()) continue;
      AppendCollective({.job = job.number(),
                        .iteration = i,
                        .turn = 0,
                        .group = {},
                        .operation = job.settings().operation,
                        .ranks = row.its(),
                        .ideal = sum.ideal,
                        .retransmissions = RetransmissionsOf(job, i, 0)},
                       collectives);
    }
    if (sum.collectives) {
      sum.collectives->AppendTo(collectives, ideal, [&](size_t iteration, size_t collective) {
        return RetransmissionsOf(job, iteration, collective);
      });
    }
    JobRow row = RowOf(sum, percentiles_);
    if (!alone_us_.empty()) row.alone_us = alone_us_[job.number() - 1];
    Table(kJobs).Append(jobs, row);
    if (!job.settings().measured) continue;
    figures_.push_back({job.number(), row.settings().label, row.mean_us(), row.Percentile(0.99),
                        row.Bandwidth(row.settings().operation.bus_factor), row.neighbour_cost()});
  }
  NoteWaits(notes);
  run().Write("jobs.csv", jobs);
  run().Write("iterations.csv", iterations);
  run().Write("collectives.csv", collectives);
}

void JobResults::NoteWaits(RunNotes& notes) const {
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (!job->settings().measured) continue;
    const std::vector<RankState> ranks = StatesOf(*job, hosts_);
    const auto unfinished = std::ranges::count(ranks, false, &RankState::is_finished);
    if (unfinished == 0) continue;
    const JobWaits waits = WaitsOf(*job, ranks);
    notes.warnings.push_back(WaitsWarning(*job, unfinished, waits));
  }
}

}  // namespace heddle
