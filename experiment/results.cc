// SPDX-License-Identifier: Apache-2.0

#include "experiment/results.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <ranges>

#include "experiment/manifest.h"
#include "experiment/version.h"
#include "settings/digest.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

constexpr std::array<double, 4> kPercentiles = {0.5, 0.95, 0.99, 0.999};

// Average, percentiles, maximum.
std::vector<double> Describe(std::vector<double> values, PercentileMethod method) {
  if (values.empty()) return std::vector<double>(6, std::nan(""));
  // Summed in the order of flows.csv, before it is lost.
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  std::vector<double> numbers = {sum / static_cast<double>(values.size())};
  std::ranges::sort(values);
  for (const double p : kPercentiles) numbers.push_back(Percentile(values, p, method));
  numbers.push_back(values.back());
  return numbers;
}

// Doubles as the shortest text that reads back the same; what does not exist is left empty.
std::string Number(double value) {
  if (std::isnan(value)) return "";
  return fmt::format("{}", value);
}

double Ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string TierName(const Graph& graph, VertexId vertex, VertexId peer) {
  if (graph.IsHost(vertex)) return "host_up";
  const int tier = graph.switches[graph.SwitchAt(vertex)].tier;
  static constexpr std::array<const char*, 3> kNames = {"leaf", "spine", "core"};
  const std::string name =
      tier < 3 ? kNames[static_cast<size_t>(tier)] : fmt::format("tier{}", tier);
  const bool up = !graph.IsHost(peer) && graph.switches[graph.SwitchAt(peer)].tier > tier;
  return name + (up ? "_up" : "_down");
}

