// SPDX-License-Identifier: Apache-2.0

#include "experiment/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "core/check.h"
#include "experiment/ideal_fct.h"
#include "experiment/version.h"
#include "fabric/switch.h"
#include "settings/patch.h"
#include "settings/reader.h"
#include "settings/writer.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

constexpr size_t kMaxPoints = 100'000;
constexpr size_t kMaxNameLength = 200;

// --- Sweeps ---

// One combination of what a sweep's axes offer.
struct Point {
  Value document;
  std::vector<std::pair<std::string, std::string>> axes;
};

// "ecmp", "letflow.gap=100us", "0.6": a value as part of a label.
std::string LabelOf(const Value& value) {
  if (value.kind == Value::Kind::kScalar) return value.text;
  std::string label;
  for (const Value& item : value.items) label += (label.empty() ? "" : "+") + LabelOf(item);
  for (const Value::Entry& entry : value.entries) {
    const std::string part =
        entry.key == "kind" ? entry.value.text : entry.key + "=" + LabelOf(entry.value);
    label += (label.empty() ? "" : ".") + part;
  }
  return label;
}

// Replaces `points` by their combinations with the values of `axis`.
void Combine(const Value::Entry& axis, std::vector<Point>& points, Diagnostics& diagnostics) {
  const std::string path = "sweep." + axis.key;
  if (axis.value.kind != Value::Kind::kList || axis.value.items.empty()) {
    return diagnostics.Error(axis.value.place, path, "expected a list of values, at least one");
  }
  if (points.size() * axis.value.items.size() > kMaxPoints) {
    return diagnostics.Error(axis.value.place, path,
                             fmt::format("makes more than {} experiments", kMaxPoints));
  }
  std::vector<Point> combined;
  for (const Point& point : points) {
    for (const Value& value : axis.value.items) {
      Point next = point;
      Patch(next.document, axis.key, value, diagnostics);
      next.axes.emplace_back(axis.key, LabelOf(value));
      combined.push_back(std::move(next));
      if (!diagnostics.ok()) return;
    }
  }
  points = std::move(combined);
}

// What is set on the command line is not swept any more.
void Override(Value& document, std::string_view path, const Place& place,
              Diagnostics& diagnostics) {
  Value* sweep = document.Find("sweep");
  if (sweep == nullptr) return;
  for (const Value::Entry& axis : sweep->entries) {
    if (path.size() <= axis.key.size() || !path.starts_with(axis.key)) continue;
    if (path[axis.key.size()] != '.' && path[axis.key.size()] != '[') continue;
    diagnostics.Error(place, path,
                      fmt::format("has no effect, as sweep.{0} replaces all of {0}; set sweep.{0}, "
                                  "or {0} as a whole",
                                  axis.key));
  }
  std::erase_if(sweep->entries, [&](const Value::Entry& axis) { return axis.key == path; });
}

std::vector<Point> ExpandSweep(Value document, Diagnostics& diagnostics) {
  std::vector<Point> points(1);
  Value sweep;
  std::erase_if(document.entries, [&](Value::Entry& entry) {
    if (entry.key != "sweep") return false;
    sweep = std::move(entry.value);
    return true;
  });
  points.front().document = std::move(document);
  if (sweep.kind != Value::Kind::kMap && sweep.kind != Value::Kind::kNull) {
    diagnostics.Error(sweep.place, "sweep", "expected a map from settings to lists of values");
  }
  for (const Value::Entry& axis : sweep.entries) Combine(axis, points, diagnostics);
  return points;
}

// A name that a folder can have.
std::string FolderName(const std::string& label) {
  std::string name;
  for (const char c : label.substr(0, kMaxNameLength)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || std::strchr("._=+-,[]", c);
    name += plain ? c : '_';
  }
  return name.starts_with('.') ? "_" + name : name;
}

// Short where the last part of the key says enough.
std::string LabelOf(const std::vector<std::pair<std::string, std::string>>& axes) {
  std::string label;
  for (const auto& [key, value] : axes) {
    const std::string last = key.substr(key.find_last_of('.') + 1);
    label += fmt::format("{}{}={}", label.empty() ? "" : ",", last, value);
  }
  return FolderName(label);
}

