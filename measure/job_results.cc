// SPDX-License-Identifier: Apache-2.0

#include "measure/job_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/check.h"
#include "measure/table.h"
#include "workload/jobs/critical_path.h"
#include "workload/jobs/transfer_time.h"
#include "workload/jobs/waits.h"

namespace heddle {
namespace {

// All ranks of a job in one iteration. Ranks are the same in all of them, so sums are divided by
// their number in the end.
struct IterationSum {
  Time begin = kNever;
  Time end{0};
  Time first_end = kNever;  // When the first rank finished.
  uint32_t slowest = 0;
  int64_t ranks = 0;  // Only those that have finished.
  int64_t time_ps = 0;
  int64_t computed_ps = 0;
  int64_t exposed_ps = 0;
  int64_t most_exposed_ps = 0;
  int64_t longest_ps = 0;
  int64_t shortest_ps = std::numeric_limits<int64_t>::max();

  void Add(uint32_t rank, const HostJobs::Iteration& its) {
    begin = std::min(begin, its.begin);
    if (its.end == kNever) return;
    ++ranks;
    const Duration time = its.end - its.begin;
    const Duration exposed = time - its.computed;
    if (its.end > end || (its.end == end && rank < slowest)) {
      end = its.end;
      slowest = rank;
    }
    first_end = std::min(first_end, its.end);
    time_ps += time.ps;
    computed_ps += its.computed.ps;
    exposed_ps += exposed.ps;
    most_exposed_ps = std::max(most_exposed_ps, exposed.ps);
    longest_ps = std::max(longest_ps, time.ps);
    shortest_ps = std::min(shortest_ps, time.ps);
  }
};

// A job with what it did. Only iterations that all ranks have finished count.
struct JobSum {
  const Job* job;
  std::vector<IterationSum> iterations;
  std::set<HostId> hosts;
  std::optional<Duration> ideal;
  int64_t messages = 0;  // The totals of a finished iteration.
  int64_t bytes_network = 0;
  int64_t bytes_local = 0;

  bool IsDone(size_t iteration) const {
    return iterations[iteration].ranks == job->schedule().ranks();
  }
  Duration TimeOf(size_t iteration) const {
    return iterations[iteration].end - iterations[iteration].begin;
  }
};

double Mean(int64_t sum_ps, int64_t count) {
  return static_cast<double>(sum_ps) * 1e-6 / static_cast<double>(count);
}

double GigabytesPerSecond(int64_t bytes, double us) {
  return static_cast<double>(bytes) / us * 1e-3;
}

// --- Ideal times ---

// A schedule of more messages has no ideal time: finding it would take as long as the run.
constexpr double kMostMessages = 1e7;

// The largest of three lower bounds of an iteration's time: the longest chain of messages, and the
// bytes that each host's links must send, and receive.
class IdealJob {
 public:
  IdealJob(const Job& job, const Routing& routing, const PacketSizes& sizes, bool may_detour)
      : job_(job), routing_(routing), sizes_(sizes), ideal_(routing, sizes, may_detour) {}

  Duration Time() {
    Duration least = CriticalPath(
        job_.schedule().work(), [this](const Message& message) { return Note(message); },
        [this](uint32_t from, uint32_t to) { return job_.NewsDelay(from, to); });
    for (const auto& [host, load] : sent_) {
      least = std::max(least, load.Least(RateOf(routing_.HostUplink(host), host)));
    }
    for (const auto& [host, load] : received_) {
      least = std::max(least, load.Least(RateOf(routing_.HostDownlink(host), host)));
    }
    return least;
  }

  int64_t messages() const { return messages_; }
  int64_t bytes_network() const { return bytes_network_; }
  int64_t bytes_local() const { return bytes_local_; }

 private:
  // The bytes over a host's links, and the least time that a packet spends elsewhere.
  struct Load {
    int64_t wire_bytes = 0;
    Duration rest{kNever.ps};

    Duration Least(double bps) const {
      return rest + Duration{static_cast<int64_t>(static_cast<double>(wire_bytes) * 8e12 / bps)};
    }
  };

  double RateOf(const Channel& link, HostId host) const {
    return static_cast<double>(link.rate.bps) * static_cast<double>(routing_.LinksOf(host));
  }

