// SPDX-License-Identifier: Apache-2.0

#include "experiment/simulation.h"

#include <time.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "core/check.h"
#include "experiment/flow_generator.h"
#include "lb/parts/make_policies.h"
#include "measure/packet_meter.h"
#include "network/deadlock.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// That all threads of this program have worked, whatever else the machine did meanwhile.
double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// What the recorders have seen, in the order of flows.csv.
class Collector {
 public:
  Collector(std::vector<std::unique_ptr<FlowRecorder>>& recorders,
            const std::function<bool(std::string_view)>& write, Tracer* tracer,
            SimulationResult& result)
      : recorders_(recorders), write_(write), tracer_(tracer), result_(result) {}

  // Rows become known in the order in which senders finish, those of one window in any.
  void Collect() {
    order_.clear();
    for (const std::unique_ptr<FlowRecorder>& recorder : recorders_) {
      for (const FlowRecorder::Row& row : recorder->rows())
        order_.push_back({&row, recorder.get()});
    }
    if (order_.empty()) return;
    std::ranges::sort(order_, {}, [](const Entry& entry) {
      return std::tuple(entry.row->tx_done, entry.row->id);
    });
    for (const Entry& entry : order_) Take(*entry.row, entry.recorder->TextOf(*entry.row));
    for (const std::unique_ptr<FlowRecorder>& recorder : recorders_) recorder->ClearRows();
  }

  void Write(std::string_view text) { writable_ = writable_ && write_(text); }
  bool writable() const { return writable_; }

  // The last flow to arrive of each query, and how many have: by workload and job.
  struct Query {
    int64_t arrived = 0;
    Time last;
  };
  const std::map<uint16_t, std::vector<Query>>& queries() const { return queries_; }

 private:
  struct Entry {
    const FlowRecorder::Row* row;
    const FlowRecorder* recorder;
  };

  void Take(const FlowRecorder::Row& row, std::string_view text) {
    Write(text);
    if (tracer_ != nullptr) tracer_->OnEnd(row.id, row.rx_done);
    const bool finished = row.sample.fct_ps != kNever.ps;
    result_.flows_finished += finished ? 1 : 0;
    result_.payload_finished += finished ? row.sample.size : 0;
    if (row.measured) result_.samples.push_back(row.sample);
    if (row.measured && !finished) ++result_.unfinished;
    if (row.job == 0 || row.rx_done == kNever) return;
    std::vector<Query>& queries = queries_[row.workload];
    if (queries.size() < row.job) queries.resize(row.job);
    Query& query = queries[row.job - 1];
    ++query.arrived;
    query.last = std::max(query.last, row.rx_done);
  }

  std::vector<std::unique_ptr<FlowRecorder>>& recorders_;
  const std::function<bool(std::string_view)>& write_;
  Tracer* const tracer_;  // Null if there is none.
  SimulationResult& result_;
  std::vector<Entry> order_;
  std::map<uint16_t, std::vector<Query>> queries_;
  bool writable_ = true;
};

// Starts flows, takes the measurements that fall between windows, and decides when it is over.
class Director final : public Conductor {
 public:
  Director(const Experiment& experiment, const SimulationOptions& options, Network& network,
           FlowGenerator& generator, std::vector<std::unique_ptr<FlowRecorder>>& recorders,
           Collector& collector, Series& series, Tracer* tracer, PacketMeter* meter,
           SimulationResult& result)
      : experiment_(experiment),
        options_(options),
        network_(network),
        generator_(generator),
        recorders_(recorders),
        collector_(collector),
        series_(series),
        tracer_(tracer),
        meter_(meter),
        result_(result),
        links_due_(experiment.timeline.links_from),
        pfc_(experiment.settings.topology.settings->port.pfc),
        deadlock_due_(pfc_.on() && pfc_.deadlock_check ? Time{} + *pfc_.deadlock_check : kNever),
        end_(experiment.timeline.t_max) {
    for (const Forecast& forecast : experiment.forecasts) flows_expected_ += forecast.flows;
  }

  Time Next() override { return std::min(generator_.Next(), NextStop()); }

  Time Open(Time start, Time latest) override {
    if (links_due_ <= start) SnapshotLinks(start);
    if (series_.Next() <= start) series_.Take(start);
    if (tracer_ != nullptr && tracer_->Next() <= start) tracer_->Take(start);
    if (deadlock_due_ <= start) LookForDeadlock(start);
    network_.Change(start);
    const Time end = std::min(latest, NextStop());
    while (generator_.Next() < end) StartFlow(generator_.Take());
    return end;
  }

