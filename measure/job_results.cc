// SPDX-License-Identifier: Apache-2.0

#include "measure/job_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
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
#include "settings/quantity.h"
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
     [](const IterationRow& row) { return InUs(MeanTime(row.its().exposed_ps, row.its().ranks)); }},
    {"straggler_us",
     [](const IterationRow& row) { return InUs(row.its().end - row.its().first_end); }},
    {"slowest_rank", [](const IterationRow& row) { return row.its().slowest; }}};

// The measured iterations of a job.
struct JobRow {
  const JobSum& sum;
  std::vector<double> times_ps;  // Ascending.
  int64_t time_ps = 0;
  int64_t under_way_ps = 0;  // How long any of them was under way: they may overlap.
  int64_t straggler_ps = 0;
  int64_t rank_iterations = 0;
  int64_t computed_ps = 0;
  int64_t exposed_ps = 0;
  int64_t most_exposed_ps = 0;
  // The first iteration begins, and the last finished one ends; empty if none has.
  std::optional<int64_t> start_ps = std::nullopt;
  std::optional<int64_t> end_ps = std::nullopt;
  PercentileMethod percentiles = PercentileMethod::kLinear;
  std::optional<Duration> alone = std::nullopt;  // The mean iteration without neighbours.

  std::optional<double> neighbour_cost() const {
    if (!alone || times_ps.empty()) return std::nullopt;
    return static_cast<double>(mean()->ps) / static_cast<double>(alone->ps) - 1;
  }
  const JobSettings& settings() const { return sum.job->settings(); }
  int64_t iterations() const { return static_cast<int64_t>(times_ps.size()); }
  std::optional<Duration> Percentile(double p) const {
    if (times_ps.empty()) return std::nullopt;
    return Duration{std::llround(heddle::Percentile(times_ps, p, percentiles))};
  }
  std::optional<Duration> mean() const { return MeanOf(time_ps, iterations()); }
  std::optional<Duration> straggler() const { return MeanOf(straggler_ps, iterations()); }
  std::optional<Duration> PerRank(int64_t sum_ps) const { return MeanOf(sum_ps, rank_iterations); }
  std::optional<double> slowdown() const {
    if (!sum.ideal || times_ps.empty()) return std::nullopt;
    return static_cast<double>(time_ps) / static_cast<double>(iterations() * sum.ideal->time.ps);
  }
  // The bandwidth if the operation's bytes count `factor` times; empty for 0.
  std::optional<double> Bandwidth(double factor) const {
    if (factor == 0 || times_ps.empty()) return std::nullopt;
    return factor *
           GigabytesPerSecond(settings().operation.bytes * iterations(), Duration{under_way_ps});
  }
  std::optional<double> algbw() const {
    return Bandwidth(settings().operation.bus_factor == 0 ? 0 : 1);
  }
  std::optional<double> busbw() const { return Bandwidth(settings().operation.bus_factor); }
  // A figure of the schedule; empty if an iteration has too many messages to look at.
  template <class T>
  std::optional<T> OfSchedule(T IdealSchedule::Result::*figure) const {
    return sum.ideal ? std::optional((*sum.ideal).*figure) : std::nullopt;
  }

 private:
  static std::optional<Duration> MeanOf(int64_t sum_ps, int64_t count) {
    return count == 0 ? std::nullopt : std::optional(MeanTime(sum_ps, count));
  }
};

std::optional<ExactUs> InUs(const std::optional<Duration>& time) {
  return time ? std::optional(heddle::InUs(*time)) : std::nullopt;
}

