// SPDX-License-Identifier: Apache-2.0

#include "experiment/run_jobs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "workload/jobs/graph_tables.h"

namespace heddle {

namespace {

// By host: the sum of the links' delays on the fastest of the paths with the fewest links.
std::vector<Duration> DelaysFrom(const Graph& graph, const Adjacency& adjacency, HostId host) {
  struct Reached {
    uint32_t links;
    Duration delay;
    VertexId vertex;

    auto operator<=>(const Reached&) const = default;
  };
  std::vector<std::optional<Duration>> delays(graph.vertices());
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> frontier;
  frontier.push({0, Duration{0}, graph.VertexOfHost(host)});
  while (!frontier.empty()) {
    const Reached at = frontier.top();
    frontier.pop();
    if (delays[at.vertex.index()]) continue;
    delays[at.vertex.index()] = at.delay;
    if (at.links > 0 && graph.IsHost(at.vertex)) continue;
    for (const Adjacency::Port& port : adjacency.Of(at.vertex)) {
      frontier.push({at.links + 1, at.delay + port.out.delay, port.peer});
    }
  }
  std::vector<Duration> to_hosts;
  for (size_t h = 0; h < graph.hosts; ++h) to_hosts.push_back(delays[h].value_or(Duration{0}));
  return to_hosts;
}

// Calls `visit` with each two ranks on different hosts of which the second waits for an operation
// of the first.
template <class Visit>
void ForEachFarWait(const Job& job, const Visit& visit) {
  const GraphTables* tables = job.schedule().graph();
  if (tables == nullptr) return;
  for (uint32_t rank = 0; rank < job.schedule().ranks(); ++rank) {
    for (const OperationGraph::FarEdge& edge : tables->graph().FarEdgesOf(rank)) {
      if (job.HostOf(edge.rank) != job.HostOf(rank)) visit(edge.rank, rank);
    }
  }
}

// Lets news travel as fast as packets that wait for nothing.
void SetNewsDelays(Job& job, const Graph& graph) {
  if (job.settings().release_delay) return;
  std::map<HostId, std::set<HostId>> waiting;  // By the host that they wait for.
  ForEachFarWait(
      job, [&](uint32_t from, uint32_t to) { waiting[job.HostOf(from)].insert(job.HostOf(to)); });
  if (waiting.empty()) return;
  const Adjacency adjacency(graph);
  for (const auto& [from, hosts] : waiting) {
    const std::vector<Duration> delays = DelaysFrom(graph, adjacency, from);
    for (const HostId to : hosts) job.SetNewsDelay(from, to, delays[to]);
  }
}

// Messages take the NICs that a trace names, or the ranks of a host take turns with its NICs.
void SetNics(Job& job, const Graph& graph) {
  const GraphTables* tables = job.schedule().graph();
  const bool are_named = tables != nullptr && tables->names_nics();
  const bool by_rank = job.settings().nic_by_rank;
  if (!are_named && !by_rank) return;
  const Adjacency adjacency(graph);
  std::vector<size_t> ranks_of_host(graph.hosts, 0);
  std::vector<uint8_t> counts;
  std::vector<uint8_t> turns;
  for (const HostId host : job.settings().host_of_rank) {
    const size_t links = std::min<size_t>(adjacency.Of(graph.VertexOfHost(host)).size(), kAnyNic);
    counts.push_back(static_cast<uint8_t>(links));
    turns.push_back(static_cast<uint8_t>(ranks_of_host[host]++ % links));
  }
  if (are_named) job.SetNicCounts(std::move(counts));
  if (by_rank) job.SetNics(std::move(turns));
}

}  // namespace

RunJobs::RunJobs(const Experiment& experiment, const SizeClasses& classes, uint32_t only)
    : graph_(experiment.graph), only_(only) {
  for (const Chosen<Workload>& workload : experiment.settings.workload) {
    std::unique_ptr<Job> job = workload.settings->MakeJob(static_cast<uint32_t>(jobs_.size() + 1));
    if (job == nullptr) continue;
    job->SetBase(end_);
    end_ += static_cast<FlowId>(job->ids());
    job->SetClassOf([&classes](int64_t size, bool measured) {
      return static_cast<uint16_t>(measured ? classes.AtomOf(size) : classes.atoms());
    });
    SetNewsDelays(*job, graph_);
    SetNics(*job, graph_);
    first_ = std::min(first_, job->settings().start);
    jobs_.push_back(std::move(job));
  }
}

Time RunJobs::LastEnd() const {
  Time last;
  for (const HostJobs* host : hosts_) {
    for (size_t place = 0; place < host->ranks(); ++place) {
      if (!host->JobOf(place).settings().measured) continue;
      last = std::max(last, host->EndOf(place));
    }
  }
  return last;
}

FlowSpec RunJobs::SpecOf(FlowId message) const {
  const JobMessage found = FindMessage(jobs_, message);
  return found.job.SpecOf(found.place, found.message);
}

void RunJobs::PlaceOn(Network& network) {
  std::vector<std::vector<HostJobs::PlacedRank>> placed(network.hosts());  // By host.
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (only_ != 0 && job->number() != only_) continue;
    const bool meets = job->settings().between == JobSettings::Between::kIdeal;
    if (meets) AddPause(*job, network);
    LimitWindow(*job, network);
    HostJobs::Meeting* meeting = meets ? pauses_.back().meeting.get() : nullptr;
    const uint32_t ranks = job->schedule().ranks();
    for (uint32_t rank = 0; rank < ranks; ++rank)
      placed[job->HostOf(rank)].push_back({job.get(), rank, meeting});
    if (job->settings().measured) ranks_left_ += ranks;
  }
  for (size_t h = 0; h < network.hosts(); ++h) {
    if (placed[h].empty()) continue;
    auto programs = std::make_unique<HostJobs>(network.host(h), jobs_, placed[h], ranks_left_);
    hosts_.push_back(programs.get());
    network.host(h).SetApplication(std::move(programs), end_);
  }
}

// News must be read before it takes effect.
void RunJobs::LimitWindow(const Job& job, Network& network) {
  if (job.has_domains()) network.engine().LimitWindow(job.settings().local_latency);
  ForEachFarWait(job, [&](uint32_t from, uint32_t to) {
    network.engine().LimitWindow(job.NewsDelay(from, to));
  });
}

// News of the last rank's end goes to rank 0 and back. So it must be seen, at the end of a round,
// before it is back.
void RunJobs::AddPause(const Job& job, Network& network) {
  Duration way = job.settings().release_delay.value_or(Duration{0});
  if (!job.settings().release_delay) {
    const std::vector<Duration> delays = DelaysFrom(graph_, Adjacency(graph_), job.HostOf(0));
    for (const HostId host : job.settings().host_of_rank) way = std::max(way, delays[host]);
    if (way == Duration{0}) way = job.settings().local_latency;
  }
  way = std::max(way, Duration{1});
  network.engine().LimitWindow(2 * way);
  pauses_.push_back({&job, 2 * way, std::make_unique<HostJobs::Meeting>()});
}

Time RunJobs::Next() const {
  Time next = started_ ? kNever : first_;
  for (const Pause& pause : pauses_) next = std::min(next, pause.end());
  return next;
}

void RunJobs::Wake(Time end) {
  if (!started_ && first_ < end) Start();
  for (Pause& pause : pauses_) {
    if (pause.end() >= end) continue;
    for (HostJobs* host : hosts_) host->Release(*pause.job, pause.end());
    pause.meeting->Clear();
  }
}

void RunJobs::Start() {
  started_ = true;
  for (HostJobs* host : hosts_) host->Start();
}

}  // namespace heddle
