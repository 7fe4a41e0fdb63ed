// SPDX-License-Identifier: Apache-2.0

#include "experiment/simulation.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "experiment/flow_generator.h"
#include "experiment/run_jobs.h"
#include "lb/parts/make_policies.h"
#include "measure/flow_collector.h"
#include "measure/instrument_panel.h"
#include "measure/job_results.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Returns the CPU time of all threads of this program.
double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The seconds between two reports of progress. They are further apart if reports would take more
// than the given share of the time.
constexpr double kReportInterval = 0.2;
constexpr double kReportShare = 0.01;

// Starts flows, lets instruments act between windows, and decides when the run ends.
class Director final : public Conductor {
 public:
  Director(const Experiment& experiment, const SimulationOptions& options, MeasuredRun& run,
           FlowGenerator& generator, RunJobs& jobs, InstrumentPanel& instruments,
           FlowCollector& collector)
      : options_(options),
        run_(run),
        network_(run.network()),
        generator_(generator),
        jobs_(jobs),
        instruments_(instruments),
        collector_(collector),
        end_(experiment.timeline.t_max),
        flows_expected_(experiment.Total(&Forecast::flows)) {
    FindEnd();
  }

  Time Next() override { return std::min({generator_.Next(), jobs_.Next(), NextStop()}); }

  Time Open(Time start, Time latest) override {
    if (instruments_.Next() <= start) instruments_.Act(start);
    network_.Change(start);
    const Time end = std::min(latest, NextStop());
    if (jobs_.Next() < end) jobs_.Wake(end);
    while (generator_.Next() < end) StartFlow(generator_.Take());
    return end;
  }

  void Close(Time end) override {
    now_ = end;
    collector_.TellOfStarts();
    instruments_.CloseWindow(end);
    collector_.Collect();
    FindEnd();
    const bool writable = collector_.writable() && run_.writable();
    const bool stopped = options_.stop != nullptr && options_.stop->load();
    if (run_.ends() || !writable || stopped) end_ = end;
    constexpr uint64_t kWindowsPerLook = 64;
    if (options_.progress && ++closed_ % kWindowsPerLook == 0) Report();
  }

  Time End() const override { return end_; }

 private:
  // Returns the time of the next action that must happen between windows.
  Time NextStop() const { return std::min(instruments_.Next(), network_.NextChange()); }

  void StartFlow(const FlowSpec& spec) {
    network_.host(spec.dst).ExpectFlow(spec);
    network_.host(spec.src).StartFlow(spec);
    instruments_.OnStart(spec);
  }

  // The run ends a close delay after the last measured flow, or after the last one that might have
  // been measured. That is later than the round in which it becomes known, so the end does not
  // depend on rounds.
  void FindEnd() {
    const int64_t measured = generator_.measured() + collector_.totals().messages_measured;
    if (generator_.HasMeasured() || !jobs_.done() ||
        Sum(&FlowRecorder::measured_done) != measured) {
      return;
    }
    Time last = std::max(generator_.last_start(), jobs_.LastEnd());
    for (const auto& recorder : run_.recorders()) {
      last = std::max(last, recorder->last_measured_done());
    }
    end_ = std::min(end_, last + network_.close_delay());
  }

  // Returns the sum over the recorders of all threads.
  int64_t Sum(int64_t (FlowRecorder::*count)() const) const {
    int64_t sum = 0;
    for (const auto& recorder : run_.recorders()) sum += (*recorder.*count)();
    return sum;
  }

  // Packets are counted at every port, which takes a while in a large network.
  void Report() {
    const double seconds = SecondsSince(started_);
    if (seconds < next_report_) return;
    options_.progress({.now = now_,
                       .flows_started = generator_.started() + collector_.totals().messages,
                       .flows_done = Sum(&FlowRecorder::done),
                       .flows_expected = flows_expected_,
                       .hops = network_.CountPackets().hops,
                       .seconds = seconds});
    const double cost = SecondsSince(started_) - seconds;
    next_report_ = seconds + std::max(kReportInterval, cost / kReportShare);
  }

  const SimulationOptions& options_;
  MeasuredRun& run_;
  Network& network_;
  FlowGenerator& generator_;
  RunJobs& jobs_;
  InstrumentPanel& instruments_;
  FlowCollector& collector_;

  Time now_;
  Time end_;
  const double flows_expected_;
  uint64_t closed_ = 0;
  double next_report_ = kReportInterval;
  const Clock::time_point started_ = Clock::now();
};