  void Close(Time end) override {
    now_ = end;
    if (tracer_ != nullptr) CloseTrace();
    collector_.Collect();
    if (!generator_.HasMeasured() && MeasuredDone() == generator_.measured()) {
      Time last;
      for (const auto& recorder : recorders_) last = std::max(last, recorder->last_measured_done());
      end_ = std::min(end_, std::max(end, last + network_.close_delay()));
    }
    const bool writable =
        collector_.writable() && series_.writable() && (tracer_ == nullptr || tracer_->writable());
    if (deadlocked_ || !writable || (options_.stop != nullptr && options_.stop->load())) end_ = end;
    constexpr uint64_t kWindowsPerLook = 64;
    if (options_.progress && ++closed_ % kWindowsPerLook == 0) Report();
  }

  Time End() const override { return end_; }

  // At the end of the run: what has not been measured until then.
  void Finish(Time end) {
    result_.reached_t_max = end >= experiment_.timeline.t_max;
    if (!links_started_) SnapshotLinks(end);
    if (!links_ended_) SnapshotLinks(end);
    series_.Finish(end);
    for (size_t i = 0; i < result_.links.size(); ++i) {
      FifoPort::Counters& sent = result_.links[i].sent;
      const FifoPort::Counters& before = links_before_[i];
      sent.packets -= before.packets;
      sent.wire_bytes -= before.wire_bytes;
      sent.payload_bytes -= before.payload_bytes;
      sent.busy_ps -= before.busy_ps;
      result_.links[i].pauses -= pauses_before_[i];
    }
    result_.cut_short = generator_.HasMeasured();
    result_.flows_started = generator_.started();
    result_.measured = generator_.measured();
    result_.payload_started = generator_.bytes();
  }

 private:
  // When something must be done between windows.
  Time NextStop() const {
    const Time traced = tracer_ == nullptr ? kNever : tracer_->Next();
    return std::min({links_due_, deadlock_due_, series_.Next(), traced, network_.NextChange()});
  }

  // The run goes on to the end of this window.
  void LookForDeadlock(Time now) {
    deadlock_due_ = now + *pfc_.deadlock_check;
    result_.deadlock = FindDeadlock(network_, now, pfc_.deadlock_time);
    if (result_.deadlock.empty()) return;
    result_.deadlock_at = now;
    deadlock_due_ = kNever;
    deadlocked_ = pfc_.deadlock_ends_run;
  }

  void StartFlow(const FlowSpec& spec) {
    network_.host(spec.dst).ExpectFlow(spec);
    network_.host(spec.src).StartFlow(spec);
    series_.OnStart(spec);
    if (tracer_ != nullptr) tracer_->OnStart(spec);
    if (meter_ != nullptr) meter_->OnStart(spec);
    if (spec.start >= experiment_.timeline.links_from &&
        spec.start < experiment_.timeline.links_until) {
      result_.payload_offered += spec.size;
    }
  }

  void CloseTrace() {
    tracer_->Close();
    for (const std::unique_ptr<FlowRecorder>& recorder : recorders_) {
      for (const FlowId flow : recorder->senders_done()) tracer_->OnSenderDone(flow);
      recorder->ClearSendersDone();
    }
  }

  int64_t Done() const {
    int64_t done = 0;
    for (const auto& recorder : recorders_) done += recorder->done();
    return done;
  }

  int64_t MeasuredDone() const {
    int64_t done = 0;
    for (const auto& recorder : recorders_) done += recorder->measured_done();
    return done;
  }

  int64_t PayloadReceived() const {
    int64_t bytes = 0;
    for (size_t h = 0; h < network_.hosts(); ++h) bytes += network_.host(h).payload_received();
    return bytes;
  }

  // What the background has done, added to, or taken from, what there is.
  void AddBackground(int64_t sign) {
    for (const std::unique_ptr<Udp>& udp : network_.background()) {
      result_.background_offered += sign * udp->wire_sent();
      result_.background_carried += sign * udp->wire_received();
    }
  }

