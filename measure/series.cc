// SPDX-License-Identifier: Apache-2.0

#include "measure/series.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "experiment/results.h"
#include "measure/flow_recorder.h"
#include "measure/path_pauses.h"

namespace heddle {

// One measurement, repeated: of the instants at multiples of `every`, or of the intervals between.
class Series::Recording {
 public:
  Recording(Duration every, const SeriesWriter& write) : every_(every), write_(write) {}
  virtual ~Recording() = default;

  Time due() const { return from_ + every_; }
  void Take(Time now) {
    Record(from_, now);
    from_ = now;
    Flush();
  }
  void Finish(Time end) {
    RecordRest(from_, end);
    Flush();
  }
  virtual void OnStart(const FlowSpec& /*spec*/) {}

 protected:
  // A file: rows are appended to its text.
  struct Table {
    std::string name;
    std::string text;

    auto StartRow(Time now) {
      AppendExact(text, now.ps, 3);
      return std::back_inserter(text);
    }
  };

  // Called in the constructor, so that the file is there even if it gets no row.
  size_t AddTable(std::string name, std::string header) {
    tables_.push_back({std::move(name), std::move(header)});
    Flush();
    return tables_.size() - 1;
  }
  Table& table(size_t index = 0) { return tables_[index]; }

  // The interval [from, now) and the instant at its end.
  virtual void Record(Time from, Time now) = 0;
  // The end of the run has cut the last interval short; instants have no part in it.
  virtual void RecordRest(Time /*from*/, Time /*end*/) {}

 private:
  void Flush() {
    for (Table& table : tables_) {
      if (!table.text.empty()) write_(table.name, table.text);
      table.text.clear();
    }
  }

  const Duration every_;
  const SeriesWriter& write_;
  Time from_;
  std::vector<Table> tables_;
};

namespace {

class QueueSeries final : public Series::Recording {
 public:
  QueueSeries(Duration every, const SeriesWriter& write, Network& network, uint8_t data_class)
      : Recording(every, write), network_(network), data_class_(data_class) {
    AddTable("series_queue.csv", "time_ns,node,port,class,bytes,pkts,paused\n");
  }

 private:
  void Record(Time /*from*/, Time now) override {
    for (const std::unique_ptr<Switch>& s : network_.switches()) {
      for (PortIndex port = 0; port < s->ports().size(); ++port) {
        if (s->queued() != nullptr) {
          AddQueues(*s, port, now);
        } else {
          AddRow(*s, port, data_class_, s->ports()[port].QueueAt(now), false, now);
        }
      }
    }
  }

  void AddQueues(Switch& s, PortIndex port, Time now) {
    QueuedPort& queued = (*s.queued())[port];
    AddRow(s, port, 0, queued.QueueAt(0, now), false, now);
    for (size_t cls = 1; cls < kClasses; ++cls) {
      if ((queued.classes() >> cls & 1) == 0) continue;
      AddRow(s, port, cls, queued.QueueAt(cls, now), (queued.paused() >> cls & 1) != 0, now);
    }
  }

  void AddRow(const Switch& s, PortIndex port, size_t cls, const QueueLength& queue, bool paused,
              Time now) {
    if (queue.packets == 0 && !paused) return;
    fmt::format_to(table().StartRow(now), FMT_COMPILE(",{},{},{},{},{},{}\n"),
                   network_.graph().switches[s.id()].name, port, cls, queue.bytes, queue.packets,
                   paused ? 1 : 0);
  }

  Network& network_;
  const uint8_t data_class_;
};

class LinkSeries final : public Series::Recording {
 public:
  LinkSeries(Duration every, const SeriesWriter& write, Network& network)
      : Recording(every, write), network_(network), before_(network.egresses().size()) {
    AddTable("series_link.csv", "time_ns,node,port,wire_bytes,util\n");
  }

