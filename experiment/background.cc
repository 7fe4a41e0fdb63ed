// SPDX-License-Identifier: Apache-2.0

#include "experiment/background.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>

#include "topo/links.h"
#include "topo/path_ids.h"
#include "workload/derangement.h"

namespace heddle {
namespace {

constexpr int64_t kUsualPayload = 1472;  // An IP packet of 1500 bytes.
// The size of a packet, Ethernet's header included, has 16 bits.
constexpr int64_t kMaxPayload = 65'535 - kUdpIpHeader - 18;
constexpr uint16_t kFirstBackgroundPort = 10'000;
// Random streams below this number belong to workloads: there are fewer than 1000.
constexpr uint16_t kFirstStream = 1'000;

using Pair = std::pair<HostId, HostId>;

// Makes the sources of one entry.
class Resolver {
 public:
  Resolver(const BackgroundSettings& settings, uint32_t entry, const Stage& stage,
           const Routing& routing, const Graph& graph, const PacketSizes& sizes, std::string path,
           Diagnostics& diagnostics)
      : settings_(settings),
        entry_(entry),
        stage_(stage),
        routing_(routing),
        graph_(graph),
        sizes_(sizes),
        path_(std::move(path)),
        diagnostics_(diagnostics) {
    stage_.index = static_cast<uint16_t>(kFirstStream + entry);
  }

  void AddTo(std::vector<UdpSource>& sources) {
    const std::optional<SwitchId> via = Via();
    if (!settings_.via.empty() && !via) return;
    const size_t first = sources.size();
    size_t turn = 0;
    for (const auto& [src, dst] : settings_.hosts ? RandomPairs() : NamedPairs()) {
      for (const uint16_t path : PathsOf(src, dst, via, turn++)) {
        Add(src, dst, path, sources.size() - first, sources);
      }
      if (!diagnostics_.IsSound(path_)) return;  // Other sources are likely to repeat the mistake.
    }
    SetRates(std::span(sources).subspan(first));
  }

 private:
  void Error(std::string_view key, const std::string& message) {
    diagnostics_.ErrorAt(fmt::format("{}.{}", path_, key), message);
  }

  bool CheckHost(std::string_view key, size_t i, int64_t host) {
    if (static_cast<size_t>(host) < stage_.hosts) return true;
    Error(fmt::format("{}[{}]", key, i),
          fmt::format("there is no host {}; there are {}, numbered from 0", host, stage_.hosts));
    return false;
  }

  std::vector<Pair> NamedPairs() {
    const std::vector<int64_t>& from = settings_.from;
    const std::vector<int64_t>& to = settings_.to;
    bool known = true;
    for (size_t i = 0; i < from.size(); ++i) known = CheckHost("from", i, from[i]) && known;
    for (size_t i = 0; i < to.size(); ++i) known = CheckHost("to", i, to[i]) && known;
    if (!known) return {};
    std::vector<Pair> pairs;
    for (size_t i = 0; i < std::max(from.size(), to.size()); ++i) {
      const HostId src = static_cast<HostId>(from[from.size() == 1 ? 0 : i]);
      const HostId dst = static_cast<HostId>(to[to.size() == 1 ? 0 : i]);
      if (src == dst) {
        Error(fmt::format("to[{}]", to.size() == 1 ? 0 : i),
              fmt::format("host {} sends to itself", src));
      } else {
        pairs.emplace_back(src, dst);
      }
    }
    return pairs;
  }

  // Draws random pairs in which no host receives from two others.
  std::vector<Pair> RandomPairs() {
    if (settings_.cross_rack && stage_.leaves < 2) {
      Error("cross_rack", "needs at least two leaves that have hosts");
      return {};
    }
    if (settings_.cross_rack && !CanCross(stage_)) {
      Error("cross_rack", "cannot be: one leaf has more than half of all hosts");
      return {};
    }
    const double wanted = std::round(*settings_.hosts * static_cast<double>(stage_.hosts));
    const size_t count = std::max<size_t>(1, static_cast<size_t>(wanted));
    std::vector<HostId> hosts(stage_.hosts);
    std::iota(hosts.begin(), hosts.end(), HostId{0});
    Rng rng = stage_.Stream("hosts", 0);
    rng.MoveToFront(hosts, count);
    hosts.resize(count);
    std::ranges::sort(hosts);
    const std::vector<HostId> destinations = Derangement(stage_, settings_.cross_rack);
    std::vector<Pair> pairs;
    for (const HostId host : hosts) pairs.emplace_back(host, destinations[host]);
    return pairs;
  }