constexpr Column<JobRow> kJobs[] = {
    {"job", [](const JobRow& row) { return row.sum.job->number(); }},
    {"label", [](const JobRow& row) { return CsvCell(row.settings().label); }},
    {"kind", [](const JobRow& row) { return std::string_view(row.settings().kind); }},
    {"ranks", [](const JobRow& row) { return row.sum.job->schedule().ranks(); }},
    {"hosts", [](const JobRow& row) { return row.sum.hosts.size(); }},
    {"placement", [](const JobRow& row) { return std::string_view(row.settings().placement); }},
    {"iterations", [](const JobRow& row) { return row.settings().iterations; }},
    {"measured", [](const JobRow& row) { return row.iterations(); }},
    {"start_ps", [](const JobRow& row) { return row.start_ps; }},
    {"end_ps", [](const JobRow& row) { return row.end_ps; }},
    {"mean_iter_us", [](const JobRow& row) { return InUs(row.mean()); }},
    {"p50_iter_us", [](const JobRow& row) { return InUs(row.Percentile(0.5)); }},
    {"p99_iter_us", [](const JobRow& row) { return InUs(row.Percentile(0.99)); }},
    {"max_iter_us", [](const JobRow& row) { return InUs(row.Percentile(1)); }},
    {"min_iter_us", [](const JobRow& row) { return InUs(row.Percentile(0)); }},
    {"ideal_iter_us",
     [](const JobRow& row) { return InUs(row.OfSchedule(&IdealSchedule::Result::time)); }},
    {"slowdown", [](const JobRow& row) { return row.slowdown(); }},
    {"compute_us", [](const JobRow& row) { return InUs(row.PerRank(row.computed_ps)); }},
    {"exposed_comm_us", [](const JobRow& row) { return InUs(row.PerRank(row.exposed_ps)); }},
    {"max_exposed_comm_us",
     [](const JobRow& row) -> std::optional<ExactUs> {
       if (row.rank_iterations == 0) return std::nullopt;
       return heddle::InUs(Duration{row.most_exposed_ps});
     }},
    {"algbw_gbs", [](const JobRow& row) { return row.algbw(); }},
    {"busbw_gbs", [](const JobRow& row) { return row.busbw(); }},
    {"messages",
     [](const JobRow& row) { return row.OfSchedule(&IdealSchedule::Result::messages); }},
    {"bytes_network",
     [](const JobRow& row) { return row.OfSchedule(&IdealSchedule::Result::bytes_network); }},
    {"bytes_local",
     [](const JobRow& row) { return row.OfSchedule(&IdealSchedule::Result::bytes_local); }},
    {"alone_iter_us", [](const JobRow& row) { return InUs(row.alone); }},
    {"neighbour_cost", [](const JobRow& row) { return row.neighbour_cost(); }}};

JobRow RowOf(const JobSum& sum, PercentileMethod percentiles) {
  JobRow row{.sum = sum, .times_ps = {}, .percentiles = percentiles};
  if (!sum.iterations.empty()) row.start_ps = sum.iterations.front().begin.ps;
  Time measured_until;
  for (size_t i = 0; i < sum.iterations.size(); ++i) {
    const IterationSum& its = sum.iterations[i];
    if (!sum.IsDone(i)) continue;
    row.end_ps = std::max(row.end_ps.value_or(0), its.end.ps);
    if (!sum.job->IsMeasured(static_cast<uint32_t>(i))) continue;
    row.under_way_ps += (its.end - std::max(its.begin, measured_until)).ps;
    measured_until = its.end;
    row.times_ps.push_back(static_cast<double>(its.time().ps));
    row.time_ps += its.time().ps;
    row.straggler_ps += (its.end - its.first_end).ps;
    row.rank_iterations += its.ranks;
    row.computed_ps += its.computed_ps;
    row.exposed_ps += its.exposed_ps;
    row.most_exposed_ps = std::max(row.most_exposed_ps, its.most_exposed_ps);
  }
  std::ranges::sort(row.times_ps);
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
      rank.has_begun = true;
      rank.iteration = static_cast<uint32_t>(iterations.size() - 1);
      rank.is_finished =
          iterations.size() == job.settings().iterations && iterations.back().end != kNever;
      rank.operations = host->StatesOf(place);
      rank.is_closed = [host, place](Job::Place message) { return host->IsClosed(place, message); };
    }
  }
  return ranks;
}