 private:
  void Record(Time from, Time now) override {
    const double interval = static_cast<double>((now - from).ps);
    for (size_t i = 0; i < before_.size(); ++i) {
      const Network::Egress& egress = network_.egresses()[i];
      const FifoPort::Counters sent = egress.fifo->SentBy(now);
      const FifoPort::Counters before = std::exchange(before_[i], sent);
      const int64_t wire_bytes = sent.wire_bytes - before.wire_bytes;
      // A packet that a failure cut short does not count, nor does what had been sent of it.
      const int64_t busy_ps = std::max<int64_t>(sent.busy_ps - before.busy_ps, 0);
      if (wire_bytes == 0 && busy_ps == 0) continue;
      fmt::format_to(table().StartRow(now), FMT_COMPILE(",{},{},{},{}\n"),
                     network_.graph().NameOf(egress.vertex), egress.port, wire_bytes,
                     static_cast<double>(busy_ps) / interval);
    }
  }
  void RecordRest(Time from, Time end) override { Record(from, end); }

  Network& network_;
  std::vector<FifoPort::Counters> before_;
};

class BufferSeries final : public Series::Recording {
 public:
  BufferSeries(Duration every, const SeriesWriter& write, Network& network)
      : Recording(every, write), network_(network) {
    AddTable("series_buffer.csv", "time_ns,node,used_bytes\n");
  }

 private:
  void Record(Time /*from*/, Time now) override {
    for (const std::unique_ptr<Switch>& s : network_.switches()) {
      const int64_t used = UsedBy(*s, now);
      if (used == 0) continue;
      fmt::format_to(table().StartRow(now), FMT_COMPILE(",{},{}\n"),
                     network_.graph().switches[s->id()].name, used);
    }
  }

  // Shared memory, or that of all ports together.
  static int64_t UsedBy(Switch& s, Time now) {
    if (s.queued() != nullptr && s.queued()->memory() != nullptr) {
      return s.queued()->memory()->used();
    }
    int64_t used = 0;
    for (PortIndex port = 0; port < s.ports().size(); ++port) {
      used += s.ports()[port].QueueAt(now).bytes;
      if (s.queued() != nullptr) used += WaitingAt((*s.queued())[port]);
    }
    return used;
  }

  static int64_t WaitingAt(const QueuedPort& port) {
    int64_t bytes = 0;
    for (size_t cls = 1; cls < kClasses; ++cls) {
      if ((port.classes() >> cls & 1) != 0) bytes += port.WaitingBytes(cls);
    }
    return bytes;
  }

  Network& network_;
};

class MarkSeries final : public Series::Recording {
 public:
  MarkSeries(Duration every, const SeriesWriter& write, Network& network)
      : Recording(every, write),
        network_(network),
        marked_(network.egresses().size()),
        cnps_(network.hosts()) {
    marks_ = AddTable("series_marks.csv", "time_ns,node,port,marked\n");
    notifications_ = AddTable("series_cnp.csv", "time_ns,host,cnps\n");
  }

 private:
  void Record(Time /*from*/, Time now) override {
    for (size_t i = 0; i < marked_.size(); ++i) {
      const Network::Egress& egress = network_.egresses()[i];
      const int64_t marked = egress.fifo->marked();
      const int64_t more = marked - std::exchange(marked_[i], marked);
      if (more == 0) continue;
      fmt::format_to(table(marks_).StartRow(now), FMT_COMPILE(",{},{},{}\n"),
                     network_.graph().NameOf(egress.vertex), egress.port, more);
    }
    for (size_t h = 0; h < cnps_.size(); ++h) {
      const int64_t cnps = network_.host(h).transport().cnps();
      const int64_t more = cnps - std::exchange(cnps_[h], cnps);
      if (more == 0) continue;
      fmt::format_to(table(notifications_).StartRow(now), FMT_COMPILE(",{},{}\n"), h, more);
    }
  }
  void RecordRest(Time from, Time end) override { Record(from, end); }

  Network& network_;
  std::vector<int64_t> marked_;  // By egress, until the last time.
  std::vector<int64_t> cnps_;    // By host, likewise.
  size_t marks_ = 0;
  size_t notifications_ = 0;
};

class FlowSeries final : public Series::Recording {
 public:
  FlowSeries(const RecordSettings::Flows& settings, const SeriesWriter& write, Network& network)
      : Recording(settings.every, write), settings_(settings), network_(network) {
    AddTable("series_flow.csv",
             "time_ns,flow_id,cwnd_bytes,rate_bps,alpha,inflight_bytes,acked_bytes\n");
  }

  void OnStart(const FlowSpec& spec) override {
    if (settings_.Chooses(spec.id, spec.size)) alive_.push_back({spec.id, spec.src, spec.start});
  }