namespace {

ClassSummary SummariseClass(const Experiment& experiment, const SimulationResult& result,
                            const ClassSet& set, size_t index) {
  ClassSummary summary{.set = set.name, .label = set.labels[index], .fct_us = {}, .slowdown = {}};
  const MeasureSettings& measure = experiment.settings.measure;
  std::vector<double> fct;
  std::vector<double> slowdown;
  double goodput = 0;
  int64_t bytes = 0;
  int64_t first_ps = kNever.ps;
  int64_t last_ps = 0;
  for (const FlowSample& sample : result.samples) {
    if (set.IndexOf(sample.size) != index) continue;
    ++summary.flows;
    if (sample.fct_ps == kNever.ps) {
      ++summary.unfinished;
      if (measure.unfinished == MeasureSettings::Unfinished::kDrop) continue;
      fct.push_back(std::numeric_limits<double>::infinity());
      slowdown.push_back(std::numeric_limits<double>::infinity());
      continue;
    }
    fct.push_back(static_cast<double>(sample.fct_ps) * 1e-6);
    slowdown.push_back(sample.slowdown);
    goodput += static_cast<double>(sample.size) * 8000 / static_cast<double>(sample.fct_ps);
    bytes += sample.size;
    first_ps = std::min(first_ps, sample.start_ps);
    last_ps = std::max(last_ps, sample.start_ps + sample.fct_ps);
  }
  const double n = static_cast<double>(fct.size());
  const int64_t finished = summary.flows - summary.unfinished;
  summary.goodput_gbps = finished == 0 ? 0 : goodput / static_cast<double>(finished);
  summary.throughput_gbps =
      finished == 0 ? 0
                    : static_cast<double>(bytes) * 8000 / static_cast<double>(last_ps - first_ps);
  summary.low_n = n * (1 - kPercentiles.back()) < 10 - 1e-9;
  summary.fct_us = Describe(std::move(fct), measure.percentiles);
  summary.slowdown = Describe(std::move(slowdown), measure.percentiles);
  return summary;
}

// JSON knows no infinity and no not-a-number.
std::string JsonNumber(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

// An object, a member a line.
class JsonObject {
 public:
  void Add(const std::string& key, const std::string& json) {
    text_ += fmt::format("{}  {}: {}", text_.empty() ? "" : ",\n", QuoteJson(key), json);
  }
  void Text(const std::string& key, const std::string& value) { Add(key, QuoteJson(value)); }
  void Integer(const std::string& key, int64_t value) { Add(key, fmt::format("{}", value)); }
  void Real(const std::string& key, double value) { Add(key, JsonNumber(value)); }
  void Bool(const std::string& key, bool value) { Add(key, value ? "true" : "false"); }
  std::string Done() const { return "{\n" + text_ + "\n}"; }

 private:
  std::string text_;
};

std::string Indent(const std::string& json) {
  std::string text;
  for (const char c : json) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text;
}

std::string LoadJson(const Experiment& experiment, const SimulationResult& result) {
  JsonObject load;
  double host_load = 0;
  double host_load_with_headers = 0;
  double fabric_load = 0;
  const double window = static_cast<double>((result.links_until - result.links_from).ps);
  for (const Forecast& forecast : experiment.forecasts) {
    // Each counts as much as it overlaps the time that is looked at.
    const Time from = std::max(forecast.first, result.links_from);
    const Time until = std::min(forecast.last, result.links_until);
    const double share =
        until > from && window > 0 ? static_cast<double>((until - from).ps) / window : 0;
    host_load += share * forecast.host_load;
    host_load_with_headers += share * forecast.host_load_with_headers;
    fabric_load += share * forecast.fabric_load;
  }
  double capacity = 0;
  for (const BitRate rate : experiment.stage.host_rate) capacity += static_cast<double>(rate.bps);
  const double seconds = Seconds(result.links_until - result.links_from);
  const auto share = [&](int64_t bytes) {
    return seconds <= 0 ? 0 : static_cast<double>(bytes) * 8 / (capacity * seconds);
  };
  load.Real("nominal_host", host_load);
  load.Real("nominal_host_with_headers", host_load_with_headers);
  load.Real("nominal_fabric", fabric_load);
  load.Real("offered_host", share(result.payload_offered));
  load.Real("carried_host", share(result.payload_carried));
  load.Real("offered_background", share(result.background_offered));
  load.Real("carried_background", share(result.background_carried));
  return load.Done();
}

std::string CountsJson(const SimulationResult& result) {
  JsonObject counts;
  counts.Integer("flows_started", result.flows_started);
  counts.Integer("flows_finished", result.flows_finished);
  counts.Integer("flows_measured", result.measured);
  counts.Integer("flows_unfinished", result.unfinished);
  counts.Integer("payload_bytes_started", result.payload_started);
  counts.Integer("payload_bytes_finished", result.payload_finished);
  counts.Integer("data_packets_sent", result.packets.data_sent);
  counts.Integer("control_packets_sent", result.packets.control_sent);
  counts.Integer("datagrams_sent", result.packets.datagrams_sent);
  counts.Integer("datagrams_received", result.packets.datagrams_received);
  counts.Integer("packets_received", result.packets.received);
  counts.Integer("packets_consumed", result.packets.consumed);
  counts.Integer("packets_in_flight", result.packets.in_flight);
  for (size_t r = 0; r < kDropReasons; ++r) {
    counts.Integer(fmt::format("dropped_{}", kDropReasonNames[r]), result.packets.dropped[r]);
  }
  counts.Integer("ecn_marked", result.packets.marked);
  counts.Integer("watchdog_triggers", result.packets.storms);
  PauseTotals pauses;
  for (const LinkUse& link : result.links) {
    pauses.pauses += link.pauses.pauses;
    pauses.paused.ps += link.pauses.paused.ps;
  }
  counts.Integer("pause_frames", pauses.pauses);
  counts.Integer("paused_ps", pauses.paused.ps);
  counts.Integer("late_packets", result.late_packets);
  return counts.Done();
}

ClassCounters OfAllSizes(const SimulationResult& result) {
  ClassCounters all;
  for (const ClassCounters& counters : result.counters) all.Merge(counters);
  return all;
}

// Of measured flows alone.
std::string MeasuredJson(const SimulationResult& result) {
  const ClassCounters all = OfAllSizes(result);
  JsonObject counts;
  counts.Integer("data_packets_sent", all.packets_sent);
  counts.Integer("data_packets_received", all.packets_received);
  counts.Integer("packets_reordered", all.reordered);
  counts.Integer("retransmissions", all.retransmissions);
  counts.Integer("retransmissions_spurious", all.retransmissions_spurious);
  counts.Integer("retransmissions_loss", all.retransmissions_loss);
  counts.Integer("timeouts", all.timeouts);
  counts.Integer("dupack3_reorder", all.fast_retransmits_reorder);
  return counts.Done();
}

std::string PerformanceJson(const SimulationResult& result) {
  JsonObject performance;
  performance.Integer("threads", result.threads);
  performance.Real("build_seconds", result.build_seconds);
  performance.Real("run_seconds", result.run_seconds);
  performance.Real("cpu_seconds", result.cpu_seconds);
  performance.Integer("packet_hops", result.packets.hops);
  const double hops = static_cast<double>(result.packets.hops);
  performance.Real("packet_hops_per_second", hops / result.run_seconds);
  performance.Real("ns_per_packet_hop", result.run_seconds * 1e9 / hops);
  performance.Real("simulated_seconds_per_second",
                   Seconds(result.end - Time{}) / result.run_seconds);
  performance.Integer("windows", static_cast<int64_t>(result.windows));
  performance.Integer("node_bytes", result.node_bytes);
  performance.Integer("wire_bytes", result.wire_bytes);
  performance.Integer("peak_memory_bytes", PeakMemoryBytes());
  return performance.Done();
}

std::string QueriesJson(const Experiment& experiment, const SimulationResult& result) {
  std::string list;
  for (const QueryResult& query : result.queries) {
    JsonObject object;
    object.Integer("workload", static_cast<int64_t>(query.workload));
    object.Integer("complete", static_cast<int64_t>(query.completion_ps.size()));
    object.Integer("incomplete", query.incomplete);
    const std::vector<double> numbers =
        Describe(query.completion_ps, experiment.settings.measure.percentiles);
    static constexpr std::array<const char*, 6> kNames = {"avg", "p50",  "p95",
                                                          "p99", "p999", "max"};
    for (size_t i = 0; i < kNames.size(); ++i) {
      object.Real(fmt::format("{}_qct_us", kNames[i]), numbers[i] * 1e-6);
    }
    list += (list.empty() ? "" : ", ") + Indent(Indent(object.Done()));
  }
  return "[" + list + "]";
}

// The last cells of a row in udp.csv.
void AppendDelays(std::string& csv, const Histogram& delay_ps) {
  if (delay_ps.count() == 0) {
    csv += ",,,\n";
    return;
  }
  csv += Number(delay_ps.mean() * 1e-3);
  for (const int64_t ps : {delay_ps.Percentile(0.5), delay_ps.Percentile(0.99), delay_ps.max()}) {
    csv += ',';
    AppendExact(csv, ps, 3);
  }
  csv += '\n';
}

}  // namespace

std::vector<ClassSummary> Summarise(const Experiment& experiment, const SimulationResult& result) {
  std::vector<ClassSummary> rows;
  const SizeClasses classes = experiment.size_classes();
  for (const ClassSet& set : classes.sets()) {
    for (size_t c = 0; c < set.labels.size(); ++c) {
      rows.push_back(SummariseClass(experiment, result, set, c));
    }
  }
  return rows;
}

std::string SummaryCsv(const std::vector<ClassSummary>& summary) {
  std::string csv =
      "class_set,class,n,unfinished,avg_fct_us,p50_fct_us,p95_fct_us,p99_fct_us,p999_fct_us,"
      "max_fct_us,avg_slowdown,p50_slowdown,p95_slowdown,p99_slowdown,p999_slowdown,max_slowdown,"
      "goodput_gbps,throughput_gbps,low_n\n";
  for (const ClassSummary& row : summary) {
    csv += fmt::format("{},{},{},{}", row.set, row.label, row.flows, row.unfinished);
    for (const double value : row.fct_us) csv += "," + Number(value);
    for (const double value : row.slowdown) csv += "," + Number(value);
    const bool any = row.flows > row.unfinished;
    csv += fmt::format(",{},{},{}\n", any ? Number(row.goodput_gbps) : "",
                       any ? Number(row.throughput_gbps) : "", row.low_n ? 1 : 0);
  }
  return csv;
}

std::string ReorderCsv(const Experiment& experiment, const SimulationResult& result) {
  std::string csv =
      "scope,class,n_pkts,reordered,ratio,deg1,deg2,deg3plus,extent_p50,extent_p99,extent_max,"
      "late_p99_ns,flows_with_reordering,dupack3_reorder,retx_spurious,pkts_sent,retx,behind_p99,"
      "behind_max,path_switches\n";
  const SizeClasses classes = experiment.size_classes();
  for (const ClassSet& set : classes.sets()) {
    for (size_t c = 0; c < set.labels.size(); ++c) {
      ClassCounters counters;
      ReorderingStats reordering;
      for (size_t atom = 0; atom < classes.atoms(); ++atom) {
        if (classes.ClassOf(set, atom) != c) continue;
        counters.Merge(result.counters[atom]);
        reordering.Merge(result.reordering[atom]);
      }
      csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},", set.name, set.labels[c],
                         counters.packets_received, counters.reordered,
                         Ratio(counters.reordered, counters.packets_received), reordering.degree1,
                         reordering.degree2, reordering.degree3_plus,
                         reordering.extent.Percentile(0.5), reordering.extent.Percentile(0.99),
                         reordering.extent.max());
      AppendExact(csv, reordering.late_ps.Percentile(0.99), 3);
      csv += fmt::format(",{},{},{},{},{},{},{},{}\n", counters.flows_with_reordering,
                         counters.fast_retransmits_reorder, counters.retransmissions_spurious,
                         counters.packets_sent, counters.retransmissions,
                         reordering.behind.Percentile(0.99), reordering.behind.max(),
                         counters.path_switches);
    }
  }
  return csv;
}