// --- What follows from settings ---

Stage StageOf(const ExperimentSettings& settings, const Graph& graph, const Routing& routing,
              const std::string& folder) {
  Stage stage;
  stage.hosts = graph.hosts;
  stage.leaves = routing.leaves();
  stage.uplink_bps.assign(stage.leaves, 0);
  for (uint32_t h = 0; h < graph.hosts; ++h) {
    const HostId host = static_cast<HostId>(h);
    stage.leaf_of_host.push_back(routing.LeafIndexOf(host));
    stage.host_rate.push_back(routing.HostUplink(host).rate);
    stage.downlink_rate.push_back(routing.HostDownlink(host).rate);
  }
  for (const HostId host : routing.first_hosts()) {
    const uint32_t vertex = static_cast<uint32_t>(graph.hosts) + routing.LeafOf(host);
    for (const Adjacency::Port& port : routing.adjacency().Of(vertex)) {
      if (graph.IsHost(port.peer)) continue;
      stage.uplink_bps[routing.LeafIndexOf(host)] += port.out.rate.bps;
    }
  }
  const PacketSizes sizes = settings.transport.settings->sizes();
  stage.mss = sizes.mss;
  stage.packet_overhead = sizes.data_overhead + sizes.wire_overhead;
  stage.max_flow_size = settings.transport.settings->max_flow_size();
  stage.folder = folder;
  stage.seed = static_cast<uint64_t>(settings.seed);
  return stage;
}

// The slowest direction of any link.
BitRate SlowestRate(const Graph& graph) {
  BitRate slowest = graph.links.front().a_to_b.rate;
  for (const Graph::Link& link : graph.links) {
    slowest = std::min({slowest, link.a_to_b.rate, link.b_to_a.rate});
  }
  return slowest;
}

Timeline TimelineOf(const Experiment& experiment) {
  const ExperimentSettings& settings = experiment.settings;
  const std::vector<Forecast>& forecasts = experiment.forecasts;
  Timeline timeline;
  timeline.generation_start = kNever;
  bool open_loop = false;
  int64_t large_flow = 0;
  for (size_t i = 0; i < forecasts.size(); ++i) {
    const Forecast& forecast = forecasts[i];
    large_flow = std::max(large_flow, forecast.large_flow);
    if (!settings.workload[i].settings->measured) continue;
    timeline.generation_start = std::min(timeline.generation_start, forecast.first);
    timeline.generation_end = std::max(timeline.generation_end, forecast.last);
    open_loop = open_loop || forecast.open_loop;
  }
  const Duration generation = timeline.generation_end - timeline.generation_start;
  const Duration warm_up =
      settings.measure.warm_up.value_or(open_loop ? std::min(5_ms, generation / 20) : Duration{0});
  timeline.measure_from = timeline.generation_start + warm_up;
  // A set of flows is measured whole; where a load decides, the forecast may fall short of the
  // last.
  timeline.measure_until = settings.measure.cool_down > Duration{0}
                               ? timeline.generation_end - settings.measure.cool_down
                               : kNever;
  timeline.links_from = open_loop ? timeline.measure_from : Time{0};
  timeline.links_until = open_loop ? timeline.generation_end : kNever;
  const double slowest = static_cast<double>(SlowestRate(experiment.graph).bps);
  const double large_ps = static_cast<double>(large_flow) * 8e12 / slowest +
                          static_cast<double>(experiment.base_rtt.ps);
  const Duration patience{static_cast<int64_t>(std::clamp(20 * large_ps, 1e12, 1e17))};
  timeline.t_max = settings.measure.t_max ? Time{settings.measure.t_max->ps}
                                          : std::min(timeline.generation_end + patience, kNever);
  return timeline;
}