 private:
  struct Flow {
    FlowId id;
    HostId src;
    Time start;
  };

  void Record(Time /*from*/, Time now) override {
    std::erase_if(alive_, [&](const Flow& flow) {
      if (flow.start >= now) return false;
      const auto state = network_.host(flow.src).transport().StateOf(flow.id);
      if (state) AddRow(flow.id, *state, now);
      return !state;
    });
  }

  void AddRow(FlowId id, const FlowState& state, Time now) {
    auto out = table().StartRow(now);
    fmt::format_to(out, FMT_COMPILE(",{}"), id);
    for (const std::optional<double>& cell : {state.cwnd, state.rate, state.alpha}) {
      table().text += ',';
      if (cell) fmt::format_to(out, FMT_COMPILE("{}"), *cell);
    }
    fmt::format_to(out, FMT_COMPILE(",{},{}\n"), state.in_flight, state.acked);
  }

  const RecordSettings::Flows& settings_;
  Network& network_;
  std::vector<Flow> alive_;  // Chosen ones that have not ended, by id.
};

// Whether a fast retransmit was due to a loss is known later, so the rows wait for the end.
class DupackSeries final : public Series::Recording {
 public:
  DupackSeries(Duration every, const SeriesWriter& write, Network& network,
               std::span<const std::unique_ptr<FlowRecorder>> recorders)
      : Recording(every, write), every_(every), network_(network), recorders_(recorders) {
    AddTable("series_dupack.csv", "time_ns,data_pkts,dupack3_reorder,dupack3_loss\n");
  }

 private:
  struct Interval {
    Time end;
    int64_t sent;
    int64_t reorder = 0;
    int64_t loss = 0;
  };

  void Record(Time /*from*/, Time now) override {
    int64_t sent = 0;
    for (size_t h = 0; h < network_.hosts(); ++h) sent += network_.host(h).data_sent();
    intervals_.push_back({now, sent - std::exchange(sent_, sent)});
  }

  void RecordRest(Time from, Time end) override {
    Record(from, end);
    for (const std::unique_ptr<FlowRecorder>& recorder : recorders_) {
      for (const auto& [at, dropped] : recorder->fast_retransmits()) {
        Interval& interval = intervals_[static_cast<size_t>((at - Time{}) / every_)];
        ++(dropped ? interval.loss : interval.reorder);
      }
    }
    for (const Interval& interval : intervals_) {
      if (interval.sent == 0 && interval.reorder == 0 && interval.loss == 0) continue;
      fmt::format_to(table().StartRow(interval.end), FMT_COMPILE(",{},{},{}\n"), interval.sent,
                     interval.reorder, interval.loss);
    }
  }

  const Duration every_;
  Network& network_;
  const std::span<const std::unique_ptr<FlowRecorder>> recorders_;
  std::vector<Interval> intervals_;
  int64_t sent_ = 0;  // Until the last time.
};

class LbSeries final : public Series::Recording {
 public:
  LbSeries(Duration every, const SeriesWriter& write, Network& network)
      : Recording(every, write), network_(network) {
    AddTable("series_lb.csv", "time_ns,node,gauge,value\n");
  }

 private:
  void Record(Time /*from*/, Time now) override {
    const Graph& graph = network_.graph();
    for (size_t h = 0; h < network_.hosts(); ++h) {
      Host& host = network_.host(h);
      if (host.has_policy()) AddRows(graph.NameOf(graph.VertexOfHost(h)), host.policy(), now);
    }
    for (const std::unique_ptr<Switch>& s : network_.switches()) {
      AddRows(graph.switches[s->id()].name, s->policy(), now);
    }
  }

  template <class Policy>
  void AddRows(const std::string& node, const Policy& policy, Time now) {
    for (const Gauge& gauge : policy.Gauges(now)) {
      fmt::format_to(table().StartRow(now), FMT_COMPILE(",{},{},{}\n"), node, gauge.name,
                     gauge.value);
    }
  }