std::string QueueingCsv(const Experiment& experiment, const SimulationResult& result) {
  if (result.queueing.empty()) return "";
  std::string csv = "scope,class,n_pkts,mean_ns,p99_ns,max_ns\n";
  const SizeClasses classes = experiment.size_classes();
  for (const ClassSet& set : classes.sets()) {
    for (size_t c = 0; c < set.labels.size(); ++c) {
      Histogram waited_ps;
      for (size_t atom = 0; atom < classes.atoms(); ++atom) {
        if (classes.ClassOf(set, atom) == c) waited_ps.Merge(result.queueing[atom]);
      }
      csv += fmt::format("{},{},{},", set.name, set.labels[c], waited_ps.count());
      if (waited_ps.count() == 0) {
        csv += ",,\n";
        continue;
      }
      csv += Number(waited_ps.mean() * 1e-3) + ',';
      AppendExact(csv, waited_ps.Percentile(0.99), 3);
      csv += ',';
      AppendExact(csv, waited_ps.max(), 3);
      csv += '\n';
    }
  }
  return csv;
}

std::string LinkClassesCsv(const Experiment& experiment, const SimulationResult& result) {
  if (!experiment.settings.measure.link_classes) return "";
  const Graph& graph = experiment.graph;
  const SizeClasses classes = experiment.size_classes();
  std::string csv = "link_id,node,port,peer,tier,scope,class,payload_bytes\n";
  for (size_t id = 0; id < result.links.size(); ++id) {
    const LinkUse& link = result.links[id];
    if (link.payload_by_class.empty()) continue;
    const std::string start =
        fmt::format("{},{},{},{},{}", id, graph.NameOf(link.vertex), link.port,
                    graph.NameOf(link.peer), TierName(graph, link.vertex, link.peer));
    for (const ClassSet& set : classes.sets()) {
      std::vector<int64_t> bytes(set.labels.size(), 0);
      for (size_t atom = 0; atom < classes.atoms(); ++atom) {
        bytes[classes.ClassOf(set, atom)] += link.payload_by_class[atom];
      }
      for (size_t c = 0; c < bytes.size(); ++c) {
        csv += fmt::format("{},{},{},{}\n", start, set.name, set.labels[c], bytes[c]);
      }
    }
  }
  return csv;
}