// The messages of jobs that are open at either end.
OpenMessages OpenMessagesOf(Network& network) {
  std::vector<FlowRecord> senders;
  std::vector<FlowRecord> receivers;
  for (size_t h = 0; h < network.hosts(); ++h) {
    network.host(h).transport().CollectUnfinishedSenders(senders);
    network.host(h).transport().CollectUnfinishedReceivers(receivers);
  }
  OpenMessages open;
  for (const FlowRecord& its : senders) open[its.spec.id].sent = its.spec.start;
  for (const FlowRecord& its : receivers) {
    open[its.spec.id].has_arrived = its.receiver.done != kNever;
  }
  return open;
}

// Tells whether messages still arrived. A job stands still if none has for longer than the job had
// needed until then.
std::string ArrivalsText(const Job& job, Time last, Time end) {
  if (last == Time{}) return "";
  const bool stands_still = end - last > last - job.settings().start;
  return fmt::format("; {} {}",
                     stands_still ? "the job stands still: no message has arrived since"
                                  : "its last message arrived at",
                     RoundedQuantity(last - Time{}));
}

std::string WaitsWarning(const Job& job, std::span<const RankState> ranks,
                         const std::string& arrivals, const JobWaits& waits) {
  const auto unfinished = std::ranges::count(ranks, false, &RankState::is_finished);
  std::string text = fmt::format("job {}: {} of {} ranks have not finished", job.number(),
                                 unfinished, ranks.size());
  text += arrivals;
  if (waits.operations > 0) {
    text += fmt::format("; {} of their operations are unfinished", waits.operations);
  }
  if (!waits.first.empty()) {
    text += fmt::format("{} {}", waits.operations > 0 ? ":" : ";", fmt::join(waits.first, "; "));
  }
  if (waits.has_more) text += "; ...";
  if (waits.cycle.empty()) return text;
  return text + fmt::format("; operations wait for each other: {}", waits.cycle);
}

}  // namespace

void JobResults::OnEnd(const FlowRecord& record) {
  const auto job = std::ranges::find_if(
      jobs_, [&](const std::unique_ptr<Job>& its) { return its->Owns(record.spec.id); });
  if (job == jobs_.end()) return;
  last_arrivals_.resize(jobs_.size());
  Time& last = last_arrivals_[(*job)->number() - 1];
  if (record.receiver.done != kNever) last = std::max(last, record.receiver.done);
  if (record.sender.retransmissions == 0) return;
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

void JobResults::Finish(Time end, RunNotes& notes) {
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
    if (!alone_.empty()) row.alone = alone_[job.number() - 1];
    Table(kJobs).Append(jobs, row);
    if (!job.settings().measured) continue;
    figures_.push_back({.number = job.number(),
                        .label = row.settings().label,
                        .operation = row.settings().operation.name,
                        .iterations = row.iterations(),
                        .mean_iter = row.mean(),
                        .p99_iter = row.Percentile(0.99),
                        .straggler = row.straggler(),
                        .algbw_gbs = row.algbw(),
                        .busbw_gbs = row.busbw(),
                        .neighbour_cost = row.neighbour_cost()});
  }
  NoteWaits(end, notes);
  run().Write("jobs.csv", jobs);
  run().Write("iterations.csv", iterations);
  run().Write("collectives.csv", collectives);
}

void JobResults::NoteWaits(Time end, RunNotes& notes) {
  std::optional<OpenMessages> open;
  last_arrivals_.resize(jobs_.size());
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (!job->settings().measured) continue;
    const std::vector<RankState> ranks = StatesOf(*job, hosts_);
    if (std::ranges::all_of(ranks, &RankState::is_finished)) continue;
    if (!open) open = OpenMessagesOf(network());
    const std::string arrivals = ArrivalsText(*job, last_arrivals_[job->number() - 1], end);
    notes.warnings.push_back(WaitsWarning(*job, ranks, arrivals, WaitsOf(*job, ranks, *open)));
  }
}

}  // namespace heddle