  Network& network_;
};

class PauseSeries final : public Series::Recording {
 public:
  PauseSeries(Duration every, bool paths, const SeriesWriter& write, Network& network)
      : Recording(every, write), network_(network), before_(network.egresses().size()) {
    rates_ = AddTable("pfc_rate.csv",
                      "time_ns,layer,pause_frames,resume_frames,paused_links_fabric,"
                      "paused_links_total,paused_links_timeavg\n");
    intervals_ = AddTable("pause_intervals.csv", "node,port,class,start_ns,end_ns,blocked_ns\n");
    FindLayers();
    StartLogs();
    if (!paths) return;
    paths_.emplace(network);
    paused_paths_ = AddTable("paused_paths.csv", "time_ns,paused_paths,paths\n");
    path_pauses_ =
        AddTable("path_pauses.csv", "src_leaf,dst_leaf,path_id,paused_ns,all_paths_paused_ns\n");
  }

 private:
  struct Layer {
    std::string name;
    bool fabric;  // Between switches.
    int64_t pauses = 0;
    int64_t resumes = 0;
    int64_t links = 0;  // Paused at any time.
    Duration paused{0};
  };
  struct Log {
    VertexId vertex;
    PauseLog* log;
  };
  struct Interval {
    VertexId vertex;
    PauseInterval pause;
  };

  void Record(Time from, Time now) override {
    AddRates(from, now);
    const std::vector<Interval> ended = TakeEnded();
    for (const Interval& interval : ended) AddRow(interval);
    if (paths_) AddPaths(ended, from, now);
  }

  // Pauses that last to the end of the run end with it.
  void RecordRest(Time from, Time end) override {
    if (from < end) Record(from, end);
    for (const Interval& interval : OpenAt(end)) AddRow(interval);
    if (paths_) AddPathTotals();
  }

  // In the order of egresses.
  void FindLayers() {
    const Graph& graph = network_.graph();
    for (const Network::Egress& egress : network_.egresses()) {
      const std::string name = TierName(graph, egress.vertex, egress.peer);
      auto layer = std::ranges::find(layers_, name, &Layer::name);
      if (layer == layers_.end()) {
        const bool fabric = !graph.IsHost(egress.vertex) && !graph.IsHost(egress.peer);
        layer = layers_.insert(layer, {name, fabric});
      }
      layer_of_.push_back(static_cast<size_t>(layer - layers_.begin()));
    }
  }

  // In the order of nodes.
  void StartLogs() {
    for (size_t h = 0; h < network_.hosts(); ++h) {
      logs_.push_back({network_.graph().VertexOfHost(h), &network_.host(h).LogPauses()});
    }
    for (const std::unique_ptr<Switch>& s : network_.switches()) {
      if (s->queued() == nullptr) continue;
      const VertexId vertex = network_.graph().VertexOfSwitch(s->id());
      logs_.push_back({vertex, &s->queued()->LogPauses()});
    }
  }

  void AddRates(Time from, Time now) {
    for (Layer& layer : layers_) layer = {layer.name, layer.fabric};
    for (size_t i = 0; i < before_.size(); ++i) {
      const PauseTotals totals = network_.PausesOf(network_.egresses()[i], now);
      PauseTotals more = totals;
      more -= std::exchange(before_[i], totals);
      Layer& layer = layers_[layer_of_[i]];
      layer.pauses += more.pauses;
      layer.resumes += more.resumes;
      layer.links += more.paused > Duration{0} ? 1 : 0;
      layer.paused += more.paused;
    }
    for (const Layer& layer : layers_) {
      fmt::format_to(table(rates_).StartRow(now), FMT_COMPILE(",{},{},{},{},{},{}\n"), layer.name,
                     layer.pauses, layer.resumes, layer.fabric ? layer.links : 0, layer.links,
                     static_cast<double>(layer.paused.ps) / static_cast<double>((now - from).ps));
    }
  }

  // In the order of their ends, then of nodes.
  std::vector<Interval> TakeEnded() {
    std::vector<Interval> ended;
    for (const Log& log : logs_) {
      for (const PauseInterval& pause : std::exchange(log.log->ended(), {})) {
        ended.push_back({log.vertex, pause});
      }
    }
    std::ranges::sort(ended, {}, [](const Interval& interval) {
      const PauseInterval& pause = interval.pause;
      return std::tuple(pause.end, interval.vertex, pause.port, pause.cls, pause.start);
    });
    return ended;
  }