std::string LinksCsv(const Experiment& experiment, const SimulationResult& result) {
  const Graph& graph = experiment.graph;
  std::string csv =
      "link_id,node,port,peer,tier,rate_bps,wire_bytes,payload_bytes,pkts,busy_ps,util,paused_ps,"
      "blocked_ps,pause_rx,resume_rx,pause_tx,resume_tx\n";
  const double interval = static_cast<double>((result.links_until - result.links_from).ps);
  int64_t id = 0;
  for (const LinkUse& link : result.links) {
    const double util = interval > 0 ? static_cast<double>(link.sent.busy_ps) / interval : 0;
    fmt::format_to(std::back_inserter(csv),
                   FMT_COMPILE("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n"), id++,
                   graph.NameOf(link.vertex), link.port, graph.NameOf(link.peer),
                   TierName(graph, link.vertex, link.peer), link.rate.bps, link.sent.wire_bytes,
                   link.sent.payload_bytes, link.sent.packets, link.sent.busy_ps, util,
                   link.pauses.paused.ps, link.pauses.blocked.ps, link.pauses.pauses,
                   link.pauses.resumes, link.pauses.pauses_sent, link.pauses.resumes_sent);
  }
  return csv;
}

// Hosts are many, so zeros of theirs are left out.
std::string LbCsv(const Experiment& experiment, const SimulationResult& result) {
  std::string csv = "node,policy,counter,value\n";
  for (const PolicyReport& report : result.policies) {
    const bool is_host = experiment.graph.IsHost(report.vertex);
    const std::string start =
        fmt::format("{},{}", experiment.graph.NameOf(report.vertex), experiment.settings.lb.kind);
    csv += fmt::format("{},state_bytes,{}\n", start, report.state_bytes);
    for (const auto& [name, value] : report.counters) {
      if (!is_host || value != 0) csv += fmt::format("{},{},{}\n", start, name, value);
    }
  }
  return csv;
}