// The longest idle round trip between leaves: a full packet there, an ACK back. Where there are
// very many leaves, those pairs that a step of their number reaches.
Duration BaseRtt(const Routing& routing, const Graph& graph, const PacketSizes& sizes) {
  IdealFct ideal(routing, sizes);
  std::vector<HostId> hosts = routing.first_hosts();
  if (hosts.size() == 1) hosts.push_back(static_cast<HostId>(graph.hosts - 1));
  constexpr size_t kMaxHosts = 64;
  const size_t step = hosts.size() / kMaxHosts + 1;
  Duration longest{0};
  for (size_t i = 0; i < hosts.size(); i += step) {
    for (size_t j = 0; j < hosts.size(); j += step) {
      if (i != j) longest = std::max(longest, ideal.Of(hosts[i], hosts[j], sizes.mss).tx);
    }
  }
  return longest;
}

// The channels that switches send on, one of each rate.
std::vector<Channel> SwitchChannels(const Graph& graph) {
  std::vector<Channel> channels;
  const auto add = [&](const Channel& channel) {
    if (std::ranges::find(channels, channel.rate, &Channel::rate) == channels.end()) {
      channels.push_back(channel);
    }
  };
  for (const Graph::Link& link : graph.links) {
    if (!graph.IsHost(link.a)) add(link.a_to_b);
    if (!graph.IsHost(link.b)) add(link.b_to_a);
  }
  return channels;
}

// What only routing can tell of a network.
void CheckRoutes(const Routing& routing, Diagnostics& diagnostics) {
  if (const std::vector<std::string> pairs = routing.Unreachable(); !pairs.empty()) {
    const std::string more =
        pairs.size() > 1 ? fmt::format(", and so for {} more pairs", pairs.size() - 1) : "";
    diagnostics.ErrorAt("topology", pairs.front() + more);
  }
  if (routing.MostSwitches() > kMaxHops) {
    diagnostics.ErrorAt("topology",
                        fmt::format("hosts are {} switches apart; packets pass {} at most",
                                    routing.MostSwitches(), kMaxHops));
  }
  if (routing.path_ids() > kNoPath) {
    diagnostics.ErrorAt("topology",
                        fmt::format("has so many uplinks in each tier that paths cannot be "
                                    "numbered; the most uplinks of a switch, multiplied over all "
                                    "tiers, may be {}",
                                    kNoPath));
  }
}

void CheckPorts(Experiment& experiment, Diagnostics& diagnostics) {
  const PortRule& rule = experiment.settings.topology.settings->port;
  const PacketSizes sizes = experiment.settings.transport.settings->sizes();
  const int64_t largest = sizes.DataPacket(sizes.mss);
  for (const Channel& channel : SwitchChannels(experiment.graph)) {
    const PortSettings port = rule.SwitchPort(channel, Bytes{sizes.wire_overhead});
    const int64_t unit = port.count_packets ? 1 : largest;
    if (port.buffer < unit) {
      diagnostics.ErrorAt(
          "topology.port.buffer",
          fmt::format("holds {} bytes, less than a full packet of {}", port.buffer, largest));
    }
    if (port.mark_above == kUnlimited) continue;
    const std::string rate = FormatQuantity(channel.rate);
    if (port.buffer != kUnlimited && 2 * port.mark_above > port.buffer) {
      diagnostics.WarningAt("topology.port.ecn_above",
                            fmt::format("at {}: K is more than half the buffer", rate));
    }
    const double rtt_bytes =
        static_cast<double>(channel.rate.bps) / 8 * Seconds(experiment.base_rtt);
    const double mark_bytes =
        static_cast<double>(port.mark_above * (port.count_packets ? largest : 1));
    if (mark_bytes > 4 * rtt_bytes) {
      diagnostics.WarningAt(
          "topology.port.ecn_above",
          fmt::format("at {}: K is more than 4 times the base bandwidth-delay product, so queueing "
                      "dominates latency",
                      rate));
    }
  }
}

void CheckClasses(const MeasureSettings& measure, Diagnostics& diagnostics) {
  const std::vector<std::string> known = ClassSetNames();
  for (size_t i = 0; i < measure.classes.size(); ++i) {
    if (std::ranges::find(known, measure.classes[i]) != known.end()) continue;
    diagnostics.ErrorAt(fmt::format("measure.classes[{}]", i),
                        fmt::format("no class set is called \"{}\"{}", measure.classes[i],
                                    Suggestion(measure.classes[i], known)));
  }
}

