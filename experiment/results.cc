// SPDX-License-Identifier: Apache-2.0

#include "experiment/results.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <ranges>
#include <string_view>

#include "core/statistics.h"
#include "experiment/manifest.h"
#include "experiment/version.h"
#include "measure/table.h"
#include "settings/digest.h"
#include "settings/json.h"

namespace heddle {
namespace {

constexpr std::array<double, 4> kPercentiles = {0.5, 0.95, 0.99, 0.999};

// Returns average, percentiles and maximum.
std::vector<double> Describe(std::vector<double> values, PercentileMethod method) {
  if (values.empty()) return std::vector<double>(6, std::nan(""));
  // The sum is in the order of flows.csv, so it comes before the sorting.
  std::vector<double> numbers = {Mean(values)};
  std::ranges::sort(values);
  for (const double p : kPercentiles) numbers.push_back(Percentile(values, p, method));
  numbers.push_back(values.back());
  return numbers;
}

double Ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

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
    fct.push_back(static_cast<double>(sample.fct_ps) / 1e6);
    slowdown.push_back(sample.slowdown);
    goodput += static_cast<double>(sample.size) * 8000 / static_cast<double>(sample.fct_ps);
    bytes += sample.size;
    first_ps = std::min(first_ps, sample.start_ps);
    last_ps = std::max(last_ps, sample.start_ps + sample.fct_ps);
  }
  const double n = static_cast<double>(fct.size());
  const int64_t finished = summary.flows - summary.unfinished;
  if (!fct.empty()) summary.goodput_gbps = goodput / n;
  summary.throughput_gbps =
      finished == 0 ? 0
                    : static_cast<double>(bytes) * 8000 / static_cast<double>(last_ps - first_ps);
  summary.low_n = n * (1 - kPercentiles.back()) < 10 - 1e-9;
  summary.fct_us = Describe(std::move(fct), measure.percentiles);
  summary.slowdown = Describe(std::move(slowdown), measure.percentiles);
  return summary;
}

std::string LoadJson(const Experiment& experiment, const SimulationResult& result) {
  JsonFields load;
  double host_load = 0;
  double host_load_with_headers = 0;
  double fabric_load = 0;
  const double window = static_cast<double>((result.load.until - result.load.from).ps);
  for (const Forecast& forecast : experiment.forecasts) {
    // Each forecast counts by its overlap with the time of the measured load.
    const Time from = std::max(forecast.first, result.load.from);
    const Time until = std::min(forecast.last, result.load.until);
    const double share =
        until > from && window > 0 ? static_cast<double>((until - from).ps) / window : 0;
    host_load += share * forecast.host_load;
    host_load_with_headers += share * forecast.host_load_with_headers;
    fabric_load += share * forecast.fabric_load;
  }
  const auto share = [&](int64_t bytes) {
    return ShareOfHostLinks(experiment, result.load, bytes);
  };
  load.Real("nominal_host", host_load);
  load.Real("nominal_host_with_headers", host_load_with_headers);
  load.Real("nominal_fabric", fabric_load);
  load.Real("offered_host", share(result.load.payload_offered));
  load.Real("carried_host", share(result.load.payload_carried));
  load.Real("offered_background", share(result.load.background_offered));
  load.Real("carried_background", share(result.load.background_carried));
  return load.Done();
}

