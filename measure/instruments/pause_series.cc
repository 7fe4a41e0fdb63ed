// SPDX-License-Identifier: Apache-2.0
// measure.record.pauses: pauses in each interval, and each pause of each class of each port; and
// measure.record.paths: the paths between leaves that pauses stopped.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "measure/instruments.h"
#include "measure/instruments/path_pauses.h"
#include "measure/series.h"
#include "measure/tier_name.h"

namespace heddle {
namespace {

struct LayerIn {
  std::string name;
  bool fabric;  // True for links between switches.
  int64_t pauses = 0;
  int64_t resumes = 0;
  int64_t links = 0;  // Links that were paused at any time.
  Duration paused{0};
  Time from{};
  Time end{};
};
constexpr Column<LayerIn> kLayerColumns[] = {
    {"time_ns", [](const LayerIn& row) { return InNs(row.end); }},
    {"layer", [](const LayerIn& row) -> std::string_view { return row.name; }},
    {"pause_frames", [](const LayerIn& row) { return row.pauses; }},
    {"resume_frames", [](const LayerIn& row) { return row.resumes; }},
    {"paused_links_fabric", [](const LayerIn& row) { return row.fabric ? row.links : 0; }},
    {"paused_links_total", [](const LayerIn& row) { return row.links; }},
    {"paused_links_timeavg", [](const LayerIn& row) {
       return static_cast<double>(row.paused.ps) / static_cast<double>((row.end - row.from).ps);
     }}};

struct PauseRow {
  std::string node;
  PauseInterval pause;
};
constexpr Column<PauseRow> kPauseColumns[] = {
    {"node", [](const PauseRow& row) -> std::string_view { return row.node; }},
    {"port", [](const PauseRow& row) { return row.pause.port; }},
    {"class", [](const PauseRow& row) { return row.pause.cls; }},
    {"start_ns", [](const PauseRow& row) { return InNs(row.pause.start); }},
    {"end_ns", [](const PauseRow& row) { return InNs(row.pause.end); }},
    {"blocked_ns", [](const PauseRow& row) { return InNs(row.pause.blocked); }}};

struct PausedPaths {
  Time end;
  int64_t paused;
  size_t all;
};
constexpr Column<PausedPaths> kPausedPathsColumns[] = {
    {"time_ns", [](const PausedPaths& row) { return InNs(row.end); }},
    {"paused_paths", [](const PausedPaths& row) { return row.paused; }},
    {"paths", [](const PausedPaths& row) { return row.all; }}};

struct PathTotal {
  std::string_view src;
  std::string_view dst;
  uint32_t id;
  Duration paused;
  Duration all_paused;
};
constexpr Column<PathTotal> kPathColumns[] = {
    {"src_leaf", [](const PathTotal& row) { return row.src; }},
    {"dst_leaf", [](const PathTotal& row) { return row.dst; }},
    {"path_id", [](const PathTotal& row) { return row.id; }},
    {"paused_ns", [](const PathTotal& row) { return InNs(row.paused); }},
    {"all_paths_paused_ns", [](const PathTotal& row) { return InNs(row.all_paused); }}};

struct PathFiles {
  TableFile<PausedPaths> bins{"paused_paths.csv", Table(kPausedPathsColumns)};
  TableFile<PathTotal> totals{"path_pauses.csv", Table(kPathColumns)};
};

class PauseSeries final : public Series {
 public:
  PauseSeries(Duration every, bool paths) : Series(every) {
    Keep(rates_);
    Keep(intervals_);
    if (!paths) return;
    Keep(path_files_.emplace().bins);
    Keep(path_files_->totals);
  }

 private:
  struct Log {
    VertexId vertex;
    PauseLog* log;
  };
  struct Interval {
    VertexId vertex;
    PauseInterval pause;
  };

  void Prepare() override {
    before_.resize(network().egresses().size());
    FindLayers();
    StartLogs();
    if (path_files_) paths_.emplace(network());
  }

  void Record(Time from, Time now) override {
    AddRates(from, now);
    const std::vector<Interval> ended = TakeEnded();
    for (const Interval& interval : ended) Add(interval);
    if (paths_) AddPaths(ended, from, now);
  }

  // Pauses that are still on at the end of the run end with it.
  void RecordRest(Time from, Time end) override {
    if (from < end) Record(from, end);
    for (const Interval& interval : OpenAt(end)) Add(interval);
    if (paths_) AddPathTotals();
  }