  // Once at the start of the measured time, once at its end.
  void SnapshotLinks(Time now) {
    std::vector<FifoPort::Counters> sent;
    std::vector<PauseTotals> pauses;
    std::vector<int64_t> payload = SizesSent();
    for (const Network::Egress& egress : network_.egresses()) {
      sent.push_back(egress.fifo->SentBy(now));
      pauses.push_back(network_.PausesOf(egress, now));
    }
    if (!std::exchange(links_started_, true)) {
      links_before_ = std::move(sent);
      pauses_before_ = std::move(pauses);
      payload_before_ = std::move(payload);
      result_.payload_carried = -PayloadReceived();
      AddBackground(-1);
      result_.links_from = now;
      links_due_ = experiment_.timeline.links_until;
      return;
    }
    links_ended_ = true;
    result_.payload_carried += PayloadReceived();
    AddBackground(1);
    result_.links_until = now;
    links_due_ = kNever;
    result_.links.clear();
    for (size_t i = 0; i < sent.size(); ++i) {
      const Network::Egress& egress = network_.egresses()[i];
      result_.links.push_back(
          {egress.vertex, egress.port, egress.peer, egress.rate, sent[i], pauses[i], {}});
    }
    SplitBySize(payload);
  }

  std::vector<int64_t> SizesSent() const {
    const bool asked = experiment_.settings.measure.link_classes;
    return asked ? meter_->PayloadByClass() : std::vector<int64_t>();
  }

  // The egresses of switches come last, in the order in which the meter counts.
  void SplitBySize(const std::vector<int64_t>& payload) {
    if (payload.empty()) return;
    const size_t atoms = experiment_.size_classes().atoms();
    const size_t first = result_.links.size() - payload.size() / atoms;
    for (size_t i = 0; i < payload.size(); ++i) {
      result_.links[first + i / atoms].payload_by_class.push_back(payload[i] - payload_before_[i]);
    }
  }

  void Report() {
    const double seconds = SecondsSince(started_);
    constexpr double kInterval = 0.2;
    if (seconds < reported_ + kInterval) return;
    reported_ = seconds;
    options_.progress({.now = now_,
                       .flows_started = generator_.started(),
                       .flows_done = Done(),
                       .flows_expected = flows_expected_,
                       .hops = network_.CountPackets().hops,
                       .seconds = seconds});
  }

  const Experiment& experiment_;
  const SimulationOptions& options_;
  Network& network_;
  FlowGenerator& generator_;
  std::vector<std::unique_ptr<FlowRecorder>>& recorders_;
  Collector& collector_;
  Series& series_;
  Tracer* const tracer_;      // Null if there is none,
  PacketMeter* const meter_;  // likewise.
  SimulationResult& result_;

  Time links_due_;  // When links are looked at next.
  const PauseRule& pfc_;
  Time deadlock_due_;  // When to look for one next.
  bool deadlocked_ = false;
  std::vector<FifoPort::Counters> links_before_;
  std::vector<PauseTotals> pauses_before_;
  std::vector<int64_t> payload_before_;
  bool links_started_ = false;
  bool links_ended_ = false;

  Time now_;
  Time end_;
  double flows_expected_ = 0;
  uint64_t closed_ = 0;
  double reported_ = 0;
  const Clock::time_point started_ = Clock::now();
};

bool Any(const Experiment& experiment, bool Forecast::*what) {
  return std::ranges::any_of(experiment.forecasts, what);
}

NetworkPlan PlanOf(const Experiment& experiment, const SimulationOptions& options,
                   PacketMeter* meter, const ListedFlows& listed) {
  const ExperimentSettings& settings = experiment.settings;
  const uint64_t seed = static_cast<uint64_t>(settings.seed);
  const LoadBalancer* lb = settings.lb.settings.get();
  const std::string& name = settings.lb.kind;
  std::function<SwitchPolicyPtr(SwitchPolicyPtr)> around;
  if (meter != nullptr) {
    around = [meter](auto scheme) { return meter->Around(std::move(scheme)); };
  }
  return {.graph = &experiment.graph,
          .port = &settings.topology.settings->port,
          .transport = settings.transport.settings.get(),
          .switch_policy = [=](SwitchId id) { return MakeSwitchPolicy(*lb, name, id, seed); },
          .around = around,
          .host_policy = [=](HostId id) { return MakeHostPolicy(*lb, name, id, seed); },
          .controller =
              [=](const FabricView& fabric) { return MakeController(*lb, name, fabric, seed); },
          .background = experiment.background,
          .pins = Any(experiment, &Forecast::pins_flows) ? &listed.pins : nullptr,
          .events = experiment.events,
          .faults = experiment.faults,
          .convergence = settings.routing.convergence,
          .ack_path = settings.ack_path,
          .seed = seed,
          .ports = options.ports,
          .threads = options.threads};
}