std::string CountsJson(const SimulationResult& result) {
  JsonFields counts;
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
  counts.Integer("trimmed", result.packets.trimmed);
  counts.Integer("watchdog_triggers", result.packets.storms);
  PauseTotals pauses;
  for (const LinkUse& link : result.load.links) {
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

// Returns the JSON of all counts of measured flows.
std::string MeasuredJson(const SimulationResult& result) {
  const ClassCounters all = OfAllSizes(result);
  JsonFields counts;
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
  JsonFields performance;
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
  std::vector<std::string> list;
  for (const QueryResult& query : result.queries) {
    JsonFields object;
    object.Integer("workload", static_cast<int64_t>(query.workload));
    object.Integer("complete", std::ranges::count_if(query.completion_ps, [](double time) {
                     return std::isfinite(time);
                   }));
    object.Integer("incomplete", query.incomplete);
    const std::vector<double> numbers =
        Describe(query.completion_ps, experiment.settings.measure.percentiles);
    static constexpr std::array<const char*, 6> kNames = {"avg", "p50",  "p95",
                                                          "p99", "p999", "max"};
    for (size_t i = 0; i < kNames.size(); ++i) {
      object.Real(fmt::format("{}_qct_us", kNames[i]), numbers[i] / 1e6);
    }
    list.push_back(object.Done());
  }
  return JsonArray(list);
}

// The quotient is the number nearest to the decimal, so the decimal is what is written.
std::optional<double> InUs(const std::optional<Duration>& time) {
  return time ? std::optional(static_cast<double>(time->ps) / 1e6) : std::nullopt;
}

std::string JobsJson(const SimulationResult& result) {
  std::vector<std::string> list;
  for (const JobFigures& job : result.jobs) {
    JsonFields object;
    object.Integer("job", job.number);
    object.Text("label", job.label);
    object.Integer("iterations", job.iterations);
    const auto add = [&object](std::string_view name, const std::optional<double>& value) {
      if (value) object.Real(name, *value);
    };
    add("mean_iter_us", InUs(job.mean_iter));
    add("p99_iter_us", InUs(job.p99_iter));
    add("straggler_us", InUs(job.straggler));
    add("algbw_gbs", job.algbw_gbs);
    add("busbw_gbs", job.busbw_gbs);
    add("neighbour_cost", job.neighbour_cost);
    list.push_back(object.Done());
  }
  return JsonArray(list);
}

std::optional<double> IfAnyFinished(const ClassSummary& row, double value) {
  return row.flows > row.unfinished ? std::optional(value) : std::nullopt;
}

// The columns of summary.csv.
constexpr Column<ClassSummary> kSummaryColumns[] = {
    {"class_set", [](const ClassSummary& row) -> std::string_view { return row.set; }},
    {"class", [](const ClassSummary& row) -> std::string_view { return row.label; }},
    {"n", [](const ClassSummary& row) { return row.flows; }},
    {"unfinished", [](const ClassSummary& row) { return row.unfinished; }},
    {"avg_fct_us", [](const ClassSummary& row) { return row.fct_us[0]; }},
    {"p50_fct_us", [](const ClassSummary& row) { return row.fct_us[1]; }},
    {"p95_fct_us", [](const ClassSummary& row) { return row.fct_us[2]; }},
    {"p99_fct_us", [](const ClassSummary& row) { return row.fct_us[3]; }},
    {"p999_fct_us", [](const ClassSummary& row) { return row.fct_us[4]; }},
    {"max_fct_us", [](const ClassSummary& row) { return row.fct_us[5]; }},
    {"avg_slowdown", [](const ClassSummary& row) { return row.slowdown[0]; }},
    {"p50_slowdown", [](const ClassSummary& row) { return row.slowdown[1]; }},
    {"p95_slowdown", [](const ClassSummary& row) { return row.slowdown[2]; }},
    {"p99_slowdown", [](const ClassSummary& row) { return row.slowdown[3]; }},
    {"p999_slowdown", [](const ClassSummary& row) { return row.slowdown[4]; }},
    {"max_slowdown", [](const ClassSummary& row) { return row.slowdown[5]; }},
    {"goodput_gbps", [](const ClassSummary& row) { return row.goodput_gbps; }},
    {"throughput_gbps",
     [](const ClassSummary& row) { return IfAnyFinished(row, row.throughput_gbps); }},
    {"low_n", [](const ClassSummary& row) { return row.low_n; }}};

}  // namespace

double ShareOfHostLinks(const Experiment& experiment, const LinkLoad& load, int64_t bytes) {
  const double seconds = Seconds(load.until - load.from);
  if (seconds <= 0) return 0;
  return static_cast<double>(bytes) * 8 / (experiment.stage.AllHostsBps() * seconds);
}

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
  return Table(kSummaryColumns).Text(summary);
}

bool IsComplete(const Experiment& experiment, const SimulationResult& result) {
  if (result.notes.incomplete) return false;
  if (experiment.settings.measure.unfinished != MeasureSettings::Unfinished::kError) return true;
  return result.unfinished == 0 && !result.cut_short;
}