  // In the order of egresses.
  void FindLayers() {
    const Graph& graph = network().graph();
    for (const Network::Egress& egress : network().egresses()) {
      const std::string name = TierName(graph, egress.vertex, egress.peer);
      auto layer = std::ranges::find(layers_, name, &LayerIn::name);
      if (layer == layers_.end()) {
        const bool fabric = !graph.IsHost(egress.vertex) && !graph.IsHost(egress.peer);
        layer = layers_.insert(layer, {name, fabric});
      }
      layer_of_.push_back(static_cast<size_t>(layer - layers_.begin()));
    }
  }

  // In the order of nodes.
  void StartLogs() {
    for (size_t h = 0; h < network().hosts(); ++h) {
      logs_.push_back({network().graph().VertexOfHost(h), &network().host(h).LogPauses()});
    }
    for (const std::unique_ptr<Switch>& s : network().switches()) {
      if (s->queued() == nullptr) continue;
      logs_.push_back({network().graph().VertexOfSwitch(s->id()), &s->queued()->LogPauses()});
    }
  }

  void AddRates(Time from, Time now) {
    for (LayerIn& layer : layers_) {
      layer = {.name = layer.name, .fabric = layer.fabric, .from = from, .end = now};
    }
    for (size_t i = 0; i < before_.size(); ++i) {
      const PauseTotals totals = network().PausesOf(network().egresses()[i], now);
      PauseTotals more = totals;
      more -= std::exchange(before_[i], totals);
      LayerIn& layer = layers_[layer_of_[i]];
      layer.pauses += more.pauses;
      layer.resumes += more.resumes;
      layer.links += more.paused > Duration{0} ? 1 : 0;
      layer.paused += more.paused;
    }
    for (const LayerIn& layer : layers_) rates_.Add(layer);
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

  // Returns the pauses that are still on, as if they ended `now`.
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

  void Add(const Interval& interval) {
    intervals_.Add({network().graph().NameOf(interval.vertex), interval.pause});
  }

  void AddPaths(const std::vector<Interval>& ended, Time from, Time now) {
    for (const std::vector<Interval>& some : {ended, OpenAt(now)}) {
      for (const Interval& interval : some) {
        paths_->Add(network().EgressOf(interval.vertex, interval.pause.port),
                    std::max(interval.pause.start, from), interval.pause.end);
      }
    }
    path_files_->bins.Add({now, paths_->CloseBin(), paths_->paths().size()});
  }

  void AddPathTotals() {
    const Graph& graph = network().graph();
    for (const PathPauses::Path& path : paths_->paths()) {
      if (path.paused == Duration{0}) continue;
      path_files_->totals.Add({graph.switches[path.src].name, graph.switches[path.dst].name,
                               path.id, path.paused, paths_->AllPaused(path)});
    }
  }

  TableFile<LayerIn> rates_{"pfc_rate.csv", Table(kLayerColumns)};
  TableFile<PauseRow> intervals_{"pause_intervals.csv", Table(kPauseColumns)};
  std::optional<PathFiles> path_files_;
  std::vector<LayerIn> layers_;
  std::vector<size_t> layer_of_;     // By egress.
  std::vector<PauseTotals> before_;  // By egress, up to the last measurement.
  std::vector<Log> logs_;
  std::optional<PathPauses> paths_;
};

class PauseSeriesSettings final : public InstrumentSettings {
 public:
  void Declare(Fields& fields) override {
    fields.AddOr("off", "pauses", every_, kRecordingIntervals,
                 "pfc_rate.csv: pauses in each interval; pause_intervals.csv: each pause of each "
                 "class of each port.");
    fields.Add(
        "paths", paths_,
        "paused_paths.csv: how many paths between leaves are paused in each of these intervals; "
        "path_pauses.csv: how long each path was paused. Needs memory for each path.");
    fields.Require(!paths_ || every_, "paths", "needs an interval, such as \"pauses: 1ms\"");
  }
  std::unique_ptr<Instrument> Make(const RunPlan& /*plan*/) const override {
    return every_ ? std::make_unique<PauseSeries>(*every_, paths_) : nullptr;
  }

 private:
  std::optional<Duration> every_;
  bool paths_ = false;
};

[[maybe_unused]] const bool registered = Instruments().Add<PauseSeriesSettings>(
    {.name = "pauses", .order = 80, .example = "pauses: 10us, paths: true"});

}  // namespace
}  // namespace heddle