bool Any(const Experiment& experiment, bool Forecast::*what) {
  return std::ranges::any_of(experiment.forecasts, what);
}

RunPlan PlanOf(const Experiment& experiment, const SizeClasses& classes, const RunJobs& jobs) {
  const ExperimentSettings& settings = experiment.settings;
  return {.classes = &classes,
          .transport = settings.transport.settings.get(),
          .pfc = &settings.topology.settings->port.pfc,
          .trim = &settings.topology.settings->port.trim,
          .lb = settings.lb.kind,
          .timeline = experiment.timeline,
          .background = experiment.background,
          .messages_end = jobs.end(),
          .message = [&jobs](FlowId id) { return jobs.SpecOf(id); },
          .jobs = jobs.empty() ? nullptr : &jobs.hosts()};
}

// The policies that the load balancer has made for a network that is about to be built.
struct Balancing {
  std::vector<HostPolicyPtr> hosts;
  std::vector<SwitchPolicyPtr> switches;
  absl::Status controller;  // Made after the network.
};

absl::StatusOr<Balancing> MakePolicies(const Experiment& experiment) {
  const ExperimentSettings& settings = experiment.settings;
  const uint64_t seed = static_cast<uint64_t>(settings.seed);
  Balancing made;
  for (size_t h = 0; h < experiment.graph.hosts; ++h) {
    auto policy =
        MakeHostPolicy(*settings.lb.settings, settings.lb.kind, static_cast<HostId>(h), seed);
    if (!policy.ok()) return policy.status();
    made.hosts.push_back(*std::move(policy));
  }
  for (size_t s = 0; s < experiment.graph.switches.size(); ++s) {
    auto policy =
        MakeSwitchPolicy(*settings.lb.settings, settings.lb.kind, static_cast<SwitchId>(s), seed);
    if (!policy.ok()) return policy.status();
    made.switches.push_back(*std::move(policy));
  }
  return made;
}

// Moves the policies of `made` into the plan.
NetworkPlan PlanOf(const Experiment& experiment, const SimulationOptions& options,
                   const std::vector<Instrument*>& instruments, const ListedFlows& listed,
                   Balancing& made) {
  const ExperimentSettings& settings = experiment.settings;
  const RoutingSettings& routing = settings.routing;
  const uint64_t seed = static_cast<uint64_t>(settings.seed);
  static const decltype(experiment.background) no_background = {};
  const LoadBalancer* lb = settings.lb.settings.get();
  const std::string& name = settings.lb.kind;
  const auto around = [&instruments](SwitchPolicyPtr policy) {
    for (Instrument* instrument : instruments) policy = instrument->Around(std::move(policy));
    return policy;
  };
  return {.graph = &experiment.graph,
          .port = &settings.topology.settings->port,
          .transport = settings.transport.settings.get(),
          .switch_policy = [&made](SwitchId id) { return std::move(made.switches[id]); },
          .around = around,
          .host_policy = [&made](HostId id) { return std::move(made.hosts[id]); },
          .controller =
              [=, &made](const FabricView& fabric) {
                auto controller = MakeController(*lb, name, fabric, seed);
                made.controller = controller.status();
                return controller.ok() ? *std::move(controller) : nullptr;
              },
          .background = options.only_job == 0 ? experiment.background : no_background,
          .pins = Any(experiment, &Forecast::pins_flows) ? &listed.pins : nullptr,
          .events = experiment.events,
          .faults = experiment.faults,
          .routing = {routing.convergence, routing.detect, routing.hold_up},
          .ack_path = settings.ack_path,
          .seed = seed,
          .ports = options.ports,
          .threads = options.threads,
          .moves_switches = options.moves_switches};
}

// Logs the remaining flows: those whose sender has not finished, and those whose receiver did not
// know of that yet.
void LogTheRest(Network& network, Time end, FlowRecorder& recorder) {
  std::vector<FlowRecord> senders;
  std::vector<FlowRecord> receivers;
  for (size_t h = 0; h < network.hosts(); ++h) {
    network.host(h).CountPausesUnderWay(end);
    network.host(h).transport().CollectUnfinishedSenders(senders);
    network.host(h).transport().CollectUnfinishedReceivers(receivers);
  }
  std::ranges::sort(senders, {}, [](const FlowRecord& record) { return record.spec.id; });
  for (FlowRecord& record : receivers) {
    const auto sender = std::ranges::lower_bound(
        senders, record.spec.id, {}, [](const FlowRecord& other) { return other.spec.id; });
    if (sender != senders.end() && sender->spec.id == record.spec.id) {
      record.spec.start = sender->spec.start;
      record.sender = sender->sender;
    }
    recorder.Add(record);
  }
  // Messages of which no packet has arrived are known to their senders alone.
  std::ranges::sort(receivers, {}, [](const FlowRecord& record) { return record.spec.id; });
  for (const FlowRecord& record : senders) {
    const auto by_id = [](const FlowRecord& other) { return other.spec.id; };
    if (!std::ranges::binary_search(receivers, record.spec.id, {}, by_id)) recorder.Add(record);
  }
}