// Flows that have not been logged: those whose sender has not finished, and those whose receiver
// had not yet been told.
void LogTheRest(Network& network, FlowRecorder& recorder) {
  std::vector<FlowRecord> senders;
  std::vector<FlowRecord> receivers;
  for (size_t h = 0; h < network.hosts(); ++h) {
    network.host(h).transport().CollectUnfinishedSenders(senders);
    network.host(h).transport().CollectUnfinishedReceivers(receivers);
  }
  std::ranges::sort(senders, {}, [](const FlowRecord& record) { return record.spec.id; });
  for (FlowRecord& record : receivers) {
    const auto sender = std::ranges::lower_bound(
        senders, record.spec.id, {}, [](const FlowRecord& other) { return other.spec.id; });
    if (sender != senders.end() && sender->spec.id == record.spec.id) {
      record.sender = sender->sender;
    }
    recorder.Add(record);
  }
}

void Merge(const std::vector<std::unique_ptr<FlowRecorder>>& recorders, SimulationResult& result) {
  for (const std::unique_ptr<FlowRecorder>& recorder : recorders) {
    result.counters.resize(recorder->counters().size());
    result.reordering.resize(recorder->counters().size());
    for (size_t atom = 0; atom < result.counters.size(); ++atom) {
      result.counters[atom].Merge(recorder->counters()[atom]);
      result.reordering[atom].Merge(recorder->reordering()[atom]);
    }
  }
  // Two independent counts of the same packets.
  for (size_t atom = 0; atom < result.counters.size(); ++atom) {
    HEDDLE_CHECK(result.reordering[atom].extent.count() == result.counters[atom].reordered,
                 "{} reordered packets were seen, but flows count {}",
                 result.reordering[atom].extent.count(), result.counters[atom].reordered);
  }
}

void CollectQueries(const Experiment& experiment, const Collector& collector,
                    const FlowGenerator& generator, SimulationResult& result) {
  static const std::vector<Collector::Query> unanswered;
  for (size_t workload = 0; workload < experiment.forecasts.size(); ++workload) {
    const std::vector<Time>& asked = generator.QueriesOf(workload);
    if (asked.empty()) continue;
    const auto found = collector.queries().find(static_cast<uint16_t>(workload));
    const auto& queries = found == collector.queries().end() ? unanswered : found->second;
    QueryResult& out = result.queries.emplace_back();
    out.workload = workload;
    for (size_t job = 0; job < asked.size(); ++job) {
      const bool complete = job < queries.size() &&
                            queries[job].arrived == experiment.forecasts[workload].flows_per_query;
      if (complete) {
        out.completion_ps.push_back(static_cast<double>((queries[job].last - asked[job]).ps));
      } else {
        ++out.incomplete;
      }
    }
  }
}

template <class Policy>
PolicyReport ReportOf(VertexId vertex, const Policy& policy) {
  PolicyReport report{vertex, static_cast<int64_t>(policy.StateBytes()), {}};
  for (const auto& counter : policy.Counters()) {
    report.counters.emplace_back(counter.name, counter.value);
  }
  return report;
}

PolicyReport ReportOf(VertexId vertex, Host& from) {
  PolicyReport report = ReportOf(vertex, from.policy());
  report.state_bytes +=
      static_cast<int64_t>(from.policy().FlowBytes() * from.transport().most_flows());
  return report;
}

// A decision is a packet that had a choice, whatever the scheme makes of it: so schemes compare.
PolicyReport ReportOf(VertexId vertex, Switch& from) {
  PolicyReport report = ReportOf(vertex, from.policy());
  report.counters.insert(report.counters.begin(), {"decisions", from.asked()});
  return report;
}