void CheckTimes(Experiment& experiment, const Routing& routing, Diagnostics& diagnostics) {
  Timeline& timeline = experiment.timeline;
  if (timeline.generation_start == kNever) {
    return diagnostics.ErrorAt("workload",
                               "nothing is measured; leave one workload measured: true");
  }
  const bool at_once = timeline.generation_start == timeline.generation_end;
  if (timeline.measure_from > timeline.generation_end ||
      (timeline.measure_from == timeline.generation_end && !at_once) ||
      timeline.measure_from >= timeline.measure_until) {
    diagnostics.ErrorAt("measure.warm_up",
                        "nothing is left to measure: warm_up and cool_down cover "
                        "the whole time in which flows start");
  }
  size_t ports = 0;
  for (uint32_t v = 0; v < experiment.graph.vertices(); ++v) {
    ports = std::max(ports, routing.adjacency().Of(v).size());
  }
  const Time latest = Arrivals::LatestFor(ports) - 2 * experiment.base_rtt;
  if (!experiment.settings.measure.t_max) timeline.t_max = std::min(timeline.t_max, latest);
  if (timeline.t_max > latest) {
    diagnostics.ErrorAt("measure.t_max",
                        fmt::format("is {}; with {} ports on a switch, simulated time ends at {}",
                                    FormatQuantity(timeline.t_max - Time{}), ports,
                                    FormatQuantity(latest - Time{})));
  }
  if (timeline.t_max <= timeline.measure_from) {
    diagnostics.ErrorAt("measure.t_max", "ends before anything is measured");
  }
}

// Workloads that are fine alone may ask too much together, or of one host's link.
void CheckTogether(const Experiment& experiment, Diagnostics& diagnostics) {
  const Stage& stage = experiment.stage;
  const std::vector<Forecast>& forecasts = experiment.forecasts;
  for (size_t i = 0; i < forecasts.size(); ++i) {
    // What is offered when workload i begins.
    const Time now = forecasts[i].first;
    std::vector<double> from(stage.hosts, 0);
    std::vector<double> to(stage.hosts, 0);
    bool accepted = forecasts[i].from_host_bps.empty();
    for (const Forecast& other : forecasts) {
      if (other.from_host_bps.empty() || now < other.first || now >= other.last) continue;
      accepted = accepted || other.overload;
      for (size_t h = 0; h < stage.hosts; ++h) {
        from[h] += other.from_host_bps[h];
        to[h] += other.to_host_bps[h];
      }
    }
    for (size_t h = 0; h < stage.hosts && !accepted; ++h) {
      const double share = std::max(from[h] / static_cast<double>(stage.host_rate[h].bps),
                                    to[h] / static_cast<double>(stage.downlink_rate[h].bps));
      if (share <= 1 + 1e-6) continue;
      diagnostics.ErrorAt(
          fmt::format("workload[{}].load", i),
          fmt::format("with what else is offered then, the link of host {} would be "
                      "loaded {:.3g} times over; lower it, or set overload: true",
                      h, share));
      break;
    }
  }
}

// Prepares the workloads that have been read without a mistake.
void PrepareWorkloads(Experiment& experiment, Diagnostics& diagnostics) {
  for (size_t i = 0; i < experiment.settings.workload.size(); ++i) {
    const std::string path = fmt::format("workload[{}]", i);
    if (!diagnostics.IsSound(path)) continue;
    experiment.stage.index = static_cast<uint16_t>(i);
    experiment.settings.workload[i].settings->Prepare(experiment.stage, path, diagnostics);
  }
}

void LoadFiles(const ExperimentSettings& settings, const std::string& folder,
               Diagnostics& diagnostics) {
  Stage files;
  files.folder = folder;
  for (size_t i = 0; i < settings.workload.size(); ++i) {
    const std::string path = fmt::format("workload[{}]", i);
    if (diagnostics.IsSound(path)) settings.workload[i].settings->Load(files, path, diagnostics);
  }
}