std::vector<QueryResult> QueriesOf(const Experiment& experiment, const FlowCollector& collector,
                                   const FlowGenerator& generator) {
  static const std::vector<FlowCollector::Query> unanswered;
  std::vector<QueryResult> results;
  for (size_t workload = 0; workload < experiment.forecasts.size(); ++workload) {
    const std::vector<Time>& asked = generator.QueriesOf(workload);
    if (asked.empty() || !experiment.settings.workload[workload].settings->measured) continue;
    const auto found = collector.queries().find(static_cast<uint16_t>(workload));
    const auto& queries = found == collector.queries().end() ? unanswered : found->second;
    QueryResult& out = results.emplace_back();
    out.workload = workload;
    const Timeline& timeline = experiment.timeline;
    const bool drops = experiment.settings.measure.unfinished == MeasureSettings::Unfinished::kDrop;
    const Forecast& forecast = experiment.forecasts[workload];
    for (size_t job = 0; job < asked.size(); ++job) {
      // The run waits for measured flows alone, so all of a query's must be. It may have ended
      // before the first of them.
      if (asked[job] == kNever) continue;
      const Time last_start = asked[job] + forecast.query_spread;
      if (asked[job] < timeline.measure_from || last_start >= timeline.measure_until) continue;
      const bool complete =
          job < queries.size() && queries[job].arrived == forecast.flows_per_query;
      if (complete) {
        out.completion_ps.push_back(static_cast<double>((queries[job].last - asked[job]).ps));
      } else {
        ++out.incomplete;
        if (!drops) out.completion_ps.push_back(std::numeric_limits<double>::infinity());
      }
    }
  }
  return results;
}

bool LinksFail(const Experiment& experiment) {
  return std::ranges::any_of(experiment.events,
                             [](const LinkEvent& event) { return event.up.has_value(); });
}

// Makes one recorder for each thread.
std::vector<std::unique_ptr<FlowRecorder>> MakeRecorders(const Experiment& experiment,
                                                         const SizeClasses& classes,
                                                         const ListedFlows* listed,
                                                         FlowId first_listed, Network& network) {
  std::vector<std::unique_ptr<FlowRecorder>> recorders;
  std::vector<FlowLog*> logs;
  for (int i = 0; i < network.engine().threads(); ++i) {
    recorders.push_back(std::make_unique<FlowRecorder>(FlowRecorder::Context{
        .classes = &classes,
        .routing = &network.routing(),
        .sizes = experiment.settings.transport.settings->sizes(),
        .transport = experiment.settings.transport.kind,
        .has_subflows = experiment.settings.transport.settings->has_subflows(),
        .spreads = experiment.settings.transport.settings->spreads(),
        .may_detour = LinksFail(experiment),
        .listed_ids = listed == nullptr ? nullptr : &listed->ids,
        .first_listed = first_listed}));
    logs.push_back(recorders.back().get());
  }
  network.SetLogs(logs);
  return recorders;
}

int64_t LatePackets(Network& network) {
  int64_t packets = 0;
  for (size_t h = 0; h < network.hosts(); ++h) {
    packets += network.host(h).transport().late_packets();
  }
  return packets;
}

// Returns the mean iteration of each job, by its number less 1, if it runs alone; not set for jobs
// that are not measured, or of which no measured iteration was finished.
absl::StatusOr<std::vector<std::optional<Duration>>> RunAlone(const Experiment& experiment,
                                                              const SimulationOptions& options,
                                                              const RunJobs& jobs) {
  std::vector<std::optional<Duration>> times;
  for (const std::unique_ptr<Job>& job : jobs.jobs()) {
    times.emplace_back();
    if (!job->settings().measured) continue;
    SimulationOptions alone;
    alone.threads = options.threads;
    alone.ports = options.ports;
    alone.stop = options.stop;
    alone.only_job = job->number();
    const auto result = Simulate(experiment, alone, [](std::string_view) { return true; });
    if (!result.ok()) return result.status();
    for (const JobFigures& its : result->jobs) {
      if (its.number == job->number()) times.back() = its.mean_iter;
    }
  }
  return times;
}

}  // namespace