  // Those that last, as if they ended `now`.
  std::vector<Interval> OpenAt(Time now) const {
    std::vector<Interval> open;
    std::vector<PauseInterval> pauses;
    for (const Log& log : logs_) {
      pauses.clear();
      log.log->AddOpen(now, pauses);
      for (const PauseInterval& pause : pauses) open.push_back({log.vertex, pause});
    }
    return open;
  }

  void AddRow(const Interval& interval) {
    const PauseInterval& pause = interval.pause;
    std::string& text = table(intervals_).text;
    fmt::format_to(std::back_inserter(text), FMT_COMPILE("{},{},{}"),
                   network_.graph().NameOf(interval.vertex), pause.port, pause.cls);
    for (const int64_t ps : {pause.start.ps, pause.end.ps, pause.blocked.ps}) {
      text += ',';
      AppendExact(text, ps, 3);
    }
    text += '\n';
  }

  void AddPaths(const std::vector<Interval>& ended, Time from, Time now) {
    for (const std::vector<Interval>& some : {ended, OpenAt(now)}) {
      for (const Interval& interval : some) {
        paths_->Add(network_.EgressOf(interval.vertex, interval.pause.port),
                    std::max(interval.pause.start, from), interval.pause.end);
      }
    }
    fmt::format_to(table(paused_paths_).StartRow(now), FMT_COMPILE(",{},{}\n"), paths_->CloseBin(),
                   paths_->paths().size());
  }

  void AddPathTotals() {
    std::string& text = table(path_pauses_).text;
    const Graph& graph = network_.graph();
    for (const PathPauses::Path& path : paths_->paths()) {
      if (path.paused == Duration{0}) continue;
      fmt::format_to(std::back_inserter(text), FMT_COMPILE("{},{},{},"),
                     graph.switches[path.src].name, graph.switches[path.dst].name, path.id);
      AppendExact(text, path.paused.ps, 3);
      text += ',';
      AppendExact(text, paths_->AllPaused(path).ps, 3);
      text += '\n';
    }
  }

  Network& network_;
  std::vector<Layer> layers_;
  std::vector<size_t> layer_of_;     // By egress.
  std::vector<PauseTotals> before_;  // By egress, until the last time.
  std::vector<Log> logs_;
  std::optional<PathPauses> paths_;
  size_t rates_ = 0;
  size_t intervals_ = 0;
  size_t paused_paths_ = 0;
  size_t path_pauses_ = 0;
};

}  // namespace

Series::Series(const Experiment& experiment, Network& network,
               std::span<const std::unique_ptr<FlowRecorder>> recorders, const SeriesWriter& write)
    : write_([this, &write](std::string_view file, std::string_view text) {
        return writable_ = writable_ && write(file, text);
      }) {
  const RecordSettings& asked = experiment.settings.measure.record;
  const auto add = [this](auto recording) { recordings_.push_back(std::move(recording)); };
  if (asked.queues) {
    const uint8_t data = experiment.settings.transport.settings->classes().data;
    add(std::make_unique<QueueSeries>(*asked.queues, write_, network, data));
  }
  if (asked.links) add(std::make_unique<LinkSeries>(*asked.links, write_, network));
  if (asked.buffers) add(std::make_unique<BufferSeries>(*asked.buffers, write_, network));
  if (asked.marks) add(std::make_unique<MarkSeries>(*asked.marks, write_, network));
  if (asked.dupacks) {
    add(std::make_unique<DupackSeries>(*asked.dupacks, write_, network, recorders));
  }
  if (asked.lb) add(std::make_unique<LbSeries>(*asked.lb, write_, network));
  if (asked.flows.on()) add(std::make_unique<FlowSeries>(asked.flows, write_, network));
  if (asked.pauses) {
    add(std::make_unique<PauseSeries>(*asked.pauses, asked.paths, write_, network));
  }
  FindNext();
}

Series::~Series() = default;

void Series::FindNext() {
  next_ = kNever;
  for (const auto& recording : recordings_) next_ = std::min(next_, recording->due());
}

void Series::Take(Time now) {
  for (const auto& recording : recordings_) {
    if (recording->due() == now) recording->Take(now);
  }
  FindNext();
}

void Series::OnStart(const FlowSpec& spec) {
  for (const auto& recording : recordings_) recording->OnStart(spec);
}

void Series::Finish(Time end) {
  for (const auto& recording : recordings_) recording->Finish(end);
  next_ = kNever;
}

}  // namespace heddle