// Fills in what follows from the settings. Where some of them are wrong, it still looks for
// mistakes in whatever does not depend on those.
void Complete(Experiment& experiment, const std::string& folder, Diagnostics& diagnostics) {
  ExperimentSettings& settings = experiment.settings;
  if (diagnostics.IsSound("measure")) CheckClasses(settings.measure, diagnostics);
  LoadFiles(settings, folder, diagnostics);
  if (!diagnostics.IsSound("topology") || !diagnostics.IsSound("seed")) return;
  const uint64_t seed = static_cast<uint64_t>(settings.seed);
  settings.topology.settings->ResolveFiles(folder);
  experiment.graph = settings.topology.settings->Build(seed, "topology", diagnostics);
  if (!diagnostics.IsSound("topology") || !diagnostics.IsSound("transport")) return;
  const Routing routing(experiment.graph);
  CheckRoutes(routing, diagnostics);
  if (!diagnostics.IsSound("topology")) return;
  experiment.mean_links = routing.MeanLinks();
  if (diagnostics.IsSound("schedule")) {
    experiment.events = Resolve(settings.schedule, seed, "schedule", experiment.graph, diagnostics);
  }
  experiment.stage = StageOf(settings, experiment.graph, routing, folder);
  PrepareWorkloads(experiment, diagnostics);
  if (!diagnostics.ok()) return;
  for (const Chosen<Workload>& workload : settings.workload) {
    experiment.forecasts.push_back(workload.settings->Expect());
  }
  CheckTogether(experiment, diagnostics);
  const PacketSizes sizes = settings.transport.settings->sizes();
  experiment.base_rtt = BaseRtt(routing, experiment.graph, sizes);
  const BitRate slowest = std::ranges::min(experiment.stage.host_rate);
  experiment.bdp = {
      static_cast<int64_t>(Seconds(experiment.base_rtt) * static_cast<double>(slowest.bps) / 8)};
  experiment.timeline = TimelineOf(experiment);
  CheckPorts(experiment, diagnostics);
  CheckTimes(experiment, routing, diagnostics);
}

}  // namespace

void MeasureSettings::Declare(Fields& fields) {
  fields.AddOr("auto", "warm_up", warm_up, {.at_least = Duration{0}, .at_most = 1000_s},
               "Flows that start within this time from the first possible one are simulated, but "
               "not measured. auto: 5ms or 5% of the time in which flows start, whichever is less; "
               "0ps if no workload has a load.");
  fields.Add("cool_down", cool_down, {.at_least = Duration{0}, .at_most = 1000_s},
             "Likewise flows that start within this time before flows stop starting.");
  fields.AddOr(
      "auto", "t_max", t_max, {.above = Duration{0}, .at_most = 1'000'000_s},
      "The run ends here, even if measured flows are unfinished. auto: 1s after flows stop "
      "starting, or 20 times what the largest percent of flows needs on the slowest link, if that "
      "is more.");
  fields.Choice(
      "unfinished", unfinished,
      {{"error", Unfinished::kError}, {"inf", Unfinished::kInf}, {"drop", Unfinished::kDrop}},
      "Measured flows that are unfinished at t_max. error: they count as infinitely slow and "
      "the exit code is 1; inf: they count as infinitely slow; drop: they don't count.");
  fields.List("classes", classes, {},
              "Class sets by which results are split: all, smlxl, sml, conga, pias, bdp.");
  fields.Choice("percentiles", percentiles,
                {{"linear", PercentileMethod::kLinear},
                 {"nearest", PercentileMethod::kNearest},
                 {"hpcc", PercentileMethod::kHpcc}},
                "linear: interpolated, as numpy does; nearest: a sample, rank rounded up; hpcc: a "
                "sample, rank rounded down.");
  fields.Require(!classes.empty(), "classes", "name at least one class set");
}

void RoutingSettings::Declare(Fields& fields) {
  fields.Add("convergence", convergence, {.at_least = Duration{0}, .at_most = 1000_s},
             "From the moment a link goes down or comes up to that at which all switches and hosts "
             "route by it; until then, what is routed to a link that is down is lost.");
}

