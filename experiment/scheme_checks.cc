// SPDX-License-Identifier: Apache-2.0

#include "experiment/scheme_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "experiment/traffic.h"
#include "topo/path_classes.h"

namespace heddle {
namespace {

bool ReactsToMarks(const TransportModel& transport) {
  return transport.echoes_marks() || transport.wants_red();
}

// The queue in front of `channel` when it is full, in bytes. kUnlimited: it has no limit.
int64_t FullQueue(const Channel& channel, const PortRule& rule, const TransportModel& transport,
                  const UsualMarking& usual) {
  const PacketSizes sizes = transport.sizes();
  const PortSettings port = rule.SwitchPort(channel, Bytes{sizes.wire_overhead});
  const int64_t unit = port.count_packets ? sizes.DataPacket(sizes.mss) : 1;
  const int64_t marked = rule.MarkingAt(channel, usual).all;
  if (ReactsToMarks(transport) && marked != kUnlimited) return marked * unit;
  if (rule.pfc.on()) return kUnlimited;  // A pause may hold packets for any time.
  if (rule.memory.model != MemorySettings::Model::kPrivate) {
    return rule.memory.size ? rule.memory.size->count : kUnlimited;
  }
  return port.buffer == kUnlimited ? kUnlimited : port.buffer * unit;
}

// The delays of the paths from one leaf to another, seen so far.
struct Span {
  Duration fastest{kNever.ps};  // With empty queues.
  Duration slowest{0};          // With full queues.
  bool is_limited = true;

