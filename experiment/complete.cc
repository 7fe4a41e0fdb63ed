// SPDX-License-Identifier: Apache-2.0

#include "experiment/complete.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>

#include "core/tournament.h"
#include "experiment/idle_settings.h"
#include "experiment/schedule_checks.h"
#include "experiment/scheme_checks.h"
#include "experiment/traffic.h"
#include "fabric/paths.h"
#include "fabric/switch.h"
#include "lb/parts/make_policies.h"
#include "network/host_kinds.h"
#include "network/ideal_fct.h"
#include "network/network.h"
#include "settings/wording.h"
#include "topo/path_ids.h"
#include "workload/jobs/job.h"

namespace heddle {
namespace {

// The racks, numbered from 0, by switch with hosts: switches that share a host are of one rack.
std::map<SwitchId, uint16_t> RacksOf(const Routing& routing) {
  std::vector<SwitchId> rack(routing.switches());
  std::iota(rack.begin(), rack.end(), SwitchId{0});
  for (size_t leaf = 0; leaf < routing.leaves(); ++leaf) {
    const std::vector<SwitchId> switches = routing.SwitchesOf(leaf);
    for (const SwitchId s : switches) std::ranges::replace(rack, rack[s], rack[switches.front()]);
  }
  std::map<SwitchId, uint16_t> numbered;
  std::map<SwitchId, uint16_t> number_of;
  for (size_t leaf = 0; leaf < routing.leaves(); ++leaf) {
    for (const SwitchId s : routing.SwitchesOf(leaf)) {
      const uint16_t next = static_cast<uint16_t>(number_of.size());
      numbered[s] = number_of.emplace(rack[s], next).first->second;
    }
  }
  return numbered;
}

Stage StageOf(const ExperimentSettings& settings, const Graph& graph, const Routing& routing,
              const std::string& folder) {
  Stage stage;
  stage.hosts = graph.hosts;
  const std::map<SwitchId, uint16_t> racks = RacksOf(routing);
  for (uint32_t h = 0; h < graph.hosts; ++h) {
    const HostId host = static_cast<HostId>(h);
    const int64_t links = static_cast<int64_t>(routing.LinksOf(host));
    stage.leaf_of_host.push_back(racks.at(routing.LeafOf(host)));
    stage.links_of_host.push_back(static_cast<uint16_t>(links));
    stage.has_several_leaves.push_back(routing.SwitchesOf(routing.LeafIndexOf(host)).size() > 1);
    stage.host_rate.push_back({routing.HostUplink(host).rate.bps * links});
    stage.downlink_rate.push_back({routing.HostDownlink(host).rate.bps * links});
  }
  for (const auto& [s, rack] : racks) {
    stage.leaves = std::max(stage.leaves, size_t{rack} + 1);
    stage.uplink_bps.resize(stage.leaves);
    for (const Adjacency::Port& port : routing.PortsOf(s)) {
      if (!graph.IsHost(port.peer)) stage.uplink_bps[rack] += port.out.rate.bps;
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

// The paths over the links that are up when the run starts.
std::shared_ptr<const PathTable> PathsAtStart(const Experiment& experiment) {
  Graph graph = experiment.graph;
  for (const LinkEvent& event : experiment.events) {
    const bool is_known = event.at == Time{} && event.up && !event.silent;
    if (is_known) graph.links[event.link].up = *event.up;
  }
  return Routing(graph).MakePathTable();
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
  // A fixed set of flows is measured whole. Flows that a load generates may start later than
  // forecast.
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

// Returns the time that a queue of the length `threshold` of the ports' marking takes to drain, the
// longest of all ports; 0 if switches mark no packets.
Duration MarkingDelay(const PortRule& rule, const TransportModel& transport, const Graph& graph,
                      const UsualMarking& usual, int64_t Marking::*threshold) {
  const PacketSizes sizes = transport.sizes();
  Duration longest{0};
  for (const Channel& channel : SwitchChannels(graph)) {
    const PortSettings port = rule.SwitchPort(channel, Bytes{sizes.wire_overhead});
    const int64_t length = rule.MarkingAt(channel, usual).*threshold;
    if (length == kUnlimited) continue;
    const int64_t unit = port.count_packets ? sizes.DataPacket(sizes.mss) : 1;
    const double seconds =
        static_cast<double>(length * unit) * 8 / static_cast<double>(channel.rate.bps);
    longest = std::max(longest, Duration{static_cast<int64_t>(seconds * 1e12)});
  }
  return longest;
}

// Returns the length above which a queue to a host is ECN-marked, if senders react to marks; 0 if
// none is marked.
Bytes MarkedAbove(const PortRule& rule, const TransportModel& transport, const Channel& to_host,
                  const UsualMarking& usual) {
  if (!transport.echoes_marks() && !transport.wants_red()) return 0_B;
  const PacketSizes sizes = transport.sizes();
  const PortSettings port = rule.SwitchPort(to_host, Bytes{sizes.wire_overhead});
  const int64_t above = rule.MarkingAt(to_host, usual).above;
  if (above == kUnlimited) return 0_B;
  return {above * (port.count_packets ? sizes.DataPacket(sizes.mss) : 1)};
}

// ACKs can return along the data's path only where both ends number paths alike, as in leaf-spines
// and fat-trees.
void CheckReturnPaths(const Experiment& experiment, const Routing& routing,
                      Diagnostics& diagnostics) {
  if (experiment.settings.ack_path != AckPath::kSymmetric) return;
  if (experiment.settings.topology.kind != "custom") return;
  const std::string path = FindUnmirroredPath(routing, experiment.graph);
  if (path.empty()) return;
  diagnostics.ErrorAt("ack_path",
                      fmt::format("symmetric needs links in an order in which all switches number "
                                  "their uplinks alike: {}; reorder the links, or use ecmp",
                                  path));
}

// Returns true if all links between switches of the same tiers are alike, and all links of hosts.
bool HasAlikeLinks(const Graph& graph) {
  std::map<std::pair<int, int>, std::pair<Channel, Channel>> known;
  return std::ranges::all_of(graph.links, [&](const Graph::Link& link) {
    const std::pair channels{link.a_to_b, link.b_to_a};
    const std::pair tiers{graph.TierOf(link.a), graph.TierOf(link.b)};
    return known.try_emplace(tiers, channels).first->second == channels;
  });
}

// Reports mistakes in the network that only routing shows.
void CheckRoutes(const Routing& routing, Diagnostics& diagnostics) {
  if (const std::vector<std::string> pairs = routing.Unreachable(); !pairs.empty()) {
    const std::string more =
        pairs.size() > 1 ? ", and " + CountedNoun(pairs.size() - 1, "more pair") : "";
    diagnostics.ErrorAt("topology", pairs.front() + more);
  }
  if (routing.MostSwitches() > kMaxHops) {
    diagnostics.ErrorAt("topology",
                        fmt::format("hosts are {} switches apart; packets may pass at most {}",
                                    routing.MostSwitches(), kMaxHops));
  }
  if (routing.path_ids() > kNoPath) {
    diagnostics.ErrorAt(
        "topology", fmt::format("has too many paths to number: the product over all tiers of the "
                                "most uplinks of a switch may be at most {}",
                                kNoPath));
  }
}

void CheckTelemetry(const TransportModel& transport, const Routing& routing,
                    Diagnostics& diagnostics) {
  if (!transport.wants_telemetry() || routing.MostSwitches() <= Telemetry::kMaxSwitches) return;
  diagnostics.ErrorAt(
      "transport.cc",
      fmt::format("needs telemetry from every switch on a path, and a packet carries "
                  "telemetry of at most {} switches; hosts are {} switches apart",
                  Telemetry::kMaxSwitches, routing.MostSwitches()));
}

void CheckFits(const UdpSource& source, const PortRule& rule, const Graph& graph,
               const PacketSizes& sizes, Diagnostics& diagnostics) {
  for (const Channel& channel : SwitchChannels(graph)) {
    const PortSettings port = rule.SwitchPort(channel, Bytes{sizes.wire_overhead});
    if (port.count_packets || port.buffer >= source.packet.count) continue;
    const std::string key = fmt::format("background[{}].payload", source.entry);
    if (!diagnostics.IsSound(key)) return;
    diagnostics.ErrorAt(key,
                        fmt::format("makes packets of {} bytes, but the buffer of a port holds "
                                    "only {}",
                                    source.packet.count, port.buffer));
  }
}

// Presto's receiver reads fields that only Presto's sender writes.
void CheckResequencing(const ExperimentSettings& settings, Diagnostics& diagnostics) {
  if (!diagnostics.IsSound("transport") || !diagnostics.IsSound("lb")) return;
  if (settings.transport.settings->resequencing() != "presto_gro") return;
  if (settings.lb.kind == "presto") return;
  diagnostics.ErrorAt("transport.resequencing",
                      "presto_gro needs flowcells, which only lb: presto makes; use timeout or "
                      "juggler");
}

// Answers tell a sender by their link in which plane its packets met what they report.
void CheckPlanes(const ExperimentSettings& settings, Diagnostics& diagnostics) {
  if (!diagnostics.IsSound("transport") || !diagnostics.IsSound("topology")) return;
  if (!settings.transport.settings->needs_planes() || settings.topology.kind == "planes") return;
  diagnostics.ErrorAt("transport.planes",
                      "packet needs topology: {kind: planes}, whose hosts have a NIC in each "
                      "plane; leave it out, or use that topology");
}

// Finds the text of one setting among those beside it.
class SettingFinder final : public Fields {
 public:
  explicit SettingFinder(std::string_view name) : name_(name) {}

  const std::string& text() const { return text_; }

 protected:
  void OnScalar(std::string_view name, const Scalar& scalar, Presence /*presence*/,
                std::string_view /*meaning*/) override {
    if (name == name_) text_ = scalar.text();
  }
  void OnScalars(std::string_view /*name*/, size_t /*count*/,
                 const std::function<void(size_t)>& /*resize*/,
                 const std::function<Scalar(size_t)>& /*at*/, Presence /*presence*/,
                 std::string_view /*meaning*/, const std::string& /*type*/) override {}
  void OnBlock(std::string_view /*name*/, const Block& /*block*/, Presence /*presence*/,
               std::string_view /*meaning*/) override {}
  void OnBlocks(std::string_view /*name*/, size_t /*count*/,
                const std::function<void(size_t)>& /*resize*/,
                const std::function<Block(size_t)>& /*at*/, Presence /*presence*/,
                std::string_view /*meaning*/) override {}

 private:
  const std::string_view name_;
  std::string text_;
};

// Refuses to measure how long packets wait if they have no room for the sum.
void CheckQueueing(Experiment& experiment, Diagnostics& diagnostics) {
  ExperimentSettings& settings = experiment.settings;
  const auto cargo = settings.transport.settings->cargo_in_place_of_waiting();
  if (!cargo) return;
  SettingFinder queueing("queueing");
  settings.measure.Declare(queueing);
  if (queueing.text() != "true") return;
  diagnostics.ErrorAt("measure.queueing",
                      fmt::format("packets of transport: {} carry {} where this would add up how "
                                  "long they wait; leave it out, or use {}",
                                  settings.transport.kind, cargo->name, cargo->remedy));
}

// Refuses paths for flows beside transports whose flows have subflows.
void CheckSubflows(Experiment& experiment, Diagnostics& diagnostics) {
  ExperimentSettings& settings = experiment.settings;
  if (!settings.transport.settings->has_subflows()) return;
  const std::string& kind = settings.transport.kind;
  for (size_t i = 0; i < experiment.forecasts.size(); ++i) {
    if (!experiment.forecasts[i].pins_flows) continue;
    diagnostics.ErrorAt(
        fmt::format("workload[{}]", i),
        fmt::format("pins flows to paths, but transport: {} spreads a flow over subflows, each "
                    "with a path of its own; leave `path` and `ack_path` out, or use transport: "
                    "tcp",
                    kind));
  }
}

void CheckPorts(Experiment& experiment, Diagnostics& diagnostics) {
  const PortRule& rule = experiment.settings.topology.settings->port;
  const Traffic traffic = TrafficOf(experiment);
  QueuePlan(experiment.graph, rule, traffic, experiment.events).Check("topology.port", diagnostics);
  const PacketSizes sizes = experiment.settings.transport.settings->sizes();
  const int64_t largest = sizes.DataPacket(sizes.mss);
  for (const UdpSource& source : experiment.background) {
    CheckFits(source, rule, experiment.graph, sizes, diagnostics);
  }
  for (const Channel& channel : SwitchChannels(experiment.graph)) {
    const PortSettings port = rule.SwitchPort(channel, Bytes{sizes.wire_overhead});
    const int64_t unit = port.count_packets ? 1 : largest;
    if (port.buffer < unit) {
      diagnostics.ErrorAt(
          "topology.port.buffer",
          fmt::format("holds {} bytes, less than a full packet of {}", port.buffer, largest));
    }
    if (port.mark_above == kUnlimited) continue;
    if (rule.MarkingAt(channel, traffic.marking).needs_queue()) continue;
    const std::string rate = FormatQuantity(channel.rate);
    if (port.buffer != kUnlimited && 2 * port.mark_above > port.buffer) {
      diagnostics.WarningAt(
          "topology.port.ecn_above",
          rule.ecn_above
              ? fmt::format("at {}: the ECN threshold is more than half the buffer", rate)
              : fmt::format(
                    "at {}: the ECN threshold, by default {}{}, is more than half the buffer "
                    "of {}; set ecn_above, for example to a quarter of the buffer",
                    rate, port.mark_above, port.count_packets ? " packets" : " bytes",
                    port.buffer));
    }
    if (!rule.ecn_above)
      continue;  // Without this check every fabric with short cables would get the warning below.
    const double rtt_bytes =
        static_cast<double>(channel.rate.bps) / 8 * Seconds(experiment.base_rtt);
    const double mark_bytes =
        static_cast<double>(port.mark_above * (port.count_packets ? largest : 1));
    if (mark_bytes > 4 * rtt_bytes) {
      diagnostics.WarningAt(
          "topology.port.ecn_above",
          fmt::format(
              "at {}: the ECN threshold is more than 4 times the base bandwidth-delay product, "
              "so queueing dominates latency",
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
                               "nothing is measured; at least one workload needs measured: true");
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
    ports = std::max(ports, routing.adjacency().Of(VertexId(v)).size());
  }
  const Time latest = Tournament::LatestFor(ports) - 2 * experiment.base_rtt;
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
  for (size_t i = 0; i < experiment.settings.background.size(); ++i) {
    if (Time{experiment.settings.background[i].start.ps} < timeline.t_max) continue;
    diagnostics.ErrorAt(fmt::format("background[{}].start", i),
                        fmt::format("is not before {}, where the run ends at the latest",
                                    FormatQuantity(timeline.t_max - Time{})));
  }
}

// A load on hosts' links, and the setting that it comes from.
struct Offer {
  std::string key;
  Forecast forecast;
};

std::vector<Offer> OffersOf(const Experiment& experiment) {
  std::vector<Offer> offers;
  for (const Forecast& forecast : experiment.forecasts) {
    offers.push_back({fmt::format("workload[{}].load", offers.size()), forecast});
  }
  const std::vector<BackgroundSettings>& background = experiment.settings.background;
  for (uint32_t i = 0; i < background.size(); ++i) {
    offers.push_back({fmt::format("background[{}].{}", i, background[i].load ? "load" : "rate"),
                      ForecastOf(background[i], i, experiment.background, experiment.stage)});
  }
  return offers;
}

// Reports loads that together exceed a host's link, even if each alone is acceptable.
void CheckTogether(const Experiment& experiment, Diagnostics& diagnostics) {
  const Stage& stage = experiment.stage;
  const std::vector<Offer> offers = OffersOf(experiment);
  for (const auto& [key, offer] : offers) {
    // Adds up all loads at the start of this one.
    const Time now = offer.first;
    std::vector<double> from(stage.hosts, 0);
    std::vector<double> to(stage.hosts, 0);
    bool accepted = offer.from_host_bps.empty();
    for (const auto& [unused, other] : offers) {
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
          key, fmt::format("with all traffic at that time, the link of host {} would be loaded to "
                           "{:.3g} times its capacity; lower it, or set overload: true",
                           h, share));
      break;
    }
  }
}

// Two jobs may have ranks on one host only if both allow it.
void CheckSharedHosts(const Experiment& experiment, Diagnostics& diagnostics) {
  const auto& workloads = experiment.settings.workload;
  std::vector<std::vector<size_t>> jobs_of_host(experiment.stage.hosts);
  for (size_t i = 0; i < workloads.size(); ++i) {
    if (!workloads[i].settings) continue;
    bool is_told = false;
    for (const HostId host : workloads[i].settings->HostsOfJob()) {
      std::vector<size_t>& jobs = jobs_of_host[host];
      if (!jobs.empty() && jobs.back() == i) continue;
      const bool may_share = workloads[i].settings->shares_hosts();
      const auto other = std::ranges::find_if(
          jobs, [&](size_t job) { return !may_share || !workloads[job].settings->shares_hosts(); });
      if (other != jobs.end() && !is_told) {
        is_told = true;
        diagnostics.ErrorAt(fmt::format("workload[{}].hosts", i),
                            fmt::format("host {} has ranks of workload[{}]; give the jobs other "
                                        "hosts, or share_hosts: true to both",
                                        host, *other));
      }
      jobs.push_back(i);
    }
  }
}

// Flows are numbered in 32 bits. A job has numbers for all its iterations from the beginning; how
// many flows other workloads have is a forecast, which matters only behind those.
void CheckFlowNumbers(const Experiment& experiment, Diagnostics& diagnostics) {
  if (!diagnostics.ok()) return;  // Perhaps of a file, so that a workload is not prepared.
  constexpr double kMost = std::numeric_limits<FlowId>::max();
  double flows = 0;
  double flows_of_jobs = 0;
  std::string beyond;  // The first workload with which they are too many.
  for (size_t i = 0; i < experiment.settings.workload.size(); ++i) {
    const std::string path = fmt::format("workload[{}]", i);
    const auto& settings = experiment.settings.workload[i].settings;
    const std::unique_ptr<Job> job = settings->MakeJob(static_cast<uint32_t>(i + 1));
    const double its = job == nullptr ? settings->Expect().flows
                                      : static_cast<double>(job->schedule().slots()) *
                                            static_cast<double>(job->settings().iterations);
    flows += its;
    if (job != nullptr) flows_of_jobs += its;
    if (flows > kMost && beyond.empty()) beyond = path;
  }
  if (beyond.empty() || flows_of_jobs == 0) return;
  diagnostics.ErrorAt(beyond, fmt::format("all messages of jobs and flows are {:.0f}, more than "
                                          "the {:.0f} that can be numbered; have fewer iterations",
                                          flows, kMost));
}

// Prepares the workloads that have been read without a mistake.
void PrepareWorkloads(Experiment& experiment, const Routing& routing, FilesRead& files,
                      Diagnostics& diagnostics) {
  const PathFinder find = [&routing](HostId src, HostId dst, std::span<const int64_t> uplinks,
                                     const std::function<void(std::string_view)>& refuse) {
    return PathIdOf(routing, src, dst, uplinks, refuse);
  };
  for (size_t i = 0; i < experiment.settings.workload.size(); ++i) {
    const std::string path = fmt::format("workload[{}]", i);
    if (!diagnostics.IsSound(path)) continue;
    experiment.stage.index = static_cast<uint16_t>(i);
    experiment.settings.workload[i].settings->Prepare(experiment.stage, path, files, diagnostics);
    experiment.settings.workload[i].settings->PinFlows(find, diagnostics);
  }
  CheckSharedHosts(experiment, diagnostics);
  CheckFlowNumbers(experiment, diagnostics);
}

void LoadFiles(const ExperimentSettings& settings, const std::string& folder, FilesRead& files,
               Diagnostics& diagnostics) {
  Stage stage;
  stage.folder = folder;
  for (size_t i = 0; i < settings.workload.size(); ++i) {
    const std::string path = fmt::format("workload[{}]", i);
    if (settings.workload[i].settings)
      settings.workload[i].settings->Load(stage, path, files, diagnostics);
  }
}

void CountUplinks(int tier, size_t uplinks, FabricShape& shape) {
  if (tier == 0) shape.leaf_uplinks = std::max(shape.leaf_uplinks, uplinks);
  if (tier == 1) shape.above_uplinks = std::max(shape.above_uplinks, uplinks);
}

}  // namespace

Duration BaseRttOf(const Routing& routing, const PacketSizes& sizes, bool leaves_are_alike) {
  IdealFct ideal(routing, sizes);
  const std::vector<std::vector<HostKind>> kinds = HostKindsOf(routing);
  constexpr size_t kMostLeaves = 64;
  const size_t step = leaves_are_alike ? kinds.size() / kMostLeaves + 1 : 1;
  Duration longest{0};
  for (size_t from = 0; from < kinds.size(); from += step) {
    for (size_t to = 0; to < kinds.size(); to += step) {
      ForEachPairOfKinds(kinds[from], kinds[to], [&](HostId src, HostId dst) {
        longest = std::max(longest, ideal.Of(src, dst, sizes.mss).tx);
      });
    }
  }
  return longest;
}

FabricShape ShapeOf(const Graph& graph, const Routing& routing, const PortRule& rule,
                    const TransportModel& transport, Duration base_rtt) {
  FabricShape shape{.tiers = 1,
                    .leaves = routing.leaves(),
                    .leaf_uplinks = 0,
                    .base_rtt = base_rtt,
                    .host_rate = routing.HostUplink(0).rate,
                    .fabric_rate = {},
                    .marking_delay = {},
                    .all_marked_delay = {},
                    .is_lossless = !rule.pfc.classes.empty()};
  const UsualMarking usual = UsualMarkingFor(transport, shape.base_rtt, SlowestNic(graph));
  shape.marking_delay = MarkingDelay(rule, transport, graph, usual, &Marking::above);
  shape.all_marked_delay = MarkingDelay(rule, transport, graph, usual, &Marking::all);
  shape.trims = rule.trim.on() && transport.can_trim();
  shape.limits_rates = transport.limits_rates();
  shape.is_ecn_capable = transport.is_ecn_capable();
  shape.echoes_marks = transport.echoes_marks();
  const PacketSizes sizes = transport.sizes();
  shape.packet = Bytes{sizes.DataPacket(sizes.mss) + sizes.wire_overhead};
  shape.pause_above = rule.pfc.xoff.value_or(shape.pause_above);
  shape.switch_memory = rule.memory.SizeAt(SlowestNic(graph));
  Channel slowest_host = routing.HostUplink(0);
  for (size_t h = 0; h < graph.hosts; ++h) {
    const Channel& channel = routing.HostUplink(static_cast<HostId>(h));
    if (channel.rate < slowest_host.rate) slowest_host = channel;
  }
  shape.host_rate = slowest_host.rate;
  shape.marked_above = MarkedAbove(rule, transport, slowest_host, usual);
  BitRate slowest{std::numeric_limits<int64_t>::max()};
  for (SwitchId s = 0; s < graph.switches.size(); ++s) {
    shape.tiers = std::max(shape.tiers, graph.switches[s].tier + 1);
    CountUplinks(graph.switches[s].tier, routing.TableOf(s).uplinks.size(), shape);
    for (const Adjacency::Port& port : routing.PortsOf(s)) {
      if (!graph.IsHost(port.peer)) slowest = std::min(slowest, port.out.rate);
    }
  }
  shape.fabric_rate = shape.leaf_uplinks == 0 ? shape.host_rate : slowest;
  return shape;
}

void Complete(Experiment& experiment, const std::string& folder, FilesRead& files,
              Diagnostics& diagnostics) {
  ExperimentSettings& settings = experiment.settings;
  if (diagnostics.IsSound("measure")) CheckClasses(settings.measure, diagnostics);
  CheckResequencing(settings, diagnostics);
  CheckPlanes(settings, diagnostics);
  LoadFiles(settings, folder, files, diagnostics);
  if (!diagnostics.IsSound("topology") || !diagnostics.IsSound("seed")) return;
  if (diagnostics.IsSound("transport") && diagnostics.IsSound("lb")) {
    WarnOfIdleSettings(settings, diagnostics);
    CheckNackFilter(settings, diagnostics);
  }
  const uint64_t seed = static_cast<uint64_t>(settings.seed);
  settings.topology.settings->ResolveFiles(folder);
  experiment.graph = settings.topology.settings->Build(seed, "topology", files, diagnostics);
  if (!diagnostics.IsSound("topology") || !diagnostics.IsSound("transport")) return;
  const Routing routing(experiment.graph);
  CheckRoutes(routing, diagnostics);
  CheckTelemetry(*settings.transport.settings, routing, diagnostics);
  if (!diagnostics.IsSound("topology")) return;
  experiment.mean_links = routing.MeanLinks();
  const bool leaves_are_alike =
      settings.topology.kind != "custom" && HasAlikeLinks(experiment.graph);
  experiment.base_rtt = BaseRttOf(routing, settings.transport.settings->sizes(), leaves_are_alike);
  if (diagnostics.IsSound("schedule")) {
    experiment.events = Resolve(settings.schedule, seed, "schedule", experiment.graph, diagnostics);
    experiment.faults =
        ResolveFaults(settings.schedule, seed, "schedule", experiment.graph, diagnostics);
    CheckRepairs(experiment, diagnostics);
  }
  experiment.stage = StageOf(settings, experiment.graph, routing, folder);
  experiment.stage.paths = [&experiment] { return PathsAtStart(experiment); };
  PrepareWorkloads(experiment, routing, files, diagnostics);
  experiment.stage.paths = nullptr;
  if (diagnostics.IsSound("lb")) {
    const PortRule& rule = settings.topology.settings->port;
    PrepareBalancer(
        *settings.lb.settings, settings.lb.kind,
        ShapeOf(experiment.graph, routing, rule, *settings.transport.settings, experiment.base_rtt),
        "lb", diagnostics);
  }
  CheckReturnPaths(experiment, routing, diagnostics);
  const PacketSizes sizes = settings.transport.settings->sizes();
  experiment.background = ResolveBackground(settings.background, experiment.stage, routing,
                                            experiment.graph, sizes, "background", diagnostics);
  if (!diagnostics.ok()) return;
  for (const Chosen<Workload>& workload : settings.workload) {
    experiment.forecasts.push_back(workload.settings->Expect());
  }
  CheckTogether(experiment, diagnostics);
  CheckQueueing(experiment, diagnostics);
  CheckSubflows(experiment, diagnostics);
  CheckUplinks(settings.background, experiment.background, routing, experiment.graph, "background",
               diagnostics);
  BitRate slowest{std::numeric_limits<int64_t>::max()};
  for (uint32_t h = 0; h < experiment.graph.hosts; ++h) {
    slowest = std::min(slowest, routing.HostUplink(static_cast<HostId>(h)).rate);
  }
  experiment.bdp = {
      static_cast<int64_t>(Seconds(experiment.base_rtt) * static_cast<double>(slowest.bps) / 8)};
  experiment.timeline = TimelineOf(experiment);
  CheckPorts(experiment, diagnostics);
  CheckOrder(settings, diagnostics);
  CheckPathChoice(settings, diagnostics);
  CheckNamedPaths(experiment, routing, diagnostics);
  CheckPresetSwitches(settings, diagnostics);
  CheckFlowletGap(experiment, routing, diagnostics);
  CheckTimes(experiment, routing, diagnostics);
}

}  // namespace heddle
