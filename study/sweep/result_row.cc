// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/result_row.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>

#include "settings/number_text.h"
#include "study/sweep/run_results.h"

namespace heddle {
namespace {

double Real(std::string_view text) { return NumberFrom<double>(text).value_or(std::nan("")); }

double Share(const FlatJson& json, std::string_view part, std::string_view whole) {
  const double of = FindNumber(json, whole);
  return of == 0 ? 0 : FindNumber(json, part) / of;
}

int64_t Whole(std::string_view text) { return NumberFrom<int64_t>(text).value_or(0); }

// Returns the slowdowns in the order of summary.csv, as Summarise() does.
std::vector<double> Slowdowns(const ParsedCsv& table, size_t row) {
  std::vector<double> numbers;
  for (const char* name : {"avg", "p50", "p95", "p99", "p999", "max"}) {
    const auto column = table.Column(fmt::format("{}_slowdown", name));
    numbers.push_back(column ? Real(table.At(row, *column)) : std::nan(""));
  }
  return numbers;
}

std::vector<JobTableRow> JobsOf(const FlatJson& json) {
  std::vector<JobTableRow> jobs;
  for (size_t i = 0;; ++i) {
    const std::string job = fmt::format("jobs[{}].", i);
    if (!json.contains(job + "job")) return jobs;
    const auto number = [&](std::string_view name) {
      return NumberFrom<double>(FindText(json, fmt::format("{}{}", job, name)));
    };
    jobs.push_back({.number = NumberFrom<uint32_t>(FindText(json, job + "job")).value_or(0),
                    .label = FindText(json, job + "label"),
                    .iterations = Whole(FindText(json, job + "iterations")),
                    .mean_us = number("mean_iter_us"),
                    .p99_us = number("p99_iter_us"),
                    .straggler_us = number("straggler_us"),
                    .algbw_gbs = number("algbw_gbs"),
                    .busbw_gbs = number("busbw_gbs")});
  }
}

}  // namespace

absl::StatusOr<TableRow> ReadTableRow(const std::filesystem::path& run, const std::string& label) {
  const auto results = ReadRunResults(run);
  constexpr size_t kFirstColumns = 3;  // Class set, class and flows.
  if (!results.ok()) return results.status();
  const ParsedCsv& table = results->summary;
  if (table.header.size() < kFirstColumns) {
    return absl::DataLossError((run / "summary.csv").string() + ": lacks columns");
  }
  const FlatJson& json = results->summary_json;
  TableRow row{.label = label, .summary = {}, .jobs = JobsOf(json)};
  for (size_t i = 0; i < table.rows(); ++i) {
    ClassSummary summary{.set = std::string(table.At(i, 0)),
                         .label = std::string(table.At(i, 1)),
                         .fct_us = {},
                         .slowdown = {}};
    summary.flows = Whole(table.At(i, 2));
    summary.slowdown = Slowdowns(table, i);
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
  for (size_t i = 0; json.ok(); ++i) {
    const auto warning = json->find(fmt::format("warnings[{}]", i));
    if (warning == json->end()) break;
    warnings.push_back(warning->second);
  }
  return warnings;
}

std::string WithoutNumbers(std::string_view text) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.';
  };
  std::string masked;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
      masked += text[i];
      continue;
    }
    masked += '#';
    while (i + 1 < text.size() && is_part(text[i + 1])) ++i;
  }
  return masked;
}

}  // namespace heddle