std::string UdpCsv(const SimulationResult& result) {
  static constexpr std::array<const char*, 3> kPatterns = {"cbr", "poisson", "onoff"};
  std::string csv =
      "source,entry,src,dst,pattern,priority,path,rate_bps,start_ps,stop_ps,pkts_sent,bytes_sent,"
      "pkts_unsent,pkts_received,bytes_received,pkts_lost,loss_ratio,reordered,avg_delay_ns,"
      "p50_delay_ns,p99_delay_ns,max_delay_ns\n";
  auto out = std::back_inserter(csv);
  for (const UdpRecord& record : result.background) {
    const UdpSource& source = *record.source;
    fmt::format_to(out, "{},{},{},{},{},{},", source.id, source.entry, source.src, source.dst,
                   kPatterns[static_cast<size_t>(source.pattern.kind)], source.priority);
    if (source.path != kNoPath) fmt::format_to(out, "{}", source.path);
    fmt::format_to(out, ",{},{},", source.rate.bps, source.start.ps);
    if (source.stop != kNever) fmt::format_to(out, "{}", source.stop.ps);
    const int64_t payload = source.payload.count;
    fmt::format_to(out, ",{},{},{},{},{},{},{},{},", record.sent, record.sent * payload,
                   record.unsent, record.received, record.received * payload, record.lost,
                   Ratio(record.lost, record.received + record.lost), record.reordered);
    AppendDelays(csv, record.delay_ps);
  }
  return csv;
}

