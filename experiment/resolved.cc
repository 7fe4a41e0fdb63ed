// SPDX-License-Identifier: Apache-2.0

#include "experiment/resolved.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "experiment/traffic.h"
#include "fabric/input_share.h"
#include "measure/tier_name.h"
#include "network/bandwidth_delay.h"
#include "settings/writer.h"

namespace heddle {
namespace {

using Model = MemorySettings::Model;

constexpr const char* kModelNames[] = {"static", "dt", "hpcc_mmu", "broadcom_mmu"};

std::string NameOf(Model model) { return kModelNames[static_cast<size_t>(model)]; }

auto KeyOf(const ResolvedPorts& ports) {
  const Marking& marking = ports.marking;
  return std::tuple(ports.tier, ports.rate, ports.count_packets, ports.buffer, marking.above,
                    marking.all, marking.at_all, marking.at_dequeue, marking.counts_departing,
                    ports.headroom, ports.xoff, ports.alpha_in, ports.trim.threshold,
                    ports.trim.headers);
}

void Add(ResolvedPorts port, std::vector<ResolvedPorts>& kinds) {
  const auto same = std::ranges::find(kinds, KeyOf(port), KeyOf);
  if (same != kinds.end()) return static_cast<void>(++same->ports);
  port.ports = 1;
  kinds.push_back(std::move(port));
}

// The ports of all switches, in the order of switches.
std::vector<ResolvedPorts> PortsOf(const Experiment& experiment, const QueuePlan& plan) {
  const Graph& graph = experiment.graph;
  const PortRule& rule = experiment.settings.topology.settings->port;
  const Bytes overhead{experiment.settings.transport.settings->sizes().wire_overhead};
  const MemorySettings memory = plan.queueing().memory;
  const bool is_shared = rule.pfc.on() && memory.model != Model::kPrivate;
  const Adjacency adjacency(graph);
  std::vector<ResolvedPorts> kinds;
  for (size_t s = 0; s < graph.switches.size(); ++s) {
    const VertexId vertex = graph.VertexOfSwitch(s);
    const std::vector<SharedMemory::Port> shares = plan.SharesOf(vertex);
    for (size_t i = 0; i < shares.size(); ++i) {
      const Adjacency::Port& port = adjacency.Of(vertex)[i];
      const PortSettings settings = rule.SwitchPort(port.out, overhead);
      Add({.tier = TierName(graph, vertex, port.peer),
           .rate = port.out.rate,
           .count_packets = settings.count_packets,
           .buffer = settings.buffer,
           .marking = plan.QueuesAt(port.out, graph.IsHost(port.peer)).marking,
           .headroom = shares[i].headroom,
           .xoff = shares[i].xoff,
           .alpha_in = is_shared ? InputShare(memory, shares[i]) : 0,
           .trim = plan.TrimAt(port.out)},
          kinds);
    }
  }
  return kinds;
}

AutoValues TransportValues(const Experiment& experiment, const QueuePlan& plan) {
  const TransportModel& transport = *experiment.settings.transport.settings;
  const BitRate nic = SlowestNic(experiment.graph);
  if (!transport.needs_bandwidth_delay()) return transport.ValuesOfAuto(nic, nullptr);
  const Routing routing(experiment.graph);
  const PairBandwidthDelay bandwidth_delay(experiment.graph, routing, transport, plan);
  return transport.ValuesOfAuto(nic, &bandwidth_delay);
}

// Returns the exact size in the unit that people read best: 379.5KB rather than 379500B.
std::string Readable(Bytes size) {
  const auto [unit, name] = size.count >= 1'000'000 && size.count % 1'000 == 0
                                ? std::pair(1'000'000, "MB")
                                : std::pair(1'000, "KB");
  if (size.count < 1'000) return FormatQuantity(size);
  return fmt::format("{}{}", static_cast<double>(size.count) / unit, name);
}

std::string Size(int64_t count, bool count_packets) {
  if (count == kUnlimited) return FormatQuantity(QueueSize{kUnlimited, QueueSize::Unit::kNone});
  if (count_packets) return FormatQuantity(QueueSize{count, QueueSize::Unit::kPackets});
  return Readable(Bytes{count});
}

std::string MarkAt(const Marking& marking) {
  if (!marking.at_dequeue) return "enqueue";
  return marking.counts_departing ? "departure" : "dequeue";
}

bool IsRed(const Marking& marking) { return marking.above != marking.all; }

// A document in the order in which it is written.
class Map {
 public:
  Map() { value_.kind = Value::Kind::kMap; }

  void Add(const std::string& key, const std::string& text) { Add(key, Value::Scalar(text, {})); }
  void Add(const std::string& key, Value value) {
    value_.entries.push_back({key, {}, std::move(value)});
  }
  Value Take() { return std::move(value_); }

 private:
  Value value_;
};

Value ValueOf(const ResolvedPorts& ports, const ResolvedValues& resolved) {
  Map map;
  map.Add("tier", ports.tier);
  map.Add("ports", fmt::format("{}", ports.ports));
  map.Add("rate", FormatQuantity(ports.rate));
  if (resolved.memory.model == Model::kPrivate) {
    map.Add("buffer", Size(ports.buffer, ports.count_packets));
  }
  const Marking& marking = ports.marking;
  map.Add("marking", IsRed(marking) ? "red" : "step");
  if (IsRed(marking)) {
    map.Add("red_min", Size(marking.above, ports.count_packets));
    map.Add("red_max", Size(marking.all, ports.count_packets));
    map.Add("red_probability", FormatQuantity(marking.at_all));
  } else {
    map.Add("ecn_above", Size(marking.above, ports.count_packets));
  }
  map.Add("mark_at", MarkAt(marking));
  if (ports.trims()) {
    map.Add("trim_threshold", Size(ports.trim.threshold, false));
    map.Add("header_limit", Size(ports.trim.headers, false));
  }
  if (!resolved.has_pfc) return map.Take();
  map.Add("xoff", Size(ports.xoff, false));
  if (ports.alpha_in > 0) map.Add("xoff_share", FormatQuantity(ports.alpha_in));
  map.Add("headroom", Size(ports.headroom, false));
  return map.Take();
}

Value TransportOf(const ResolvedValues& resolved) {
  constexpr std::string_view kControl = "cc.";
  Map transport;
  Map control;
  control.Add("kind", resolved.congestion_control);
  for (const auto& [name, value] : resolved.transport) {
    if (name.starts_with(kControl)) {
      control.Add(name.substr(kControl.size()), value);
    } else {
      transport.Add(name, value);
    }
  }
  transport.Add("cc", control.Take());
  return transport.Take();
}

std::string Text(const ResolvedPorts& ports, const ResolvedValues& resolved) {
  std::string text =
      fmt::format("{} {} of {}: ", ports.ports, ports.tier, FormatQuantity(ports.rate));
  if (resolved.memory.model == Model::kPrivate) {
    text += fmt::format("buffer {}, ", Size(ports.buffer, ports.count_packets));
  }
  const Marking& marking = ports.marking;
  if (IsRed(marking)) {
    text += fmt::format(
        "ECN marks from {} to {} (up to {:.3g} %) at {}", Size(marking.above, ports.count_packets),
        Size(marking.all, ports.count_packets), 100 * marking.at_all, MarkAt(marking));
  } else if (marking.above == kUnlimited) {
    text += "no ECN marks";
  } else {
    text += fmt::format("ECN marks above {} at {}", Size(marking.above, ports.count_packets),
                        MarkAt(marking));
  }
  if (ports.trim.threshold != kUnlimited) {
    text += fmt::format(", trims packets above {}", Size(ports.trim.threshold, false));
  }
  if (ports.trims()) text += fmt::format(", headers up to {}", Size(ports.trim.headers, false));
  if (!resolved.has_pfc) return text;
  std::string above = ports.xoff == kUnlimited ? "" : Size(ports.xoff, false);
  if (ports.alpha_in > 0) {
    above +=
        fmt::format("{}{:.3g} times the free buffer", above.empty() ? "" : " or ", ports.alpha_in);
  }
  return text + fmt::format(", pauses an input above {}, headroom {}",
                            above.empty() ? "no length" : above, Size(ports.headroom, false));
}

}  // namespace

ResolvedValues ResolvedOf(const Experiment& experiment) {
  const ExperimentSettings& settings = experiment.settings;
  const TransportModel& transport = *settings.transport.settings;
  const PortRule& rule = settings.topology.settings->port;
  const QueuePlan plan(experiment.graph, rule, TrafficOf(experiment), experiment.events);
  const Timeline& timeline = experiment.timeline;
  return {.base_rtt = experiment.base_rtt,
          .bdp = experiment.bdp,
          .warm_up = timeline.measure_from - timeline.generation_start,
          .t_max = timeline.t_max - Time{},
          .congestion_control = transport.congestion_control(),
          .transport = TransportValues(experiment, plan),
          .memory = plan.queueing().memory,
          .has_pfc = rule.pfc.on(),
          .ports = PortsOf(experiment, plan)};
}

std::string ResolvedYaml(const ResolvedValues& resolved) {
  Map map;
  map.Add("base_rtt", FormatQuantity(resolved.base_rtt));
  map.Add("bdp", Readable(resolved.bdp));
  map.Add("warm_up", FormatQuantity(resolved.warm_up));
  map.Add("t_max", FormatQuantity(resolved.t_max));
  map.Add("transport", TransportOf(resolved));
  if (resolved.memory.model != Model::kPrivate) {
    Map memory;
    memory.Add("model", NameOf(resolved.memory.model));
    memory.Add("size", Readable(Bytes{resolved.memory.size}));
    memory.Add("alpha", FormatQuantity(resolved.memory.alpha));
    map.Add("memory", memory.Take());
  }
  if (resolved.has_pfc) {
    map.Add("resume_offset", Readable(Bytes{resolved.memory.resume_offset}));
  }
  Value ports;
  ports.kind = Value::Kind::kList;
  for (const ResolvedPorts& kind : resolved.ports) ports.items.push_back(ValueOf(kind, resolved));
  map.Add("ports", std::move(ports));
  Map document;
  document.Add(kResolvedSection, map.Take());
  return "# The values that these settings come to. Heddle writes this section and does not read "
         "it.\n" +
         WriteYaml(document.Take());
}

std::vector<std::pair<std::string, std::string>> ResolvedLines(const ResolvedValues& resolved) {
  std::vector<std::pair<std::string, std::string>> lines;
  std::string control = resolved.congestion_control;
  for (const auto& [name, value] : resolved.transport) {
    control += fmt::format(", {} {}", name, value);
  }
  lines.emplace_back("congestion", control);
  if (resolved.memory.model != Model::kPrivate) {
    lines.emplace_back(
        "buffers", fmt::format("{} for all ports of a switch ({}, alpha {:.3g})",
                               Readable(Bytes{resolved.memory.size}), NameOf(resolved.memory.model),
                               resolved.memory.alpha));
  }
  for (const ResolvedPorts& kind : resolved.ports) {
    lines.emplace_back("ports", Text(kind, resolved));
  }
  return lines;
}

}  // namespace heddle