void CollectPolicies(Network& network, SimulationResult& result) {
  for (size_t h = 0; h < network.hosts(); ++h) {
    if (!network.host(h).has_policy()) continue;
    result.policies.push_back(ReportOf(network.graph().VertexOfHost(h), network.host(h)));
  }
  for (const std::unique_ptr<Switch>& s : network.switches()) {
    const VertexId vertex = network.graph().VertexOfSwitch(s->id());
    result.policies.push_back(ReportOf(vertex, *s));
  }
  std::map<std::string, int64_t, std::less<>> counters;
  for (const PolicyReport& report : result.policies) {
    result.policy_state_bytes += report.state_bytes;
    for (const auto& [name, value] : report.counters) counters[name] += value;
  }
  result.policy_counters.assign(counters.begin(), counters.end());
}

}  // namespace

SimulationResult Simulate(const Experiment& experiment, const SimulationOptions& options,
                          const std::function<bool(std::string_view)>& write_flows,
                          const SeriesWriter& write_series) {
  SimulationResult result;
  const Clock::time_point building = Clock::now();
  const double cpu_before = CpuSeconds();
  const SizeClasses classes = experiment.size_classes();
  const MeasureSettings& measure = experiment.settings.measure;
  const PacketMeter::Asked asked{measure.queueing, measure.link_classes};
  std::optional<PacketMeter> metering;
  if (asked.any()) metering.emplace(asked, classes);
  PacketMeter* const meter = metering ? &*metering : nullptr;
  std::optional<DeliveryTaps> deliveries;
  ListedFlows listed;
  const bool has_ids = Any(experiment, &Forecast::gives_ids);
  Network network(PlanOf(experiment, options, meter, listed));
  if (meter != nullptr) meter->Watch(network);
  if (options.fingerprint) deliveries.emplace(network);
  std::vector<std::unique_ptr<FlowRecorder>> recorders;
  std::vector<FlowLog*> logs;
  for (int i = 0; i < network.engine().threads(); ++i) {
    recorders.push_back(std::make_unique<FlowRecorder>(
        FlowRecorder::Context{.classes = &classes,
                              .routing = &network.routing(),
                              .sizes = experiment.settings.transport.settings->sizes(),
                              .transport = experiment.settings.transport.kind,
                              .keeps_fast_retransmits = measure.record.dupacks.has_value(),
                              .keeps_senders_done = options.trace != nullptr,
                              .listed_ids = has_ids ? &listed.ids : nullptr}));
    logs.push_back(recorders.back().get());
  }
  network.SetLogs(logs);
  FlowGenerator generator(experiment, classes, &listed);
  std::optional<Tracer> tracing;
  if (options.trace != nullptr) tracing.emplace(*options.trace, experiment, network, write_series);
  Tracer* const tracer = tracing ? &*tracing : nullptr;
  Collector collector(recorders, write_flows, tracer, result);
  collector.Write(FlowsHeader(has_ids));
  Series series(experiment, network, recorders, write_series);
  Director director(experiment, options, network, generator, recorders, collector, series, tracer,
                    meter, result);
  result.build_seconds = SecondsSince(building);

  const Clock::time_point running = Clock::now();
  result.end = network.engine().Run(director);
  const auto writable = [&] {
    return collector.writable() && series.writable() && (!tracing || tracing->writable());
  };
  result.stopped = !writable() || (options.stop != nullptr && options.stop->load());
  if (result.stopped) return result;
  network.CheckConservation();
  LogTheRest(network, *recorders.front());
  collector.Collect();
  director.Finish(result.end);
  if (tracing) {
    tracing->Finish(result.end);
    result.trace_problem = tracing->problem();
    result.trace_warnings = tracing->warnings();
  }
  result.run_seconds = SecondsSince(running);
  result.cpu_seconds = CpuSeconds() - cpu_before;

  Merge(recorders, result);
  CollectQueries(experiment, collector, generator, result);
  CollectPolicies(network, result);
  result.background = network.CollectBackground();
  if (asked.queueing) result.queueing = meter->Queueing();
  if (deliveries) result.fingerprint = deliveries->Sum();
  result.stopped = !writable();
  result.packets = network.CountPackets();
  for (size_t h = 0; h < network.hosts(); ++h) {
    const Transport& transport = network.host(h).transport();
    result.late_packets += transport.late_packets();
    if (auto stats = transport.Resequencing(result.end)) {
      result.resequencing.push_back(std::move(*stats));
    }
  }
  result.threads = network.engine().threads();
  result.windows = network.engine().windows();
  result.node_bytes = static_cast<int64_t>(network.memory_bytes());
  result.wire_bytes = static_cast<int64_t>(network.engine().wire_memory_bytes());
  return result;
}

}  // namespace heddle
