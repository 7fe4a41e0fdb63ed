// SPDX-License-Identifier: Apache-2.0
// One experiment: everything that a run depends on, read from YAML and checked.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "experiment/background.h"
#include "lb/parts/load_balancer.h"
#include "measure/instrument_settings.h"
#include "measure/size_classes.h"
#include "measure/timeline.h"
#include "network/return_path.h"
#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "settings/value.h"
#include "topo/schedule.h"
#include "topo/topology.h"
#include "transport/transports.h"
#include "workload/workload.h"

namespace heddle {

// The instruments that write over time: `measure.record`.
struct RecordSettings {
  InstrumentSet instruments{InstrumentPlace::kRecord};

  void Declare(Fields& fields) { instruments.Declare(fields); }
};

// What is measured, and until when.
struct MeasureSettings {
  enum class Unfinished { kError, kInf, kDrop };

  std::optional<Duration> warm_up;
  Duration cool_down{0};
  std::optional<Duration> t_max;
  Unfinished unfinished = Unfinished::kError;
  std::vector<std::string> classes = {"all", "smlxl"};
  PercentileMethod percentiles = PercentileMethod::kLinear;
  InstrumentSet instruments{InstrumentPlace::kMeasure};  // Others.
  RecordSettings record;

  void Declare(Fields& fields);

  // The instruments that are asked for.
  std::vector<std::unique_ptr<Instrument>> Make(const RunPlan& plan) const;
};

struct RoutingSettings {
  Duration convergence{0};  // From a failure or repair to new routes everywhere.

  void Declare(Fields& fields);
};

struct ExperimentSettings {
  std::string name;
  int64_t seed = 1;
  Chosen<Topology> topology;
  Chosen<TransportModel> transport = Transports().Make("dctcp");
  Chosen<LoadBalancer> lb;
  AckPath ack_path = AckPath::kPolicy;
  std::vector<Chosen<Workload>> workload;
  std::vector<BackgroundSettings> background;
  MeasureSettings measure;
  std::vector<ScheduledChange> schedule;
  RoutingSettings routing;

  void Declare(Fields& fields);
};

// Checked settings, with what follows from them.
struct Experiment {
  std::string label;  // The sweep's choices, such as "lb=ecmp"; empty without a sweep.
  std::vector<std::pair<std::string, std::string>> axes;  // Key and value of each choice.
  ExperimentSettings settings;
  Graph graph;
  std::vector<LinkEvent> events;    // What happens to its links,
  std::vector<SwitchEvent> faults;  // and to its switches.
  Stage stage;                      // What workloads were prepared for.
  std::vector<Forecast> forecasts;  // By workload.
  std::vector<UdpSource> background;
  Timeline timeline;
  Duration base_rtt;      // The longest between two hosts, full packet there and ACK back.
  Bytes bdp;              // base_rtt times the slowest host link.
  double mean_links = 0;  // Crossed between hosts of different leaves.
  std::vector<std::string> warnings;
  std::map<std::string, uint64_t> files;  // Digests of what it was read from and needs, by path.

  // The document that repeats this run.
  std::string Resolved() const;

  // Names everything that determines the result, the version of Heddle aside: experiments with one
  // id have the same result, whatever they are called.
  std::string Id() const;

  SizeClasses size_classes() const;
};

// A document's own scale, which is that of a paper rather than of a laptop.
inline constexpr std::string_view kFullScale = "full";

// The load balancers that plug-ins have registered, by kind, with a digest of the plug-in's file:
// results of another build of it are other results.
using PluginDigests = std::map<std::string, uint64_t>;

struct LoadOptions {
  std::vector<std::string> sets;  // "path=value"
  std::optional<uint64_t> seed;
  std::string scale = std::string(kFullScale);  // Or one that the document's `scales` names.
  bool one_seed = false;  // `seed` stands for all that the sweep has, not for the first of them.
  PluginDigests plugins = {};
};

// Reads the experiment in the file `path`, with its sweep: one experiment for each combination.
// Empty if there is an error in `diagnostics`.
std::vector<Experiment> LoadExperiments(const std::string& path, const LoadOptions& options,
                                        Diagnostics& diagnostics);

// The same from text; `folder` is where relative paths start.
std::vector<Experiment> LoadExperimentsFromText(const std::string& text, const std::string& source,
                                                const std::string& folder,
                                                const LoadOptions& options,
                                                Diagnostics& diagnostics);

}  // namespace heddle