  std::optional<SwitchId> Via() {
    if (settings_.via.empty()) return std::nullopt;
    const auto found =
        std::ranges::find(graph_.switches, settings_.via, &Graph::SwitchVertex::name);
    if (found != graph_.switches.end()) {
      return static_cast<SwitchId>(found - graph_.switches.begin());
    }
    Error("via",
          fmt::format("no switch is called \"{}\"; switches are called {} to {}", settings_.via,
                      graph_.switches.front().name, graph_.switches.back().name));
    return std::nullopt;
  }

  // Returns the paths that get a source each. If several lead through one switch, pairs use them in
  // turn.
  std::vector<uint16_t> PathsOf(HostId src, HostId dst, std::optional<SwitchId> via, size_t turn) {
    if (!via && !settings_.per_path) return {kNoPath};
    const std::vector<uint16_t> paths = PathIds(routing_, src, dst, via);
    const char* key = via ? "via" : "per_path";
    if (paths.empty() && routing_.IsAttached(routing_.LeafOf(src), dst)) {
      Error(key, fmt::format("hosts {} and {} are on one leaf, so there is no path to choose; "
                             "send to another leaf, or leave {} out",
                             src, dst, key));
    } else if (paths.empty()) {
      Error(key, fmt::format("no shortest path from host {} to host {} leads through {}; name "
                             "another switch",
                             src, dst, settings_.via));
    }
    if (settings_.per_path || paths.empty()) return paths;
    return {paths[turn % paths.size()]};
  }

  void Add(HostId src, HostId dst, uint16_t path, size_t index, std::vector<UdpSource>& sources) {
    const int64_t full_packet = sizes_.mss + sizes_.data_overhead - sizes_.link_header;
    const int64_t payload = settings_.payload ? settings_.payload->count
                                              : std::min(kUsualPayload, full_packet - kUdpIpHeader);
    const int64_t packet = DatagramBytes(sizes_, payload);
    const size_t ports = 65'536 - kFirstBackgroundPort;
    sources.push_back(
        {.id = static_cast<uint32_t>(sources.size()),
         .entry = entry_,
         .src = src,
         .dst = dst,
         .sport = static_cast<uint16_t>(kFirstBackgroundPort + sources.size() % ports),
         .path = path,
         .priority = static_cast<uint8_t>(settings_.priority),
         .payload = Bytes{payload},
         .packet = Bytes{packet},
         .wire = Bytes{packet + sizes_.wire_overhead},
         .rate = settings_.rate.value_or(BitRate{}),
         .pattern = settings_.pattern,
         .start = Time{settings_.start.ps},
         .stop = settings_.stop_time(),
         .rng = stage_.Stream("datagrams", index)});
  }

  void SetRates(std::span<UdpSource> sources) {
    std::vector<int64_t> sources_of(stage_.hosts, 0);
    for (const UdpSource& source : sources) ++sources_of[source.src];
    for (UdpSource& source : sources) {
      const BitRate link = stage_.host_rate[source.src];
      if (settings_.load) {
        const double share = *settings_.load / static_cast<double>(sources_of[source.src]);
        source.rate = {std::max<int64_t>(1, std::llround(share * static_cast<double>(link.bps)))};
      }
      if (!CheckPeak(source, link)) return;
    }
  }

  bool CheckPeak(const UdpSource& source, BitRate link) {
    const BitRate peak = source.pattern.PeakRate(source.rate);
    const BitRate most = settings_.overload ? *kLinkRates.at_most : link;
    // The average load is checked later, for all sources of a host together.
    if (peak <= most || (peak == source.rate && !settings_.overload)) return true;
    Error(settings_.rate ? "rate" : "load",
          fmt::format("host {} would send at {:.6g} Gbps while on, more than {}; lower it, or make "
                      "mean_on longer{}",
                      source.src, static_cast<double>(peak.bps) * 1e-9, FormatQuantity(most),
                      settings_.overload ? "" : ", or set overload: true"));
    return false;
  }