std::string SummaryJson(const Experiment& experiment, const SimulationResult& result,
                        const std::vector<std::string>& warnings) {
  JsonFields json;
  json.Text("name", experiment.settings.name);
  json.Text("label", experiment.label);
  json.Text("experiment_hash", experiment.Id());
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
  json.Integer("links_from_ps", result.load.from.ps);
  json.Integer("links_until_ps", result.load.until.ps);
  json.Integer("base_rtt_ps", experiment.base_rtt.ps);
  json.Integer("bdp_bytes", experiment.bdp.count);
  json.Add("load", LoadJson(experiment, result));
  json.Add("counts", CountsJson(result));
  json.Add("counts_of_measured_flows", MeasuredJson(result));
  const ClassSummary all = SummariseClass(experiment, result, MakeClassSet("all", 0), 0);
  json.Real("avg_slowdown", all.slowdown.front());
  json.Add("queries", QueriesJson(experiment, result));
  if (!result.jobs.empty()) json.Add("jobs", JobsJson(result));
  JsonFields policy;
  int64_t state_bytes = 0;
  for (const PolicyReport& report : result.policies) state_bytes += report.state_bytes;
  policy.Integer("state_bytes", state_bytes);
  for (const auto& [name, value] : SumOfCounters(result.policies)) policy.Integer(name, value);
  json.Add("load_balancer", policy.Done());
  json.Add("performance", PerformanceJson(result));
  json.Add("warnings", JsonStrings(warnings));
  return IndentJson(json.Done(), JsonArrays::kInOneLine);
}

int64_t PeakMemoryBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

TableRow RowOf(const std::string& label, const std::vector<ClassSummary>& summary,
               const SimulationResult& result) {
  const ClassCounters all = OfAllSizes(result);
  std::vector<JobTableRow> jobs;
  for (const JobFigures& its : result.jobs) {
    jobs.push_back({.number = its.number,
                    .label = its.label,
                    .iterations = its.iterations,
                    .mean_us = InUs(its.mean_iter),
                    .p99_us = InUs(its.p99_iter),
                    .straggler_us = InUs(its.straggler),
                    .algbw_gbs = its.algbw_gbs,
                    .busbw_gbs = its.busbw_gbs});
  }
  return {.label = label,
          .summary = summary,
          .jobs = std::move(jobs),
          .flows = result.measured,
          .reordered_ratio = Ratio(all.reordered, all.packets_received),
          .spurious_ratio = Ratio(all.retransmissions_spurious, all.packets_sent),
          .dropped = result.packets.dropped_total(),
          .seconds = result.run_seconds};
}

namespace {

// Returns about three digits: 1.46, 23.5, 4612.
std::string Compact(double value) {
  if (std::isinf(value)) return "inf";
  return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0);
}
std::string Compact(const std::optional<double>& value) {
  return value ? Compact(*value) : std::string("-");
}

std::string NameOf(const JobTableRow& job) {
  return fmt::format("{}{}{}", job.number, job.label.empty() ? "" : " ", job.label);
}

// The jobs of all rows; empty if there are none. `width`: of the rows' labels.
std::string FormatJobs(const std::vector<TableRow>& rows, size_t width) {
  size_t name_width = 3;
  bool has_jobs = false;
  for (const TableRow& row : rows) {
    for (const JobTableRow& job : row.jobs) {
      has_jobs = true;
      name_width = std::max(name_width, NameOf(job).size());
    }
  }
  if (!has_jobs) return "";
  std::string table = fmt::format(
      "Jobs: iterations in us, bandwidth in GB/s; spread: from the first rank's end to the last's\n"
      "{:{}} {:{}} {:>10} | {:>8} {:>8} | {:>6} {:>6} | {:>8}\n",
      "", width, "job", name_width, "iterations", "mean", "p99", "algbw", "busbw", "spread");
  for (const TableRow& row : rows) {
    for (const JobTableRow& job : row.jobs) {
      table += fmt::format("{:{}} {:{}} {:>10} | {:>8} {:>8} | {:>6} {:>6} | {:>8}\n", row.label,
                           width, NameOf(job), name_width, job.iterations, Compact(job.mean_us),
                           Compact(job.p99_us), Compact(job.algbw_gbs), Compact(job.busbw_gbs),
                           Compact(job.straggler_us));
    }
  }
  return table;
}

}  // namespace

// Shows all flows and the first class set that splits them; the other sets are in summary.csv. Jobs
// follow in a table of their own.
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
      const bool none = std::isnan(c.slowdown[0]);
      const std::string p99 =
          none ? "-" : Compact(c.slowdown[3]) + (c.flows < kEnoughForP99 ? "*" : "");
      table += fmt::format(" |{:>5} {:>6}", none ? "-" : Compact(c.slowdown[0]), p99);
    }
    table += fmt::format(" | {:>5.2f}% {:>5.2f}% {:>7} {:>5.1f}s\n", 100 * row.reordered_ratio,
                         100 * row.spurious_ratio, row.dropped, row.seconds);
  }
  table += "reord.: reordered packets; spur.: spurious retransmissions";
  if (table.find('*') != std::string::npos) table += "; *: fewer than ten flows lie above this p99";
  return table + "\n" + FormatJobs(rows, width);
}

}  // namespace heddle
