// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/result_row.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "settings/number_text.h"
#include "study/sweep/run_results.h"

namespace heddle {
namespace {

double Real(const std::string& text) { return NumberFrom<double>(text).value_or(std::nan("")); }

double Share(const FlatJson& json, std::string_view part, std::string_view whole) {
  const double of = FindNumber(json, whole);
  return of == 0 ? 0 : FindNumber(json, part) / of;
}

int64_t Whole(const std::string& text) { return NumberFrom<int64_t>(text).value_or(0); }

// In the order of summary.csv, as Summarise() has it.
std::vector<double> Slowdowns(const ResultTable& table, const std::vector<std::string>& row) {
  std::vector<double> numbers;
  for (const char* name : {"avg", "p50", "p95", "p99", "p999", "max"}) {
    const auto column = table.Column(fmt::format("{}_slowdown", name));
    numbers.push_back(column ? Real(row[*column]) : std::nan(""));
  }
  return numbers;
}

}  // namespace

std::optional<TableRow> ReadTableRow(const std::filesystem::path& run, const std::string& label) {
  const auto results = ReadRunResults(run);
  constexpr size_t kFirstColumns = 3;  // Class set, class and flows.
  if (!results || results->summary.header.size() < kFirstColumns) return std::nullopt;
  const FlatJson& json = results->summary_json;
  TableRow row{.label = label, .summary = {}};
  for (const std::vector<std::string>& cells : results->summary.rows) {
    ClassSummary summary{.set = cells[0], .label = cells[1], .fct_us = {}, .slowdown = {}};
    summary.flows = Whole(cells[2]);
    summary.slowdown = Slowdowns(results->summary, cells);
    row.summary.push_back(std::move(summary));
  }
  const std::string measured = "counts_of_measured_flows.";
  row.flows = Whole(FindText(json, "counts.flows_measured"));
  row.reordered_ratio =
      Share(json, measured + "packets_reordered", measured + "data_packets_received");
  row.spurious_ratio =
      Share(json, measured + "retransmissions_spurious", measured + "data_packets_sent");
  row.dropped = SumOf(json, "counts.dropped_");
  row.seconds = FindNumber(json, "performance.run_seconds");
  return row;
}

std::vector<std::string> ReadWarnings(const std::filesystem::path& run) {
  std::vector<std::string> warnings;
  const auto json = ReadSummary(CheckedFolder(run));
  for (size_t i = 0; json; ++i) {
    const auto warning = json->find(fmt::format("warnings[{}]", i));
    if (warning == json->end()) break;
    warnings.push_back(warning->second);
  }
  return warnings;
}

}  // namespace heddle