  const BackgroundSettings& settings_;
  const uint32_t entry_;
  Stage stage_;
  const Routing& routing_;
  const Graph& graph_;
  const PacketSizes& sizes_;
  const std::string path_;
  Diagnostics& diagnostics_;
};

// All sources of a host share one queue of its NIC, so they must have one priority.
void CheckPriorities(const std::vector<UdpSource>& sources, std::string_view path,
                     Diagnostics& diagnostics) {
  std::map<HostId, uint8_t> known;
  for (const UdpSource& source : sources) {
    const uint8_t first = known.emplace(source.src, source.priority).first->second;
    const std::string key = fmt::format("{}[{}].priority", path, source.entry);
    if (first == source.priority || !diagnostics.IsSound(key)) continue;
    diagnostics.ErrorAt(key,
                        fmt::format("is {}, but host {} also sends background of class {}, and its "
                                    "NIC has one queue for both; use the same class",
                                    source.priority, source.src, first));
  }
}

bool IsActive(const BackgroundSettings& settings, Time now) {
  return now >= Time{settings.start.ps} && now < settings.stop_time();
}

// Returns the leaf's port that a pinned source is sent through.
PortIndex FirstUplink(const UdpSource& source, const Routing& routing) {
  const RoutingTable& table = routing.TableOf(routing.LeafOf(source.src));
  return table.uplinks[source.path / table.path_divisor % table.uplinks.size()];
}

// The background load on the leaves' uplinks at one time.
struct UplinkLoad {
  std::map<SwitchId, double> leaving;                       // Bits per second, by leaf.
  std::map<std::pair<SwitchId, PortIndex>, double> pinned;  // Bits per second, by leaf and port.
};

UplinkLoad LoadAt(Time now, const std::vector<BackgroundSettings>& entries,
                  const std::vector<UdpSource>& sources, const Routing& routing) {
  UplinkLoad load;
  for (const UdpSource& source : sources) {
    const SwitchId leaf = routing.LeafOf(source.src);
    if (routing.IsAttached(leaf, source.dst) || !IsActive(entries[source.entry], now)) continue;
    const double bps = static_cast<double>(source.rate.bps);
    load.leaving[leaf] += bps;
    if (source.path != kNoPath && !routing.TableOf(leaf).uplinks.empty()) {
      load.pinned[{leaf, FirstUplink(source, routing)}] += bps;
    }
  }
  return load;
}

// Returns the largest ratio of load to capacity, and the name of the link.
std::pair<double, std::string> Worst(const UplinkLoad& load, const Routing& routing,
                                     const Graph& graph) {
  std::pair<double, std::string> worst{0, ""};
  const auto consider = [&](double times, const std::string& name) {
    if (times > worst.first) worst = {times, name};
  };
  for (const auto& [leaf, bps] : load.leaving) {
    double capacity = 0;
    for (const Adjacency::Port& port : routing.PortsOf(leaf)) {
      if (!graph.IsHost(port.peer)) capacity += static_cast<double>(port.out.rate.bps);
    }
    consider(bps / capacity, fmt::format("the uplinks of {}", graph.switches[leaf].name));
  }
  for (const auto& [where, bps] : load.pinned) {
    const Adjacency::Port& port = routing.PortsOf(where.first)[where.second];
    consider(bps / static_cast<double>(port.out.rate.bps),
             fmt::format("the link {}", graph.links[port.link].name));
  }
  return worst;
}

}  // namespace

void CheckUplinks(const std::vector<BackgroundSettings>& entries,
                  const std::vector<UdpSource>& sources, const Routing& routing, const Graph& graph,
                  std::string_view path, Diagnostics& diagnostics) {
  for (size_t i = 0; i < entries.size(); ++i) {
    const Time now{entries[i].start.ps};
    const auto accepts = [&](const BackgroundSettings& entry) {
      return entry.overload && IsActive(entry, now);
    };
    if (std::ranges::any_of(entries, accepts)) continue;
    const auto [times, what] = Worst(LoadAt(now, entries, sources, routing), routing, graph);
    if (times <= 1 + 1e-6) continue;
    diagnostics.ErrorAt(
        fmt::format("{}[{}].{}", path, i, entries[i].load ? "load" : "rate"),
        fmt::format("with all background at that time, {} would be loaded to {:.3g} "
                    "times the capacity; lower it, or set overload: true",
                    what, times));
  }
}

void BackgroundSettings::Declare(Fields& fields) {
  fields.List("from", from, AtLeast<int64_t>(0), "The hosts that send.");
  fields.List("to", to, AtLeast<int64_t>(0),
              "The hosts that receive, in the same order; a single host on either side is paired "
              "with all hosts of the other side.");
  fields.AddOr(
      "unset", "hosts", hosts, {.above = 0.0, .at_most = 1.0},
      "Instead of from and to: this share of all hosts, at least one host, sends. The seed "
      "chooses the senders, and a different receiver for each.");
  fields.Add("cross_rack", cross_rack,
             "With hosts: each receiver is on another leaf than its sender.");
  fields.AddOr("unset", "rate", rate, {.above = BitRate{0}, .at_most = kLinkRates.at_most},
               "Average rate of each source, counting all bytes on the wire.");
  fields.AddOr("unset", "load", load, {.above = 0.0, .at_most = 10.0},
               "Instead of rate: the load of a sending host's link, summed over its sources.");
  fields.Add("overload", overload,
             "Accept more load than the links of hosts, or the leaves' uplinks, can carry.");
  pattern.Declare(fields);
  fields.AddOr("auto", "payload", payload, Between(Bytes{kMinUdpPayload}, Bytes{kMaxPayload}),
               "Payload of each datagram, without its 28 bytes of headers and the transport's "
               "framing. auto: 1472B, or less if a full packet of the transport is smaller.");
  fields.Add("via", via,
             "The name of a switch: each source is pinned to a path through this switch, under "
             "every load balancer. Without a name the load balancer chooses the paths.");
  fields.Add("per_path", per_path,
             "Each pair of hosts has one source for each path between them (through via), pinned "
             "to this path.");
  fields.Add("priority", priority, Between<int64_t>(1, 7),
             "Priority class of datagrams; the same for all background traffic of a host.");
  fields.Add("start", start, {.at_least = Duration{0}, .at_most = 1'000'000_s},
             "Time of the first datagrams.");
  fields.AddOr("none", "stop", stop, {.above = Duration{0}, .at_most = 1'000'000_s},
               "No datagram is sent from this time on. none: until the end of the run.");
  fields.Require(hosts.has_value() != !from.empty(), "from", "set either from and to, or hosts");
  fields.Require(from.empty() == to.empty(), "to", "goes with from");
  fields.Require(from.size() == to.size() || from.size() == 1 || to.size() == 1, "to",
                 "names more or fewer hosts than from; name as many, or one");
  fields.Require(!cross_rack || hosts, "cross_rack", "goes with hosts");
  fields.Require(rate.has_value() != load.has_value(), "rate", "set either rate or load");
  fields.Require(!stop || *stop > start, "stop", "is not after start");
}

std::vector<UdpSource> ResolveBackground(const std::vector<BackgroundSettings>& entries,
                                         const Stage& stage, const Routing& routing,
                                         const Graph& graph, const PacketSizes& sizes,
                                         std::string_view path, Diagnostics& diagnostics) {
  std::vector<UdpSource> sources;
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string entry = fmt::format("{}[{}]", path, i);
    if (!diagnostics.IsSound(entry)) continue;
    Resolver(entries[i], static_cast<uint32_t>(i), stage, routing, graph, sizes, entry, diagnostics)
        .AddTo(sources);
  }
  CheckPriorities(sources, path, diagnostics);
  return sources;
}

Forecast ForecastOf(const BackgroundSettings& settings, uint32_t entry,
                    const std::vector<UdpSource>& sources, const Stage& stage) {
  Forecast forecast;
  forecast.first = Time{settings.start.ps};
  forecast.last = settings.stop_time();
  forecast.overload = settings.overload;
  forecast.from_host_bps.assign(stage.hosts, 0);
  forecast.to_host_bps.assign(stage.hosts, 0);
  for (const UdpSource& source : sources) {
    if (source.entry != entry) continue;
    forecast.from_host_bps[source.src] += static_cast<double>(source.rate.bps);
    forecast.to_host_bps[source.dst] += static_cast<double>(source.rate.bps);
  }
  return forecast;
}

}  // namespace heddle