std::string ResequencingCsv(const SimulationResult& result) {
  if (result.resequencing.empty()) return "";
  std::string csv =
      "host,n_pkts,held,waiting,late,hold_mean_ns,hold_p99_ns,hold_max_ns,mean_bytes,max_bytes,"
      "max_pkts,flow_max_bytes,flow_max_pkts,timeouts,overflows,evictions\n";
  const double time = static_cast<double>(result.end.ps);
  const auto add = [&](const std::string& host, const ResequencingStats& s, double hosts) {
    csv += fmt::format("{},{},{},{},{},{},", host, s.packets, s.held, s.waiting, s.late,
                       Number(s.hold_ps.mean() * 1e-3));
    AppendExact(csv, s.hold_ps.Percentile(0.99), 3);
    csv += ',';
    AppendExact(csv, s.hold_ps.max(), 3);
    csv += fmt::format(",{},{},{},{},{},{},{},{}\n", Number(s.byte_ps / time / hosts), s.max_bytes,
                       s.max_packets, s.flow_max_bytes, s.flow_max_packets, s.timeouts, s.overflows,
                       s.evictions);
  };
  ResequencingStats all;
  for (const ResequencingStats& host : result.resequencing) all.Merge(host);
  add("all", all, static_cast<double>(result.resequencing.size()));
  for (size_t h = 0; h < result.resequencing.size(); ++h) {
    add(fmt::format("{}", h), result.resequencing[h], 1);
  }
  return csv;
}

bool IsComplete(const Experiment& experiment, const SimulationResult& result) {
  if (!result.deadlock.empty()) return false;
  if (experiment.settings.measure.unfinished != MeasureSettings::Unfinished::kError) return true;
  return result.unfinished == 0 && !result.cut_short;
}

std::string SummaryJson(const Experiment& experiment, const SimulationResult& result,
                        const std::vector<std::string>& warnings) {
  JsonObject json;
  json.Text("name", experiment.settings.name);
  json.Text("label", experiment.label);
  json.Text("experiment_hash", fmt::format("{:016x}", Digest(experiment.Resolved())));
  json.Integer("seed", experiment.settings.seed);
  json.Text("version", Version());
  json.Text("commit", Commit());
  json.Text("compiler", Compiler());
  json.Text("build_type", BuildType());
  json.Text(kManifestKey, kManifestFile);
  json.Integer("end_ps", result.end.ps);
  json.Bool("complete", IsComplete(experiment, result));
  json.Bool("reached_t_max", result.reached_t_max);
  json.Integer("measure_from_ps", experiment.timeline.measure_from.ps);
  json.Integer("links_from_ps", result.links_from.ps);
  json.Integer("links_until_ps", result.links_until.ps);
  json.Integer("base_rtt_ps", experiment.base_rtt.ps);
  json.Integer("bdp_bytes", experiment.bdp.count);
  json.Add("load", Indent(LoadJson(experiment, result)));
  json.Add("counts", Indent(CountsJson(result)));
  json.Add("counts_of_measured_flows", Indent(MeasuredJson(result)));
  const ClassSummary all = SummariseClass(experiment, result, MakeClassSet("all", 0), 0);
  json.Real("avg_slowdown", all.slowdown.front());
  json.Add("queries", QueriesJson(experiment, result));
  JsonObject policy;
  policy.Integer("state_bytes", result.policy_state_bytes);
  for (const auto& [name, value] : result.policy_counters) policy.Integer(name, value);
  json.Add("load_balancer", Indent(policy.Done()));
  json.Add("performance", Indent(PerformanceJson(result)));
  std::string list;
  for (const std::string& warning : warnings) {
    list += (list.empty() ? "" : ", ") + QuoteJson(warning);
  }
  json.Add("warnings", "[" + list + "]");
  return json.Done() + "\n";
}

int64_t PeakMemoryBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