absl::StatusOr<SimulationResult> Simulate(const Experiment& experiment,
                                          const SimulationOptions& options,
                                          const std::function<bool(std::string_view)>& write_flows,
                                          const FileWriter& write_files) {
  SimulationResult result;
  const Clock::time_point building = Clock::now();
  const double cpu_before = CpuSeconds();
  const SizeClasses classes = experiment.size_classes();
  RunJobs jobs(experiment, classes, options.only_job);
  const RunPlan plan = PlanOf(experiment, classes, jobs);
  LinkTotals links;       // Every run has these two, since summary.json needs them.
  PolicyCounts policies;  // like these,
  BacklogTrend backlog;   // and the warnings at its end this.
  const std::vector<std::unique_ptr<Instrument>> asked = experiment.settings.measure.Make(plan);
  JobResults job_results(jobs.jobs(), jobs.hosts(), experiment.settings.transport.settings->sizes(),
                         experiment.settings.measure.percentiles, LinksFail(experiment),
                         experiment.settings.transport.settings->spreads());
  if (experiment.settings.measure.neighbours && options.only_job == 0) {
    auto alone = RunAlone(experiment, options, jobs);
    if (!alone.ok()) return alone.status();
    job_results.SetAlone(*std::move(alone));
  }
  std::vector<Instrument*> all = {&links, &policies, &backlog, &job_results};
  for (const auto& instrument : asked) all.push_back(instrument.get());
  all.insert(all.end(), options.instruments.begin(), options.instruments.end());

  ListedFlows listed;
  const bool has_ids = Any(experiment, &Forecast::gives_ids);
  auto made = MakePolicies(experiment);
  if (!made.ok()) return made.status();
  Network network(PlanOf(experiment, options, all, listed, *made));
  if (!made->controller.ok()) return made->controller;
  const std::vector<std::unique_ptr<FlowRecorder>> recorders =
      MakeRecorders(experiment, classes, has_ids ? &listed : nullptr, jobs.end(), network);
  jobs.PlaceOn(network);
  MeasuredRun run(plan, network, recorders, write_files);
  InstrumentPanel instruments(run, all);
  FlowGenerator generator(experiment, classes, &listed, jobs.end());
  if (options.only_job != 0) generator.Silence();
  FlowCollector collector(recorders, write_flows, instruments, jobs.end());
  collector.Write(FlowsHeader(has_ids, experiment.settings.transport.settings->has_subflows()));
  Director director(experiment, options, run, generator, jobs, instruments, collector);
  result.build_seconds = SecondsSince(building);

  const Clock::time_point running = Clock::now();
  result.end = network.engine().Run(director);
  const auto writable = [&] { return collector.writable() && run.writable(); };
  result.stopped = !writable() || (options.stop != nullptr && options.stop->load());
  if (result.stopped) return result;
  result.packets = network.CheckConservation();
  LogTheRest(network, result.end, *recorders.front());
  collector.Collect();
  result.notes = instruments.Finish(result.end);
  result.stopped = !writable();
  result.run_seconds = SecondsSince(running);
  result.cpu_seconds = CpuSeconds() - cpu_before;

  result.reached_t_max = result.end >= experiment.timeline.t_max;
  result.flows_missing = generator.HasMeasured();
  result.jobs_missing = !jobs.done();
  result.cut_short = result.flows_missing || result.jobs_missing;
  const FlowTotals& totals = collector.totals();
  result.flows_started = generator.started() + totals.messages;
  result.measured = generator.measured() + totals.messages_measured;
  result.payload_started = generator.bytes() + totals.messages_payload;
  result.flows_finished = totals.finished;
  result.unfinished = totals.unfinished;
  result.payload_finished = totals.payload_finished;
  result.samples = std::move(collector.totals().samples);
  result.counters = CountersOf(recorders);
  result.load = std::move(links.load());
  result.in_progress = backlog.halves();
  result.jobs = job_results.figures();
  result.queries = QueriesOf(experiment, collector, generator);
  result.policies = std::move(policies.reports());
  result.late_packets = LatePackets(network);
  result.threads = network.engine().threads();
  result.windows = network.engine().windows();
  result.node_bytes = static_cast<int64_t>(network.memory_bytes());
  result.wire_bytes = static_cast<int64_t>(network.engine().wire_memory_bytes());
  return result;
}

}  // namespace heddle