  // Adds a message to the sums.
  MessageTimes Note(const Message& message) {
    const int64_t size = std::max<int64_t>(message.bytes, 1);
    const HostId src = job_.HostOf(message.src);
    const HostId dst = job_.HostOf(message.dst);
    if (job_.AreLocal(message.src, message.dst)) return NoteLocal(size);
    ++messages_;
    bytes_network_ += size;
    const int64_t packets = (size + sizes_.mss - 1) / sizes_.mss;
    const int64_t last =
        sizes_.DataPacket(size - (packets - 1) * sizes_.mss) + sizes_.wire_overhead;
    const int64_t wire =
        (packets - 1) * (sizes_.DataPacket(sizes_.mss) + sizes_.wire_overhead) + last;
    const Duration shortest = ideal_.Of(src, dst, 1).least;
    Add(sent_[src], wire, shortest, routing_.HostUplink(src), src);
    Add(received_[dst], wire, shortest, routing_.HostDownlink(dst), dst);
    const IdealFct::Times times = ideal_.Of(src, dst, size);
    return {times.least, waits_for_acks() ? times.least + (times.tx - times.rx) : Duration{0}};
  }

  MessageTimes NoteLocal(int64_t size) {
    bytes_local_ += size;
    const JobSettings& settings = job_.settings();
    const Duration time = TransferTime(size, settings.local_rate);
    return {settings.local_latency + time, waits_for_acks() ? time : Duration{0}};
  }

  // A message that need only be handed to the NIC may be finished in no time: the sum of a host's
  // bytes bounds how fast it can go on.
  bool waits_for_acks() const { return job_.settings().send_done == JobSettings::SendDone::kAcked; }

  // A packet's time on the host's own link is in the sum.
  void Add(Load& load, int64_t wire, Duration shortest, const Channel& link, HostId host) const {
    load.wire_bytes += wire;
    const int64_t smallest = sizes_.DataPacket(1) + sizes_.wire_overhead;
    const double own = static_cast<double>(smallest) * 8e12 / RateOf(link, host);
    load.rest = std::min(load.rest, shortest - Duration{static_cast<int64_t>(own) + 1});
  }

  const Job& job_;
  const Routing& routing_;
  const PacketSizes sizes_;
  IdealFct ideal_;
  std::map<HostId, Load> sent_;
  std::map<HostId, Load> received_;
  int64_t messages_ = 0;
  int64_t bytes_network_ = 0;
  int64_t bytes_local_ = 0;
};

// --- Tables ---

struct IterationRow {
  const JobSum& sum;
  size_t number;