  void Add(const std::vector<Channel>& path, const PortRule& rule, const TransportModel& transport,
           const UsualMarking& usual) {
    const PacketSizes sizes = transport.sizes();
    const Bytes packet{sizes.DataPacket(sizes.mss) + sizes.wire_overhead};
    Duration idle{0};
    Duration queues{0};
    for (const Channel& channel : path) {
      idle += channel.delay + SerializationDelay(packet, channel.rate);
      const int64_t full = FullQueue(channel, rule, transport, usual);
      if (full == kUnlimited) return static_cast<void>(is_limited = false);
      // In integers of picoseconds a queue of more than 1 MB would overflow.
      queues.ps +=
          std::llround(static_cast<double>(full) * 8e12 / static_cast<double>(channel.rate.bps));
    }
    fastest = std::min(fastest, idle);
    slowest = std::max(slowest, idle + queues);
  }
};

}  // namespace

std::optional<Duration> LargestPathDifference(const Routing& routing, const PortRule& rule,
                                              const TransportModel& transport,
                                              const UsualMarking& usual) {
  constexpr size_t kMostLeaves = 64;  // With more leaves only every n-th is looked at.
  const size_t step = routing.leaves() / kMostLeaves + 1;
  PathClasses classes(routing);
  std::set<PathClasses::Class> seen;
  std::optional<Duration> largest;
  for (size_t from = 0; from < routing.leaves(); from += step) {
    for (size_t to = 0; to < routing.leaves(); to += step) {
      if (from == to) continue;
      const PathClasses::Class paths = classes.Between(routing.SwitchesOf(from).front(), to);
      if (!classes.HasSeveral(paths) || !seen.insert(paths).second) continue;
      Span span;
      for (const auto& path : classes.ChannelsOf(paths)) span.Add(path, rule, transport, usual);
      if (!span.is_limited) return std::nullopt;
      largest = std::max(largest.value_or(Duration{0}), span.slowest - span.fastest);
    }
  }
  return largest;
}

void CheckOrder(const ExperimentSettings& settings, Diagnostics& diagnostics) {
  const TransportModel& transport = *settings.transport.settings;
  if (!settings.lb.settings->reorders() || !transport.needs_order()) return;
  diagnostics.WarningAt(
      "lb", fmt::format("{} reorders packets of a flow, and go-back-N resends up to a window for "
                        "each packet that is overtaken; {}",
                        settings.lb.kind, transport.RemedyForReordering()));
}

// Transports that choose paths by their packets' source ports need switches that hash these.
void CheckPathChoice(const ExperimentSettings& settings, Diagnostics& diagnostics) {
  const bool sprays = settings.transport.kind == "mmptcp";
  if (settings.transport.kind != "mprdma" && !sprays) return;
  const std::string& lb = settings.lb.kind;
  if (settings.lb.settings->ForHost(HostId{0}, /*seed=*/1)) {
    return diagnostics.ErrorAt(
        "lb", fmt::format("{} chooses paths at hosts, as {} does itself; set lb: ecmp, by which "
                          "its source ports name paths",
                          lb, settings.transport.kind));
  }
  if (lb == "ecmp" || lb == "wcmp") return;
  if (sprays) {
    return diagnostics.WarningAt(
        "lb", fmt::format("{} may choose paths by other things than source ports, by which {} "
                          "sprays the first packets of a flow; set lb: ecmp",
                          lb, settings.transport.kind));
  }
  diagnostics.WarningAt(
      "lb", fmt::format("{} may send packets of one source port over several paths, while {} takes "
                        "each source port for one path; set lb: ecmp",
                        lb, settings.transport.kind));
}

void CheckNamedPaths(const Experiment& experiment, const Routing& routing,
                     Diagnostics& diagnostics) {
  const ExperimentSettings& settings = experiment.settings;
  if (settings.topology.kind != "custom") return;
  if (!settings.lb.settings->ForHost(HostId{0}, /*seed=*/1)) return;
  for (size_t s = 0; s < routing.switches(); ++s) {
    const RoutingTable& table = routing.TableOf(static_cast<SwitchId>(s));
    const auto is_uplink = [&](PortIndex port) {
      return std::ranges::binary_search(table.uplinks, port);
    };
    for (const RoutingTable::Set& set : table.sets) {
      const auto uplinks = std::ranges::count_if(table.PortsOf(set), is_uplink);
      if (uplinks == 0 || uplinks == static_cast<int64_t>(set.count)) continue;
      return diagnostics.WarningAt(
          "topology",
          fmt::format("{0} has equally short paths over uplinks and over other links, which {1} "
                      "takes for one path: it names paths by uplinks; set the tier of the next "
                      "switches, so that all of these links lead up or none",
                      experiment.graph.switches[s].name, settings.lb.kind));
    }
  }
}

void CheckPresetSwitches(const ExperimentSettings& settings, Diagnostics& diagnostics) {
  const auto expected = settings.transport.settings->expected_switches();
  if (!expected) return;
  const TrimRule& trim = settings.topology.settings->port.trim;
  std::string wanted = "when: port";
  if (expected->queue) wanted += ", threshold: " + FormatQuantity(*expected->queue);
  if (expected->returns_headers) wanted += ", overflow: back";
  std::vector<std::string> lacks;
  if (!trim.on()) {
    lacks.push_back("trim no packets, so every loss waits for the timeout");
  } else {
    if (expected->queue && trim.threshold != expected->queue) {
      lacks.push_back("trim at another length of the queue");
    }
    if (expected->returns_headers && trim.overflow != TrimSettings::Overflow::kBack) {
      lacks.push_back("drop headers beyond header_limit rather than send them back");
    }
  }
  if (lacks.empty()) return;
  diagnostics.WarningAt(
      "transport.preset",
      fmt::format("{} was made for other switches: these {}; set topology.port.trim: {{{}}}",
                  expected->preset, fmt::join(lacks, " and "), wanted));
}

void CheckFlowletGap(const Experiment& experiment, const Routing& routing,
                     Diagnostics& diagnostics) {
  const ExperimentSettings& settings = experiment.settings;
  constexpr int64_t kGenerous = 4;  // Queues may exceed the marking threshold for a while.
  const std::optional<Duration> gap = settings.lb.settings->flowlet_gap();
  if (!gap) return;
  const auto changes_delays = [](const LinkEvent& event) { return event.rate || event.delay; };
  if (std::ranges::any_of(experiment.events, changes_delays)) return;
  const TransportModel& transport = *settings.transport.settings;
  const std::optional<Duration> needed = LargestPathDifference(
      routing, settings.topology.settings->port, transport, TrafficOf(experiment).marking);
  if (!needed || *gap <= *needed * kGenerous) return;
  diagnostics.WarningAt(
      "lb.gap",
      fmt::format(
          "is {}, over {} times {}, the most by which the delays of two paths differ when queues "
          "hold up to {}: few flows are silent for so long, so most keep their path as with ecmp; "
          "set a gap near {}",
          FormatQuantity(*gap), kGenerous, RoundedQuantity(*needed),
          ReactsToMarks(transport) ? "the ECN threshold" : "a full buffer",
          RoundedQuantity(*needed)));
}

}  // namespace heddle
