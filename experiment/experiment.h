// SPDX-License-Identifier: Apache-2.0
// One experiment: all settings that a run depends on, read from YAML and checked. Commands load
// experiments with LoadExperiments() and pass them to Simulate(). Results depend on nothing else.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

// The settings of instruments that write series over time: `measure.record`.
struct RecordSettings {
  InstrumentSet instruments{InstrumentPlace::kRecord};

  void Declare(Fields& fields) { instruments.Declare(fields); }
};

// The settings below `measure`: what a run measures, and until when.
struct MeasureSettings {
  enum class Unfinished { kError, kInf, kDrop };

  std::optional<Duration> warm_up;
  Duration cool_down{0};
  std::optional<Duration> t_max;
  Unfinished unfinished = Unfinished::kError;
  std::vector<std::string> classes = {"all", "smlxl"};
  PercentileMethod percentiles = PercentileMethod::kLinear;
  bool neighbours = false;                               // Jobs run once more alone.
  InstrumentSet instruments{InstrumentPlace::kMeasure};  // The instruments outside of `record`.
  RecordSettings record;

  void Declare(Fields& fields);

  // Makes the instruments that are asked for.
  std::vector<std::unique_ptr<Instrument>> Make(const RunPlan& plan) const;
};

struct RoutingSettings {
  Duration convergence{0};  // The time from a failure or repair to new routes in all switches.
  std::optional<Duration> detect;  // The time after which the ends of a failed link notice it.
  Duration hold_up{0};             // The time that a repaired link must be up to be used.

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

// Checked settings, and the network, workloads and times that follow from them.
struct Experiment {
  std::string label;  // The sweep's choices, such as "lb=ecmp"; empty without a sweep.
  std::vector<std::pair<std::string, std::string>> axes;  // Key and value of each choice.
  ExperimentSettings settings;
  Graph graph;
  std::vector<LinkEvent> events;    // Failures, repairs and changes of links.
  std::vector<SwitchEvent> faults;  // Failures and faults of switches.
  Stage stage;                      // The hosts and links that workloads were prepared for.
  std::vector<Forecast> forecasts;  // By workload.
  std::vector<UdpSource> background;
  Timeline timeline;
  Duration
      base_rtt;  // The longest idle round trip between two hosts: a full packet there, an ACK back.
  Bytes bdp;     // base_rtt times the slowest host link.
  double mean_links = 0;  // The mean number of links between hosts of different leaves.
  std::vector<std::string> warnings;
  std::map<std::string, uint64_t>
      files;  // Digests of the files that it was read from or needs, by path.

  // Returns the YAML document that repeats this run.
  std::string Resolved() const;

  // Returns a digest of everything that determines the result but the version of Heddle.
  // Experiments with the same id have the same result, whatever they are called.
  std::string Id() const;

  SizeClasses size_classes() const;

  // Returns the sum over the forecasts of all workloads.
  double Total(double Forecast::*what) const;
};

// The scale that a document has by itself: the size of the paper's experiment, often too large for
// a laptop.
inline constexpr std::string_view kFullScale = "full";

// For everything that plug-ins have registered, the digest of the plug-in's file, by the setting
// that chooses it: "lb=my_spray", "transport.cc=my_control", "measure.record.my_series", or
// kInEveryRun and a name. Ids contain the digests of what the experiment uses, since another build
// of the plug-in may give other results.
inline constexpr std::string_view kInEveryRun = "every run: ";
using PluginDigests = std::map<std::string, uint64_t>;

struct LoadOptions {
  std::vector<std::string> sets;  // "path=value"
  std::optional<uint64_t> seed;
  std::string scale = std::string(kFullScale);  // kFullScale, or a name in the document's `scales`.
  bool one_seed = false;  // True: `seed` replaces all seeds of the sweep, not the first one only.
  PluginDigests plugins = {};
};

// Reads the file `path` and returns one experiment for each combination of its sweep; none if there
// is an error in `diagnostics`.
std::vector<Experiment> LoadExperiments(const std::string& path, const LoadOptions& options,
                                        Diagnostics& diagnostics);

// Does the same with `text`. Relative paths start at `folder`.
std::vector<Experiment> LoadExperimentsFromText(const std::string& text, const std::string& source,
                                                const std::string& folder,
                                                const LoadOptions& options,
                                                Diagnostics& diagnostics);

}  // namespace heddle