  const IterationSum& its() const { return sum.iterations[number]; }
  const JobOperation& operation() const { return sum.job->settings().operation; }
  Duration time() const { return sum.TimeOf(number); }
  std::optional<double> slowdown() const {
    if (!sum.ideal) return std::nullopt;
    return static_cast<double>(time().ps) / static_cast<double>(sum.ideal->ps);
  }
  std::optional<double> Bandwidth(double factor) const {
    if (factor == 0) return std::nullopt;
    return factor * GigabytesPerSecond(operation().bytes, Microseconds(time()));
  }
};

std::optional<ExactUs> Us(const std::optional<Duration>& time) {
  return time ? std::optional(InUs(*time)) : std::nullopt;
}

constexpr Column<IterationRow> kIterations[] = {
    {"job", [](const IterationRow& row) { return row.sum.job->number(); }},
    {"iter", [](const IterationRow& row) { return row.number; }},
    {"measured",
     [](const IterationRow& row) {
       return row.sum.job->IsMeasured(static_cast<uint32_t>(row.number));
     }},
    {"start_ps", [](const IterationRow& row) { return row.its().begin.ps; }},
    {"end_ps", [](const IterationRow& row) { return row.its().end.ps; }},
    {"time_us", [](const IterationRow& row) { return InUs(row.time()); }},
    {"exposed_comm_us",
     [](const IterationRow& row) { return Mean(row.its().exposed_ps, row.its().ranks); }},
    {"straggler_us",
     [](const IterationRow& row) { return InUs(row.its().end - row.its().first_end); }},
    {"slowest_rank", [](const IterationRow& row) { return row.its().slowest; }}};

constexpr Column<IterationRow> kCollectives[] = {
    {"job", [](const IterationRow& row) { return row.sum.job->number(); }},
    {"iter", [](const IterationRow& row) { return row.number; }},
    {"op", [](const IterationRow& row) { return std::string_view(row.operation().name); }},
    {"algorithm",
     [](const IterationRow& row) { return std::string_view(row.operation().algorithm); }},
    {"ranks", [](const IterationRow& row) { return row.its().ranks; }},
    {"bytes", [](const IterationRow& row) { return row.operation().bytes; }},
    {"start_ps", [](const IterationRow& row) { return row.its().begin.ps; }},
    {"end_ps", [](const IterationRow& row) { return row.its().end.ps; }},
    {"cct_us", [](const IterationRow& row) { return InUs(row.time()); }},
    {"ideal_us", [](const IterationRow& row) { return Us(row.sum.ideal); }},
    {"slowdown", [](const IterationRow& row) { return row.slowdown(); }},
    {"algbw_gbs",
     [](const IterationRow& row) {
       return row.Bandwidth(row.operation().bus_factor == 0 ? 0 : 1);
     }},
    {"busbw_gbs",
     [](const IterationRow& row) { return row.Bandwidth(row.operation().bus_factor); }},
    {"mean_rank_us",
     [](const IterationRow& row) { return Mean(row.its().time_ps, row.its().ranks); }},
    {"min_rank_us", [](const IterationRow& row) { return InUs(Duration{row.its().shortest_ps}); }},
    {"max_rank_us", [](const IterationRow& row) { return InUs(Duration{row.its().longest_ps}); }},
    {"straggler_us",
     [](const IterationRow& row) { return InUs(row.its().end - row.its().first_end); }},
    {"straggler_ratio",
     [](const IterationRow& row) {
       return static_cast<double>(row.its().longest_ps) * 1e-6 /
              Mean(row.its().time_ps, row.its().ranks);
     }},
    {"slowest_rank", [](const IterationRow& row) { return row.its().slowest; }},
    {"messages", [](const IterationRow& row) { return row.sum.messages; }}};

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
    {"label", [](const JobRow& row) { return std::string_view(row.settings().label); }},
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
    {"ideal_iter_us", [](const JobRow& row) { return Us(row.sum.ideal); }},
    {"slowdown",
     [](const JobRow& row) -> std::optional<double> {
       if (!row.sum.ideal || row.times_us.empty()) return std::nullopt;
       return *row.mean_us() / Microseconds(*row.sum.ideal);
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
    {"messages", [](const JobRow& row) { return row.sum.messages; }},
    {"bytes_network", [](const JobRow& row) { return row.sum.bytes_network; }},
    {"bytes_local", [](const JobRow& row) { return row.sum.bytes_local; }},
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
    row.times_us.push_back(Microseconds(sum.TimeOf(i)));
    row.time_ps += sum.TimeOf(i).ps;
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
                    .ideal = std::nullopt});
  }
  for (const HostJobs* host : hosts) {
    for (size_t place = 0; place < host->ranks(); ++place) {
      JobSum& sum = sums[host->JobOf(place).number() - 1];
      const std::span<const HostJobs::Iteration> its = host->IterationsOf(place);
      if (sum.iterations.size() < its.size()) sum.iterations.resize(its.size());
      for (size_t i = 0; i < its.size(); ++i) sum.iterations[i].Add(host->RankOf(place), its[i]);
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

void JobResults::Finish(Time /*end*/, RunNotes& notes) {
  if (jobs_.empty()) return;
  std::string jobs = Table(kJobs).Header();
  std::string iterations = Table(kIterations).Header();
  std::string collectives = Table(kCollectives).Header();
  for (JobSum& sum : SumsOf(jobs_, hosts_)) {
    if (sum.job->schedule().work().Totals().messages <= kMostMessages) {
      IdealJob ideal(*sum.job, network().routing(), sizes_, may_detour_);
      sum.ideal = ideal.Time();
      sum.messages = ideal.messages();
      sum.bytes_network = ideal.bytes_network();
      sum.bytes_local = ideal.bytes_local();
    }
    for (size_t i = 0; i < sum.iterations.size(); ++i) {
      if (!sum.IsDone(i)) continue;
      const IterationRow row{sum, i};
      HEDDLE_CHECK(!sum.ideal || row.time() >= *sum.ideal,
                   "iteration {} of job {} took {} ps, less than the {} ps that it needs on an "
                   "idle network",
                   i, sum.job->number(), row.time().ps, sum.ideal->ps);
      Table(kIterations).Append(iterations, row);
      if (!row.operation().name.empty()) Table(kCollectives).Append(collectives, row);
    }
    JobRow row = RowOf(sum, percentiles_);
    if (!alone_us_.empty()) row.alone_us = alone_us_[sum.job->number() - 1];
    Table(kJobs).Append(jobs, row);
    if (!sum.job->settings().measured) continue;
    figures_.push_back({sum.job->number(), row.settings().label, row.mean_us(),
                        row.Percentile(0.99), row.Bandwidth(row.settings().operation.bus_factor),
                        row.neighbour_cost()});
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
