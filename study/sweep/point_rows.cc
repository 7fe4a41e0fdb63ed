// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/point_rows.h"

#include <fmt/format.h>

#include "study/sweep/run_results.h"

namespace heddle {
namespace {

// A column of points.csv that is the same for all classes, and its path in summary.json.
struct RunColumn {
  const char* name;
  const char* path;
};
constexpr RunColumn kRunColumns[] = {
    {"run_data_packets_sent", "counts_of_measured_flows.data_packets_sent"},
    {"run_data_packets_received", "counts_of_measured_flows.data_packets_received"},
    {"run_packets_reordered", "counts_of_measured_flows.packets_reordered"},
    {"run_retransmissions", "counts_of_measured_flows.retransmissions"},
    {"run_retransmissions_spurious", "counts_of_measured_flows.retransmissions_spurious"},
    {"run_retransmissions_loss", "counts_of_measured_flows.retransmissions_loss"},
    {"run_timeouts", "counts_of_measured_flows.timeouts"},
    {"run_ecn_marked", "counts.ecn_marked"},
    {"run_dropped", nullptr},  // The sum over reasons.
    {"run_pause_frames", "counts.pause_frames"},
    {"run_paused_ps", "counts.paused_ps"},
    {"run_offered_host", "load.offered_host"},
    {"run_carried_host", "load.carried_host"},
    {"run_state_bytes", "load_balancer.state_bytes"},
    {"run_decisions", "load_balancer.decisions"},
    {"run_reroutes", "load_balancer.reroutes"},
    {"run_avg_qct_us", "queries[0].avg_qct_us"},
    {"run_p99_qct_us", "queries[0].p99_qct_us"},
    {"run_end_ps", "end_ps"},
    {"run_mean_iter_us", "jobs[0].mean_iter_us"},
    {"run_p99_iter_us", "jobs[0].p99_iter_us"},
    {"run_busbw_gbs", "jobs[0].busbw_gbs"},
    {"run_neighbour_cost", "jobs[0].neighbour_cost"},
};

// Columns of queueing.csv. points.csv always has them, since some points of a sweep may measure
// queueing and others not.
constexpr const char* kQueueingColumns[] = {"mean_ns", "p99_ns", "max_ns"};

constexpr size_t kNames = 2;  // The first columns of both tables: class set and class.

std::vector<std::string> RunCells(const FlatJson& json) {
  std::vector<std::string> cells;
  for (const RunColumn& column : kRunColumns) {
    cells.push_back(column.path != nullptr ? FindText(json, column.path)
                                           : fmt::format("{}", SumOf(json, "counts.dropped_")));
  }
  return cells;
}

std::vector<std::string> ColumnsOf(const RunResults& results) {
  std::vector<std::string> columns(results.summary.header.begin() + kNames,
                                   results.summary.header.end());
  for (size_t i = kNames; i < results.reorder.header.size(); ++i) {
    const std::string_view name = results.reorder.header[i];
    columns.emplace_back(name == "ratio" ? "reordered_ratio" : name);
  }
  for (const char* column : kQueueingColumns) columns.push_back(fmt::format("queueing_{}", column));
  for (const RunColumn& column : kRunColumns) columns.emplace_back(column.name);
  return columns;
}

std::vector<std::string> QueueingCells(const ParsedCsv& queueing, size_t row) {
  std::vector<std::string> cells;
  for (const char* name : kQueueingColumns) {
    const auto column = queueing.Column(name);
    cells.emplace_back(column && row < queueing.rows() ? queueing.At(row, *column) : "");
  }
  return cells;
}

}  // namespace

absl::StatusOr<PointRows> ReadPointRows(const std::filesystem::path& run) {
  const auto results = ReadRunResults(run);
  if (!results.ok()) return results.status();
  const ParsedCsv& summary = results->summary;
  const ParsedCsv& reorder = results->reorder;
  const absl::Status damaged =
      absl::DataLossError(run.string() + ": its tables do not fit together");
  // All tables have the same classes in the same order.
  if (summary.rows() != reorder.rows()) return damaged;
  if (summary.header.size() < kNames || reorder.header.size() < kNames) return damaged;
  PointRows point{.columns = ColumnsOf(*results),
                  .rows = {},
                  .complete = FindText(results->summary_json, "complete") == "true"};
  const std::vector<std::string> of_run = RunCells(results->summary_json);
  for (size_t i = 0; i < summary.rows(); ++i) {
    const auto names = summary.Row(i).first(kNames);
    if (!std::ranges::equal(names, reorder.Row(i).first(kNames))) return damaged;
    PointRows::Row row{std::string(names[0]), std::string(names[1]), {}};
    for (const ParsedCsv* table : {&summary, &reorder}) {
      const auto numbers = table->Row(i).subspan(kNames);
      row.cells.insert(row.cells.end(), numbers.begin(), numbers.end());
    }
    const std::vector<std::string> queueing = QueueingCells(results->queueing, i);
    row.cells.insert(row.cells.end(), queueing.begin(), queueing.end());
    row.cells.insert(row.cells.end(), of_run.begin(), of_run.end());
    point.rows.push_back(std::move(row));
  }
  return point;
}

}  // namespace heddle