std::vector<std::string> WarningsOf(const Experiment& experiment, const SimulationResult& result) {
  std::vector<std::string> warnings = experiment.warnings;
  if (result.measured == 0) warnings.emplace_back("no flow was measured");
  if (result.cut_short) {
    warnings.push_back(fmt::format("t_max ends the run at {}, before all flows have started",
                                   FormatQuantity(result.end - Time{})));
  }
  if (result.unfinished > 0) {
    warnings.push_back(fmt::format("{} of {} measured flows are unfinished at {}",
                                   result.unfinished, result.measured,
                                   FormatQuantity(result.end - Time{})));
  }
  if (!result.deadlock.empty()) {
    warnings.push_back(fmt::format("DEADLOCK at {}: paused ports wait for each other: {}",
                                   FormatQuantity(result.deadlock_at - Time{}),
                                   fmt::join(result.deadlock, " -> ")));
  }
  warnings.insert(warnings.end(), result.trace_warnings.begin(), result.trace_warnings.end());
  if (IsDebugBuild()) warnings.emplace_back("this is a Debug build; expect it to be slow");
  return warnings;
}

TableRow RowOf(const std::string& label, const std::vector<ClassSummary>& summary,
               const SimulationResult& result) {
  const ClassCounters all = OfAllSizes(result);
  return {.label = label,
          .summary = summary,
          .flows = result.measured,
          .reordered_ratio = Ratio(all.reordered, all.packets_received),
          .spurious_ratio = Ratio(all.retransmissions_spurious, all.packets_sent),
          .dropped = result.packets.dropped_total(),
          .seconds = result.run_seconds};
}

namespace {

// Three digits or so: 1.46, 23.5, 4612.
std::string Compact(double value) {
  if (std::isinf(value)) return "inf";
  return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

}  // namespace

// All flows, and the first class set that splits them; others are in summary.csv.
std::string FormatTable(const std::vector<TableRow>& rows) {
  if (rows.empty()) return "";
  size_t width = 4;
  for (const TableRow& row : rows) width = std::max(width, row.label.size());
  const std::vector<ClassSummary>& classes = rows.front().summary;
  const auto split = std::ranges::find_if(classes, [](const auto& c) { return c.set != "all"; });
  const std::string set = split == classes.end() ? "all" : split->set;
  const auto shown = [&](const TableRow& row) {
    return row.summary | std::views::filter(
                             [&](const ClassSummary& c) { return c.set == "all" || c.set == set; });
  };
  std::string first = fmt::format("{:{}} {:>8}", "", width, "");
  std::string second = fmt::format("{:{}} {:>8}", "", width, "flows");
  for (const ClassSummary& c : shown(rows.front())) {
    first += fmt::format(" |{:^12}", c.label == "all" ? "all flows" : c.label);
    second += fmt::format(" |{:>5} {:>6}", "mean", "p99");
  }
  first += " |";
  second += fmt::format(" | {:>6} {:>6} {:>7} {:>6}", "reord.", "spur.", "dropped", "time");
  std::string table = "Slowdown (FCT over ideal FCT) by flow size\n" + first + "\n" + second + "\n";
  for (const TableRow& row : rows) {
    table += fmt::format("{:{}} {:>8}", row.label, width, row.flows);
    for (const ClassSummary& c : shown(row)) {
      constexpr int64_t kEnough = 1000;  // Ten flows above p99.
      const bool none = std::isnan(c.slowdown[0]);
      const std::string p99 = none ? "-" : Compact(c.slowdown[3]) + (c.flows < kEnough ? "*" : "");
      table += fmt::format(" |{:>5} {:>6}", none ? "-" : Compact(c.slowdown[0]), p99);
    }
    table += fmt::format(" | {:>5.1f}% {:>5.2f}% {:>7} {:>5.1f}s\n", 100 * row.reordered_ratio,
                         100 * row.spurious_ratio, row.dropped, row.seconds);
  }
  table += "reord.: reordered packets; spur.: needless retransmissions";
  if (table.find('*') != std::string::npos) table += "; *: fewer than ten flows lie above this p99";
  return table + "\n";
}

}  // namespace heddle