void ExperimentSettings::Declare(Fields& fields) {
  fields.Add("name", name, "Names the folder of the results. Default: the file's name.");
  fields.Add("seed", seed, AtLeast<int64_t>(0), "Seed of all randomness.");
  fields.Kind("topology", topology, Topologies(), "The network.", Fields::kRequired);
  fields.Kind("transport", transport, Transports(), "The transport of all hosts.");
  fields.Kind("lb", lb, LoadBalancers(), "The load balancer.", Fields::kRequired);
  fields.KindList("workload", workload, Workloads(), "The flows.", Fields::kRequired);
  fields.Section("measure", measure, "What is measured, and until when.");
  fields.Sections("schedule", schedule, "What happens to links while the run goes on.");
  fields.Section("routing", routing, "How routes follow failures.");
  fields.Require(name.find_first_of("/\\\n") == std::string::npos && name != "." && name != "..",
                 "name", "cannot be the name of a folder");
  fields.Require(!workload.empty(), "workload", "names no workload");
  fields.Require(workload.size() < 1000, "workload", "names more than 999 workloads");
}

std::string Experiment::Resolved() const {
  // Declare() takes references to what may be written; a writer does not write.
  ExperimentSettings& source = const_cast<ExperimentSettings&>(settings);
  return fmt::format("# heddle {}: the whole experiment, every default written out\n", Version()) +
         WriteYaml([&](Fields& fields) { source.Declare(fields); });
}

SizeClasses Experiment::size_classes() const {
  std::vector<ClassSet> sets;
  for (const std::string& name : settings.measure.classes) {
    sets.push_back(MakeClassSet(name, bdp.count));
  }
  return SizeClasses(std::move(sets));
}

namespace {

std::vector<Experiment> LoadFromDocument(Value document, const std::string& folder,
                                         const LoadOptions& options, Diagnostics& diagnostics) {
  for (const std::string& set : options.sets) {
    PatchFromArgument(document, set, diagnostics);
    Override(document, set.substr(0, set.find('=')), {"--set " + set, 0, 0}, diagnostics);
  }
  if (options.seed) {
    Override(document, "seed", {"--seed", 0, 0}, diagnostics);
    Patch(document, "seed", Value::Scalar(fmt::format("{}", *options.seed), {"--seed", 0, 0}),
          diagnostics);
  }
  // Points without a mistake are kept only if there is none anywhere.
  std::vector<Experiment> experiments;
  for (Point& point : ExpandSweep(std::move(document), diagnostics)) {
    if (!diagnostics.ok()) experiments.clear();
    Experiment& experiment = experiments.emplace_back();
    experiment.label = LabelOf(point.axes);
    experiment.axes = point.axes;
    Diagnostics problems;
    ReadSettings(
        point.document, [&](Fields& fields) { experiment.settings.Declare(fields); }, problems);
    if (point.document.kind == Value::Kind::kMap) Complete(experiment, folder, problems);
    experiment.warnings = problems.warnings();
    diagnostics.Take(problems);
  }
  if (!diagnostics.ok()) return {};
  return experiments;
}

}  // namespace

std::vector<Experiment> LoadExperimentsFromText(const std::string& text, const std::string& source,
                                                const std::string& folder,
                                                const LoadOptions& options,
                                                Diagnostics& diagnostics) {
  std::optional<Value> document = ParseYaml(text, source, diagnostics);
  if (!document) return {};
  return LoadFromDocument(std::move(*document), folder, options, diagnostics);
}

std::vector<Experiment> LoadExperiments(const std::string& path, const LoadOptions& options,
                                        Diagnostics& diagnostics) {
  std::optional<Value> document = ReadYamlFile(path, diagnostics);
  if (!document) return {};
  const std::filesystem::path file(path);
  std::vector<Experiment> experiments =
      LoadFromDocument(std::move(*document), file.parent_path().string(), options, diagnostics);
  for (Experiment& experiment : experiments) {
    if (experiment.settings.name.empty()) experiment.settings.name = file.stem().string();
  }
  return experiments;
}

}  // namespace heddle
